"""Watched claims looked after: only what changed is collected again, nothing twice, and the parts of a change sum to it."""

import asyncio
import json
import shutil
import sys
from contextlib import closing
from math import fsum
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.settings import ProxySettings
from tests.command_line import run_cli, run_ok
from workbench.engine.assembly import open_engine
from workbench.engine.leaves.grounding import TrialGrounding
from workbench.engine.new_run import new_run
from workbench.engine.ownership import RunInWork, own_folder
from workbench.engine.proof_check import combined_faults
from workbench.engine.record.fold import load_state
from workbench.engine.record.followed_run import FollowedRun
from workbench.engine.record.run_files import put_tree
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.propositions import Polarity, Tree
from workbench.reviews.claim_review import Doors, mark_told, review
from workbench.reviews.inputs import look
from workbench.reviews.review_request import ReviewRequest
from workbench.store import ApiLedger, Store
from workbench.store import events as ev
from workbench.views.kept_changes import since_line
from workbench.views.run_view import load_run
from workbench.widgets.run_page import Dashboard

CLAIM = "The AAA yield is above 4 on 2018-12-31"
LEAVES = {"P1": "The AAA yield is above 3.9 on 2018-10-31", "P2": "The VIX closes above 15 on 2018-11-30"}


def settings(**more: Any) -> RunSettings:
    return with_preset("product", model="offline/analyst", grounder="statistical", rule="average", **more)


async def finished(store: Store, cutoff: str = "2018-06-20", *, tags: tuple[str, ...] = ("watch",)) -> str:
    """A run of two drivers without a model, whose tree a person made."""
    run_id = new_run(store, CLAIM, Cutoff.parse(cutoff), settings())
    tree = Tree.root_only(CLAIM).expand("P0", LEAVES, dict.fromkeys(LEAVES, Polarity.POSITIVE), "")
    store.append(run_id, ev.TreePlanned(tree=put_tree(store, tree)))
    store.append(run_id, ev.NoteAdded(tags=tags))
    async with open_engine(store, settings(), environ={}) as engine:
        await engine.work(run_id)
    return run_id


def look_after(store: Store, cutoff: str, **asked: Any) -> dict[str, Any]:
    document = asyncio.run(review(store, ReviewRequest(cutoff=cutoff, **asked), Doors(environ={})))
    mark_told(store, document)
    return document


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, watched_claim: Path) -> Path:
    return Path(shutil.copytree(watched_claim, tmp_path_factory.mktemp("review") / "home"))


@pytest.fixture(scope="module")
def first(home: Path) -> str:
    with closing(Store(home)) as store:
        return store.run_ids()[0]


def test_what_did_not_change_carries_over(home: Path, first: str) -> None:
    with closing(Store(home)) as store:
        document = look_after(store, "2018-06-27", alert=0.0)
        (row,) = document["claims"]
        state = load_state(store, row["review"])
        assert (row["status"], row["run"], row["moved"]) == ("reviewed", first, True)
        assert not row["leaves"]["P1"]["changed"] and row["leaves"]["P2"]["again"]
        assert (
            state.follows is not None and state.follows.run == first and set(state.follows.leaves) == {"P1"}
        )
        assert state.annotations.tags == ("watch",)
        assert state.tree["P1"].p == load_state(store, first).tree["P1"].p
        assert state.trials["P1", 1].verified and state.trials["P2", 1].verified
        assert combined_faults(store, state) == []
        parts = row["changes"]["parts"]
        assert parts["leaves"]["P1"]["how"] == "carried" and parts["leaves"]["P1"]["total"] == 0
        moved = parts["leaves"]["P2"]
        assert fsum(moved[name] for name in ("rows", "revisions", "time")) == pytest.approx(
            moved["total"], abs=1e-9
        )
        total = fsum([parts["edits"], parts["rule"], *(leaf["total"] for leaf in parts["leaves"].values())])
        assert total == pytest.approx(row["after"] - row["before"], abs=1e-9)
        page = Dashboard(load_run(home, state.run_id))
        shown = [
            pane.children for pane in page.side_panels.panes["after"] if "wb-changes" in pane._dom_classes
        ]
        assert len(shown) == 1 and "The VIX closes above 15" in str(shown[0][-1].value)
        line = since_line(state, store.folder(state.run_id))
        assert line is not None and "1 of 2 drivers carried over" in line

        again = look_after(store, "2018-06-27")
        assert again["claims"][0]["status"] == "same" and len(store.run_ids()) == 2, "nothing is asked twice"


