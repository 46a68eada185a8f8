"""How a claim was read, on the command line: ``read``, and the choice that ``analyze`` offers."""

from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

import typer

from proxies.asof.clock import Cutoff
from workbench.cli.common import AsJson, command, command_name, echo, emit_json, say
from workbench.cli.run.approve import at_terminal
from workbench.engine.run_settings import RunSettings
from workbench.errors import USAGE
from workbench.models.model_options import OFFLINE
from workbench.offline.claim_coverage import UntreatableClaim, claim_to_ask, reading_document
from workbench.offline.claim_examples import EXAMPLE_CUTOFF, claim_examples
from workbench.questions.readings.choice import READING, ReadClaim, UnclearClaim, choice_of, day_of
from workbench.questions.readings.read import read as read_text
from workbench.questions.readings.slots import Readings
from workbench.views.reading_documents import reading_lines


def claim_as_read(
    statement: str, cutoff: Cutoff, settings: RunSettings, *, reading: int | None, yes: bool, as_json: bool
) -> ReadClaim:
    """Return the claim to open a run for; asks on a terminal, and leaves with exit 2 where a rule would have to guess."""
    try:
        claim = claim_to_ask(
            statement,
            cutoff,
            settings.model,
            number=reading,
            first=yes,
            ask=_person_chooses if at_terminal() and not as_json else None,
        )
    except UnclearClaim as unclear:
        document = reading_document(unclear.readings, cutoff, settings.model)
        if not as_json:
            for line in reading_lines(document):
                say(line)
            say(f"workbench: choose one: {command_name()} analyze ... --reading 1")
            raise typer.Exit(USAGE) from None
    except UntreatableClaim as refused:
        if not as_json:
            raise
        document = dict(refused.document)
    else:
        if claim.reading is not None or settings.model != OFFLINE or not as_json:
            _say_reading(claim, statement)
            return claim
        document = reading_document(read_text(statement, day_of(cutoff)), cutoff, settings.model)
    emit_json(document)
    raise typer.Exit(USAGE)


def _say_reading(claim: ReadClaim, typed: str) -> None:
    if claim.read_as is not None and claim.read_as["statement"] != typed:
        say(f"Read as: {claim.read_as['statement']}")
    for note in (claim.read_as or {}).get("notes", ()):
        say(f"  {note}")


def _person_chooses(readings: Readings) -> int | None:
    for number, each in enumerate(readings.choices, start=1):
        say(f"  {number}) {each.statement}")
    last = len(readings.choices)
    answer: int = typer.prompt("Which is meant?", default=1, type=int, err=True)
    return answer if 1 <= answer <= last else None


@command
def read(
    text: Annotated[str, typer.Argument(help="A claim in your own words.")],
    cutoff: Annotated[str, typer.Option("--cutoff", help="Cutoff: a date, an instant, or now.")] = "now",
    model: Annotated[str, typer.Option("--model", help="The model that is to treat it.")] = OFFLINE,
    reading: Annotated[int | None, typer.Option("--reading", metavar=READING.form, help=READING.text)] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a claim is taken to mean: series, relation, level and days. No model is asked and nothing is started.

    Exit 2 where it has no single reading, or one that the model cannot treat.
    """
    instant = Cutoff.parse(cutoff)
    readings = read_text(text, day_of(instant))
    if reading is not None:
        readings = replace(readings, best=choice_of(readings, reading), others=())
    document: dict[str, Any] = reading_document(readings, instant, model)
    if as_json:
        emit_json(document)
    else:
        echo("\n".join(reading_lines(document)))
    if document["best"] is None or not document["coverage"]["treatable"]:
        raise typer.Exit(USAGE)


@command
def claims(as_json: AsJson = False) -> None:
    """List what a claim may say, each example with how it is read on 2018-06-30 and who answers it."""
    rows = claim_examples()
    if as_json:
        emit_json({"cutoff": EXAMPLE_CUTOFF, "claims": rows})
        return
    for about, group in groupby(rows, key=itemgetter("about")):
        echo(f"{about}")
        for row in group:
            echo(f"  {row['text']}" + ("" if row["answered"] == "any model" else "  [a language model]"))
            for number, each in enumerate(row["readings"], start=1):
                echo(f"      {f'{number}) ' if len(row['readings']) > 1 else ''}{each}")
    say("`workbench read TEXT` says how yours is read; a claim of several readings is asked about.")
