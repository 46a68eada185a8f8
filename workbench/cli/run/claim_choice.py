"""How a claim was read, on the command line: ``read``, and the choice that ``analyze`` offers."""

import typer

from proxies.asof.clock import Cutoff
from workbench.cli.common import at_terminal, command_name, emit_json, say
from workbench.engine.run_settings import RunSettings
from workbench.errors import USAGE
from workbench.models.model_options import OFFLINE
from workbench.offline.claim_coverage import UntreatableClaim, claim_to_ask, reading_document
from workbench.questions.readings.choice import ReadClaim, UnclearClaim, day_of
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
