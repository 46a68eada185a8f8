"""`forecast --due` and `resolve --due` as lines of a cron table: two at once, a set that is held, a set that cannot go on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.sittings import context
from tests.rounds.killed import Scene, scene, sitting_in_process
from workbench.engine.ownership import own_folder
from workbench.operations import forecasting
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.rounds import round_work as work
from workbench.studies.rounds.round_state import rounds_of

DUE = ("forecast", "--due", "--quiet")
CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"


def at(later: timedelta) -> type[datetime]:
    """A clock that is ahead."""

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Ahead":
            return super().now(tz) + later

    return Ahead


def begin(made: Scene, *, sets: tuple[str, ...] = ("q",)) -> None:
    """A night of one question in each set, so that the two others of it are due."""
    for name in sets:
        if name != "q":
            assert made.run("questions", "import", "q.csv", "--as", name).returncode == 0
        words = ["tournament", "run", name, *made.words("--set", "size=1", gather=False)[3:]]
        assert made.run(*words).returncode == 0


@pytest.mark.long
def test_what_another_cron_line_forecast_a_moment_ago_is_not_bought_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scene(tmp_path) as made:
        begin(made)
        asked = len(made.policy.keys)
        own_set, first = work.own_set, [True]

        @contextmanager
        def a_moment_later(store: Store, name: str) -> Iterator[None]:
            """The other line has come and gone before this one holds the set."""
            if first.pop() if first else False:
                assert made.sitting(*DUE) == 0
            with own_set(store, name):
                yield

        monkeypatch.setattr(work, "own_set", a_moment_later)
        late = made.run(*DUE)
        assert (late.returncode, late.stdout, late.stderr) == (0, "", "")
        assert len(made.policy.keys) == asked + 2  # by the other one: rain and sun


def test_a_set_that_is_held_or_cannot_go_on_does_not_hold_up_the_others(tmp_path: Path) -> None:
    with scene(tmp_path) as made:
        begin(made, sets=("q", "r"))
        with own_folder(made.home / "home" / "nights" / "q.lock", what="a round of set q"):
            done = made.run(*DUE, "--json")
        assert done.returncode == 2 and "a round of set q is running: process" in done.stderr
        document = json.loads(done.stdout)
        assert [(each["set"], each["nights"][0]["forecasts"]) for each in document["sets"]] == [("r", 2)]
        assert [(each["set"], each["exit"]) for each in document["failed"]] == [("q", 2)]
        poor = made.run(*DUE, "--budget-usd", "0.00001")
        assert poor.returncode == 3 and "`workbench forecast q` goes on" in poor.stderr and not poor.stdout
        assert made.run(*DUE, "--budget-usd", "9").stdout == "q.2: 2 forecasts, 0 missing\n"


def test_one_cron_line_begins_with_a_first_round_and_may_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scene(tmp_path) as made:
        settings = (
            "model=openai/x",
            f"api_base={made.server.url}",
            "preset=quick",
            "trials=2",
        )
        line = ("forecast", "q", "--due", "--quiet", *(word for pair in settings for word in ("--set", pair)))
        assert made.run("forecast", "--due", "--quiet").stdout == ""  # no set is forecast that nobody named
        quiet = {**made.environ, "WORKBENCH_NETWORK": "off"}
        newsless = run_cli(made.home, *line, **quiet)
        assert newsless.returncode == 2 and "`workbench tournament run q --contexts none`" in newsless.stderr
        assert not made.policy.keys
        assert made.run(*line).stdout == "q.1: 8 forecasts, 0 missing\n"
        asked = len(made.policy.keys)
        again = made.run(*line)
        assert (again.returncode, again.stdout, again.stderr) == (0, "", "") and len(
            made.policy.keys
        ) == asked
        rules = json.loads(made.run("tournament", "show", "q", "--json").stdout)["rules"]
        assert (rules["pool"], rules["promote"], rules["contexts"]) == ("median", 0, "gather")
        # later rounds go by the same line
        monkeypatch.setattr(forecasting, "datetime", at(timedelta(days=40)))
        later = made.run(*line)
        assert (later.returncode, later.stdout) == (0, "q.2: 8 forecasts, 0 missing\n"), later.stderr


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_two_cron_lines_at_once_buy_each_forecast_once(tmp_path: Path) -> None:
    with scene(tmp_path) as made:
        begin(made)
        before = len(made.policy.keys)
        assert set(at_once(made, DUE)) <= {0, 2}
        assert len(made.policy.keys) == before + 2
        store = Store(made.home / "home")
        try:
            assert rounds_of(store) == ["q.1", "q.2"]
        finally:
            store.close()


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_two_resolving_lines_at_once_record_each_outcome_once(tmp_path: Path) -> None:
    with scene(tmp_path) as made:
        rows = "".join(f"up{n},{CLAIM},2018-06-30\n" for n in range(20))
        (made.home / "s.csv").write_text(f"id,title,asked_on\n{rows}")
        assert made.run("questions", "import", "s.csv").returncode == 0
        assert at_once(made, ("resolve", "--due", "--quiet")) == [0, 0]
        store = Store(made.home / "home")
        try:
            stream: list[Any] = [stored.event for stored in store.events("questions:s")]
            assert sum(isinstance(event, ev.OutcomeRecorded) for event in stream) == 20
        finally:
            store.close()


def at_once(made: Scene, words: tuple[str, ...]) -> list[int | None]:
    """Exit codes of two processes with one command line."""
    lines = [
        context().Process(target=sitting_in_process, args=(made.home, words, made.environ)) for _ in range(2)
    ]
    for line in lines:
        line.start()
    for line in lines:
        line.join()
    return [line.exitcode for line in lines]
