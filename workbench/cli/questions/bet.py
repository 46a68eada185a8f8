"""``questions bet`` and ``submit``: what to do with forecasts of a set: stakes against quoted asks, and a tournament's file."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from proxies import input_files
from proxies.input_files import InputRefused
from workbench.cli.common import AsJson, command, echo, emit_json, open_store, say, unlisted
from workbench.cli.science.science_options import ForecastsFile
from workbench.cli.table import show_table
from workbench.errors import WANTING, UsageError
from workbench.operations.forecast_files import write_csv
from workbench.output_files import write_output
from workbench.questions.formats.format_registry import read_text
from workbench.questions.question import check_day
from workbench.questions.sets.bets import (
    LOG_COLUMNS,
    BetRules,
    bets_document,
    new_trades,
    read_log,
    settled_document,
)
from workbench.questions.sets.question_sets import QuestionSet, load_set
from workbench.questions.sets.set_scores import events_table
from workbench.questions.sets.submission_files import (
    FORMS,
    check_metaculus_forecasts,
    check_submission,
    metaculus_forecasts,
    read_rationales,
    submission,
    within,
)
from workbench.science.documents.score_documents import pooled_forecasts
from workbench.science.tables import read_forecasts

SetName = Annotated[str, typer.Argument(metavar="SET", help="Name of a set.")]
Method = Annotated[str, typer.Option("--method", help="Whose forecasts; needed where the file has several.")]
Pool = Annotated[str, unlisted("--pool", help="How trials are pooled.")]


@command
def bet(
    name: SetName,
    forecasts: ForecastsFile,
    method: Method = "",
    pool: Pool = "logit-mean",
    risk_aversion: Annotated[float, typer.Option("--risk-aversion", help="CRRA exponent; 1 is Kelly.")] = 1.0,
    fee: Annotated[float, typer.Option(help="Dollars a share on top of the ask.")] = 0.0,
    cap: Annotated[float, unlisted(help="Most of the bankroll in one question.")] = 0.1,
    total_cap: Annotated[
        float,
        unlisted("--total-cap", help="Most of the bankroll in all questions together."),
    ] = 1.0,
    bankroll: Annotated[float, typer.Option(help="Dollars.")] = 1000.0,
    stop_days: Annotated[int, unlisted("--stop-days", help="No bet so many days before the close.")] = 0,
    today: Annotated[str | None, unlisted(help="ISO day; today in UTC without it.")] = None,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="Add the paper trades to this CSV file; `questions settle` reads it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Size paper trades on the open questions of a set, out of one bankroll: costs, spread, caps, and exclusive options together."""
    questions = load_set(open_store(), name)
    rules = BetRules(
        risk_aversion=risk_aversion,
        fee=fee,
        cap=cap,
        total_cap=total_cap,
        stop_days=stop_days,
        bankroll=bankroll,
        today=check_day(today or datetime.now(UTC).date().isoformat(), of="--today"),
    )
    document = bets_document(questions, pooled_events(questions, forecasts, method, pool), rules)
    columns = ["event", "side", "p", "price", "edge", "dollars", "shares", "expected", "worst"]
    rows = [[row[column] for column in columns] for row in document["bets"]]
    if log is not None:
        _log_trades(log, document["bets"], name=name, day=rules.today)
    if as_json:
        emit_json(document)
        return
    show_table(columns, rows)
    for row in document["passed"]:
        say(f"no bet: {row['question']}: {row['reason']}")
    if document["scale"] < 1:
        say(
            f"stakes are scaled down to {document['scale']:.1%}: question by question they would be "
            f"{document['staked'] / document['scale'] if document['scale'] else 0:.2f}"
        )
    echo(f"staked {document['staked']:.2f} of {bankroll:.2f}; the worst case is {document['worst']:+.2f}")


def _log_trades(path: Path, bets: list[dict[str, Any]], *, name: str, day: str) -> None:
    logged = read_log(_text_of(path), name=path.name) if os.path.exists(path) else []
    added = new_trades(bets, logged, name=name, day=day)
    write_csv(path, LOG_COLUMNS, [[row[column] for column in LOG_COLUMNS] for row in (*logged, *added)])
    if len(added) < len(bets):
        say(f"{len(bets) - len(added)} of {len(bets)} bets of {day} stood in {path.name} already")


def _text_of(path: Path) -> str:
    try:
        return input_files.read_text(path)
    except InputRefused as error:
        raise UsageError(str(error)) from None


