"""``judge``, ``leaks``, ``grounders`` and ``redteam``: what other models and the records say of a finished run."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from proxies.input_files import MOST_TEXT_BYTES, InputRefused, parse_csv_rows, read_text
from workbench.agents.judges import DIMENSIONS
from workbench.annotations.case_against import price_of_case, red_team, with_model
from workbench.annotations.entries import keep_case
from workbench.annotations.second_opinions import audit_leaks, require_judge
from workbench.cli.common import (
    ApiBase,
    AsJson,
    Prices,
    RunId,
    command,
    confirm,
    echo,
    emit_json,
    open_store,
    say,
    unlisted,
)
from workbench.cli.table import show_table
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.assembly import open_gateway
from workbench.engine.named_settings import read_prices
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import WANTING, UsageError
from workbench.store import Store
from workbench.views import check_documents
from workbench.whatif.run_edits import require_grounded


@command
def redteam(
    run: RunId,
    model: Annotated[
        str | None, typer.Option(help="Another model than the run's critic, or than its own.")
    ] = None,
    api_base: Annotated[
        str | None, unlisted(help="Base URL of an OpenAI-compatible server, for --model.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before paying.")] = False,
    as_json: AsJson = False,
) -> None:
    """Have an agent write the strongest case against the answer, show what it would do to it, and keep it as a note.

    The case is never taken by itself: the printed `whatif` line tries it.
    """
    store = open_store()
    state = with_model(load_state(store, store.resolve_run(run)), model, api_base)
    require_grounded(state)
    say(price_of_case(state))
    confirm("go on?", yes=yes)
    result = asyncio.run(red_team(store, state, open_gateway(store, state)))
    keep_case(store, result)
    if as_json:
        emit_json(result.to_json())
    else:
        echo("\n".join(result.lines()))


_MODEL = typer.Option(
    help="The model that reads: provider/model; the run's own for the role judge without it."
)


@command
def judge(
    run: RunId,
    node: Annotated[list[str] | None, typer.Option(help="This driver only; repeat for more.")] = None,
    model: Annotated[str | None, _MODEL] = None,
    api_base: ApiBase = None,
    price: Prices = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="CSV of a person's scores: `leaf`, sources, evidence, combination, uncertainty, mapping."
        ),
    ] = None,
    recall: Annotated[
        bool,
        typer.Option(
            "--recall", help="Ask the run's own model instead whether it remembers how these came out."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score the reasoning of a run's drivers from 1 to 5 in five dimensions; the run is unchanged."""
    if recall and (node or model or against):
        raise UsageError(
            "--recall asks the run's own model of everything: leave out --node, --model and --against"
        )
    people = None if against is None else read_scores(against)
    store = open_store()
    state = load_state(store, store.resolve_run(run))
    if recall:
        require_judge(state, state.settings.model, other_family=False)
        document = asyncio.run(check_documents.recall(store, state, open_gateway(store, state)))
        _show_recall(document, as_json=as_json)
        return
    name = require_judge(state, model, other_family=False)
    gateway = _judging(store, state, name, api_base, price)
    document = asyncio.run(
        check_documents.judge(store, state, gateway, model=name, nodes=tuple(node or ()), people=people)
    )
    if as_json:
        emit_json(document)
        return

    lines = [
        (
            row["node"],
            *((row["scores"] or {}).get(name) for name in DIMENSIONS),
            row["mean"],
            row["statement"],
        )
        for row in document["reports"]
    ]
    show_table(("driver", *DIMENSIONS, "mean", "statement"), lines)
    if (compared := document["against"]) is not None:
        gaps = ", ".join(
            f"{name} {row['mean_absolute_difference']:.2f}" for name, row in compared["dimensions"].items()
        )
        echo(
            f"mean absolute difference to the person's {compared['n']} reports: {compared['mean_absolute_difference']:.2f} ({gaps})"
        )
    echo(f"judged by {document['model']} in {document['model_calls']} calls; the run is unchanged")


