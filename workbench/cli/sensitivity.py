"""``sensitivity``: what each leaf does to the root, and what to ground next."""

from typing import Annotated, Any

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, echo, emit_json, open_store
from workbench.cli.table import show_table
from workbench.engine import documents
from workbench.engine.run.fold import load_state
from workbench.formatting import percent
from workbench.synthesis.sensitivity.assumptions import assumption_detail

#: Pairs of leaves whose errors go together that are named.
_PAIRS = 5


@command
def sensitivity(
    run: Annotated[str, RUN],
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Also the reachable range, the root's band, and what to ground next; changes --json.",
        ),
    ] = False,
    reference: Annotated[
        str,
        typer.Option(
            help="What contributions are counted from: zero, half, base-rate, market, or a probability."
        ),
    ] = "zero",
    two: Annotated[
        str | None, typer.Option("--two", help="LEAF,LEAF: the root over a grid of both; alone in --json.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For the band where it must be simulated.")] = 0,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Print what each leaf does to the root: its path weight, the root's range, its contribution."""
    store = open_store()
    state = load_state(store, store.resolve_run(run))
    if two is not None:
        _show_two(documents.two_way_sensitivity(state, two), as_json=as_json)
        return
    full = documents.sensitivity_report(store, state, seed=seed) if report else None
    rows = documents.sensitivity(state, reference) if full is None else full["tornado"]
    if as_json:
        emit_json(rows if full is None else full)
        return
    statements = {row["id"]: assumption_detail(state.tree, row["id"]) for row in rows}
    _show_tornado(rows, statements)
    if full is not None:
        _show_report(full, statements)


def _show_tornado(rows: list[dict[str, Any]], statements: dict[str, str]) -> None:
    lines = [
        (
            row["id"],
            None if row["path_weight"] is None else f"{row['path_weight']:+.4f}",
            percent(row["p"]),
            percent(row["low"]),
            percent(row["high"]),
            None if row["contribution"] is None else f"{100 * row['contribution']:+.1f} pts",
            statements[row["id"]],
        )
        for row in rows
    ]
    header = ("leaf", "weight", "p", "lowest", "highest", "contribution", "statement")
    show_table(header, lines)


def _show_two(document: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        emit_json(document)
        return
    header = (
        f"{document['first']} \\ {document['second']}",
        *(percent(value) for value in document["values"]),
    )
    pairs = zip(document["values"], document["roots"], strict=True)
    show_table(header, [(percent(value), *(percent(root) for root in roots)) for value, roots in pairs])


def _show_report(document: dict[str, Any], statements: dict[str, str]) -> None:
    low, high = document["reachable"]
    echo(
        f"\nroot {percent(document['root'])}; whatever the leaves turn out, {percent(low)} to {percent(high)}"
    )
    band = document["band"]
    if band is None:
        echo("no band: one trial a leaf (analyze --trials 2), no refits (`workbench refit`)")
    else:
        echo(f"band {band['line']}")
    if pairs := document["correlations"]:
        shown = ", ".join(f"{row['a']} and {row['b']} {row['correlation']:+.2f}" for row in pairs[:_PAIRS])
        more = f", and {len(pairs) - _PAIRS} more pairs (--json)" if len(pairs) > _PAIRS else ""
        echo(f"errors of leaves that go together: {shown}{more}")
    echo("")
    lines = [
        (
            row["id"],
            None if row["reground"] is None else f"{row['reground']:.6f}",
            row["trials"],
            "unknown" if row["cost"] is None else row["cost"],
            statements[row["id"]],
        )
        for row in document["ground_next"]
    ]
    header = ("ground next", "variance cut", "trials", "$ a trial", "statement")
    show_table(header, lines)
