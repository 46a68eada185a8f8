"""Paper P's task: the probability of every outcome of an event in one call, over the context that every model is given (App. F.1.2).

A leaf of its own is an event with the one outcome Yes. Of an event with several outcomes the leaf is one, and the trace holds what the
call said of all of them, so that a study records each without asking again. The probabilities stay as the model stated them: the paper
asks for no sum of 1, and how far they are from it is a finding (its consistency score).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.agents.errors import BadSetting, MalformedReply
from workbench.agents.replies.json_reply import first_line
from workbench.agents.replies.reply_text import refuse_placeholder
from workbench.agents.replies.stage_replies import Conclusion, ReplyShape, Unit, read_form

#: The one outcome of a proposition, and what a model may say beside it without having been asked.
YES, NO = "Yes", "No"
_MOST = 200  # outcomes of one event
_LETTERS = "pqrstuvwxyzabcdefghijklmno"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcomes:
    """An event and its outcomes by their exact names.

    Parameters
    ----------
    event : str
        The question; "" for the proposition of the leaf.
    outcomes : tuple of str
    leaf : str
        The outcome that the leaf is about.
    prices : mapping of str to float
        A market's probability of outcomes, where the model may see it.
    """

    event: str = ""
    outcomes: tuple[str, ...] = (YES,)
    leaf: str = YES
    prices: Mapping[str, float] = field(default_factory=dict)

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


def read_outcomes(options: Mapping[str, Any]) -> EventOutcomes:
    """The event that the settings of a grounder name; the leaf's own proposition where they name none.

    Raises
    ------
    BadSetting
        Outcomes that are no list of different texts, a leaf that is none of them, or a price that is no probability.
    """
    if not {"event", "outcomes", "leaf", "prices"} & set(options):
        return EventOutcomes()
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
        event=str(options.get("event", "")), outcomes=tuple(names), leaf=leaf, prices=dict(prices)
    )


def parse_outcomes(text: str, outcomes: Sequence[str]) -> OutcomeForecast:
    """Read a reply: a probability of each outcome by its name; other upper and lower case is read where it leaves no doubt.

    Raises
    ------
    MalformedReply
        An outcome that is missing or was not asked for, or a number that is no probability.
    """
    shape, _, _ = read_form(_OutcomesShape, text)
    refuse_placeholder(shape.rationale)
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
    return OutcomeForecast(
        probabilities={name: stated[name] for name in outcomes}, rationale=shape.rationale.strip()
    )


def _names(names: Sequence[str]) -> str:
    return ", ".join(repr(first_line(name, 60)) for name in names[:8]) + (" ..." if len(names) > 8 else "")


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


class _OutcomesShape(ReplyShape):
    rationale: str
    probabilities: dict[str, Unit]
