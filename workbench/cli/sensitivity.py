"""``sensitivity``: what each leaf does to the root, and what to ground next."""

from typing import Annotated, Any

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, emit_json, open_store


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
    seed: Annotated[int, typer.Option(help="For the band where it must be simulated.")] = 0,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Print what each leaf does to the root: its path weight, the root's range, its contribution."""
    from workbench.engine.run.state import load_state
    from workbench.engine.tree_documents import sensitivity_rows
    from workbench.engine.whatif.edits import require_grounded
    from workbench.engine.whatif.sensitivity import run_sensitivity

    store = open_store()
    state = load_state(store, store.resolve_run(run))
    require_grounded(state)
    document = run_sensitivity(store, state, seed=seed) if report else None
    rows = document["tornado"] if document else sensitivity_rows(state.tree)
    if as_json:
        emit_json(document if document is not None else rows)
        return
    statements = {node.id: node.statement for node in state.tree.propositions()}
    typer.echo("\n".join(_tornado_lines(rows, statements)))
    if document is not None:
        typer.echo("\n".join(["", *_report_lines(document, statements)]))


def _tornado_lines(rows: list[dict[str, Any]], statements: dict[str, str]) -> list[str]:
    from workbench.engine.wording import percent

    lines = [f"{'leaf':10}{'weight':>8}{'p':>8}{'lowest':>9}{'highest':>9}{'contribution':>14}"]
    for row in rows:
        weight = "-" if row["path_weight"] is None else f"{row['path_weight']:+.4f}"
        share = "-" if row["contribution"] is None else f"{100 * row['contribution']:+.1f} pts"
        span = f"{percent(row['low']):>9}{percent(row['high']):>9}"
        lines.append(
            f"{row['id']:10}{weight:>8}{percent(row['p']):>8}{span}{share:>14}  {statements[row['id']]}"
        )
    return lines


def _report_lines(document: dict[str, Any], statements: dict[str, str]) -> list[str]:
    from workbench.engine.wording import percent

    low, high = document["reachable"]
    lines = [
        f"root {percent(document['root'])}; whatever the leaves turn out, {percent(low)} to {percent(high)}"
    ]
    band = document["uncertainty"]
    if band is None:
        lines.append("no band from the trials: a leaf needs at least two (analyze --trials 2)")
    else:
        lines.append(
            f"90% band from the spread of the trials: {percent(band['low'])} to {percent(band['high'])} ({band['method']})"
        )
    lines += ["", f"{'ground next':12}{'variance cut':>14}{'trials':>8}{'$ a trial':>11}"]
    for row in document["ground_next"]:
        cut = "-" if row["reground"] is None else f"{row['reground']:.6f}"
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f}"
        lines.append(f"{row['id']:12}{cut:>14}{row['trials']:>8}{cost:>11}  {statements[row['id']]}")
    return lines
