"""Replies of the thinking grounders, and the one probability that several answers come to; ``verify`` reads them again by it.

Paper P asks for every outcome of an event in one call (App. F.1.2). Of such an event a leaf is one outcome, and its trace holds the
others, so that a study records each without asking again. Probabilities stay as the model stated them: the paper asks for no sum
of 1, and how far they are from it is its consistency score.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import fsum, isfinite
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from workbench.agents.errors import BadSetting, MalformedReply
from workbench.agents.replies.lenient_json import first_line
from workbench.agents.replies.reply_prose import refuse_placeholder
from workbench.agents.replies.stage_replies import Conclusion, Number, ReplyShape, Unit
from workbench.propositions.strict_json import STRICT, read_strict
from workbench.science.pooling.elicitation import both_directions, prompt_ensemble, self_consistency
from workbench.science.scoring.quantile_curve import Scale, chance_below

LONGEST_THOUGHT = 2000  # characters of one thought that later calls read again
_LONGEST_QUERY = 400  # characters, as the search tool takes
#: Two trees of a forest agree within this.
AGREEMENT = 0.05
#: The one outcome of a proposition.
YES = "Yes"
#: Settings of a grounder that name an event.
EVENT = ("event", "outcomes", "leaf", "prices", "exclusive", "number")
_MOST_OUTCOMES = 200
_NEAR_ONE = 0.05  # rounded probabilities of one distribution may come to another sum by this
_LETTERS = "pqrstuvwxyzabcdefghijklmno"

_Words = Annotated[str, StringConstraints(pattern=r"\S")]


class _Thoughts(ReplyShape):
    thoughts: list[_Words]


class Value(ReplyShape):
    """How useful a line of thought is, 0 to 10."""

    value: Annotated[float, Field(ge=0, le=10)]


class _Query(ReplyShape):
    words: _Words


class _Reasons(ReplyShape):
    if_nothing_changes: str = ""
    would_change_my_mind: str = ""

    def lines(self) -> str:
        named = {
            "If nothing changes": self.if_nothing_changes,
            "Would change my mind": self.would_change_my_mind,
        }
        return "".join(f"\n\n**{name}.** {words.strip()}" for name, words in named.items() if words.strip())


class _Outcomes(_Reasons):
    rationale: str = ""
    key_factor: str = ""
    probabilities: dict[str, Unit]


class _Percentiles(_Reasons):
    percentiles: dict[str, Number]
    key_factor: str = ""


class _Days(_Reasons):
    percentiles: dict[str, str]
    key_factor: str = ""


class Vote(ReplyShape):
    """A yes or no, how sure the model is of it in [0, 1], and what decides it."""

    vote: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    key_factor: Annotated[str | None, AfterValidator(lambda text: (text or "").strip()[:LONGEST_THOUGHT])] = (
        ""
    )

    @field_validator("vote")
    @classmethod
    def _one_of_two(cls, vote: str) -> str:
        if vote.strip().lower() not in ("yes", "no"):
            raise MalformedReply(f'"vote" must be "yes" or "no", not {first_line(vote, 40)}')
        return vote.strip().lower()

    @property
    def yes(self) -> bool:
        """Whether it is a yes."""
        return self.vote == "yes"

    def __str__(self) -> str:
        return f"{self.vote}, confidence {self.confidence:g}: {self.key_factor}"


Answer = Conclusion | Vote


def read_thoughts(text: str, count: int) -> list[str]:
    """Return the first ``count`` thoughts of a reply; raises `MalformedReply` where there are fewer."""
    thoughts = _Thoughts.read(text).thoughts
    if len(thoughts) < count:
        raise MalformedReply(f"{count} thoughts were asked for, {len(thoughts)} came")
    return [thought.strip()[:LONGEST_THOUGHT] for thought in thoughts[:count]]


def read_query(text: str) -> str:
    """Return the words to search for, without what could close a block; raises `MalformedReply`."""
    return " ".join(_Query.read(text).words.replace("`", "'").split())[:_LONGEST_QUERY]


def thoughts_text(thoughts: Sequence[str]) -> str:
    """Return the step text of proposed thoughts."""
    return "\n".join(f"- {thought}" for thought in thoughts)


def value_text(value: float) -> str:
    """Return how the step text of a valued path begins."""
    return f"{value:g} of 10: "


def query_text(words: str) -> str:
    """Return how the step text of a search begins."""
    return f"```text\n{words}\n\n"


def conclusion_text(conclusion: Conclusion) -> str:
    """Return the report of an answer, or what decides it where there is none."""
    return conclusion.report or conclusion.key_factor


def combine(way: str, answers: Sequence[Answer]) -> float:
    """Return the probability that a grounding's answers, in their order, come to; raises `ValueError` where they come to none.

    >>> trees = [Conclusion(p=p, key_factor="", report="") for p in (0.2, 0.7, 0.72)]
    >>> combine("last", trees), round(combine("agreement", trees), 2)
    (0.72, 0.71)
    """
    votes = [answer for answer in answers if isinstance(answer, Vote)]
    values = [answer.p for answer in answers if isinstance(answer, Conclusion)]
    if not answers or (values if way in ("votes", "weighted-votes") else votes):
        raise ValueError(f"{way} goes with answers of its own kind")
    match way:
        case "last":
            return values[-1]
        case "agreement":
            near = agreeing(values)
            if near is None:
                raise ValueError("the last answer agrees with none before it")
            return (near + values[-1]) / 2
        case "ensemble":
            return float(prompt_ensemble([values])[0])
        case "both-directions":
            yes, no = values
            return float(both_directions([yes], [no])[0])
        case "votes" | "weighted-votes":
            shares = [[float(vote.yes) for vote in votes]]
            weights = [[vote.confidence for vote in votes]]
            share = float(self_consistency(shares, weights if way == "weighted-votes" else None)[0])
            # Votes without any confidence have no weighted share; their plain one stands.
            return share if isfinite(share) else float(self_consistency(shares)[0])
    raise ValueError(f"no way to combine answers is called {way!r}")


def agreeing(values: Sequence[float]) -> float | None:
    """Return the first value that the last one agrees with, or None."""
    return next((value for value in values[:-1] if abs(value - values[-1]) <= AGREEMENT), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberAsked:
    """A number or day that is asked for by percentiles: its range, unit, and the level on whose ``side`` the leaf's yes lies.

    Days are ordinals. An end that is None is open; without a ``level`` the median counts.
    """

    __pydantic_config__ = STRICT

    open_low: bool
    open_high: bool
    zero_point: float | None
    unit: str
    low: float | None
    high: float | None
    side: str
    dates: bool
    level: float | None = None

    def scale(self, stated: Mapping[str, float] = MappingProxyType({})) -> Scale:
        """Return the range; an end that is not named lies where the stated percentiles do."""
        low, high = self.low, self.high
        first, last = stated.get("5", 0.0), stated.get("95", 1.0)
        return Scale(
            low=min(first, first if high is None else high - 1) if low is None else low,
            high=max(last, (first if low is None else low) + 1e-9 * max(1, abs(last)))
            if high is None
            else high,
            open_low=low is None or self.open_low,
            open_high=high is None or self.open_high,
            zero_point=None if None in (low, high) else self.zero_point,
            dates=self.dates,
        )

    def words(self) -> str:
        """Say in which unit and within which bounds it is asked for."""
        scale, unit = self.scale(), f" {self.unit}" if self.unit else ""
        ends = [
            f"{'usually' if is_open else 'certainly'} {words} {scale.shown(end)}{unit}"
            for end, is_open, words in (
                (self.low, self.open_low, "not before" if self.dates else "at least"),
                (self.high, self.open_high, "not after" if self.dates else "at most"),
            )
            if end is not None
        ]
        within = f"{'The day' if self.dates else 'The number'} is {' and '.join(ends)}. " if ends else ""
        if not self.dates:
            return f"{within}Give plain numbers{' in' + unit if unit else ''}."
        never = ', "never" where it need not come at all' if self.open_high and self.high is not None else ""
        return f'{within}Give days as "YYYY-MM-DD"{never}.'

    def chance(self, percentiles: Mapping[str, float], level: float) -> float:
        """Return how likely it lies on the asked side of a level."""
        below = float(chance_below(percentiles, self.scale(percentiles), [level])[0])
        return below if self.side in ("below", "at most") else 1 - below


_Name = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcomes:
    """An event and its outcomes by their exact names, as the settings of a grounder name them."""

    #: The question; "" for the proposition of the leaf.
    event: str = ""
    #: Without any the proposition itself is the one outcome.
    outcomes: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=_MOST_OUTCOMES)] = ()
    #: The outcome that the leaf is about; "": the first.
    leaf: str = ""
    #: A market's probability of outcomes, where the model may see it.
    prices: Mapping[str, Annotated[float, Field(ge=0, le=1)]] = field(default_factory=dict)
    #: Whether the probabilities must come to 1.
    exclusive: bool = False
    #: Of a number or day that is asked for by percentiles.
    number: NumberAsked | None = None

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        if len(set(map(_folded, self.outcomes))) != len(self.outcomes):
            raise BadSetting("outcomes of zero-shot are different names")
        if self.event and not self.outcomes and self.number is None:
            raise BadSetting("an event of zero-shot has outcomes, or a number")
        if strange := [name for name in (self.asked, *self.prices) if name not in self.names]:
            raise BadSetting(f"{strange[0]!r:.60} is none of the outcomes of zero-shot")

    @property
    def names(self) -> tuple[str, ...]:
        """The outcomes that are asked for."""
        return self.outcomes or (YES,)

    @property
    def asked(self) -> str:
        """The outcome that the leaf is about."""
        return self.leaf or self.names[0]

    def listing(self) -> str:
        """Return the outcomes, a line each."""
        return "\n".join(f"- {name}" for name in self.names)

    def example(self) -> str:
        """Return the object that the reply has to hold, with letters for numbers."""
        pairs = [
            f"{json.dumps(name, ensure_ascii=False)}: {_LETTERS[place % len(_LETTERS)]}"
            for place, name in enumerate(self.names)
        ]
        return "{" + ", ".join(pairs) + "}"

    def price_lines(self) -> str:
        """Return the market's prices, a line each."""
        lines = [f"- {name}: {self.prices[name]:g}" for name in self.names if name in self.prices]
        return "\n".join(lines) or "(none is given)"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeForecast:
    """A probability per outcome (of a number: a value per percentile), and why in three sentences."""

    probabilities: Mapping[str, float]
    rationale: str
    #: What follows if nothing changes, and what would change the forecast, as Markdown.
    reasons: str = ""

    def conclusion(self, outcome: str) -> Conclusion:
        """Conclude on one outcome; the report holds all."""
        return self._conclusion(self.probabilities[outcome], "{}: {:g}".format)

    def number_conclusion(self, number: NumberAsked) -> Conclusion:
        """Conclude on a number's level, or 0.5 (its median) without one; the report holds all percentiles."""
        scale = number.scale()
        p = 0.5 if number.level is None else number.chance(self.probabilities, number.level)
        return self._conclusion(p, lambda place, value: f"{place} %: {scale.shown(value)}")

    def _conclusion(self, p: float, line: Callable[[str, float], str]) -> Conclusion:
        listing = "\n".join(f"- {line(*pair)}" for pair in self.probabilities.items())
        return Conclusion(
            p=p, key_factor=self.rationale, report=f"{self.rationale}{self.reasons}\n\n{listing}"
        )


