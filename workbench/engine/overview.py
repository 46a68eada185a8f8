"""What a list of runs says beyond each run's own log: how a claim's probability moved since its run before, when to look again."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from workbench.errors import UsageError
from workbench.questions.grammar import read_claim
from workbench.questions.schedule import HalvingSchedule

_ISO_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def with_course(
    rows: Sequence[Mapping[str, Any]], now: datetime, schedule: HalvingSchedule | None = None
) -> list[dict[str, Any]]:
    """Return rows of ``documents.runs``, oldest first, each with its course over time.

    ``before`` is the run before of the same claim that has a probability (``run_id`` and ``p``), None for the first;
    ``next_review`` the instant at which a finished run's claim is to be judged again, halfway between its last run and its
    day (paper P, section 2), None where the claim is decided, over, has no day, or a later run took its place.
    """
    halving = schedule or HalvingSchedule()
    last: dict[str, dict[str, Any]] = {}
    times: dict[str, int] = {}
    listed: list[dict[str, Any]] = []
    for row in rows:
        shown = {**row, "before": None, "next_review": None}
        listed.append(shown)
        claim = " ".join(str(row.get("statement") or "").split()).casefold()
        if row.get("p") is None or not claim:
            continue
        earlier = last.get(claim)
        if earlier is not None:
            shown["before"] = {"run_id": earlier["run_id"], "p": earlier["p"]}
            earlier["next_review"] = None
        last[claim] = shown
        times[claim] = times.get(claim, 0) + 1
        if row.get("outcome") is None and times[claim] < halving.most:
            shown["next_review"] = _next_review(str(row["statement"]), row.get("started_utc"), halving, now)
    return listed


def _next_review(
    statement: str, started_utc: str | None, schedule: HalvingSchedule, now: datetime
) -> datetime | None:
    day = claim_day(statement)
    if day is None or started_utc is None:
        return None
    try:
        started = datetime.fromisoformat(started_utc)
    except ValueError:  # a stranger's package may hold what is no instant
        return None
    close = datetime.combine(day, time(), UTC) + timedelta(days=1)
    if started.tzinfo is None or now >= close:
        return None
    return schedule.after(started, close)


@lru_cache(maxsize=4096)
def claim_day(statement: str) -> date | None:
    """Return the day on which a claim is decided: as the key-free analyst reads it, else the last date it names.

    >>> claim_day("VIX closes above 20 on 31 December 2018"), claim_day("A treaty is signed by 2027-03-01"), claim_day("So it is")
    (datetime.date(2018, 12, 31), datetime.date(2027, 3, 1), None)
    """
    try:
        return read_claim(statement).end
    except UsageError:
        days = []
        for text in _ISO_DATE.findall(statement):
            try:
                days.append(date.fromisoformat(text))
            except ValueError:  # 2026-02-31
                continue
        return max(days, default=None)


def age(started_utc: str | None, now: datetime) -> str:
    """Return how long ago a run was begun, in the largest unit that fits; empty where nobody knows.

    >>> age("2026-11-20T12:00:00+00:00", datetime(2026, 11, 22, 18, tzinfo=UTC)), age(None, datetime.now(UTC))
    ('2 d', '')
    """
    try:
        seconds = (now - datetime.fromisoformat(started_utc or "")).total_seconds()
    except (ValueError, TypeError):
        return ""
    for size, unit in ((365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "now"
