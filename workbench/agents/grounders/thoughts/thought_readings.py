"""What is read out of the replies of a thinking grounder, and how its answers come to one probability; ``verify`` uses the same code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, StringConstraints

from workbench.agents.errors import MalformedReply
from workbench.agents.replies.json_reply import first_line
from workbench.agents.replies.stage_replies import Conclusion, ReplyShape, read_reply
from workbench.science.pooling.elicitation import both_directions, prompt_ensemble, self_consistency

LONGEST_THOUGHT = 2000  # characters of one thought that later calls read again

_LONGEST_QUERY = 400  # characters, as the search tool takes


Words = Annotated[str, StringConstraints(pattern=r"\S")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A yes or no, how sure the model is of it in [0, 1], and what decides it."""

    yes: bool
    confidence: float
    key_factor: str


class _ThoughtsShape(ReplyShape):
    thoughts: list[Words]


class _ValueShape(ReplyShape):
    value: Annotated[float, Field(ge=0, le=10)]


class _VoteShape(ReplyShape):
    vote: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    key_factor: str | None = None


class _QueryShape(ReplyShape):
    words: Words


def read_thoughts(text: str, count: int) -> list[str]:
    """Return the first ``count`` thoughts of a reply; raises `MalformedReply` where there are fewer."""
    thoughts = read_reply(_ThoughtsShape, text).thoughts
    if len(thoughts) < count:
        raise MalformedReply(f"{count} thoughts were asked for, {len(thoughts)} came")
    return [each.strip()[:LONGEST_THOUGHT] for each in thoughts[:count]]


def read_value(text: str) -> float:
    """Return how useful a line of thought is said to be, 0 to 10; raises `MalformedReply`."""
    return read_reply(_ValueShape, text).value


def read_vote(text: str) -> Vote:
    """Return a yes or no with its confidence; raises `MalformedReply`."""
    shape = read_reply(_VoteShape, text)
    said = shape.vote.strip().lower()
    if said not in ("yes", "no"):
        raise MalformedReply(f'"vote" must be "yes" or "no", not {first_line(shape.vote, 40)}')
    factor = (shape.key_factor or "").strip()[:LONGEST_THOUGHT]
    return Vote(yes=said == "yes", confidence=shape.confidence, key_factor=factor)


def read_words(text: str) -> str:
    """Return what a reply wants to search for; raises `MalformedReply`."""
    return " ".join(read_reply(_QueryShape, text).words.replace("`", "'").split())[:_LONGEST_QUERY]


def words_text(words: str) -> str:
    """What stands before the results of a search, at the top of their block."""
    return f"```text\n{words}\n\n"


def thoughts_text(thoughts: Sequence[str]) -> str:
    """The proposed thoughts, a line each."""
    return "\n".join(f"- {thought}" for thought in thoughts)


def value_text(value: float) -> str:
    """What stands before the line of thought that was valued."""
    return f"{value:g} of 10: "


def vote_text(vote: Vote) -> str:
    """A vote in one line."""
    return f"{'yes' if vote.yes else 'no'}, confidence {vote.confidence:g}: {vote.key_factor}"


def conclusion_text(conclusion: Conclusion) -> str:
    """The report of an answer, or what decides it where there is none."""
    return conclusion.report or conclusion.key_factor


Answer = Conclusion | Vote
#: Two trees of a forest agree within this.
AGREEMENT = 0.05


def combine(way: str, answers: Sequence[Answer]) -> float:
    """Return the probability that the answers of a grounding, in the order they were given, come to.

    Raises ``ValueError`` for a way that is not known, or answers that it cannot combine.

    >>> said = [Conclusion(p=p, key_factor="", report="") for p in (0.2, 0.7, 0.72)]
    >>> combine("last", said), round(combine("agreement", said), 2)
    (0.72, 0.71)
    """
    if way not in _WAYS or not answers:
        raise ValueError(f"answers are combined by one of {', '.join(_WAYS)}, and there must be some")
    return _WAYS[way](answers)


def agreeing(values: Sequence[float]) -> float | None:
    """Return the first value that the last one agrees with, or None."""
    return next((value for value in values[:-1] if abs(value - values[-1]) <= AGREEMENT), None)


def _numbers(answers: Sequence[Answer]) -> list[float]:
    if not all(isinstance(answer, Conclusion) for answer in answers):
        raise ValueError("a vote states no probability")
    return [answer.p for answer in answers if isinstance(answer, Conclusion)]


def _agreement(answers: Sequence[Answer]) -> float:
    values = _numbers(answers)
    near = agreeing(values)
    if near is None:
        raise ValueError("the last answer agrees with none before it")
    return (near + values[-1]) / 2


def _both(answers: Sequence[Answer]) -> float:
    yes, no = _numbers(answers)
    return float(both_directions([yes], [no])[0])


def _share(answers: Sequence[Answer], *, weighted: bool = False) -> float:
    votes = [answer for answer in answers if isinstance(answer, Vote)]
    if len(votes) != len(answers):
        raise ValueError("a probability is no vote")
    weights = [[vote.confidence for vote in votes]] if weighted else None
    share = float(self_consistency([[float(vote.yes) for vote in votes]], weights)[0])
    # Votes that all weigh nothing say nothing: their plain share stands, as if none had named a confidence.
    return share if np.isfinite(share) else _share(answers)


_WAYS: Mapping[str, Callable[[Sequence[Answer]], float]] = {
    "last": lambda answers: _numbers(answers)[-1],
    "agreement": _agreement,
    "ensemble": lambda answers: float(prompt_ensemble([_numbers(answers)])[0]),
    "both-directions": _both,
    "votes": _share,
    "weighted-votes": lambda answers: _share(answers, weighted=True),
}
