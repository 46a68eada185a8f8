"""What a text is taken to say: one reading with the words of each of its parts, and what several of them are together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Literal

from workbench.questions.canonical import decidable
from workbench.questions.claims import Claim

Slot = Literal["series", "relation", "level", "window"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReading:
    """One way to read a text."""

    #: Its plain sentence; of a claim that can be decided the one that reads back into it.
    statement: str
    #: What the text is taken to say, whether or not a rule can decide it.
    says: Claim
    #: The same, where a rule can.
    claim: Claim | None
    #: Of each slot the words that it was read from.
    read_from: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: The model that read it, of a text that the reader cannot read; it counts once a person takes it.
    read_by: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {
            "statement": self.statement,
            "claim": claim_data(self.says),
            "decidable": self.claim is not None,
            "read_from": dict(self.read_from),
            "notes": list(self.notes),
            "read_by": self.read_by or None,
        }


def reading_of(
    says: Claim, read_from: Mapping[str, str], notes: Sequence[str] = (), *, monthly: bool = False
) -> ClaimReading:
    """Return the reading that says a claim, with what a person has to know of it; ``monthly`` as for `decidable`."""
    claim = says if decidable(says, monthly=monthly) else None
    notes = (*notes, *(claim.remarks if claim else says.notes))
    return ClaimReading(
        statement=says.statement, says=says, claim=claim, read_from=dict(read_from), notes=notes
    )


def claim_data(claim: Claim) -> dict[str, Any]:
    """Return a claim as JSON holds it; `stored_claim` reads it."""
    values = {
        each.name: getattr(claim, each.name)
        for each in fields(claim)
        if each.compare and each.name != "notes"
    }
    return {name: value.isoformat() if isinstance(value, date) else value for name, value in values.items()}


def stored_claim(read_as: Mapping[str, Any] | None) -> Claim | None:
    """Return the claim of a reading that a run was stored with; None for a run without one, or a claim that no rule decides.

    What a text says may be read otherwise by a later grammar; a run is resolved by the reading that it was asked with. Raises
    ``ClaimRefused``: Its parts do not fit each other.
    """
    if not read_as or not read_as.get("decidable"):
        return None
    data = read_as["claim"]
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
        """The claim, with its empty slots in capitals."""
        relation = self.relation or "is above (or below)"
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
    best: ClaimReading | None = None
    #: The nearest readings of an ambiguous text, or of one with a hole: two or three, the likeliest first.
    others: tuple[ClaimReading, ...] = ()
    #: Slots that nothing in the text fills.
    missing: tuple[Slot, ...] = ()
    #: Words that belong to no slot; while there are any, nothing is taken for read.
    leftover: tuple[str, ...] = ()
    #: Of each slot that was read the words it was read from.
    matched: Mapping[str, str] = field(default_factory=dict)
    #: What was supposed on the way, for the person.
    notes: tuple[str, ...] = ()
    #: Why the series that the words name, or the number, is not what is asked about; then there is no reading.
    refusal: str = ""
    #: Where there is no reading: the plainest claim, as far as the text fills it.
    form: Form | None = None

    @property
    def choices(self) -> tuple[ClaimReading, ...]:
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
