"""What a text is taken to say: one reading with the words of each of its parts, and what several of them are together."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Literal

from workbench.forecasts.periods import Period
from workbench.questions.claims import Claim

Slot = Literal["series", "relation", "level", "window"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotReading:
    """One way to read a text."""

    #: The plain sentence; of a claim of the grammar its canonical one, which reads back into ``claim``.
    statement: str
    #: By reference, ``embedded:WTI``; a series that no source here holds by its name.
    series: tuple[str, ...]
    #: What is said of them: ``level``, ``compare``, ``change``, ``touch``, ``stay``, ``drawdown``, ``mean``, ``beats`` ...
    relation: str
    #: As in `workbench.forecasts.reading.Reading`; "toward" for a level that is reached from whichever side it stands on.
    comparison: str = ""
    #: level, upper: In ``unit``.
    level: float | None = None
    upper: float | None = None
    unit: str = ""
    #: ``on``, ``by``, ``during``, ``next_release``, ``next_meeting``.
    window: str = ""
    #: start, end: ``start`` None is the last known value.
    start: date | None = None
    end: date | None = None
    #: times, step: How often, and of which periods; "" of the series' own.
    times: int = 1
    step: str = ""
    lag: int | None = None
    never: bool = False
    #: Of each slot the words that it was read from.
    read_from: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: The model that read it, of a text that the reader cannot read; it counts once a person takes it.
    read_by: str = ""
    #: The same as a claim of the grammar, where that can hold it.
    claim: Claim | None = None

    @property
    def every(self) -> Period | None:
        """The weeks or months that are its steps; None for the series' own steps, and for those of another length."""
        return self.step if self.step in ("week", "month") else None  # type: ignore[return-value]

    def document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {
            "statement": self.statement,
            "series": self.series[0] if len(self.series) == 1 else list(self.series),
            "relation": self.relation,
            "comparison": self.comparison or None,
            "level": self.level,
            "upper": self.upper,
            "unit": self.unit or None,
            "window": self.window or None,
            "start": self.start.isoformat() if self.start else None,
            "end": self.end.isoformat() if self.end else None,
            "times": self.times,
            "step": self.step or None,
            "never": self.never,
            "read_from": dict(self.read_from),
            "notes": list(self.notes),
            "read_by": self.read_by or None,
            "claim": claim_data(self.claim) if self.claim else None,
        }


def claim_data(claim: Claim) -> dict[str, Any]:
    """Return a claim as JSON holds it; `stored_claim` reads it."""
    values = {
        each.name: getattr(claim, each.name)
        for each in fields(claim)
        if each.compare and each.name != "notes"
    }
    return {name: value.isoformat() if isinstance(value, date) else value for name, value in values.items()}


def stored_claim(read_as: Mapping[str, Any] | None) -> Claim | None:
    """Return the claim of a reading that a run was stored with; None for a run without one, or a reading that is no claim.

    What a text says may be read otherwise by a later grammar; a run is resolved by the reading that it was asked with.
    """
    data = (read_as or {}).get("claim")
    if not data:
        return None
    days = {name: data[name] and date.fromisoformat(data[name]) for name in ("start", "end")}
    return Claim(**{**data, **days})


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The plainest claim, filled as far as a text that cannot be read got; None for a slot that is to be filled."""

    series: str | None = None
    relation: str | None = None
    level: str | None = None
    day: date | None = None

    @property
    def sentence(self) -> str:
        """The claim with the empty slots in capitals."""
        relation = self.relation or "is ABOVE/BELOW"
        return f"{self.series or 'SERIES'} {relation} {self.level or 'LEVEL'} on {self.day or 'YYYY-MM-DD'}"

    def document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {
            "series": self.series,
            "relation": self.relation,
            "level": self.level,
            "day": self.day and self.day.isoformat(),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What a text may say."""

    text: str
    #: The one reading of a text that has one; None where it has several, or none.
    best: SlotReading | None = None
    #: The nearest readings of an ambiguous text, or of one with a hole: two or three, the likeliest first.
    others: tuple[SlotReading, ...] = ()
    #: Slots that nothing in the text fills.
    missing: tuple[Slot, ...] = ()
    #: Words that belong to no slot; while there are any, nothing is taken for read.
    leftover: tuple[str, ...] = ()
    #: Of each slot that was read the words it was read from.
    matched: Mapping[str, str] = field(default_factory=dict)
    #: What was supposed on the way, for the person.
    notes: tuple[str, ...] = ()
    #: Where there is no reading: the plainest claim, as far as the text fills it.
    form: Form | None = None

    @property
    def choices(self) -> tuple[SlotReading, ...]:
        """All of them, in the order in which they are offered."""
        return ((self.best,) if self.best else ()) + self.others

    @property
    def of_model(self) -> bool:
        """Whether a model filled the one that is offered, which the reader could not read."""
        return bool(self.others) and bool(self.others[0].read_by)

    def document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {
            "text": self.text,
            "best": self.best.document() if self.best else None,
            "others": [each.document() for each in self.others],
            "missing": list(self.missing),
            "leftover": list(self.leftover),
            "found": dict(self.matched),
            "notes": list(self.notes),
            "form": self.form.document() if self.form else None,
        }
