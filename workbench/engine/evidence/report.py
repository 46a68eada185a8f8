"""``report.html``: the note of a run in its folder, as it stood when the run came to its end."""

from pathlib import Path

from workbench.engine.note.content import note_of
from workbench.engine.note.page import note_html
from workbench.engine.run.files import write_text_atomically
from workbench.engine.run.state import RunState
from workbench.store import Store


def report_html(store: Store, state: RunState) -> str:
    """Return the note as one page; every text of a model is escaped or cleaned, so it cannot be more than text."""
    return note_html(note_of(store, state))


def write_report(store: Store, state: RunState) -> Path:
    """Write ``report.html`` into the run's folder and return its path."""
    path = store.folder(state.run_id) / "report.html"
    write_text_atomically(path, report_html(store, state))
    return path
