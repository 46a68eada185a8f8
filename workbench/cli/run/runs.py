"""``runs``, ``show``, ``rm`` and ``gc``: the runs of this home, one of them as a tree, and what is no longer needed."""

import tempfile
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.backtests.kept_records import kept_record, measured_record
from workbench.cli.common import (
    AsJson,
    RunId,
    command,
    differences_listed,
    echo,
    emit_json,
    open_store,
    run_names,
    say,
)
from workbench.cli.table import show_table
from workbench.engine.detached import no_record
from workbench.engine.ownership import own_run, owner_of
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import WANTING, UsageError, WorkbenchError
from workbench.formatting import NO_VALUE, outcome_words, percent, point_change
from workbench.resources import cores
from workbench.signing_keys import signed_line
from workbench.sources.own_store import discard_unused
from workbench.store import Store
from workbench.store.removal import collect_garbage, remove_run
from workbench.views import run_documents
from workbench.views.run_view import view_of
from workbench.views.wording import run_lines


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
        bool, typer.Option("--all", help="All drivers of a large tree, which is folded otherwise.")
    ] = False,
    open_note: Annotated[
        bool, typer.Option("--open", help="Open the note in a browser, written from the log.")
    ] = False,
    record: Annotated[
        bool,
        typer.Option("--record", help="Measure how such forecasts did on past dates, where it was not yet."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print a run's tree, with the rule of every inner driver.

    A package (FILE.zip) is checked as by `import` and shown without being taken in: the data folder is not touched.
    """
    if not run.lower().endswith(".zip"):
        store = open_store()
        state = load_state(store, store.resolve_run(run))
        if record:
            _measure_record(store, state)
        _show(store, state, run, whole, open_note, as_json)
        return
    from workbench.packages.package import open_package

    with differences_listed(as_json=as_json), open_package(Path(run)) as package:
        _show(package.store, package.state, run, whole, open_note, as_json)


def _measure_record(store: Store, state: RunState) -> None:
    if reason := no_record(state):
        raise UsageError(reason)
    if kept_record(store.home, state.statement, state.cutoff) is not None:
        return
    # 0.5 s of numerics, which `show` does without
    from workbench.reports.note_page import write_report

    say("measuring the record on past dates; it is kept")
    measured_record(store.home, state.statement, state.cutoff, processes=min(2, cores()))
    now = load_state(store, state.run_id)
    if now.finished and store.folder(state.run_id).is_dir():  # its note stands already, without the record
        write_report(store, now)


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
        from workbench.reports.note_page import report_html

        _open_in_browser(report_html(store, state))


def _open_in_browser(page: str) -> None:
    """Write a page of ours where nobody else can, and open it in the person's browser."""
    # Not removed: when the browser has read it nobody knows.
    path = Path(tempfile.mkdtemp(prefix="workbench-note-")) / "note.html"
    path.write_text(page, encoding="utf-8", errors="replace")
    opened = webbrowser.open(path.as_uri())
    say(f"the note: {path}{'' if opened else ' (no browser could be started: open it yourself)'}")


@command
def rm(
    run: RunId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a run: its log, its ledgers, its notebooks, and every body that no other run names. There is no way back."""
    store = open_store()
    run_id = store.resolve_run(run)
    with own_run(store.folder(run_id)):  # refuses a run that is in work, and keeps others off it
        try:
            state = load_state(store, run_id)
            facts = f"{state.statement!r:.100}, {state.phase}"
        except WorkbenchError as error:  # a damaged run is removed like any other
            facts = f"it cannot be read: {error}"
        if not yes:
            say(f"run {run_id}: {facts}")
            say("A package that was exported from it could no longer be compared with it here.")
            typer.confirm("Remove it for ever?", abort=True, err=True)
        removed = remove_run(store, run_id)
    say(
        f"removed run {run_id}: {removed.rows} rows, {removed.bodies} bodies ({removed.body_bytes / 1e6:.1f} MB),"
        f" {removed.files} files; `workbench gc` gives the space back to the disk"
    )


@command
def gc() -> None:
    """Remove what no run needs: bodies that nothing names, half-written files; and give the space back to the disk."""
    store = open_store()
    for run_id in store.run_ids():
        # A run files a body a moment before the row that names it.
        if (owner := owner_of(store.home / "runs" / run_id)) is not None:
            raise UsageError(f"run {run_id} is in work ({owner.line()}): stop it first, or wait for its end")
    removed = collect_garbage(store)
    unused = discard_unused(store)
    say(
        f"removed {removed.bodies} bodies ({removed.body_bytes / 1e6:.1f} MB) and {removed.files} left-over files or folders"
        + (f", and {unused} versions of own data that nothing names" if unused else "")
    )


@command
def list_runs(
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only runs with this tag (`note --tag` sets one).")
    ] = None,
    search: Annotated[
        str, typer.Option(help="Only runs in which these words occur: claim, drivers, model, notes.")
    ] = "",
    limit: Annotated[int | None, typer.Option(help="The newest so many.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the runs of this home, the newest last: state, p with its change, outcome, Brier score, age, next review.

    Ends with exit code 6 if the records of a run cannot be read.
    """
    store = open_store()
    rows = run_documents.runs(store, tags=tag or (), search=search, limit=limit)
    damaged = any("unreadable" in row for row in rows)
    if as_json:
        emit_json(rows)
    else:
        _print_runs(rows, store.home, chosen=bool(tag or search))
    if damaged:
        raise typer.Exit(WANTING)


def _print_runs(rows: list[dict[str, Any]], home: Path, *, chosen: bool) -> None:
    if not rows and chosen:
        say(f"no run in {home} has these tags and words: `workbench runs` lists all")
        return
    if not rows:
        say(f"no runs in {home} yet: `workbench analyze` or `workbench demo` makes one")
        return
    # A column that says nothing would cost a narrow terminal the claim.
    resolved = any(row["outcome"] is not None for row in rows)
    moved = any(row["change"] is not None for row in rows)
    reviewed = any(row["next_review"] is not None for row in rows)
    now = datetime.now(UTC)
    lines = [
        (
            row["run_id"],
            row["state"] or row["status"],
            percent(row["p"]),
            *((_point_change(row),) if moved else ()),
            *(_outcome_cells(row["outcome"]) if resolved else ()),
            row["cutoff"],
            row["age"] or NO_VALUE,
            *((_review(row["next_review"], now),) if reviewed else ()),
            f"{_mark(row['imported'])}{row['statement'] or row['unreadable']}{_tags(row['tags'])}",
        )
        for row in rows
    ]
    columns = (
        *("run", "state", "p"),
        *(("change",) if moved else ()),
        *(("outcome", "Brier") if resolved else ()),
        *("cutoff", "age"),
        *(("next review",) if reviewed else ()),
        "statement",
    )
    show_table(columns, lines)
    for row in rows:
        if "not_installed" in row:
            echo(f"{row['run_id']}: {row['not_installed']}")


def _point_change(row: dict[str, Any]) -> str:
    return NO_VALUE if row["before"] is None else point_change(row["before"]["p"], row["p"])


def _review(instant: str | None, now: datetime) -> str:
    if instant is None:
        return NO_VALUE
    review = datetime.fromisoformat(instant)
    return f"due since {review.date()}" if review <= now else str(review.date())


def _outcome_cells(outcome: dict[str, Any] | None) -> tuple[str, str]:
    if outcome is None:
        return NO_VALUE, NO_VALUE
    brier = outcome["brier"]
    return outcome_words(outcome["p"]), NO_VALUE if brier is None else f"{brier:.3f}"


def _tags(tags: list[str]) -> str:
    return f"  [{', '.join(tags)}]" if tags else ""


def _mark(imported: dict[str, Any] | None) -> str:
    return "" if imported is None else f"IMPORTED, {signed_line(imported['signed'])}  "
