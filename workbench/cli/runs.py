"""``runs``: the runs of this home."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import JSON_OPTION, WANTING, command, echo, emit_json, open_store, say
from workbench.cli.table import show_table
from workbench.engine import documents
from workbench.engine.keys import signed_line
from workbench.formatting import NO_VALUE, outcome_words, percent, point_change


@command
def list_runs(
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only runs with this tag (`note --tag` sets one).")
    ] = None,
    search: Annotated[
        str, typer.Option(help="Only runs in which these words occur: claim, propositions, model, notes.")
    ] = "",
    limit: Annotated[int | None, typer.Option(help="The newest so many.")] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """List the runs of this home, the newest last: state, p with its change, outcome, Brier score, age, next review.

    Leaves with exit code 6 if the records of a run cannot be read.
    """
    store = open_store()
    rows = documents.runs(store, tags=tag or (), search=search, limit=limit)
    damaged = any("unreadable" in row for row in rows)
    if as_json:
        emit_json(rows)
    else:
        _print(rows, store.home, chosen=bool(tag or search))
    if damaged:
        raise typer.Exit(WANTING)


def _print(rows: list[dict[str, Any]], home: Path, *, chosen: bool) -> None:
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
            *((_change(row),) if moved else ()),
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


def _change(row: dict[str, Any]) -> str:
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
