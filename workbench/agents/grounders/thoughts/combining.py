"""How the answers of a thinking grounder come to one probability, by the name that its trace keeps, so that ``verify`` can combine them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from workbench.agents.grounders.thoughts.readings import Vote
from workbench.agents.replies import Conclusion
from workbench.science.pooling.elicitation import both_directions, prompt_ensemble, self_consistency

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


def _votes(answers: Sequence[Answer]) -> list[Vote]:
    votes = [answer for answer in answers if isinstance(answer, Vote)]
    if len(votes) != len(answers):
        raise ValueError("a probability is no vote")
    return votes


def _agreement(answers: Sequence[Answer]) -> float:
    values = _numbers(answers)
    near = agreeing(values)
    if near is None:
        raise ValueError("the last answer agrees with none before it")
    return (near + values[-1]) / 2


def _both(answers: Sequence[Answer]) -> float:
    yes, no = _numbers(answers)
    return float(both_directions([yes], [no])[0])


def _share(answers: Sequence[Answer]) -> float:
    return float(self_consistency([_said(_votes(answers))])[0])


def _weighted_share(answers: Sequence[Answer]) -> float:
    votes = _votes(answers)
    share = float(self_consistency([_said(votes)], [[vote.confidence for vote in votes]])[0])
    # Votes that all weigh nothing say nothing: their plain share stands, as if none had named a confidence.
    return share if np.isfinite(share) else _share(answers)


def _said(votes: Sequence[Vote]) -> list[float]:
    return [1.0 if vote.yes else 0.0 for vote in votes]


_WAYS: Mapping[str, Callable[[Sequence[Answer]], float]] = {
    "last": lambda answers: _numbers(answers)[-1],
    "agreement": _agreement,
    "ensemble": lambda answers: float(prompt_ensemble([_numbers(answers)])[0]),
    "both-directions": _both,
    "votes": _share,
    "weighted-votes": _weighted_share,
}
