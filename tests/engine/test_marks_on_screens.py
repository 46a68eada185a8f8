"""What a person has to know of a run before its number stands on every screen of it, and on none of a run without that."""

import io
import re
from collections.abc import Callable
from typing import Any

import docx
import pytest

from proxies.asof.clock import Cutoff
from tests.fakes.small_run import RUN
from workbench.audit.run_audit import audit_run
from workbench.engine.hindsight import hindsight
from workbench.engine.record.fold import load_state
from workbench.engine.record.progress import progress_line
from workbench.engine.run_settings import RunSettings
from workbench.mcp.client_home import VisibleRuns
from workbench.reports.note_content import note_of
from workbench.reports.note_markdown import note_markdown
from workbench.reports.note_page import note_html
from workbench.reports.note_word import note_docx
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import resynthesize
from workbench.views.run_view import view
from workbench.views.wording import run_lines
from workbench.widgets import panels
from workbench.widgets.answer_panel import checks


def without_calls(store: Store) -> None:
    """Have P2 read nothing."""
    with store.transaction() as db:
        db.execute("DELETE FROM api_calls WHERE node = 'P2'")


def appended(*events: Any) -> Callable[[Store], None]:
    def mark(store: Store) -> None:
        for event in events:
            store.append(RUN, event)

    return mark


#: What is done to a finished run, the words that say it, and the check of the audit that finds it.
MARKS: dict[str, tuple[Callable[[Store], None], str, str]] = {
    "hindsight": (
        appended(ev.RunChanged(changes={"model": "openai/gpt-4o"})),
        "Hindsight: openai/gpt-4o",
        "hindsight",
    ),
    "a proof that does not hold": (
        appended(ev.LeafVerified(node="P2", trial=1, verified=False, differing=("cells c2: gave 3",))),
        "Not verified",
        "proofs verified",
    ),
    "a leaf without data": (without_calls, "Read no data: ", "data read"),
    "a run from elsewhere": (appended(ev.RunImported(package="sha256:" + "0" * 64)), "Imported", "origin"),
    "a leaf that was not deepened": (
        appended(ev.LeafKept(node="P2", reason="no more is known")),
        "not broken down further",
        "depth",
    ),
}


def screens(store: Store) -> dict[str, str]:
    """All that a person reads of a run, as text."""
    run, state = view(store, RUN), load_state(store, RUN)
    note = note_of(store, state)
    word = docx.Document(io.BytesIO(note_docx(note)))
    tables = (cell.text for table in word.tables for row in table.rows for cell in row.cells)
    return {
        "show": "\n".join(run_lines(run)),
        "html": note_html(note),
        "md": re.sub(r"\\(.)", r"\1", note_markdown(note)),
        "word": "\n".join([*(each.text for each in word.paragraphs), *tables]),
        "page": panels.header(run.document(), resynthesize(run.tree, {}), 0, None) + checks(run.document()),
    }


@pytest.mark.parametrize("name", MARKS)
def test_a_mark_is_on_every_screen_and_on_none_without_it(run_store: Store, name: str) -> None:
    mark, words, check = MARKS[name]
    assert not [screen for screen, text in screens(run_store).items() if words in text]
    mark(run_store)
    assert [screen for screen, text in screens(run_store).items() if words not in text] == []
    audited = audit_run(run_store, RUN)
    verdicts = {each["verdict"] for each in audited["checks"] if each["name"] == check}
    assert verdicts == {"bad" if check == "proofs verified" else "warn"} and audited["passed"] == (
        verdicts == {"warn"}
    )
    # a program is told what a person is
    state = load_state(run_store, RUN)
    told = VisibleRuns(cutoff=Cutoff.parse("now")).document(run_store, state)
    assert told["findings"] == view(run_store, RUN).document()["findings"]


def test_what_does_not_hold_or_comes_from_elsewhere_is_told_where_runs_go_by(run_store: Store) -> None:
    for name in ("a proof that does not hold", "a run from elsewhere"):
        MARKS[name][0](run_store)
    state = load_state(run_store, RUN)
    row = {**view(run_store, RUN).document(), "p": 0.5}
    assert "imported" in panels.runs_table([row]) and "imported" not in panels.runs_table(
        [{**row, "imported": None}]
    )
    lines = [progress_line(state, stored) or "" for stored in run_store.events(RUN)]
    assert any("not verified" in line for line in lines)


BEFORE, AFTER = Cutoff.parse("2018-06-30"), Cutoff.parse("2026-01-15")


@pytest.mark.parametrize(
    ("model", "cutoff", "words"),
    [
        ("openai/gpt-4o", BEFORE, "trained on texts up to 2023-10-31"),
        ("openai/gpt-4o", AFTER, None),
        ("openrouter/anthropic/claude-3-5-sonnet", BEFORE, "2024-04-30"),
        ("openai/nobody-knows", AFTER, "is unknown"),
        ("openai/nobody-knows", Cutoff.parse("now"), None),
        ("offline/analyst", BEFORE, None),
    ],
)
def test_a_model_trained_after_the_cutoff_or_nobody_knows_when_is_warned_of(
    model: str, cutoff: Cutoff, words: str | None
) -> None:
    lines = hindsight(RunSettings(model=model), cutoff)
    assert [words in line for line in lines] == [True] if words else not lines


def test_models_of_roles_and_of_the_chain_are_warned_of_too() -> None:
    settings = RunSettings(models={"grounder": "openai/gpt-4o"}, fallback=["openai/o3"])
    assert len(hindsight(settings, BEFORE)) == 2
