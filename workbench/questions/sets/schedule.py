"""When a question is looked at: at ever shorter distances from its close, halving what is left each time (paper P, section 2).

The paper gives neither the least distance nor the most times: one hour and eight are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from workbench.questions.question import Question, QuestionError


@dataclass(frozen=True, slots=True, kw_only=True)
class HalvingSchedule:
    """t(k+1) = (t(k) + close) / 2, as long as the next time lies at least ``least_gap`` after the last one."""

    #: Also the least distance from the close.
    least_gap: timedelta = timedelta(hours=1)
    #: Times of one question, the first one counted.
    most: int = 8

    def __post_init__(self) -> None:
        if self.least_gap <= timedelta(0):
            raise QuestionError("the least gap of a schedule must be above 0")
        if self.most < 1:
            raise QuestionError(f"a schedule has at least one time, not {self.most}")

    def after(self, last: datetime, close: datetime) -> datetime | None:
        """The time that follows ``last``; None where too little is left.

        >>> day = datetime(2026, 1, 1, tzinfo=UTC)
        >>> HalvingSchedule().after(day, day + timedelta(days=8)).isoformat()
        '2026-01-05T00:00:00+00:00'
        """
        step = (close - last) / 2
        return last + step if step >= self.least_gap else None

    def times(self, first: datetime, close: datetime) -> tuple[datetime, ...]:
        """All times from ``first`` on; none where ``first`` is not before the close."""
        if first >= close:
            return ()
        times = [first]
        while len(times) < self.most and (following := self.after(times[-1], close)) is not None:
            times.append(following)
        return tuple(times)


def due_since(
    question: Question, forecasts: Sequence[datetime], schedule: HalvingSchedule, now: datetime
) -> datetime | None:
    """Since when a question waits for a forecast; None if it does not.

    A question that was never forecast waits from the start of its asking. One without a closing day, or that has had
    all its times, is not forecast again.
    """
    close = closing(question)
    if close is not None and now >= close:
        return None
    if not forecasts:
        return min(now, _start(question.asked_on)) if question.asked_on else now
    review = next_review(question, forecasts, schedule)
    return review if review is not None and review <= now else None


def next_review(
    question: Question, forecasts: Sequence[datetime], schedule: HalvingSchedule
) -> datetime | None:
    """When a question that was forecast at these times is to be forecast again; None if never."""
    close = closing(question)
    if close is None or not forecasts or len(forecasts) >= schedule.most:
        return None
    return schedule.after(max(forecasts), close)


def closing(question: Question) -> datetime | None:
    """The instant at which a question closes (``closes_at`` of its source), else the end of its closing, last or resolution day; None without any.

    >>> closing(Question(id="q", title="Rain?", closes_on="2026-01-31")).isoformat()
    '2026-02-01T00:00:00+00:00'
    """
    if instant := question.extra.get("closes_at"):
        return datetime.fromisoformat(instant).astimezone(UTC)
    days = [question.closes_on] if question.closes_on else [*question.horizons, *question.days]
    if not days:
        return None
    return _start(max(days)) + timedelta(days=1)


def _start(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)
