"""The first screen of a run that has no evidence yet, and what its buttons do."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from tests.fakes.screens import CUTOFF, RUN, comm_of, is_hidden
from tests.fakes.stored_run import RunWriter
from workbench.engine.run_settings import RunSettings
from workbench.models.base import PastShare
from workbench.propositions import Tree
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import load_run
from workbench.widgets import dashboard

CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"


def begun(home: Path, history: PastShare | None, statement: str = CLAIM) -> str:
    """A run whose log has its first event alone."""
    instant = Cutoff.parse(CUTOFF).instant.isoformat().replace("+00:00", "Z")
    event = ev.RunStarted(
        statement=statement,
        cutoff=CUTOFF,
        cutoff_instant=instant,
        settings=RunSettings(model="offline/analyst").to_json(),
        history=history and history[:3],
    )
    with closing(Store(home)) as store:
        store.append("20180630-120000-beef", event)
    return "20180630-120000-beef"


@pytest.mark.parametrize(("simulated", "number"), [(0.643, "64.3%"), (None, "–")])
def test_base_rate_and_series_stand_before_any_evidence(
    tmp_path: Path, comms: list[Any], simulated: float | None, number: str
) -> None:
    run = load_run(tmp_path, begun(tmp_path, PastShare(0.689, 23.2, simulated)))
    page = dashboard(run)
    for part in (
        'data-field="base-rate" data-value="0.689"',
        "Use base rate",
        "23 independent",
        "History: 68.9%.",
    ):
        assert part in page.header.value
    assert f">{number}<" in page.header.value
    # the bars lead to the simulation, where there is one, and the drivers follow
    assert ("wb-waterfall" in page.answer.value, f">{number}<" in page.answer.value) == (
        simulated is not None,
    ) * 2
    assert "once each has its evidence" in page.answer.value
    comm_of(page.tree, comms).deliver({"type": "rest"})
    assert 'class="fan"' in page.fan.value and not is_hidden(page._series)


def test_a_page_that_is_opened_on_a_failed_run_marks_the_driver_that_failed_and_names_it_by_its_words(
    tmp_path: Path, comms: list[Any]
) -> None:
    tree = Tree.root_only("It rains").expand("P0", {"P1": "Clouds come", "P2": "The wind turns"})
    with closing(Store(tmp_path)) as store:
        run = RunWriter(store, RUN)
        run.start("It rains")
        run.plan(tree)
        run.append(ev.LeafStarted(node="P2", trial=1, attempt=1))
        run.append(ev.LeafFailed(node="P2", trial=1, attempt=1, reason="no reply", final=True))
        run.append(ev.RunStopped(why="failure", detail="P2 failed for good (no reply)"))
    page = dashboard(load_run(tmp_path, RUN))
    marks = {node: [mark["name"] for mark in row["marks"]] for node, row in page.session.rows.items()}
    assert marks["P1"] == ["open"] and marks["P2"] == ["failed"]
    assert "The wind turns&#34; failed for good" in page.working.state.value


def test_a_claim_about_no_series_has_no_empty_chart(tmp_path: Path, comms: list[Any]) -> None:
    page = dashboard(load_run(tmp_path, begun(tmp_path, None, "It rains in London on 2018-12-31")))
    comm_of(page.tree, comms).deliver({"type": "rest"})
    assert is_hidden(page._series) and "No chart" in page.checks.value
    assert "History" not in page.header.value and "base-rate" not in page.header.value


def test_the_buttons_ask_for_an_even_chance_and_watch_the_claim(home: Path, comms: list[Any]) -> None:
    page = dashboard(load_run(home, RUN))
    verbs = comm_of(page.verbs, comms)
    verbs.deliver({"type": "open", "name": "50%"})
    assert "to 50.0%" in page.drivers.questions.answer.value
    for tags, offered in ((("watch",), "Stop watching"), ((), "Watch claim")):
        verbs.deliver({"type": "open", "name": "watch"})
        assert load_run(home, RUN).state.annotations.tags == tags and offered in page.verbs.value
