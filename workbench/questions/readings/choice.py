"""Which reading of a text a run is asked with: the only one, the one that a person chose, or none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.errors import ClaimRefused, Option, UsageError, command
from workbench.questions.errors import ANOTHER_MODEL
from workbench.questions.grammar import read_claim
from workbench.questions.readings.slots import ClaimReading, Readings

#: Asks a person for one of several readings; returns its number from 1, `AS_TYPED`, or None where nobody answers.
Asker = Callable[[Readings], int | None]


#: The number of the text as it is typed, beside those of its readings.
AS_TYPED = 0


class UnclearClaim(ClaimRefused):
    """A text with several readings, a hole, or a reading of a model's, and nobody there to choose; ``readings`` has what was read of it."""

    def __init__(self, readings: Readings) -> None:
        self.readings = readings
        if readings.of_model:
            reading = readings.others[0]
            super().__init__(
                f"{reading.read_by} reads the claim as: {reading.statement} (take it: ",
                Option("reading", "1"),
                "; keep the text as it is: ",
                Option("reading", str(AS_TYPED)),
                ")",
            )
            return
        what = f"it names no {' and no '.join(readings.missing)}; " if readings.missing else ""
        super().__init__(
            f"the claim can be read in several ways: {what}",
            "; ".join(f"{number}) {each.statement}" for number, each in enumerate(readings.choices, start=1)),
            " (choose one: ",
            Option("reading", "1"),
            ")",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClaim:
    """A claim as a run is opened with it: what its agents see, and how it was read (None where it was not)."""

    statement: str
    read_as: Mapping[str, Any] | None
    reading: ClaimReading | None = None


def day_of(cutoff: Cutoff) -> date:
    """Return the day that "this year" and "next month" are counted from."""
    return cutoff.last_moment_day + timedelta(days=0 if cutoff.live else 1)


def read_for_run(
    readings: Readings,
    *,
    key_free: bool,
    number: int | None = None,
    first: bool = False,
    ask: Asker | None = None,
) -> ReadClaim:
    """Return the claim that a run is opened with; called before anything is stored.

    Raises `UnclearClaim`: Several readings, and nobody chose; of a text for a rule only, or where a model filled the reading. Raises
    `UsageError`: There is no such reading.
    """
    text = readings.text
    if number is None and readings.choices:
        number = 1 if readings.best or first else ask(readings) if ask is not None else None
        if number is None and (key_free or readings.of_model):
            raise UnclearClaim(readings)
    if key_free and number is None and readings.refusal:
        raise ClaimRefused(f"{readings.refusal}, or ", *ANOTHER_MODEL)
    if number is None or (number == AS_TYPED and not key_free):
        return ReadClaim(statement=text, read_as=None)
    reading = choice_of(readings, number)
    statement = reading.statement if key_free and not _accepted(text, reading) else text
    return ReadClaim(statement=statement, read_as={"text": text, **reading.document()}, reading=reading)


def choice_of(readings: Readings, number: int) -> ClaimReading:
    """Return the reading of this number, from 1; raises ``UsageError`` where there is none."""
    choices = readings.choices
    if not 1 <= number <= len(choices):
        raise UsageError(
            f"there is no reading {number}: the claim has {len(choices) or 'none'}; see ",
            command("read", readings.text),
        )
    return choices[number - 1]


def _accepted(text: str, reading: ClaimReading) -> bool:
    """Whether the grammar reads the text itself as the chosen reading; then the run keeps it as it was typed."""
    try:
        return read_claim(text) == reading.claim
    except ClaimRefused:
        return False
