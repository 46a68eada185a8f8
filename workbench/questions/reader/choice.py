"""Which reading of a text a run is asked with: the only one, the one that a person chose, or none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.errors import ClaimRefused, Option, UsageError, command
from workbench.questions.reader.canonical import read_claim
from workbench.questions.reader.read import read
from workbench.questions.reader.slots import Readings, SlotReading
from workbench.requests import Says

#: The argument of every screen that opens a run or reads a claim.
READING = Says(text="Which reading of an ambiguous claim is meant, from 1.", form="N")
#: Asks a person for one of several readings; returns its number from 1, or None where nobody answers.
Asker = Callable[[Readings], int | None]


class UnclearClaim(ClaimRefused):
    """A text that only a rule would treat has several readings, or a hole; ``readings`` has what was read of it."""

    def __init__(self, readings: Readings) -> None:
        self.readings = readings
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
    reading: SlotReading | None = None


def day_of(cutoff: Cutoff) -> date:
    """Return the day that "this year" and "next month" are counted from."""
    return cutoff.last_moment_day + timedelta(days=0 if cutoff.live else 1)


def read_for_run(
    text: str,
    cutoff: Cutoff,
    *,
    key_free: bool,
    number: int | None = None,
    first: bool = False,
    ask: Asker | None = None,
) -> ReadClaim:
    """Return the claim that a run is opened with; called before anything is stored or asked.

    Raises `UnclearClaim`: Several readings, and nobody chose; of a text for a rule only. Raises `UsageError`: There is no such reading.
    """
    readings = read(text, day_of(cutoff))
    reading = _reading_taken(readings, number=number, first=first, ask=ask)
    if reading is None:
        if key_free and readings.choices:
            raise UnclearClaim(readings)
        return ReadClaim(statement=text, read_as=None)
    statement = reading.statement if key_free and not _accepted(text, reading) else text
    return ReadClaim(statement=statement, read_as={"text": text, **reading.document()}, reading=reading)


def choice_of(readings: Readings, number: int) -> SlotReading:
    """Return the reading of this number, from 1; raises ``UsageError`` where there is none."""
    choices = readings.choices
    if not 1 <= number <= len(choices):
        raise UsageError(
            f"there is no reading {number}: the claim has {len(choices) or 'none'}; see ",
            command("read", readings.text),
        )
    return choices[number - 1]


def _reading_taken(
    readings: Readings, *, number: int | None, first: bool, ask: Asker | None
) -> SlotReading | None:
    choices = readings.choices
    if number is not None:
        return choice_of(readings, number)
    if readings.best is not None or not choices:
        return readings.best
    if first:
        return choices[0]
    answer = ask(readings) if ask is not None else None
    return None if answer is None else choices[answer - 1]


def _accepted(text: str, reading: SlotReading) -> bool:
    """Whether the grammar reads the text itself as the chosen reading; then the run keeps it as it was typed."""
    try:
        return read_claim(text) == reading.claim
    except ClaimRefused:
        return False
