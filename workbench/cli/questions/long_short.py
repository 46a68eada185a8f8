"""``questions long-short``: questions made out of prices, instead of read from a list of them."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import AsJson, command, echo, emit_json, open_store, say
from workbench.questions.formats.format_registry import read_text
from workbench.questions.formats.price_questions import read_price_history
from workbench.questions.formats.question_tables import read_rows
from workbench.questions.sets.question_sets import add_questions


@command
def long_short(
    file: Annotated[Path, typer.Argument(help="CSV of prices: symbol, date, close; also category, name.")],
    start: Annotated[str, typer.Option(help="Cutoff of the questions, a day.")],
    days: Annotated[int, typer.Option(help="Horizon; a year in paper A.")] = 365,
    payoff: Annotated[
        str,
        typer.Option(
            help="What a dollar long or short comes to: plain or analytica-paper (costs, discount, cap)."
        ),
    ] = "analytica-paper",
    name: Annotated[str | None, typer.Option("--as", help="Name of the set; the file's without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make long-or-short questions from price histories, with the payoffs of both; what cannot be evaluated is named."""
    reading = read_price_history(read_rows(read_text(file)), start, days=days, payoff=payoff)
    set_name = name or file.name.partition(".")[0]
    changed = add_questions(open_store(), set_name, reading, form="long-short", origin=file.name)
    counts = Counter(question.category or "none" for question in reading.questions)
    if as_json:
        emit_json(
            {
                "set": set_name,
                "questions": len(reading.questions),
                "new_or_changed": changed,
                "categories": dict(counts.most_common()),
                "left_out": [{"id": each.id, "reason": each.reason} for each in reading.left_out],
            }
        )
        return
    for each in reading.left_out:
        say(f"left out: {each.id}: {each.reason}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    echo(
        f"set {set_name}: {len(reading.questions)} long-short questions ({kinds or 'none'}), {changed} new or changed"
    )
