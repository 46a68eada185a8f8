"""A record beside an answer: kept under claim, cutoff and code, on the first line of show, in JSON, note and page."""

import json
import os
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.backtests.test_claim_record import open_base_rate
from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from workbench.backtests import claim_record, kept_records
from workbench.backtests.kept_records import kept_record, measured_record
from workbench.cli.operation_command import show_blocks
from workbench.engine import detached
from workbench.engine.record.fold import load_state
from workbench.formatting import SCORE_WORDS, meaning
from workbench.operations.analysis import Resume
from workbench.operations.base import Home
from workbench.operations.run_document import RecordProcess, RunDocument
from workbench.operations.run_work import ended
from workbench.reports.note_content import note_of
from workbench.reports.note_markdown import note_markdown
from workbench.reports.note_page import note_html
from workbench.store import Store
from workbench.views.run_view import load_run, view
from workbench.widgets import answer_panel, panels
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.run_page import dashboard

CLAIM, CUTOFF = "VIX above 20 on 2018-09-28", "2018-06-30"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cutoffs, and a forecaster that costs nothing."""
    measured = partial(claim_record.claim_record, open_forecaster=open_base_rate, most=8)
    monkeypatch.setattr(claim_record, "claim_record", lambda *claim, processes: measured(*claim))


@pytest.mark.usefixtures("quick")
def test_a_record_is_measured_once_for_a_claim_a_cutoff_and_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept_record(tmp_path, CLAIM, CUTOFF) is None
    document = measured_record(tmp_path, CLAIM, CUTOFF)
    # in other words the same claim
    assert kept_record(tmp_path, "The VIX closes above 20 on 28 September 2018", CUTOFF) == document
    assert kept_record(tmp_path, CLAIM, "2018-06-29") is None
    assert kept_record(tmp_path, "Something happens", CUTOFF) is None
    monkeypatch.setattr(claim_record, "claim_record", lambda *_, **__: pytest.fail("measured twice"))
    assert measured_record(tmp_path, CLAIM, CUTOFF) == document
    monkeypatch.setattr(kept_records, "code_hash", lambda: "other code")
    assert kept_record(tmp_path, CLAIM, CUTOFF) is None


@pytest.mark.usefixtures("quick")
def test_every_screen_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    make_small_run(home, statement=CLAIM)
    before = run_cli(tmp_path, "show", RUN)
    assert json.loads(run_cli(tmp_path, "show", RUN, "--json").stdout)["record"] is None
    store = Store(home)
    state = load_state(store, RUN)
    if not detached.has_record(state):  # the small run may be of another model
        monkeypatch.setattr("workbench.views.run_view.has_record", lambda state: True)
        monkeypatch.setattr("workbench.engine.detached.no_record", lambda state: "")
    shown = run_cli(tmp_path, "show", RUN, "--record")
    document = json.loads(run_cli(tmp_path, "show", RUN, "--json").stdout)["record"]
    assert document["record"]["n"] == 8 and "rows" not in document
    first, *others = shown.stdout.splitlines()
    assert (
        first.endswith(f" Record: {document['line']}") and "((" not in first and "Use the base rate" in first
    )
    assert any(line.startswith("record: the base rate (") for line in others)
    assert document["line"] not in before.stdout
    assert document["line"] in note_markdown(note_of(store, state)).replace("\\", "")
    run = view(store, RUN)
    header = panels.header(run.document(nodes=False), WhatIfSession(run.tree).now, 0, 0.3)
    assert 'data-field="record"' in header and "Use base rate" in header
    # the name of its figure has a definition on hover, and in the note one of its own
    checks = answer_panel.checks(run.document(nodes=False))
    assert document["line"] in checks and meaning("Brier Index") in checks
    note = note_of(store, state)
    assert note_markdown(note).count(SCORE_WORDS["Brier Index"]) == 1
    assert f'<abbr title="{SCORE_WORDS["Brier Index"]}">' in note_html(note)
    store.close()


@pytest.mark.usefixtures("quick")
def test_a_page_that_stands_shows_the_record_once_it_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setattr("workbench.views.run_view.has_record", lambda state: True)
    monkeypatch.setattr("workbench.widgets.run_page.no_record", lambda state: "")
    make_small_run(home, statement=CLAIM)
    page = dashboard(load_run(home, RUN))
    page.look()
    assert "independent" not in page.header.value
    measured_record(home, CLAIM, page.run.cutoff)
    page.look()
    assert "too little history to test (3 independent periods)" in page.header.value


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("in_time", [True, False])
def test_an_answer_does_not_wait_for_its_record(
    in_time: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    monkeypatch.setattr("workbench.views.run_view.has_record", lambda state: True)
    make_small_run(home, statement=CLAIM)
    printed: list[str] = []

    def waited(process: int | None, seconds: float) -> None:
        assert process == 7 and 500 < seconds <= 600
        printed.append(capsys.readouterr().out)  # what a person reads before the record is there
        if in_time:
            measured_record(home, CLAIM, load_state(store, RUN).cutoff)

    monkeypatch.setattr(detached, "wait_for_record", waited)
    with closing(Store(home)) as store:
        resume = Resume(run=RUN)

        def show() -> None:
            document = RunDocument.of(store, load_state(store, RUN))
            document.measured = RecordProcess(7, time.monotonic() + 600)
            show_blocks(resume.show(document))

        show()
        later = capsys.readouterr().out
        assert "ecord" not in printed[0] and "2 model calls" in printed[0]  # nothing is promised yet
        assert ("Use the base rate" in later and "record: the base rate (" in later) == in_time
        assert (f"`workbench show {RUN} --record` measures it" in later) != in_time
        if in_time:  # with the record at hand nothing is waited for, and the first line has it
            show()
            assert len(printed) == 1 and "Use the base rate" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("as_json", [True, False])
async def test_a_program_waits_for_the_record(
    as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document on stdout is printed once: under ``--json`` it has the record, which a person gets later."""
    monkeypatch.setattr("workbench.views.run_view.has_record", lambda state: True)
    make_small_run(tmp_path, statement=CLAIM)

    def waited(process: int | None, seconds: float) -> None:
        assert process == 7 and 500 < seconds <= 600
        measured_record(tmp_path, CLAIM, "2018-06-30")

    monkeypatch.setattr(detached, "wait_for_record", waited)
    home = Home(environ={}, folder=tmp_path, as_json=as_json)
    document = await ended(home, RUN, RecordProcess(7, time.monotonic() + 600))
    home.close()
    assert (document["record"] is not None) == as_json


