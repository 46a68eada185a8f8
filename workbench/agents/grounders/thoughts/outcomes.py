"""Paper P's task: the probability of every outcome of an event in one call, over the context that every model is given (App. F.1.2).

A leaf of its own is an event with the one outcome Yes. Of an event with several outcomes the leaf is one, and the trace holds what the
call said of all of them, so that a study records each without asking again. The probabilities stay as the model stated them: the paper
asks for no sum of 1, and how far they are from it is a finding (its consistency score).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import fsum
from types import MappingProxyType
from typing import Any

from workbench.agents.errors import BadSetting, MalformedReply
from workbench.agents.replies.json_reply import first_line
from workbench.agents.replies.reply_text import refuse_placeholder
from workbench.agents.replies.stage_replies import Conclusion, Number, ReplyShape, Unit, read_form
from workbench.science.scoring.quantile_curve import Scale, chance_below

#: The one outcome of a proposition, and what a model may say beside it without having been asked.
YES, NO = "Yes", "No"
_NEAR_ONE = 0.05  # as far as rounded probabilities of one distribution may come to another sum
_MOST = 200  # outcomes of one event
_NEVER = ', "never" where it need not come at all'
_LETTERS = "pqrstuvwxyzabcdefghijklmno"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcomes:
    """An event and its outcomes by their exact names."""

    #: The question; "" for the proposition of the leaf.
    event: str = ""
    outcomes: tuple[str, ...] = (YES,)
    #: The outcome that the leaf is about.
    leaf: str = YES
    #: A market's probability of outcomes, where the model may see it.
    prices: Mapping[str, float] = field(default_factory=dict)
    #: Whether the probabilities must come to 1.
    exclusive: bool = False
    #: Range, unit and level of a number or day that is asked for by percentiles (`number_scale`).
    number: Mapping[str, Any] | None = None

    def listing(self) -> str:
        """The outcomes, a line each."""
        return "\n".join(f"- {name}" for name in self.outcomes)

    def example(self) -> str:
        """The object that the reply has to hold, with letters for numbers."""
        pairs = [
            f"{json.dumps(name, ensure_ascii=False)}: {_LETTERS[place % len(_LETTERS)]}"
            for place, name in enumerate(self.outcomes)
        ]
        return "{" + ", ".join(pairs) + "}"

    def price_lines(self) -> str:
        """The market's prices, a line each; a plain word where there is none."""
        lines = [f"- {name}: {self.prices[name]:g}" for name in self.outcomes if name in self.prices]
        return "\n".join(lines) or "(none is given)"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeForecast:
    """What one call said: a probability per outcome, and why in three sentences."""

    probabilities: Mapping[str, float]
    rationale: str

    def conclusion(self, outcome: str) -> Conclusion:
        """What it says of one outcome; the report holds all."""
        stated = "\n".join(f"- {name}: {p:g}" for name, p in self.probabilities.items())
        return Conclusion(
            p=self.probabilities[outcome], key_factor=self.rationale, report=f"{self.rationale}\n\n{stated}"
        )


def number_scale(number: Mapping[str, Any], stated: Mapping[str, float] = MappingProxyType({})) -> Scale:
    """The range of a number or a date that is asked for by percentiles; an end that is not named is open, and lies where those stated do."""
    low, high = number["low"], number["high"]
    first, last = stated.get("5", 0.0), stated.get("95", 1.0)
    return Scale(
        low=min(first, first if high is None else high - 1) if low is None else low,
        high=max(last, (first if low is None else low) + 1e-9 * max(1, abs(last))) if high is None else high,
        open_low=low is None or number["open_low"],
        open_high=high is None or number["open_high"],
        zero_point=None if None in (low, high) else number["zero_point"],
        dates=number["dates"],
    )


def scale_words(number: Mapping[str, Any]) -> str:
    """Say in which unit and within which bounds the number or day is asked for."""
    scale, unit = number_scale(number), f" {number['unit']}" if number["unit"] else ""
    ends = [
        f"{'usually' if number[f'open_{end}'] else 'certainly'} {words} {scale.shown(number[end])}{unit}"
        for end, words in (
            ("low", "not before" if scale.dates else "at least"),
            ("high", "not after" if scale.dates else "at most"),
        )
        if number[end] is not None
    ]
    within = f"{'The day' if scale.dates else 'The number'} is {' and '.join(ends)}. " if ends else ""
    if not scale.dates:
        return f"{within}Give plain numbers{' in' + unit if unit else ''}."
    return f'{within}Give days as "YYYY-MM-DD"{_NEVER if scale.open_high and number["high"] is not None else ""}.'


def number_chance(number: Mapping[str, Any], percentiles: Mapping[str, float], level: float) -> float:
    """Return how likely the number lies on the asked side of a level."""
    below = float(chance_below(percentiles, number_scale(number, percentiles), [level])[0])
    return below if number["side"] in ("below", "at most") else 1 - below