def read_outcomes(options: Mapping[str, Any]) -> EventOutcomes:
    """Return the event that the settings of a grounder name, or the leaf's own proposition; raises ``UsageError``."""
    return read_strict(EventOutcomes, options, what="the event of zero-shot")


def parse_outcomes(text: str, outcomes: Sequence[str], *, exclusive: bool = False) -> OutcomeForecast:
    """Read a probability of each outcome by its name, in other case where that leaves no doubt; raises `MalformedReply`."""
    reply = _Outcomes.read(text)
    refuse_placeholder(reply.rationale)
    refuse_placeholder(reply.key_factor)
    by_name = {_folded(name): name for name in outcomes}
    stated: dict[str, float] = {}
    for written, p in reply.probabilities.items():
        name = written if written in outcomes else by_name.get(_folded(written))
        if name is None:
            if list(outcomes) == [YES] and _folded(written) == "no":
                continue  # the rest of a yes-no event; it was not asked for and says nothing new
            raise MalformedReply(
                f"{first_line(written, 60)!r} is none of the outcomes; use exactly: {_names(outcomes)}"
            )
        if name in stated:
            raise MalformedReply(f"{first_line(name, 60)!r} stands twice")
        stated[name] = float(p)
    if lacking := [name for name in outcomes if name not in stated]:
        raise MalformedReply(f"no probability of {_names(lacking)}")
    total = fsum(stated.values())
    if exclusive and abs(total - 1) > _NEAR_ONE:
        raise MalformedReply(
            f"exactly one option comes true, and the probabilities come to {total:g} instead of 1"
        )
    return OutcomeForecast(
        probabilities={name: stated[name] for name in outcomes},
        rationale=reply.rationale.strip() or reply.key_factor.strip(),
        reasons=reply.lines(),
    )


def _names(names: Sequence[str]) -> str:
    return ", ".join(repr(first_line(name, 60)) for name in names[:8]) + (" ..." if len(names) > 8 else "")


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def parse_percentiles(text: str, scale: Scale) -> OutcomeForecast:
    """Read percentiles of a number; raises `MalformedReply` where they fall, are incomplete or leave closed bounds."""
    form: Any = _Days if scale.dates else _Percentiles
    reply = form.read(text)
    refuse_placeholder(reply.key_factor)
    stated = {
        level.strip(" %p"): _day(value, scale) if isinstance(value, str) else value
        for level, value in reply.percentiles.items()
    }
    if faults := scale.faults(stated):
        raise MalformedReply("; ".join(faults))
    rationale = reply.key_factor.strip() or reply.prose.strip()
    return OutcomeForecast(probabilities=stated, rationale=rationale, reasons=reply.lines())


def _day(text: str, scale: Scale) -> float:
    if scale.open_high and text.strip().lower() == "never":
        return scale.high + 1
    try:
        return float(date.fromisoformat(text.strip()).toordinal())
    except ValueError:
        raise MalformedReply(f"days are written YYYY-MM-DD, not {first_line(text, 40)!r}") from None
