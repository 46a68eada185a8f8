"""Which open questions are worth a forecast, and which of those a tree: a grid by crowd, time left and expected gain per dollar.

Before anything is asked, a forecast is expected to take away a share of what the crowd leaves open:
``gain = skill * q (1 - q) * d / (d + 30)``, in points of the Brier score, with the crowd's q (0.5 without one) and d days left.
Near the close markets know more than models do (paper P, section 4), hence the last factor. Share and days are ours, not measured.

After the quick pass the gain of a closer look is what the pass itself leaves open: ``var(trials) + ((p - q) / 2)^2``. The first term
is what the trials do not agree on; the second is the squared error that remains on average if forecast and crowd are equally
likely to be right and the truth lies at one of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import fsum
from statistics import mean, variance
from typing import Any

from workbench.questions.formats.base import LeftOut
from workbench.questions.question import Question, QuestionError, asked_events
from workbench.questions.sets.schedule import closing

#: Share of a question's remaining uncertainty that a quick pass is expected to take away.
SKILL = 0.1
#: Days left at which half of that is expected still to be possible.
HALF_DAYS = 30.0
#: A question that does not say when it closes counts as one with so many days left.
UNKNOWN_DAYS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageRow:
    """One question of the grid.

    ``crowd`` is that of its likeliest event, ``gain`` is summed over its events, ``usd`` is the price of its quick pass (None: not
    known), ``per_usd`` the gain for each dollar (None where the pass costs nothing, or nobody knows what).
    """

    question: str
    title: str
    category: str
    events: int
    crowd: float | None
    days_left: float | None
    gain: float
    usd: float | None
    per_usd: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object."""
        return asdict(self)


def expected_gain(crowd: float | None, days_left: float | None, *, skill: float = SKILL) -> float:
    """Points of the Brier score that a forecast of one event is expected to gain over the crowd.

    >>> round(expected_gain(0.5, 30.0), 4), round(expected_gain(0.99, 30.0), 6), expected_gain(0.5, 0.0)
    (0.0125, 0.000495, 0.0)
    """
    q = 0.5 if crowd is None else crowd
    days = UNKNOWN_DAYS if days_left is None else max(0.0, days_left)
    return skill * q * (1 - q) * days / (days + HALF_DAYS)


def closer_look_gain(trials: Sequence[float], p: float, crowd: float | None) -> float:
    """Points of the Brier score that a closer look at one event may gain after these trials, pooled to ``p``.

    >>> round(closer_look_gain([0.4, 0.6], 0.5, 0.7), 4)
    0.03
    """
    # With one trial nothing is known of their spread.
    spread = variance(trials) if len(trials) > 1 else 0.0
    return spread + (0.0 if crowd is None else ((p - crowd) / 2) ** 2)


def triage(
    questions: Mapping[str, Question],
    now: datetime,
    *,
    usd_per_event: float | None,
    skill: float = SKILL,
    size: int | None = None,
    only: Sequence[str] | None = None,
) -> tuple[list[TriageRow], list[LeftOut]]:
    """The grid, the most gain for a dollar first, and what is left out of it with its reason.

    `only`: Ids; others are not looked at.

    Raises `QuestionError`: A share out of range.
    """
    if not 0 < skill <= 1:
        raise QuestionError(f"the skill is a share above 0 and at most 1, not {skill:g}")
    rows: list[TriageRow] = []
    left_out: list[LeftOut] = []
    for question in questions.values():
        if only is not None and question.id not in only:
            continue
        if reason := why_not(question, now):
            left_out.append(LeftOut(question.id, reason))
        else:
            rows.append(_triage_row(question, now, usd_per_event, skill))
    # By id where gains are equal: the same night from the same set, whatever its order.
    rows.sort(key=lambda row: (-(row.gain if row.per_usd is None else row.per_usd), row.question))
    if size is not None:
        for place, row in enumerate(rows[size:], size + 1):
            left_out.append(LeftOut(row.question, f"number {place} by expected gain, {size} are taken"))
        rows = rows[:size]
    return rows, left_out


def why_not(question: Question, now: datetime) -> str:
    """Why a question is not forecast at this time, one line; "" if it is."""
    events = asked_events(question)
    if not events:
        return f"a {question.kind} question without levels has no event to forecast"
    if all(event.outcome is not None for event in events):
        return "resolved"
    close = closing(question)
    if close is not None and close <= now:
        return f"closed {question.closes_on or max([*question.horizons, *question.days])}"
    return ""


def days_left(question: Question, now: datetime) -> float | None:
    """Days until a question closes, None if it does not say."""
    close = closing(question)
    return None if close is None else (close - now).total_seconds() / 86400


def _triage_row(question: Question, now: datetime, usd_per_event: float | None, skill: float) -> TriageRow:
    events = [event for event in asked_events(question) if event.outcome is None]
    left = days_left(question, now)
    gains = [expected_gain(event.crowd, left, skill=skill) for event in events]
    usd = None if usd_per_event is None else usd_per_event * len(events)
    crowds = [event.crowd for event in events if event.crowd is not None]
    return TriageRow(
        question=question.id,
        title=question.title,
        category=question.category,
        events=len(events),
        crowd=max(crowds, default=None),
        days_left=left,
        gain=fsum(gains),
        usd=usd,
        # By the mean, which is exact: sums of different length of one gain round differently, and the clock would order equal questions.
        per_usd=mean(gains) / usd_per_event if usd_per_event else None,
    )