def test_only_what_can_be_made_again_has_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_small_run(tmp_path / "home")
    monkeypatch.setattr(detached, "has_record", lambda state: False)
    refused = run_cli(tmp_path, "show", RUN, "--record")
    assert refused.returncode == 2 and "only the key-free analyst's forecasts" in refused.stderr
    # nor is a process started beside it, as none is where the environment says so
    with closing(Store(tmp_path / "home")) as store:
        monkeypatch.setenv("WORKBENCH_RECORD", "off")
        assert detached.record_beside(store, RUN) is None


def test_a_source_without_earlier_versions_promises_no_record_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detached, "has_record", lambda state: True)
    for room in ("workbench.views.wording", "workbench.views.run_view"):
        monkeypatch.setattr(f"{room}.has_record", lambda state: True)
    make_small_run(tmp_path / "home", statement="own:orders above 140 on 2018-12-31")
    shown = run_cli(tmp_path, "show", RUN).stdout
    assert "no track record: no earlier versions of the values of own:orders" in shown.replace("\n", " ")
    assert "--record" not in shown
    assert "no earlier versions" in run_cli(tmp_path, "show", RUN, "--record").stderr
    monkeypatch.delenv("WORKBENCH_RECORD", raising=False)
    with closing(Store(tmp_path / "home")) as store:
        assert detached.record_beside(store, RUN) is None
    (tmp_path / "orders.csv").write_text("month,orders\n2018-01,10\n2018-02,11\n2018-03,12\n")
    added = run_cli(
        tmp_path,
        "source",
        "add",
        "orders",
        str(tmp_path / "orders.csv"),
        "--date",
        "month",
        "--lag",
        "10d",
        "--yes",
    )
    assert added.returncode == 0 and "no track record with its claims" in added.stderr


def test_the_tree_goes_before_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_small_run(tmp_path / "home")
    monkeypatch.setattr(detached, "no_record", lambda state: "")
    monkeypatch.delenv("WORKBENCH_RECORD", raising=False)
    said = tmp_path / "said"
    # It looks when a while has passed, since its place is given to it after it was started.
    says = f"import os, time; time.sleep(0.5); open({str(said)!r}, 'w').write(str(os.nice(0)))"
    monkeypatch.setattr(detached, "_COMMAND", (sys.executable, "-c", says))
    with closing(Store(tmp_path / "home")) as store:
        detached.wait_for_record(detached.record_beside(store, RUN), 60)
    assert int(said.read_text()) == min(os.nice(0) + 10, 19) and os.nice(0) < 19


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "change",
    [
        {"record": None},
        {"record": 7},
        {"p": "\x1b[2J"},
        {"line": "better than everybody"},
        {"hash": None},
        {"hash": "0" * 64},
        ["a list"],
    ],
    ids=str,
)
def test_a_record_that_was_changed_by_hand_is_measured_anew(
    tmp_path: Path, change: dict[str, object] | list[str]
) -> None:
    document = measured_record(tmp_path, CLAIM, CUTOFF)
    (path,) = tmp_path.rglob("*.json")
    written = json.loads(path.read_bytes())
    path.write_text(json.dumps({**written, **change} if isinstance(change, dict) else change))
    assert kept_record(tmp_path, CLAIM, CUTOFF) is None
    assert measured_record(tmp_path, CLAIM, CUTOFF) == kept_record(tmp_path, CLAIM, CUTOFF) == document
