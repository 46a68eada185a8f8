"""A model fills the slots of a claim that the reader of sentences cannot read; what it fills is checked, and shown for a yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from workbench.agents.base import AgentSettings
from workbench.agents.conversation import ask_once
from workbench.agents.errors import AgentGaveUp, MalformedReply
from workbench.agents.replies.stage_replies import Number, ReplyShape
from workbench.errors import ClaimRefused
from workbench.models.base import Asker, NodeRef
from workbench.prompts import prompts_of
from workbench.questions.readings.choice import day_of
from workbench.questions.readings.names import SeriesName, reachable_series
from workbench.questions.readings.placements import base_claim, stated
from workbench.questions.readings.slots import ClaimReading
from workbench.questions.readings.slots import reading_of as claim_reading

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff

_LONGEST = timedelta(days=20 * 366)
#: What `level` is a percentage of; of any other relation it is a value of the series.
_IN_PERCENT = {"growth_yoy", "drawdown", "from_peak", "any_step", "move_by", "average_gap", "volatility"}
_WITHOUT_LEVEL = {"compare", "streak", "new_high", "new_low", "beats"}
_MAY_LACK_LEVEL = {"count", "average_gap"}
#: The patterns of claims whose names say less to a model.
_PATTERNS = {"growth_yoy": "growth", "from_peak": "peak", "maximum": "highest", "minimum": "lowest", "any_step": "step", "move_by": "move", "average_gap": "average", "beats": "relative", "new_high": "record", "new_low": "record"}  # fmt: skip
_COUNTED = ("count", "streak")


def _day(value: object) -> object:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise MalformedReply(f"{value!r:.40} is no day: write YYYY-MM-DD") from None


_Day = Annotated[date, BeforeValidator(_day)]


class FilledClaim(ReplyShape):
    """The slots of a claim as a model fills them; ``series`` None: it fits none."""

    series: str | None
    other: str | None = None
    relation: Literal[
        "level", "compare", "change", "growth_yoy", "touch", "stay", "drawdown", "from_peak", "mean", "maximum",
        "minimum", "count", "streak", "any_step", "move_by", "average_gap", "volatility", "beats", "new_high",
        "new_low", "first",
    ] = "level"  # fmt: skip
    comparison: Literal["above", "at_least", "below", "at_most", "between", "toward"] = "above"
    level: Number | None = None
    upper: Number | None = None
    unit: Literal["quoted", "%", "bp", "points"] | None = None
    start: _Day | None = None
    end: _Day | None = None
    times: int = Field(default=1, ge=1, le=1000)
    every: Literal["week", "month"] | None = None
    never: bool = False


def reading_of(filled: FilledClaim, known: Mapping[str, SeriesName], today: date) -> ClaimReading | None:
    """Return what was filled as a reading that is a claim; None where the claim fits no series.

    Raises `MalformedReply`: The slots do not fit each other, or are no claim whose own sentence reads back into it.
    """
    if filled.series is None:
        return None
    names = tuple(_named(each, known) for each in (filled.series, filled.other) if each is not None)
    if filled.end is None or not today <= filled.end <= today + _LONGEST:
        raise MalformedReply(f'"end" must be a day from {today} on and within twenty years')
    if filled.start is not None and not date(1900, 1, 1) <= filled.start < filled.end:
        raise MalformedReply('"start" must be a day before "end"')
    if (filled.relation == "beats") != (len(names) == 2):
        raise MalformedReply('"other" is the second series of the relation "beats", and of no other')
    level, upper, percent = _levels(filled, names[0])
    relation = _PATTERNS.get(filled.relation, filled.relation)
    comparison = {"new_high": "above", "new_low": "below"}.get(filled.relation, filled.comparison)
    counted = relation in _COUNTED
    slots = replace(
        base_claim(names, filled.end),
        level=level,
        upper=upper,
        start=filled.start,
        times=filled.times if counted else 1,
        every="year" if relation == "growth" else filled.every if counted or relation == "step" else None,
        never=filled.never,
    )
    try:
        claim = stated(slots, relation, comparison, names[0], percent=percent)
        reading = claim_reading(claim, {}, monthly=names[0].monthly)
    except (ClaimRefused, ValueError, KeyError):  # the slots have no sentence
        reading = None
    if reading is None or reading.claim is None:
        raise MalformedReply(
            "the slots are no claim that can be decided: the relation has no use for one of them"
        )
    return reading


def _named(reference: str, known: Mapping[str, SeriesName]) -> SeriesName:
    if reference not in known:
        raise MalformedReply(
            f"{reference!r:.80} is no series of the list; write one as the list has it, or null"
        )
    return known[reference]


def _levels(filled: FilledClaim, name: SeriesName) -> tuple[float | None, float | None, bool]:
    """The levels in the unit that claims have them in, and whether that is percent."""
    relation: str = filled.relation
    unit: str = filled.unit or "quoted"
    if relation in _WITHOUT_LEVEL:
        return None, None, False
    wanted = 2 if relation == "first" or filled.comparison == "between" else 1
    amounts = [float(f"{each:.10g}") for each in (filled.level, filled.upper)[:wanted] if each is not None]
    if len(amounts) < wanted and not (relation in _MAY_LACK_LEVEL and not amounts):
        raise MalformedReply(f'the relation "{relation}" needs {"two levels" if wanted == 2 else "a level"}')
    rate = name.kind == "rate"
    # Of a price which of two moves comes first is in percent.
    may_be = relation == "change" or (relation == "first" and not rate)
    percent = relation in _IN_PERCENT or (may_be and unit == "%")
    if percent and unit != "%" and amounts:
        raise MalformedReply(f'the level of "{relation}" is in "%", not in "{unit}"')
    if relation == "change" and not percent:
        amounts = [_in_points(each, unit, rate=rate) for each in amounts]
    elif not percent:
        if unit not in (("quoted", "%", "bp") if rate else ("quoted",)):
            raise MalformedReply(
                f'the level of {name.article} is a value of it, in "quoted", and not in "{unit}"'
            )
        amounts = [each / 100 if unit == "bp" else each for each in amounts]
        if not all(name.has_had(each) for each in amounts):
            raise MalformedReply(
                f"the level is far from any that {name.article} has had: is it in another unit?"
            )
    level, upper = ([*amounts, None, None])[:2]
    return level, upper, percent


def _in_points(amount: float, unit: str, *, rate: bool) -> float:
    if unit == "bp" and rate:
        return amount / 100
    if unit in ("points", "quoted"):
        return amount
    raise MalformedReply(f'a change is in "%" or in "points", not in "{unit}"')


async def fill_claim(text: str, cutoff: Cutoff, ask: Asker, model: str) -> ClaimReading | None:
    """Return the claim that a model takes a text for; None where it fits no series, or no reply is a claim. Raises ``ModelError``."""
    listed, today = reachable_series(text), day_of(cutoff)
    known = {reference: name for reference, (name, _) in listed.items()}
    quoted = prompts_of(ask).marks.quoted(text, "the claim")
    try:
        filled = await ask_once(
            ask,
            "read_claim",
            lambda reply: reading_of(FilledClaim.read(reply), known, today),
            stage="read-claim",
            about=quoted,
            nodes=[NodeRef(id="-", statement=text)],
            cutoff=cutoff,
            # One more try: a claim that the model cannot fill is treated as text.
            settings=AgentSettings(temperature=0.0, max_exception_retry=1),
            claim=quoted,
            series="\n".join(f"{reference}: {what}" for reference, (_, what) in listed.items()),
            today=today.isoformat(),
        )
    except AgentGaveUp:
        return None
    return None if filled is None else replace(filled, read_by=model)