@command
def settle(
    name: SetName,
    log: Annotated[Path, typer.Option("--log", help="Paper trades that `questions bet --log` wrote.")],
    edge_by: Annotated[
        str,
        unlisted(
            "--edge-by",
            help="own: by the forecast at the time; quotes: by the set's newest quotes.",
        ),
    ] = "own",
    as_json: AsJson = False,
) -> None:
    """What logged bets came to, each gain split into the edge it was made with and the luck of its outcome."""
    document = settled_document(
        load_set(open_store(), name), read_log(_text_of(log), name=log.name), edge_by=edge_by
    )
    if as_json:
        emit_json(document)
        return
    columns = ["day", "event", "side", "p", "price", "dollars", "gain", "edge", "luck"]
    show_table(columns, [[row[column] for column in columns] for row in document["settled"]])
    for row in document["waiting"]:
        say(f"waiting: {row['event']} of {row['day']}: {row['reason']}")
    total = document["total"]
    z = "" if total["luck_z"] is None else f" ({total['luck_z']:+.1f} standard deviations of luck)"
    echo(
        f"{total['bets']} bets, {total['dollars']:.2f} staked: gain {total['gain']:+.2f} = "
        f"edge {total['edge']:+.2f} + luck {total['luck']:+.2f}{z}"
    )


@command
def submit(
    form: Annotated[str, typer.Argument(help="forecastbench, prophet or metaculus.")],
    name: SetName,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; nothing is sent.")],
    forecasts: Annotated[
        Path | None, typer.Option("--forecasts", help="CSV: method, event_id, trial or variant, p.")
    ] = None,
    night: Annotated[
        str | None,
        unlisted("--night", help="Take forecasts and rationales from this round of the set."),
    ] = None,
    rationales: Annotated[
        Path | None,
        unlisted("--rationales", help="JSON: question id to text; a round has its own."),
    ] = None,
    method: Method = "",
    pool: Pool = "logit-mean",
    organization: Annotated[str, unlisted(help="Who forecasts.")] = "",
    model: Annotated[str, unlisted(help="With what.")] = "",
    partial: Annotated[
        bool, typer.Option("--partial", help="Leave out questions without a forecast.")
    ] = False,
    least: Annotated[
        float, unlisted("--least", help="No probability leaves nearer to 0 or 1 than this.")
    ] = 0.01,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing: read the file that is there and say what is wrong with it."
        ),
    ] = False,
) -> None:
    """Write forecasts of a set as a tournament takes them, checked field by field; uploading is yours."""
    store = open_store()
    questions = load_set(store, name)
    if form not in FORMS:
        raise UsageError(f"a submission is for {', '.join(FORMS)}, not {form!r:.40}")
    beside = output.with_suffix(".json")
    if form == "metaculus":  # comments, and the forecasts beside them
        output = output.with_suffix(".md")
    if check:
        problems = check_submission(read_text(output), form, questions)
        if form == "metaculus":
            problems += check_metaculus_forecasts(read_text(beside), questions)
        _say_problems(problems)
        echo(f"{output}: as {form} wants it")
        return
    if (forecasts is None) == (night is None):
        raise UsageError("forecasts come from one place: --forecasts FILE, or --night NAME")
    words = read_rationales(read_text(rationales)) if rationales is not None else {}
    quantiles: Mapping[str, Mapping[str, float | str]] = {}
    if night is not None:
        from workbench.studies.rounds.round_page import rationales as night_words
        from workbench.studies.rounds.round_page import write_round
        from workbench.studies.rounds.round_state import load_round

        results, folder = write_round(store, load_round(store, night))
        if results.night.set_name != name:
            raise UsageError(f"round {results.night.name} is of set {results.night.set_name}, not of {name}")
        forecasts, method = folder / "forecasts.csv", method or "final"
        if results.record is not None:
            say(
                results.record.line()
                + ("; --method raw hands in what was said" if results.record.corrects else "")
            )
        words, quantiles = {**night_words(results), **words}, results.quantiles
    assert forecasts is not None
    p = within(questions, pooled_events(questions, forecasts, method, pool), least)
    text, left_out = submission(
        questions,
        p,
        form,
        organization=organization,
        model=model,
        rationales=words,
        partial=partial,
    )
    problems = check_submission(text, form, questions)
    if not partial:
        _say_problems(problems)
    write_output(output, text.encode())
    if form == "metaculus":
        entries = metaculus_forecasts(questions, p, quantiles)
        write_output(beside, (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode())
        echo(f"{beside}")
    for line in (*left_out, *problems):
        say(f"left out: {line}" if line in left_out else f"beware: {line}")
    echo(f"{output}")


def _say_problems(problems: list[str]) -> None:
    for problem in problems:
        say(f"workbench: {problem}")
    if problems:
        raise typer.Exit(WANTING)


def pooled_events(questions: QuestionSet, path: Path, method: str, how: str) -> dict[str, float]:
    """One probability per event out of a file of forecasts; `decide` reads them so too."""
    table = events_table(list(questions.questions.values()), path=Path(f"set {questions.name}"))
    values = read_forecasts(path, table)
    if not method and len(values.methods) > 1:
        raise UsageError(f"{path} has the methods {', '.join(values.methods[:10])}: --method names one")
    p = pooled_forecasts(values, method or values.methods[0], how=how)
    return {
        event: float(value)
        for event, value in zip(table.event_id.tolist(), p, strict=True)
        if np.isfinite(value)
    }
