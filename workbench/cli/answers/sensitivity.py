"""``sensitivity``, ``noise`` and ``refit``: what each leaf does to the root, what to look at next, how far weights can be trusted."""

import asyncio
from typing import Annotated, Any

import typer

from workbench.cli.common import AsJson, RunId, command, confirm, echo, emit_json, open_store, say, unlisted
from workbench.cli.table import show_table
from workbench.engine.assembly import open_gateway
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.formatting import percent, point_change
from workbench.synthesis.sensitivity.assumptions import assumption_detail
from workbench.views import tree_questions
from workbench.whatif.full_resynthesis import price_line
from workbench.whatif.run_refits import refit_nodes


@command
def refit(
    run: RunId,
    k: Annotated[int, typer.Option("--k", help="How often the synthesizer is asked for each driver.")] = 5,
    node: Annotated[list[str] | None, typer.Option(help="This inner driver only; repeat for more.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before paying.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the synthesizer again K times per inner driver and print how far its weights spread and change sign."""
    store = open_store()
    state = load_state(store, store.resolve_run(run))
    nodes = refit_nodes(state, tuple(node or ()))
    if k < 2:
        raise UsageError(f"a spread needs at least 2 refits, not --k {k}")
    say(price_line(state, nodes, times=k))
    confirm("go on?", yes=yes)
    gateway = open_gateway(store, state)
    document = asyncio.run(tree_questions.refits(store, state, nodes, k, gateway))
    if as_json:
        emit_json(document)
        return
    lines = []
    for row in document["nodes"]:
        failed = "every reply was unusable  " if row["value"] is None else ""
        if row["failed"] and row["value"] is not None:
            failed = f"({row['failed']} unusable)  "
        lines.append((row["id"], "value", *_spread(row["value"]), f"{failed}{row['statement']}"))
        for name, spread in (row["coefficients"] or {}).items():
            lines.append(("", name, *_spread(spread), "SIGN FLIPS" if spread["flips"] else ""))
        for formula, count in (row["formulas"] or {}).items():
            lines.append(("", "formula", *_spread(None), f"{count} x {formula}"))
        for warning in row["warnings"]:
            say(f"{row['id']}: {warning}")
    show_table(("driver", "of", "mean", "sd", "low", "high", "notes"), lines)
    echo(f"{document['model_calls']} model calls; the run is unchanged")


def _spread(spread: dict[str, Any] | None) -> tuple[float | None, ...]:
    return tuple(None if spread is None else spread[name] for name in ("mean", "sd", "low", "high"))


@command
def noise(
    run: RunId,
    kind: Annotated[
        str,
        typer.Option(help="normal: p + N(0, level); uncertain: 0.5, reverse: 1 - p, with probability level."),
    ] = "normal",
    level: Annotated[float, typer.Option(help="In [0, 1]; 0 disturbs nothing.")] = 0.1,
    seed: Annotated[int, unlisted(help="The same seed gives the same draws.")] = 0,
    draws: Annotated[int, unlisted(help="Disturbed copies of the tree.")] = 200,
    as_json: AsJson = False,
) -> None:
    """Disturb the drivers and print the claim's distribution; no model is asked."""
    store = open_store()
    state = load_state(store, store.resolve_run(run))
    study = tree_questions.noise(state, kind, level, seed=seed, draws=draws)
    if as_json:
        emit_json(study)
        return
    echo(
        f"claim {percent(study['root'])} undisturbed; {draws} draws of {kind} noise, level {level:g}, seed {seed}"
    )
    echo(f"mean {percent(study['mean'])}, standard deviation {100 * study['sd']:.1f} points")
    show_table(
        [f"{share}%" for share in study["quantiles"]],
        [[percent(value) for value in study["quantiles"].values()]],
    )
    counts = [0] * 20
    for value in study["values"]:
        counts[min(19, int(20 * value))] += 1
    bars = [
        (f"{5 * place}-{5 * place + 5}%", count, "#" * max(1, round(40 * count / max(counts))))
        for place, count in enumerate(counts)
        if count
    ]
    show_table(("claim", "draws", ""), bars)


#: Pairs of leaves whose errors go together that are named.
_PAIRS = 5


@command
def sensitivity(
    run: RunId,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Also the reachable range, the claim's band, and what to look at next; changes --json.",
        ),
    ] = False,
    reference: Annotated[
        str,
        typer.Option(
            help="What contributions are counted from: zero, half, base-rate, market, or a probability."
        ),
    ] = "zero",
    seed: Annotated[int, unlisted(help="For the band where it must be simulated.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Print what each driver does to the claim: its path weight, the claim's range, its contribution."""
    store = open_store()
    state = load_state(store, store.resolve_run(run))
    full = tree_questions.sensitivity_report(store, state, seed=seed) if report else None
    rows = tree_questions.sensitivity(state, reference) if full is None else full["tornado"]
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
            None if row["contribution"] is None else point_change(0.0, row["contribution"]),
            statements[row["id"]],
        )
        for row in rows
    ]
    header = ("driver", "weight", "p", "lowest", "highest", "contribution", "statement")
    show_table(header, lines)


def _show_report(document: dict[str, Any], statements: dict[str, str]) -> None:
    low, high = document["reachable"]
    echo(
        f"\nclaim {percent(document['root'])}; whatever the drivers turn out, {percent(low)} to {percent(high)}"
    )
    band = document["band"]
    if band is None:
        echo(f"no band: {document['no_band']}")
    else:
        echo(f"band {band['line']}")
    if pairs := document["correlations"]:
        shown = ", ".join(f"{row['a']} and {row['b']} {row['correlation']:+.2f}" for row in pairs[:_PAIRS])
        more = f", and {len(pairs) - _PAIRS} more pairs (--json)" if len(pairs) > _PAIRS else ""
        echo(f"errors of drivers that go together: {shown}{more}")
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
    header = ("look at next", "variance cut", "trials", "$ a trial", "statement")
    show_table(header, lines)
    if note := document["ground_next_note"]:
        say(note)
