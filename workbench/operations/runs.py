"""The runs of a data folder: listed, shown, and removed with what nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from workbench.errors import WANTING, BudgetStop, UsageError, WorkbenchError
from workbench.formatting import outcome_words, percent, point_change
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, table_of
from workbench.operations.fields import Count, RunName, Words
from workbench.operations.run_document import RunDocument
from workbench.requests import Says

if TYPE_CHECKING:
    from workbench.engine.record.state import RunState


class Runs(Operation):
    """List the runs of this home, newest last: state, probability and its change, outcome, Brier score, age, next review.

    Ends with exit code 6 if the records of a run cannot be read.
    """

    tags: Annotated[Words, Says(text="Only runs with this tag (`note --tag` sets one).", word="tag")] = []
    search: str = ""
    """Only runs in which these words occur: claim, drivers, model, notes."""
    limit: Count | None = None
    """The newest so many."""

    def answer(self, home: Home) -> list[dict[str, Any]]:
        """Return a row for each run; one that cannot be read says why under ``unreadable``."""
        from workbench.views.run_overview import listed_runs

        rows = listed_runs(
            home.store, datetime.now(UTC), tags=self.tags, search=self.search, limit=self.limit
        )
        return [{**row, "next_review": row["next_review"] and row["next_review"].isoformat()} for row in rows]

    def show(self, document: list[dict[str, Any]]) -> Iterator[Block]:
        """Return the runs without the columns that are empty: they would cost a narrow terminal the claim."""
        if document:
            yield table_of([_listed(row, datetime.now(UTC)) for row in document])
        elif self.tags or self.search:
            yield Remark("no run has these tags and words: `workbench runs` lists all")
        else:
            yield Remark("no runs yet: `workbench analyze` or `workbench demo` makes one")
        yield from (f"{row['run_id']}: {row['not_installed']}" for row in document if "not_installed" in row)

    def exit_code(self, document: list[dict[str, Any]]) -> int:
        """Return 6 where a run cannot be read."""
        return WANTING if any("unreadable" in row for row in document) else 0


def _listed(row: dict[str, Any], now: datetime) -> dict[str, Any]:
    from workbench.signing_keys import signed_line

    outcome = row["outcome"] or {"brier": None}
    review = row["next_review"] and datetime.fromisoformat(row["next_review"])
    mark = f"(imported, {signed_line(row['imported']['signed'])}) " if row["imported"] else ""
    tags = f"  [{', '.join(row['tags'])}]" if row["tags"] else ""
    return {
        "run": row["run_id"],
        "state": row["state"] or row["status"],
        "p": percent(row["p"]),
        "change": row["before"] and point_change(row["before"]["p"], row["p"]),
        "outcome": outcome_words(outcome["p"]) if "p" in outcome else None,
        "Brier": None if outcome["brier"] is None else f"{outcome['brier']:.3f}",
        "cutoff": row["cutoff"],
        "age": row["age"] or None,
        "next review": review and f"{'due since ' if review <= now else ''}{review.date()}",
        "statement": f"{mark}{row['statement'] or row['unreadable']}{tags}",
    }


class Show(Operation):
    """Print a run's tree, with the rule of every combined driver.

    A package (FILE.zip) is checked as by `import` and shown without being taken in: the data folder is not touched.
    """

    places = ("run",)

    run: Annotated[
        str,
        Says(text="Run id, the beginning of one, or last; or a package (FILE.zip), which is not taken in."),
    ]
    whole: Annotated[
        bool, Says(text="All drivers of a large tree, which is folded otherwise.", word="all")
    ] = False
    open: bool = False
    """Open the note in a browser, written from the log."""
    record: bool = False
    """Measure how such forecasts did on past dates, where it was not yet."""

    def answer(self, home: Home) -> RunDocument:
        """Return the run with its nodes, probabilities in [0, 1] or None, costs in US dollars or None where unknown."""
        if self.run.lower().endswith(".zip"):
            from workbench.packages.package import open_package

            package = home.opened.enter_context(open_package(Path(self.run)))
            store, state = package.store, package.state
        else:
            store, state = home.store, home.state(self.run)
            if self.record:
                _measure_record(home, state)
        if self.open:
            from workbench.reports.note_page import report_html

            home.say(_opened(report_html(store, state)))
        document = RunDocument.of(store, state)
        if state.imported is not None and not state.imported.taken_in:  # its files are gone when this is read
            document |= {"folder": None, "nodes": [{**node, "notebook": None} for node in document["nodes"]]}
        return document

    def show(self, document: RunDocument) -> Iterator[Block]:
        """Return the tree, and what it rests on."""
        yield from document.lines(whole=self.whole, named=self.run)


def _measure_record(home: Home, state: RunState) -> None:
    from workbench.backtests.kept_records import kept_record, measured_record
    from workbench.engine.detached import no_record
    from workbench.resources import cores

    if reason := no_record(state):
        raise UsageError(reason)
    if kept_record(home.folder, state.statement, state.cutoff) is not None:
        return
    # 0.5 s of numerics, which `show` does without
    from workbench.reports.note_page import write_report

    home.say("measuring the record on past dates; it is kept")
    measured_record(home.folder, state.statement, state.cutoff, processes=min(2, cores()))
    now = home.state(state.run_id)
    if (
        now.finished and home.store.folder(state.run_id).is_dir()
    ):  # its note stands already, without the record
        write_report(home.store, now)


def _opened(page: str) -> str:
    """Write a page of ours where nobody else can, open it in the person's browser, and say where it lies."""
    import tempfile
    import webbrowser

    # Not removed: when the browser has read it nobody knows.
    path = Path(tempfile.mkdtemp(prefix="workbench-note-")) / "note.html"
    path.write_text(page, encoding="utf-8", errors="replace")
    opened = webbrowser.open(path.as_uri())
    return f"the note: {path}{'' if opened else ' (no browser could be started: open it yourself)'}"


