"""``questions contexts``: what every arm reads of a question, gathered once per time and stored by its content."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from proxies.asof.clock import Cutoff
from workbench.cli.common import (
    ApiBase,
    AsJson,
    Prices,
    command,
    echo,
    emit_json,
    open_store,
    say,
    unlisted,
)
from workbench.cli.science.science_options import listed
from workbench.engine.named_settings import read_prices
from workbench.errors import PROVIDER
from workbench.output_files import write_output
from workbench.questions.question import Question
from workbench.questions.sets.question_sets import load_set
from workbench.questions.sets.schedule import HalvingSchedule, closing
from workbench.studies.contexts import context_store as book
from workbench.studies.contexts.collection import (
    GatherOptions,
    Wanted,
    context_cost,
    missing_contexts,
    open_gatherer,
)
from workbench.studies.contexts.context import SharedContext


@command
def contexts(
    reference: Annotated[
        str, typer.Argument(metavar="SET[/QUESTION]", help="A set, or one question whose contexts are shown.")
    ],
    cutoff: Annotated[
        str,
        typer.Option(help="asked (the day each question was asked, else now), now, a day, or an instant."),
    ] = "asked",
    schedule: Annotated[
        bool,
        unlisted(
            "--schedule",
            help="Every time of the halving schedule from asking to closing that has passed.",
        ),
    ] = False,
    gap_hours: Annotated[float, unlisted("--gap-hours", help="Least hours between two times.")] = 1.0,
    most: Annotated[int, unlisted("--most", help="Most times of one question.")] = 8,
    model: Annotated[
        str | None, typer.Option(help="Searches, filters, ranks and sums up; without one rules alone do.")
    ] = None,
    api_base: ApiBase = None,
    price: Prices = None,
    engines: Annotated[
        str | None, typer.Option(help="Engines by comma; all that work here without it.")
    ] = None,
    queries: Annotated[int, unlisted("--queries", help="Searches of one context.")] = 4,
    budget_usd: Annotated[float | None, typer.Option(help="Most US dollars of this session.")] = None,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Print what would be gathered and its price, and ask nobody.")
    ] = False,
    output: Annotated[
        Path | None,
        unlisted(
            "--output",
            "-o",
            help="Also write the newest of each question, for `contexts:` of a study.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Gather contexts: ten ranked sources with summaries and the market, under each question's cutoff; those on record stay."""
    store = open_store()
    name, _, question = reference.partition("/")
    questions = load_set(store, name)
    if question:
        rows = book.stored_contexts(store, name, questions[question].id)
        _show_contexts(reference, [book.read_context(store, row) for row in rows], as_json=as_json)
        return
    options = GatherOptions(
        model=model,
        api_base=api_base,
        engines=tuple(listed(engines)) if engines else None,
        queries=queries,
        budget_usd=budget_usd,
        prices=read_prices(price or ()),
    )
    halving = HalvingSchedule(least_gap=timedelta(hours=gap_hours), most=most) if schedule else None
    wanted = [wish for entry in questions.questions.values() for wish in _wanted(entry, cutoff, halving)]
    wishes = missing_contexts(store, name, wanted)
    calls, usd = context_cost(len(wishes), options)
    dollars = "whose price is unknown" if usd is None else f"about ${usd:.2f}"
    say(
        f"{len(wanted)} contexts, {len(wanted) - len(wishes)} of them on record; {len(wishes)} to gather:"
        f" {queries} searches each, about {calls} model calls, {dollars}"
    )
    failures: list[dict[str, str]] = []
    if not plan_only and wishes:

        async def gather() -> None:
            async with open_gatherer(store, name, environ=os.environ, options=options) as gatherer:
                for each in await gatherer.gather_all(wishes, say=say):
                    if each.stored is None:
                        failures.append({"question": each.wanted.question.id, "reason": each.reason})

        asyncio.run(gather())
    rows = book.stored_contexts(store, name)
    if output is not None:
        write_output(output, book.write_contexts(store, rows).encode())
    if as_json:
        emit_json(
            {
                "set": name,
                "wanted": len(wanted),
                "to_gather": len(wishes),
                "expected_calls": calls,
                "expected_usd": usd,
                "contexts": [
                    {"question": row.question, "cutoff": row.cutoff, "instant": row.instant, "text": row.text}
                    for row in rows
                ],
                "failed": failures,
            }
        )
    else:
        echo(f"set {name}: {len(rows)} contexts on record")
    if failures:
        say(f"workbench: {len(failures)} contexts could not be gathered; the same command tries them again")
        raise typer.Exit(PROVIDER)


def _wanted(question: Question, cutoff: str, schedule: HalvingSchedule | None) -> list[Wanted]:
    now = datetime.now(UTC)
    if schedule is not None:
        close = closing(question)
        if not question.asked_on or close is None:
            say(f"no schedule for {question.id}: it does not say when it was asked and when it closes")
            return []
        first = Cutoff.parse(question.asked_on).instant
        times = [moment for moment in schedule.times(first, close) if moment <= now]
        return [Wanted(question, Cutoff.parse(f"{moment:%Y-%m-%dT%H:%M:%SZ}")) for moment in times]
    own = (question.asked_on or "now") if cutoff == "asked" else cutoff
    return [Wanted(question, Cutoff.parse(own, now=now))]


def _show_contexts(reference: str, entries: list[SharedContext], *, as_json: bool) -> None:
    if as_json:
        emit_json(
            {"question": reference, "contexts": [{**each.to_json(), "text": each.text} for each in entries]}
        )
        return
    if not entries:
        say(f"{reference} has no context: `workbench questions contexts {reference.partition('/')[0]}`")
    for each in entries:
        echo(f"as of {each.instant[:16]} (cutoff {each.cutoff}), ranked by {each.ranked_by}\n{each.text}\n")
