"""A leaf that read no data says so on every screen, told by the ledger alone; one that did says nothing of it."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.run_kinds import write_run
from tests.fakes.stored_run import RunWriter
from workbench.agents.findings.check_table import RunKind
from workbench.api.operation_function import shown_answer
from workbench.audit.data_read import leaves_without_data
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.operations.base import Home
from workbench.operations.evidence import Evidence
from workbench.store import Store
from workbench.views.run_view import view
from workbench.widgets import panels
from workbench.widgets.edits.edit_session import WhatIfSession

RUN = "20260301-120000-aced"
TYPED = "no cell made a data call, so its figures were typed in or remembered"
NOTHING = "each of its data calls was refused or brought no row"
OWN = "the model's own judgement, nothing was looked up"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "home")) as opened:
        yield opened


def made(store: Store, fault: str = "unread leaf", **kind: bool) -> RunState:
    """A run whose leaf P2 read nothing; P1 did. Without a fault both did."""
    write_run(store, RUN, RunKind(**kind), fault)
    return load_state(store, RUN)


def call(
    store: Store, data: object, *, path: str = "fred/series/observations", refused: str | None = None
) -> None:
    """A call of P2 beside those that the run was made with."""
    facts = {"meta": {"as_of": "2018-06-30T04:00:00Z"}, "at_utc": "2026-03-01T12:30:12Z", "retry": 7}
    RunWriter(store, RUN).call("P2", data, path=path, refused=refused, **facts)


def test_the_ledger_alone_says_who_read_data(store: Store) -> None:
    assert leaves_without_data(store, made(store)) == {"P2": TYPED}
    for node, words in (("P2", [TYPED]), ("P1", [])):
        findings = shown_answer(Evidence(run=RUN, node=node), Home(environ={}, folder=store.home))["findings"]
        assert [each["words"] for each in findings] == words


ROW = {"date": "2018-06-29", "value": 1.0}
DOCUMENTATION = ("# fred/series/observations: a page of documentation", {"path": "catalogue/doc"})


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        *(
            ([(empty, {})], NOTHING)
            for empty in (
                [],
                {},
                None,
                "",
                {"count": 0, "observations": []},
                {"results": [], "news": {"items": []}},
            )
        ),
        ([(None, {"refused": "not before the cutoff"}), DOCUMENTATION], NOTHING),
        ([DOCUMENTATION], TYPED),
        *(
            ([(data, {})], None)
            for data in (
                [ROW],
                {"count": 1, "observations": [1.0]},
                {"price": 3.5},  # a snapshot has no list
                {"results": [], "pages": ["a page"]},
                "text of a page",
                {"observations": [], "padding": "x" * 2000},  # more than an empty answer has: not opened
            )
        ),
    ],
)
def test_rows_alone_are_data(
    store: Store, calls: list[tuple[object, dict[str, str]]], words: str | None
) -> None:
    state = made(store)
    for data, more in calls:
        call(store, data, **more)
    assert leaves_without_data(store, state) == ({"P2": words} if words else {})


def test_calls_of_another_trial_or_attempt_do_not_count(store: Store) -> None:
    state = made(store)
    call(store, [1])
    begun = state.trials["P2", 1]
    state.trials["P2", 1] = replace(begun, concluded=2)
    assert leaves_without_data(store, state) == {"P2": TYPED}
    state.settings = replace(state.settings, trials=2)
    state.trials["P2", 1], state.trials["P2", 2] = begun, replace(begun, concluded=1)
    assert leaves_without_data(store, state) == {"P2": f"trial 2: {TYPED}"}


def test_a_model_that_only_reasons_is_told_from_a_cell_that_reads_nothing(store: Store) -> None:
    state = made(store, no_kernel=True)
    assert leaves_without_data(store, state) == {"P2": OWN}
    given = replace(state.settings.context, background="minutes of the meeting")
    state.settings = replace(state.settings, context=given)
    assert leaves_without_data(store, state) == {"P2": f"{OWN} beyond the background it was given"}


def test_the_row_of_the_page_is_marked_until_a_person_gives_a_value(store: Store) -> None:
    made(store)
    run = view(store, RUN)
    session = WhatIfSession(run.tree, without_data=run.without_data)
    assert [(mark["name"], mark["why"]) for mark in session.rows["P2"]["marks"]] == [
        ("no data", f"read no data: {TYPED}")
    ]
    assert not session.rows["P1"]["marks"]
    session.edit("P2", "0.9")
    assert [mark["name"] for mark in session.rows["P2"]["marks"]] == ["edited"]
    session.undo()
    assert [mark["name"] for mark in session.rows["P2"]["marks"]] == ["no data"]
    selected = panels.selected("P2", run.tree, run.tree, without_data=run.without_data["P2"])
    assert TYPED in selected and TYPED not in panels.selected("P1", run.tree, run.tree)
