"""``decide``, ``coherence`` and ``diff``: several runs together, as options of one decision (paper A, C.1 and 5.1), as claims that must agree, as answers before and after."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import AsJson, command, echo, emit_json, open_store, say, unlisted
from workbench.cli.table import show_table
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.operations.bets import pooled_events
from workbench.questions.question import QuestionError, event_id, parts_of
from workbench.questions.sets.choices import ChoiceRules, choice_document, linked_document
from workbench.questions.sets.question_sets import QuestionSet, load_set
from workbench.studies.rounds.round_coherence import set_findings
from workbench.views import tree_questions
from workbench.whatif.run_edits import require_grounded


@command
def decide(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="One run per option, in the question's order; a single run stands against its negation."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Above this a driver counts as true; the run's preset says without it."),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            "--question", metavar="SET/ID", help="Weigh the choices of this question by what they pay."
        ),
    ] = None,
    forecasts: Annotated[
        Path | None,
        unlisted("--forecasts", help="Forecasts of its events, instead of runs: CSV or parquet."),
    ] = None,
    method: Annotated[str, unlisted("--method", help="Whose forecasts.")] = "",
    pool: Annotated[str, unlisted("--pool", help="How trials are pooled.")] = "logit-mean",
    payoff: Annotated[
        list[str] | None,
        typer.Option(
            "--payoff", help="OPTION=VALUE: what a dollar on it comes back as if it comes true; else 1 / ask."
        ),
    ] = None,
    linked: Annotated[
        bool,
        unlisted(
            "--linked",
            help="Weigh the question together with all that are linked to it (conditional, implied, excluded); --payoff ID=VALUE then.",
        ),
    ] = False,
    horizon: Annotated[str, unlisted(help="Which resolution day of a question with several.")] = "",
    risk_aversion: Annotated[float, unlisted("--risk-aversion", help="CRRA exponent; 1 is Kelly.")] = 1.0,
    fee: Annotated[float, unlisted(help="Dollars a share on top of the ask.")] = 0.0,
    cap: Annotated[float, unlisted(help="Most that is staked in all, as a share of wealth.")] = 0.1,
    as_json: AsJson = False,
) -> None:
    """Turn the claims of runs into the probabilities of exclusive options and name the one to take.

    With --question the choices of a question of any kind are weighed by what they pay: both sides of its quoted asks, or
    --payoff; levels and days, which are nested, are sized together.
    """
    if question is not None:
        if bool(runs) == (forecasts is not None):
            raise UsageError("--question wants forecasts of its events: runs, one per event, or --forecasts")
        _decide_question(
            question,
            runs or [],
            forecasts,
            method=method,
            pool=pool,
            linked=linked,
            payoffs=_payoffs(payoff or []),
            risk_aversion=risk_aversion,
            fee=fee,
            cap=cap,
            horizon=horizon,
            as_json=as_json,
        )
        return
    if not runs:
        raise UsageError("which runs? one per option, or --question SET/ID with --forecasts FILE")
    if payoff or linked or forecasts is not None:
        raise UsageError("--payoff, --linked and --forecasts go with --question SET/ID")
    _decide_runs(runs, threshold, as_json=as_json)


def _decide_runs(runs: list[str], threshold: float | None, *, as_json: bool) -> None:
    store = open_store()
    states = [load_state(store, store.resolve_run(run)) for run in runs]
    document = tree_questions.decision(states, threshold)
    if as_json:
        emit_json(document)
        return
    for row in document["options"]:
        echo(f"{percent(row['probability']):>7}  {row['option']}")
    echo(f"decision: {document['decision']} (threshold {document['threshold']:g})")


def _payoffs(words: list[str]) -> dict[str, float]:
    values = {}
    for word in words:
        option, sign, value = word.rpartition("=")
        try:
            values[option] = float(value)
        except ValueError:
            sign = ""
        if not sign or not option or not 0 <= values[option] < float("inf"):
            raise UsageError(f"--payoff is OPTION=VALUE with a value of at least 0, not {word!r:.60}")
    return values


def _decide_question(
    reference: str,
    runs: list[str],
    forecasts: Path | None,
    *,
    method: str,
    pool: str,
    linked: bool,
    as_json: bool,
    **rules: Any,
) -> None:
    store = open_store()
    name, _, own = reference.partition("/")
    questions = load_set(store, name)
    entry = questions[own]
    if linked:
        if forecasts is None:
            raise UsageError("--linked wants the forecasts of all linked questions: --forecasts FILE")
        p = pooled_events(questions, forecasts, method, pool)
        _decide_linked(questions, entry.id, p, ChoiceRules(**rules), as_json=as_json)
        return
    p = (
        _roots(entry, runs, str(rules["horizon"]))
        if forecasts is None
        else pooled_events(questions, forecasts, method, pool)
    )
    document = {"set": name, **choice_document(entry, p, ChoiceRules(**rules))}
    if as_json:
        emit_json(document)
        return
    for row in document["states"]:
        echo(f"{percent(row['p']):>7}  {row['state']}")
    if document["mended"] > 0.005:
        say(f"the forecasts contradicted each other and were moved by up to {percent(document['mended'])}")
    _show_choices(document, ["choice", "p", "pays", "expected", "stake"])
    echo(f"decision: {document['decision']}")
    if document["worth"] is not None:
        echo(
            f"it was worth {document['worth']['payoff']:.4f} (best {document['worth']['best']:.4f}, worst {document['worth']['worst']:.4f})"
        )


def _decide_linked(
    questions: QuestionSet, own: str, p: Mapping[str, float], rules: "ChoiceRules", *, as_json: bool
) -> None:
    """Say what does not fit together among the linked forecasts, the nearest that do, and the bets on them."""
    document = {"set": questions.name, **linked_document(questions.questions, own, p, rules)}
    linked = [questions[name] for name in document["linked"]]
    findings = set_findings(linked, {question.id: p[question.id] for question in linked})
    document["findings"] = [finding.to_json() for finding in findings]
    if as_json:
        emit_json(document)
        return
    for finding in findings:
        say(finding.message)
    for row in document["forecasts"]:
        moved = "" if abs(row["p"] - row["stated"]) < 5e-4 else f" (stated {percent(row['stated'])})"
        echo(f"{percent(row['p']):>7}  {row['question']}{moved}")
    _show_choices(document, ["choice", "pays", "expected", "stake"])
    echo(f"decision: {document['decision']}")


def _show_choices(document: dict[str, Any], columns: list[str]) -> None:
    if document["choices"]:
        show_table(columns, [[row[column] for column in columns] for row in document["choices"]])
        sized = document["portfolio"]
        echo(
            f"stake {percent(sized['staked'])}: expected {sized['expected']:+.4f}, worst {sized['worst']:+.4f}, "
            f"worth a certain {sized['certain']:+.4f}"
        )


def _roots(entry: Any, runs: list[str], horizon: str) -> dict[str, float]:
    """Roots of runs as forecasts of a question's events; of two exclusive options one run will do."""
    store = open_store()
    roots = []
    for run in runs:
        state = load_state(store, store.resolve_run(run))
        require_grounded(state)
        roots.append(state.tree.root.p or 0.0)
    parts = parts_of(entry)
    if entry.kind == "options" and entry.exclusive and len(parts) == 2 and len(roots) == 1:
        roots.append(1.0 - roots[0])
    if len(roots) != len(parts):
        raise QuestionError(
            f"question {entry.id} has {len(parts)} events, {len(roots)} runs were named: one each, in their order"
        )
    own = horizon if len(entry.horizons) > 1 else ""
    return {event_id(entry.id, part, own): p for part, p in zip(parts, roots, strict=True)}