class Remove(Operation):
    """Remove a run for good: its log, ledgers, notebooks, and every body that no other run uses.

    `workbench gc` gives the space back to the disk.
    """

    places = ("run",)

    run: RunName

    def answer(self, home: Home) -> dict[str, Any]:
        """Return what was removed; a person has to agree."""
        from workbench.engine.ownership import own_run
        from workbench.store.removal import remove_run

        run_id = home.store.resolve_run(self.run)
        with own_run(home.store.folder(run_id)):  # refuses a run that is in work, and keeps others off it
            try:
                state = home.state(run_id)
                facts = f"{state.statement!r:.100}, {state.phase}"
            except WorkbenchError as error:  # a damaged run is removed like any other
                facts = f"it cannot be read: {error}"
            home.say(f"run {run_id}: {facts}")
            home.say("A package that was exported from it could no longer be compared with it here.")
            if not home.agrees("Remove it for ever?"):
                raise BudgetStop("nothing was removed: add --yes to remove without a question")
            return {"removed": run_id, **remove_run(home.store, run_id)._asdict()}


class Collect(Operation):
    """Remove bodies and half-written files that no run needs, and free the disk space."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return how much was removed; raises ``UsageError`` while a run is in work."""
        from workbench.engine.ownership import owner_of
        from workbench.sources.own_store import discard_unused
        from workbench.store.removal import collect_garbage

        for run_id in home.store.run_ids():
            # A run files a body a moment before the row that names it.
            if (owner := owner_of(home.folder / "runs" / run_id)) is not None:
                raise UsageError(
                    f"run {run_id} is running ({owner.line()}): stop the run first, or wait until it ends"
                )
        removed = collect_garbage(home.store)
        return {
            "bodies": removed.bodies,
            "body_bytes": removed.body_bytes,
            "files": removed.files,
            "versions_of_own_data": discard_unused(home.store),
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what went."""
        unused = document["versions_of_own_data"]
        yield Remark(
            f"removed {document['bodies']} bodies ({document['body_bytes'] / 1e6:.1f} MB) and {document['files']} left-over files or folders"
            + (f", and {unused} versions of own data that nothing names" if unused else "")
        )