def number_conclusion(number: Mapping[str, Any], forecast: OutcomeForecast) -> Conclusion:
    """What percentiles say of the leaf's level, of their median without one; the report holds all of them."""
    scale, level = number_scale(number), number["level"]
    stated = "\n".join(
        f"- {place} %: {scale.shown(value)}" for place, value in forecast.probabilities.items()
    )
    return Conclusion(
        p=0.5 if level is None else number_chance(number, forecast.probabilities, level),
        key_factor=forecast.rationale,
        report=f"{forecast.rationale}\n\n{stated}",
    )


def parse_percentiles(text: str, scale: Scale) -> OutcomeForecast:
    """Read percentiles of a number; raises `MalformedReply` where they fall, are incomplete or leave closed bounds."""
    form: Any = _DaysShape if scale.dates else _PercentilesShape
    shape, prose, _ = read_form(form, text)
    refuse_placeholder(shape.key_factor)
    stated = {
        level.strip(" %p"): _day(value, scale) if isinstance(value, str) else value
        for level, value in shape.percentiles.items()
    }
    if faults := scale.faults(stated):
        raise MalformedReply("; ".join(faults))
    return OutcomeForecast(probabilities=stated, rationale=shape.key_factor.strip() or prose.strip())


def _day(text: str, scale: Scale) -> float:
    if scale.open_high and text.strip().lower() == "never":
        return scale.high + 1
    try:
        return float(date.fromisoformat(text.strip()).toordinal())
    except ValueError:
        raise MalformedReply(f"days are written YYYY-MM-DD, not {first_line(text, 40)!r}") from None


def read_outcomes(options: Mapping[str, Any]) -> EventOutcomes:
    """The event that the settings of a grounder name; the leaf's own proposition where they name none.

    Raises `BadSetting`: Outcomes that are no list of different texts, a leaf that is none of them, or a price that is no probability.
    """
    if not {"event", "outcomes", "leaf", "prices"} & set(options):
        return EventOutcomes()
    if "number" in options:
        return EventOutcomes(event=str(options.get("event", "")), number=dict(options["number"]))
    names = options.get("outcomes")
    if (
        not isinstance(names, list | tuple)
        or not 1 <= len(names) <= _MOST
        or not all(isinstance(name, str) and name.strip() == name != "" for name in names)
        or len({_folded(name) for name in names}) != len(names)
    ):
        raise BadSetting(f"outcomes of zero-shot is a list of 1 to {_MOST} different names")
    leaf = options.get("leaf", names[0])
    if leaf not in names:
        raise BadSetting(f"`leaf` of zero-shot is one of its outcomes, not {leaf!r:.60}")
    prices = options.get("prices") or {}
    if not isinstance(prices, Mapping) or not all(
        name in names and isinstance(p, int | float) and 0 <= p <= 1 for name, p in prices.items()
    ):
        raise BadSetting("prices of zero-shot are probabilities of its outcomes")
    return EventOutcomes(
        event=str(options.get("event", "")),
        outcomes=tuple(names),
        leaf=leaf,
        prices=dict(prices),
        exclusive=options.get("exclusive") is True,
    )


def parse_outcomes(text: str, outcomes: Sequence[str], *, exclusive: bool = False) -> OutcomeForecast:
    """Read a reply: a probability of each outcome by its name; other upper and lower case is read where it leaves no doubt.

    Raises `MalformedReply`: An outcome that is missing or was not asked for, or a number that is no probability.
    """
    shape, _, _ = read_form(_OutcomesShape, text)
    refuse_placeholder(shape.rationale)
    refuse_placeholder(shape.key_factor)
    by_name = {_folded(name): name for name in outcomes}
    stated: dict[str, float] = {}
    for said, p in shape.probabilities.items():
        name = said if said in outcomes else by_name.get(_folded(said))
        if name is None:
            if list(outcomes) == [YES] and _folded(said) == _folded(NO):
                continue  # the rest of a yes-no event; it was not asked for and says nothing new
            raise MalformedReply(
                f"{first_line(said, 60)!r} is none of the outcomes; use exactly: {_names(outcomes)}"
            )
        if name in stated:
            raise MalformedReply(f"{first_line(name, 60)!r} stands twice")
        stated[name] = float(p)
    lacking = [name for name in outcomes if name not in stated]
    if lacking:
        raise MalformedReply(f"no probability of {_names(lacking)}")
    total = fsum(stated.values())
    if exclusive and abs(total - 1) > _NEAR_ONE:
        raise MalformedReply(
            f"exactly one option comes true, and the probabilities come to {total:g} instead of 1"
        )
    return OutcomeForecast(
        probabilities={name: stated[name] for name in outcomes},
        rationale=shape.rationale.strip() or shape.key_factor.strip(),
    )


def _names(names: Sequence[str]) -> str:
    return ", ".join(repr(first_line(name, 60)) for name in names[:8]) + (" ..." if len(names) > 8 else "")


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


class _OutcomesShape(ReplyShape):
    rationale: str = ""
    key_factor: str = ""
    probabilities: dict[str, Unit]


class _PercentilesShape(ReplyShape):
    percentiles: dict[str, Number]
    key_factor: str = ""


class _DaysShape(ReplyShape):
    percentiles: dict[str, str]
    key_factor: str = ""
