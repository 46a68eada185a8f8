"""Several ways of asking one model for one probability, and what they come to (paper P, App. D.3 and D.7.2; paper B, App. C.8).

==================  ============================================================================  ================
``elicit``          what is asked                                                                 calls by default
==================  ============================================================================  ================
``ensemble``        the probability by four prompts; the mean                                      4
``both-directions`` the probability that it comes true, and that it does not; (p + 1 - q) / 2      2
``votes``           yes or no, ``count`` times; the share of yes                                   10
``weighted-votes``  the same, each vote weighing what its confidence says                          10
``aggregate``       ``count`` answers, and one call that reads all of them and decides             5 + 1
``scaffold``        the probability after five steps of reasoning that are named (P, D.7.2)        1
==================  ============================================================================  ================

Every call is a dialogue of its own: no answer has seen another, but for the call that decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.errors import BadSetting

if TYPE_CHECKING:
    from workbench.agents.base import Grounding
    from workbench.agents.grounders.thoughts.thought_calls import ThoughtCalls
    from workbench.agents.replies.stage_replies import Conclusion

#: What the prompts of an ensemble ask beside the plain one; the paper's three are not printed, these are ours.
MANNERS: tuple[str, ...] = (
    "Begin with how often comparable cases came true, and name the cases. Only then say what is particular about this one, and move"
    " from the first number as far as that carries.",
    "Make the strongest case that it turns out true, then the strongest case that it does not, each in a paragraph. Then judge"
    " between them.",
    "Imagine that the day has come and it turned out as you least expect. Say how that came about, and how likely that story is."
    " Then give your probability.",
)
_OPPOSITE = (
    "The question here is the opposite one: how likely is it that the proposition does NOT turn out true? Give the probability of"
    ' that as "p_true", with the reasons for it.'
)
#: Paper P's scaffold asks for the reasoning that its judge scores, dimension by dimension; the words are ours.
_SCAFFOLD = (
    "Reason in five steps, each under a heading of its own: (1) which of the sources you use, and how far each can be trusted; (2) what"
    " in them bears on the question, one piece after another; (3) how the pieces go together, and how much each weighs; (4) what"
    " remains uncertain, and what speaks against your view; (5) how all that becomes one number. Only then give your probability."
)
_COUNTS = {
    "ensemble": 1 + len(MANNERS),
    "both-directions": 2,
    "votes": 10,
    "weighted-votes": 10,
    "aggregate": 5,
    "scaffold": 1,
}
_COUNTED = ("votes", "weighted-votes", "aggregate")
WAYS = tuple(_COUNTS)
_MOST = 50


def count_of(way: str, options: Mapping[str, Any]) -> int:
    """How many answers a way asks for, from the settings; raises `BadSetting`."""
    if way not in WAYS:
        raise BadSetting(f"elicit of zero-shot is one of {', '.join(WAYS)}, not {way!r:.40}")
    count = options.get("count", _COUNTS[way])
    if way not in _COUNTED:
        if "count" in options:
            raise BadSetting(f"count goes with {', '.join(_COUNTED)}; {way} always asks {_COUNTS[way]} times")
        return _COUNTS[way]
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
        raise BadSetting(f"count of zero-shot must be a whole number from 1 to {_MOST}, not {count!r:.40}")
    return count


def calls_of(way: str, count: int) -> int:
    """Calls of one grounding where every reply can be read."""
    return count + (way == "aggregate")


async def elicit(calls: ThoughtCalls, way: str, count: int) -> Grounding:
    """Ask in this way and return the one probability that the answers come to."""
    if way == "scaffold":
        return _last(calls, await calls.conclude_by(_SCAFFOLD, stage="scaffold"))
    if way == "aggregate":
        conclusions = [await calls.conclude(()) for _ in range(count)]
        answers = [f"It gave {each.p:g}. {each.report or each.key_factor}" for each in conclusions]
        return _last(calls, await calls.conclude_from(answers))
    if way in _COUNTED:
        votes = [await calls.vote() for _ in range(count)]
        what = "Share of yes" + ", weighed by confidence" * (way == "weighted-votes")
        return _combined(calls, way, what, [float(vote.yes) for vote in votes], votes[0].key_factor)
    plain = await calls.conclude(())
    both = way == "both-directions"
    manners, stage = ((_OPPOSITE,), "opposite") if both else (MANNERS, "variant")
    others = [await calls.conclude_by(manner, stage=stage) for manner in manners]
    what = "Half from yes, half from one minus no" if both else "Mean of four prompts"
    return _combined(calls, way, what, [plain.p, *(each.p for each in others)], plain.key_factor)


def _last(calls: ThoughtCalls, answer: Conclusion) -> Grounding:
    return calls.grounding("last", answer.key_factor, answer.report)


def _combined(calls: ThoughtCalls, way: str, what: str, parts: list[float], key_factor: str) -> Grounding:
    listing = ", ".join(f"{part:g}" for part in parts)
    return calls.grounding(way, key_factor, f"{what}: {calls.combined(way):g}, of {listing}.")
