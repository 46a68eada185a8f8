"""A client's claim waits for a person: nothing is asked, spent or begun before their yes, and a no ends it."""

import asyncio
import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from tests.mcp.clients import answer, connected
from workbench.engine.approvals import undecided_steps
from workbench.engine.assembly import open_engine
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.mcp import proposals
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.views.claims_list import to_do
from workbench.views.run_view import load_run
from workbench.widgets.home_page import list_runs
from workbench.widgets.run_page import Dashboard

CUTOFF = "2018-06-30"
CLAIM = "The VIX closes above 15 on 2018-12-31"


@pytest.fixture
async def proposed(tmp_path: Path) -> str:
    make_small_run(tmp_path / "home")
    async with connected(tmp_path / "home", CUTOFF) as client:
        good, text = await answer(client, "propose_run", claim=CLAIM, why="\x1b[2Jvolatility \u202e is low")
    assert good, text
    return str(json.loads(text)["run_id"])


def test_it_waits_and_everybody_sees_it(tmp_path: Path, proposed: str) -> None:
    with closing(Store(tmp_path / "home")) as store:
        state = load_state(store, proposed)
        assert state.phase == "proposed" and ModelLedger(store).last_attempt(proposed) == 0
        assert not ApiLedger(store).rows(proposed)
        (step,) = undecided_steps(store, state)
    assert CLAIM in step.text and "volatility" in step.text
    acts = to_do(list_runs(tmp_path / "home"), datetime.now(UTC))
    assert (proposed, "proposed") in [(act["run_id"], act["kind"]) for act in acts]
    shown = run_cli(tmp_path, "approve", proposed)
    assert CLAIM in shown.stdout and "\x1b" not in shown.stdout and "\u202e" not in shown.stdout
    page = Dashboard(load_run(tmp_path / "home", proposed)).side_panels.approving
    assert CLAIM in page.text.value and "\u202e" not in page.text.value


def begin(home: Path, run_id: str) -> RunState:
    async def work() -> RunState:
        with closing(Store(home)) as store:
            async with open_engine(store, load_state(store, run_id).settings, environ={}) as engine:
                return await engine.work(run_id)

    return asyncio.run(work())


def test_nothing_begins_it_before_a_yes(tmp_path: Path, proposed: str) -> None:
    refused = run_cli(tmp_path, "resume", proposed, "--isolation", "none")
    assert refused.returncode == 2 and f"workbench approve {proposed}" in refused.stderr
    with pytest.raises(UsageError, match="waits for your approval"):
        begin(tmp_path / "home", proposed)
    with closing(Store(tmp_path / "home")) as store:
        (step,) = undecided_steps(store, load_state(store, proposed))
        assert not ApiLedger(store).rows(proposed)
    said = run_cli(tmp_path, "approve", proposed, step.name, "--yes", "--set", "author=Ann")
    assert f"workbench resume {proposed}" in said.stderr
    with closing(Store(tmp_path / "home")) as store:
        state = load_state(store, proposed)
    assert (state.phase, state.reason) == ("planned", "approved by Ann: not begun yet")
    assert begin(tmp_path / "home", proposed).finished


def test_without_the_guard_it_would_begin(
    tmp_path: Path, proposed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunState, "require_approved", lambda self: None)
    assert begin(tmp_path / "home", proposed).finished


def test_a_no_ends_it(tmp_path: Path, proposed: str) -> None:
    with closing(Store(tmp_path / "home")) as store:
        (step,) = undecided_steps(store, load_state(store, proposed))
    run_cli(tmp_path, "approve", proposed, step.name, "--no", "not ours", "--set", "author=Ann")
    with closing(Store(tmp_path / "home")) as store:
        state = load_state(store, proposed)
    assert (state.phase, state.reason) == ("failed", "rejected by Ann: not ours")
    with pytest.raises(UsageError, match="rejected by Ann"):
        begin(tmp_path / "home", proposed)


async def test_what_is_no_claim_and_too_many_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_small_run(tmp_path)
    monkeypatch.setattr(proposals, "MOST_PROPOSED", 2)
    async with connected(tmp_path, CUTOFF) as client:
        for wrong in ({"claim": " "}, {"claim": "x" * 601}, {"claim": CLAIM, "cutoff": "now"}, {}):
            assert not (await answer(client, "propose_run", **wrong))[0], wrong
        for number in range(2):
            assert (await answer(client, "propose_run", claim=f"{CLAIM} {number}"))[0]
        good, text = await answer(client, "propose_run", claim=CLAIM)
        assert not good and "wait for a person" in text
        # a run that nobody approved is no analysis: a client finds none but that of before
        assert [row["run_id"] for row in json.loads((await answer(client, "list_runs"))[1])["runs"]] == [RUN]
    with closing(Store(tmp_path)) as store:
        assert len(store.run_ids()) == 3
