"""``show``: a run's tree, with the rule of every inner node; of a run of this home, or of a package that stays outside."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, command, echo, emit_json, open_store, run_names, say
from workbench.cli.export import differences_listed
from workbench.engine.run.fold import load_state
from workbench.engine.run.state import RunState
from workbench.engine.view import view_of
from workbench.engine.wording import run_lines
from workbench.store import Store


@command
def show(
    run: Annotated[
        str,
        typer.Argument(
            help="Run id, the beginning of one, or last; or a package (FILE.zip), which is not taken in.",
            autocompletion=run_names,
        ),
    ],
    whole: Annotated[
        bool, typer.Option("--all", help="All propositions of a large tree, which is folded otherwise.")
    ] = False,
    open_note: Annotated[
        bool, typer.Option("--open", help="Open the note in a browser, written from the log.")
    ] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Print a run's tree, with the rule of every inner node.

    A package (FILE.zip) is checked as by `import` and shown without being taken in: the data folder is not touched.
    """
    if not run.lower().endswith(".zip"):
        store = open_store()
        _show(store, load_state(store, store.resolve_run(run)), run, whole, open_note, as_json)
        return
    from workbench.engine.evidence.package import open_package

    with differences_listed(as_json=as_json), open_package(Path(run)) as package:
        if package.left_out is not None:
            say(package.left_out)
        _show(package.store, package.state, run, whole, open_note, as_json)


def _show(store: Store, state: RunState, named: str, whole: bool, open_note: bool, as_json: bool) -> None:
    loaded = view_of(store, state)
    if as_json:
        document = loaded.document()
        if state.imported is not None and not state.imported.taken_in:  # its files are gone when this is read
            document |= {"folder": None, "nodes": [{**node, "notebook": None} for node in document["nodes"]]}
        emit_json(document)
    else:
        echo("\n".join(run_lines(loaded, whole=whole, named=named)))
    if open_note:
        from workbench.engine.evidence.report import report_html

        _open(report_html(store, state))


def _open(page: str) -> None:
    """Write a page of ours where nobody else can, and open it in the person's browser."""
    # Not removed: when the browser has read it nobody knows.
    path = Path(tempfile.mkdtemp(prefix="workbench-note-")) / "note.html"
    path.write_text(page, encoding="utf-8", errors="replace")
    opened = webbrowser.open(path.as_uri())
    say(f"the note: {path}{'' if opened else ' (no browser could be started: open it yourself)'}")