def test_a_look_opens_no_run(home: Path, first: str) -> None:
    with closing(Store(home)) as store:
        before = store.run_ids()
        document = look_after(store, "2018-07-10", changed=True)
        assert document["claims"][0]["status"] == "changed" and store.run_ids() == before
        later = look_after(store, "2018-07-10", due=True)
        assert later["claims"] == [], "halfway to the last day of December lies in September"


def test_a_review_that_was_cut_off_goes_on(home: Path, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Store(home)) as store:
        ground, begun = TrialGrounding.ground, []

        async def cut_off(self: TrialGrounding) -> None:
            begun.append(self.node)
            if self.node == "P2":
                raise RuntimeError("killed")
            await ground(self)

        with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="killed"):
            patched.setattr(TrialGrounding, "ground", cut_off)
            look_after(store, "2018-07-20")
        half = store.run_ids()[-1]
        asked = len(ApiLedger(store).rows(half))
        document = look_after(store, "2018-07-21")
        assert document["claims"][0]["review"] == half, "the run that was begun, not another one"
        assert load_state(store, half).finished
        rows = ApiLedger(store).rows(half)
        assert len({(row.address.node, row.address.step) for row in rows}) == len(rows) >= asked


def test_two_at_once_are_one(home: Path, first: str) -> None:
    with (
        closing(Store(home)) as store,
        own_folder(home / "reviews", what="another"),
        pytest.raises(RunInWork),
    ):
        look_after(store, "2018-08-20")


def test_a_driver_whose_day_is_over_counts_as_it_came_out(home: Path, first: str) -> None:
    with closing(Store(home)) as store:
        row = look_after(store, "2018-12-20")["claims"][0]
        state = load_state(store, row["review"])
        assert (row["days_left"], row["near"]) == (11, False)
        assert (state.tree["P1"].p, state.tree["P2"].p) == (1.0, 1.0)
        assert all(state.trials[leaf, 1].verified for leaf in LEAVES)
        near = look_after(store, "2018-12-26", changed=True)
        assert near["due"] == [row["review"]]
        assert look_after(store, "2019-02-20")["claims"][0]["status"] == "resolved"


def test_rules_of_a_model_stand(home: Path, first: str) -> None:
    """A run whose rules a model stated: the synthesizer is not asked again, the nodes above are computed."""
    with closing(Store(home)) as store:
        before = load_state(store, first)
        cutoff = Cutoff.parse("2018-06-20")

        async def reviewed() -> str:
            broker = open_broker(ProxySettings.from_environment({}))
            inputs = await look(store, before, cutoff, broker)
            await broker.aclose()
            async with open_engine(store, settings(), environ={}) as engine:
                carried = {node: each.carried(before, cutoff.text) for node, each in inputs.items()}
                follows = FollowedRun.of(first, before.tree, carried, keep_rules=True)
                assert FollowedRun.read(json.loads(follows.to_body())) == follows
                run_id = new_run(store, CLAIM, cutoff, settings(), follows=follows)
                await engine.work(run_id)
                return run_id

        state = load_state(store, asyncio.run(reviewed()))
        assert state.tree.root.p == before.tree.root.p and state.tree.root.rule == before.tree.root.rule


@pytest.mark.long
def test_the_command_tells_a_cron_line(tmp_path: Path, watched_claim: Path) -> None:
    shutil.copytree(watched_claim, tmp_path / "home")
    told = tmp_path / "told.json"
    script = f"import sys, pathlib; pathlib.Path({str(told)!r}).write_text(sys.stdin.read())"
    done = run_cli(
        tmp_path, "review", "--set", "cutoff=2018-06-27", "--alert", "0pp", "--notify", f'{sys.executable} -c "{script}"', "--json"
    )  # fmt: skip
    assert done.returncode == 10, done.stderr
    document = json.loads(done.stdout)
    assert json.loads(told.read_text()) == {**document, "exit": 10}
    run_ok(tmp_path, "review", "--set", "cutoff=2018-06-27")
    refused = run_cli(tmp_path, "review", "--alert", "much")
    assert refused.returncode == 2 and "such as 5" in refused.stderr


def test_python_looks_after_claims_too(home: Path, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    document = asyncio.run(wb.review(changed=True, cutoff="2018-07-10"))
    with closing(Store(home)) as store:
        known = look_after(store, "2018-07-10", changed=True)
    assert document == known