def _judging(
    store: Store, state: RunState, name: str, api_base: str | None, price: list[str] | None
) -> ModelGateway:
    state = with_model(state, None if api_base is None else name, api_base, read_prices(price or ()))
    return open_gateway(store, state, judge=name)


def _read_by(
    store: Store,
    run_ids: list[str],
    model: str | None,
    api_base: str | None,
    price: list[str] | None,
    *,
    kinds: tuple[str, ...] = ("result", "reasoning"),
) -> None:
    if model is None:
        if api_base or price:
            raise UsageError("--api-base and --price are those of --model: name it")
        return
    # Every run before the first request: a refusal in the middle would leave some read and some not.
    states = [load_state(store, run_id) for run_id in run_ids]
    for state in states:
        require_judge(state, model, other_family=True)
    for state in states:
        gateway = _judging(store, state, model, api_base, price)
        asyncio.run(audit_leaks(store, state, gateway, model, kinds=kinds))


@command
def leaks(
    runs: Annotated[list[str], typer.Argument(help="Run ids, beginnings of some, or last.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="Have this model, of another family than wrote the runs, read them now; without it what is on record."
        ),
    ] = None,
    api_base: ApiBase = None,
    price: Prices = None,
    memory: Annotated[
        bool,
        typer.Option(
            "--memory",
            help="Look instead, by rule, for later facts that the runs' own model wrote and was not shown; --model reads its reports too.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count what a second model, and the date rules, call late in what runs kept; exit 6 where both call a kept result late."""
    store = open_store()
    run_ids = list(dict.fromkeys(store.resolve_run(run) for run in runs))
    if memory:
        _read_by(store, run_ids, model, api_base, price, kinds=("reasoning",))
        _show_memory(check_documents.memory(store, run_ids), as_json=as_json)
        if model is not None and not as_json:
            echo(_rate_line("reasoning", check_documents.leaks(store, run_ids)["reasoning"]))
        return
    _read_by(store, run_ids, model, api_base, price)
    document = check_documents.leaks(store, run_ids)
    if as_json:
        emit_json(document)
    else:
        show_table(
            ("the model says", "late by the date rules", "not late"),
            [(verdict, row["late"], row["not late"]) for verdict, row in document["table"].items()],
        )
        for kind in ("results", "reasoning"):
            echo(_rate_line(kind, document[kind]))
        for row in document["suspects"]:
            say(f"{row['model']}: {row['where']} ({row['run_id']}, {row['node']}): {row['quote']}")
    if document["late_by_both"]:
        raise typer.Exit(WANTING)


@command
def grounders(
    run: Annotated[str | None, typer.Argument(help="Run id, the beginning of one, or last.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print which grounder each driver of a run went to and why; without a run how each grounder's resolved drivers came out."""
    store = open_store()
    document = check_documents.grounders(store, None if run is None else store.resolve_run(run))
    if as_json:
        emit_json(document)
        return
    if run is None:
        if not document["record"]:
            say("no driver is resolved yet: `workbench resolve RUN --leaves`, or `resolve RUN yes --node P1`")
        show_table(
            ("grounder", "resolved drivers", "Brier", "low", "high", "runs", "clusters", "$ a trial"),
            [
                (
                    name,
                    row["n"],
                    row["brier"],
                    *(row["interval"] or (None, None)),
                    row["runs"],
                    row["clusters"],
                    row["cost_usd"],
                )
                for name, row in document["record"].items()
            ],
        )
        if document["bias"]:
            echo("")
            show_table(
                ("bias", "drivers", "p - outcome", "runs", "clusters", "of the claim", "low", "high"),
                [
                    (
                        name,
                        *(row[key] for key in ("leaves", "leaf_bias", "runs", "clusters", "claim_bias")),
                        *(row["interval"] or (None, None)),
                    )
                    for name, row in document["bias"].items()
                ],
            )
        for row in document["together"]:
            echo(
                f"{row['grounders']}, pooled on {row['n']} drivers: Brier {row['brier']:.3f}, the parts' mean {row['parts']:.3f}; "
                f"{row['spread']:.2f} apart on average"
            )
        return
    show_table(
        ("grounder", "drivers", "mean p", "model calls", "$ a trial", "resolved", "Brier"),
        [
            (name, *(row[key] for key in ("leaves", "mean_p", "model_calls", "cost_usd", "n", "brier")))
            for name, row in document["by_grounder"].items()
        ],
    )
    echo("")
    show_table(
        ("driver", "p", "grounders", "apart", "by", "calls", "$ a trial", "why"),
        [
            (
                row["node"],
                row["p"],
                ", ".join(f"{name} {p:.2f}" for name, p in row["grounders"].items()),
                row["spread"] if len(row["grounders"]) > 1 else None,
                row["by"],
                row["model_calls"],
                row["cost_usd"],
                "; ".join([row["reason"], *(f"{name}: {why}" for name, why in row["failed"].items())]),
            )
            for row in document["leaves"]
        ],
    )


def read_scores(path: Path) -> dict[str, dict[str, float]]:
    """Return a person's scores by leaf from a CSV file; raises ``UsageError`` that names the line."""
    try:
        rows = parse_csv_rows(read_text(path, most=MOST_TEXT_BYTES), str(path))
    except InputRefused as error:
        raise UsageError(f"--against: {error}") from None
    scores: dict[str, dict[str, float]] = {}
    for number, row in enumerate(rows, 2):
        try:
            node = str(row["node"]).strip()
            values = {name: float(row[name]) for name in DIMENSIONS}
        except (KeyError, TypeError, ValueError):
            raise UsageError(
                f"{path}, line {number}: a score from 1 to 5 is needed for each of {', '.join(DIMENSIONS)}, and a driver in the column `node`"
            ) from None
        if node in scores or not all(1 <= value <= 5 for value in values.values()):
            raise UsageError(f"{path}, line {number}: {node} is there twice, or a score lies outside 1 to 5")
        scores[node] = values
    return scores


def _show_memory(document: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        emit_json(document)
        return
    low, high = document["wilson"]
    line = (
        f"{document['late']} of {document['leaves']} drivers hold a later fact of the model's own = {document['rate']:.1%} "
        f"(Wilson {low:.1%} to {high:.1%}"
    )
    if (drawn := document["over_runs"]) is not None:
        line += f", over runs {drawn[0]:.1%} to {drawn[1]:.1%}"
    echo(f"{line}); by rule, which sees only what names a day")
    for row in document["sentences"]:
        whose = "own" if row["own"] else "shown to it"
        say(f"{whose}: {row['run_id']}, {row['node']}, {row['stage']} {row['step']}: {row['sentence']}")


def _rate_line(kind: str, rate: dict[str, Any]) -> str:
    if rate["rate"] is None:
        return f"{kind}: none kept"
    low, high = rate["wilson"]
    line = (
        f"{kind}: {rate['leaks']} leaks in {rate['n']} = {rate['rate']:.1%} (Wilson {low:.1%} to {high:.1%}"
    )
    if rate["over_runs"] is not None:
        line += f", over runs {rate['over_runs'][0]:.1%} to {rate['over_runs'][1]:.1%}"
    return f"{line}); {rate['unsure']} unsure"


def _show_recall(document: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        emit_json(document)
        return
    show_table(
        ("driver", "remembers", "as", "outcome", "names"),
        [
            (
                row["node"],
                row["recognized"],
                row.get("recalled"),
                row.get("outcome"),
                "; ".join(row.get("facts", ())),
            )
            for row in document["rows"]
        ],
    )
    for name, words in (("recognized", "recognised"), ("misrecalled", "mis-recalled")):
        if (rate := document[name]) is not None:
            echo(
                f"{words}: {rate['rate']:.0%} of {rate['n']} (Wilson {rate['low']:.0%} to {rate['high']:.0%})"
            )
