"""``questions resolve`` and ``score``: how questions came out, and how forecasts of them did."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import AsJson, command, echo, emit_json, open_store, say, unlisted
from workbench.errors import UsageError
from workbench.questions.formats.format_registry import read_resolutions
from workbench.questions.sets import question_sets as book
from workbench.studies.rounds.resolution import resolve_from_series


@command
def resolve_questions(
    name: Annotated[str, typer.Argument(metavar="SET", help="Name of a set.")],
    question: Annotated[str | None, typer.Argument(help="Id of a question; with its answer.")] = None,
    answer: Annotated[
        str | None,
        typer.Argument(help="yes, no, a share, an option, a number or a day, as the question asks."),
    ] = None,
    on: Annotated[str | None, typer.Option(help="Day of the outcome; today unless named.")] = None,
    horizon: Annotated[str, unlisted(help="Which resolution day of a question with several.")] = "",
    source: Annotated[
        Path | None,
        typer.Option("--from", help="File of outcomes: a ForecastBench resolution set, CSV, or questions."),
    ] = None,
    author: Annotated[str, unlisted(help="Who says so: a typed name, not proved.")] = "",
    as_json: AsJson = False,
) -> None:
    """Record outcomes: of one question by hand, of many from a file, or of claims on the embedded series by themselves."""
    store = open_store()
    if question is not None and answer is not None:
        resolved = book.resolve_question(
            store, name, question, answer, horizon=horizon, day=on, author=author
        )
        count = len(resolved.outcomes) + len(resolved.values)
    elif question is not None:
        raise UsageError(
            f"what came of {question}? `workbench questions resolve {name} {question} yes|no|ANSWER`"
        )
    elif source is not None:
        entry = book.load_set(store, name)
        final = read_resolutions(source, entry.questions)
        events, targets = {event.id for event in entry.events()}, {target.id for target in entry.targets()}
        own = [each for each in final if each.event in (targets if each.numeric else events)]
        if len(own) < len(final):
            say(f"{len(final) - len(own)} outcomes of events that are not in set {name} were passed over")
        count = sum(
            record(
                store,
                name,
                {each.event: each.p for each in own if each.numeric == numeric},
                day=on,
                days={each.event: each.day for each in own if each.day and each.numeric == numeric},
                author=author,
                source="file",
            )
            for numeric, record in ((False, book.record_outcomes), (True, book.record_values))
        )
    else:
        count = asyncio.run(resolve_from_series(store, name))
    entry = book.load_set(store, name)
    left = entry.unscored()
    if as_json:
        emit_json(
            {
                "set": name,
                "recorded": count,
                "scored": len(entry.scored_events()),
                "numbers": sum(target.value is not None for target in entry.targets()),
                "unscored": [{"id": each.id, "reason": each.reason} for each in left],
            }
        )
        return
    numbers = entry.targets()
    came = sum(target.value is not None for target in numbers)
    beside = f", {came} of {len(numbers)} numbers have come" if numbers else ""
    echo(
        f"set {name}: {count} outcomes recorded, {len(entry.scored_events())} of {len(entry.events())} events can be scored{beside}"
    )
