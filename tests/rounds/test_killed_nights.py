"""A night is killed at any request and goes on to the call; its budget holds over contexts, forecasts and sittings together."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.rounds.killed import SIDE_BY_SIDE, Scene, scene
from workbench.engine.access.model_gateway import spending
from workbench.engine.ownership import own_folder
from workbench.store import Store
from workbench.studies.rounds.round_state import load_round

pytestmark = pytest.mark.long

#: Of an undisturbed night: searches and rankings of 3 contexts, 2 trials of each question, a tree of two leaves.
CALLS = 3 + 3 + 6 + 6


def finish(made: Scene) -> dict[str, object]:
    """The document of the night, after as many sittings as it takes."""
    kills = len(made.policy.at)
    codes = [made.sitting(*made.words("--budget-usd", "9")) for _ in range(kills)]
    assert codes == [-9] * kills and not made.policy.at, "each sitting was to be killed"
    done = made.run(*made.words("--budget-usd", "9", "--json"))
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def check_nothing_was_bought_twice(made: Scene, document: dict[str, object]) -> None:
    """Every reply is on record once, and beyond those only what was on its way at a kill was asked."""
    words = [seen.query["q"] for seen in made.web.seen]
    assert set(words) == {"Will it rain?", "Will it shine?", "Who wins?"}
    store = Store(made.home / "home")
    try:
        recorded = store.query("SELECT count(*) AS n FROM model_calls")[0]["n"]
        assert recorded == CALLS
        assert recorded <= len(made.policy.keys) <= recorded + SIDE_BY_SIDE * made.policy.kills
        night = load_round(store, "q")
        assert night.name == "q.1" and len(night.contexts) == 3 and len(store.run_ids()) == 7
        runs = sum(spending(store, run).usd for run in store.run_ids())
        beside = spending(store, night.account)
        assert night.contexts_usd == pytest.approx(beside.usd) and beside.usd > 0
        # what a kill left unanswered may have been billed: contexts and runs count it at its worst
        assert (
            document["cost_usd"] == pytest.approx(night.cost_usd)
            and (night.cost_usd or 9) <= runs + beside.usd + 1e-9
        )
    finally:
        store.close()


@pytest.mark.parametrize("at", [[8]])  # in the quick pass; soak tries every other place
def test_a_killed_night_goes_on_to_the_call_and_buys_nothing_twice(tmp_path: Path, at: list[int]) -> None:
    with scene(tmp_path, at=at) as made:
        document = finish(made)
        check_nothing_was_bought_twice(made, document)
        rows = {
            row["event"]: ([round(p, 9) for p in row["trials"]], row["tree"]) for row in document["forecasts"]
        }  # type: ignore[attr-defined]
        two, one = round(2 / 3, 9), round(1 / 3, 9)  # the choice is asked once for both options
        assert rows == {
            "rain": ([0.6, 0.6], 0.64), "sun": ([0.6, 0.6], None), "who#Ann": ([two, two], None), "who#Bo": ([one, one], None),
        }  # fmt: skip
        # another process at the same night is told, and asks nothing
        before = len(made.policy.keys)
        with own_folder(made.home / "home" / "nights" / "q.lock", what="a round of set q"):
            busy = made.run(*made.words("--new"))
        assert busy.returncode == 2 and "a round of set q is running: process" in busy.stderr
        assert len(made.policy.keys) == before


@pytest.mark.soak
def test_a_night_that_gets_no_context_at_all_stops_before_the_forecasts(tmp_path: Path) -> None:
    with scene(tmp_path) as made:
        key = made.environ.pop("BRAVE_API_KEY")
        without = made.run(*made.words())
        assert without.returncode == 4 and "none of 3 contexts could be gathered" in without.stderr, (
            without.stderr
        )
        assert {asked.stage for asked in made.server.asked} == {"queries"}
        made.environ["BRAVE_API_KEY"] = key
        done = made.run(*made.words("--promote", "0", "--json"))
        assert done.returncode == 0 and json.loads(done.stdout)["night"] == "q.1"
        assert len(made.server.by_stage("queries")) == 3 and len(made.server.by_stage("sources")) == 3


def test_one_budget_covers_contexts_and_forecasts(tmp_path: Path) -> None:
    with scene(tmp_path) as made:
        unpriced = made.run(
            *(word.replace("price=openai/x", "price=openai/y") for word in made.words("--budget-usd", "1"))
        )
        assert unpriced.returncode == 2 and "the price of openai/x is unknown" in unpriced.stderr
        plan = made.run(*made.words("--plan-only"))
        assert "contexts: at most 3" in plan.stdout and not made.policy.keys
        poor = made.run(*made.words("--budget-usd", "0.0015"))
        assert poor.returncode == 3 and "budget of $0.0015 of round q.1 is used up" in poor.stderr, (
            poor.stderr
        )
        assert {asked.stage for asked in made.server.asked} <= {"queries", "sources"}
        # what the contexts took is gone for the forecasts: a little more does not go far
        more = made.run(*made.words("--budget-usd", "0.006", "--set", "runs_at_once=1"))
        assert more.returncode == 3 and "used up" in more.stderr, more.stderr
        store = Store(made.home / "home")
        try:
            night = load_round(store, "q")
            spent = sum(spending(store, run).usd for run in [night.account, *store.run_ids()])
            assert 0 < spent <= 0.006
        finally:
            store.close()
        assert made.run(*made.words("--budget-usd", "9")).returncode == 0
        assert max(Counter(asked.key() for asked in made.server.by_stage("queries")).values()) == 1
