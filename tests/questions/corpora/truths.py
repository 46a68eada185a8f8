"""Whether a reading says what a row of `sixth.jsonl` means: the set's own names of series and relations, and its own kinds of truth.

``claim``; ``ambiguous``, read where one of its ``ways`` is taken or offered; ``hole``, whose ``rest`` is what a completed one says; ``none``.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from tests.questions.corpora.verdicts import Said, judged, judged_none, said, same_relation, source_of
from workbench.questions.readings.slots import ClaimReading, Readings

#: The series of the set that this product calls otherwise; two names for a difference of two.
SERIES = {
    **{name: f"embedded:{name}" for name in ("SP500", "NASDAQ", "VIX", "WTI", "CORE_CPI", "BAA", "AAA")},
    "core CPI over a year": "embedded:CORE_CPI",
    "federal funds rate": "effective federal funds rate",  # "effective" stands in the text of its one row
    "META": "FB",
}
#: What a yearly rate is said of, beside the series of prices.
_RATES = {"core CPI over a year", "US headline CPI", "US PCE inflation", "US core PCE"}
_MISSING = {"date": "window", "series": "series", "level": "level"}
_SCALES = {"basis points": 0.01}
#: Days by which the start of a window may differ: it is the day before its first one, which no market need be open on.
_START = timedelta(days=4)
#: Of rows whose relation is "other", the statements that are right, judged by their notes.
ACCEPTED = {
    17: "The BAA-AAA spread is above 1 on 2015-06-30",
    27: "The VIX closes 100% or more above its last known close at least once through 2018-11-14",
    29: "yahoo:PA=F less yahoo:PL=F closes above 0 on 2018-12-31",
    67: "yahoo:BZ=F less WTI crude oil closes below 10 on 2011-12-30",
    135: "The S&P 500 closes higher on at least 5 consecutive days from 2017-02-28 to 2017-03-31",
    146: "The S&P 500 closes 12% or more below its highest close of the window from 2015-12-31 to 2016-12-31",
}


def truth_verdict(found: Readings, row: Mapping[str, Any]) -> str:
    """Return the verdict on what was read of a row, as `Verdict` names it."""
    truth, today = row["truth"], date.fromisoformat(row["cutoff"])
    if truth["kind"] == "none":
        return judged_none(found)
    if truth["kind"] == "hole":
        return _hole_verdict(found, truth, today)
    ways = truth.get("ways", [truth])

    def right(reading: ClaimReading) -> bool:
        return reading.statement == ACCEPTED.get(row["id"]) or any(_says(reading, way, today) for way in ways)

    return judged(found, right)


def _hole_verdict(found: Readings, truth: Mapping[str, Any], today: date) -> str:
    """A hole is named, or completed by readings that say the rest; a series that nobody named completes none."""
    if found.best:
        return "misread"
    if not found.others:
        return "refused rightly" if found.missing else "refused"
    if "series" in truth["missing"] and "series" not in found.missing:
        return "wrong"
    return "suggested" if any(_says(each, truth["rest"], today) for each in found.others) else "wrong"


def _says(reading: ClaimReading, truth: Mapping[str, Any], today: date) -> bool:
    return any(
        _same_series(each, truth)
        and _same_relation(each, truth)
        and _same_level(each, truth)
        and _same_days(each, truth, today)
        for each in said(reading)
    )


def _same_series(reading: Said, truth: Mapping[str, Any]) -> bool:
    if "series" not in truth:
        return True
    named = [
        source_of(SERIES.get(each, each)) for each in (truth["series"], truth.get("other_series")) if each
    ]
    series = list(reading.series)
    if truth["relation"] == "beats" and reading.comparison in ("below", "at_most"):
        series.reverse()  # "A trails B" is "B beats A"
    return series == named


def _same_relation(reading: Said, truth: Mapping[str, Any]) -> bool:
    wanted, of_rate = truth["relation"], truth.get("series") in _RATES
    if of_rate and (found := same_relation(reading, "sixth", f"{wanted} of a rate")) is not None:
        return found
    # Of a series with a value a month the average of one month is that value.
    if reading.relation == "mean" and reading.series[0] in ("baa", "aaa") and _days(reading) <= 31:  # fmt: skip
        reading = replace(reading, relation="level") if wanted in ("above", "below", "at_least", "at_most") else reading  # fmt: skip
    return bool(
        same_relation(reading, "sixth", wanted)
    )  # "outside" and "other" have no row: no reading says them


def _same_level(reading: Said, truth: Mapping[str, Any]) -> bool:
    wanted, scale = truth.get("level"), _SCALES.get(truth.get("unit", ""), 1.0)
    if wanted is None:
        return True
    if truth["relation"] == "count_of_days":
        return bool(reading.times == wanted)
    values = wanted if isinstance(wanted, list) else [wanted]
    read = [reading.level, reading.upper][: len(values)]
    return all(is_ is not None and abs(abs(is_) - scale * value) <= 1e-4 * abs(value) for is_, value in zip(read, values, strict=True))  # fmt: skip


def _same_days(reading: Said, truth: Mapping[str, Any], today: date) -> bool:
    if not truth.get("end"):
        return True
    end, start = date.fromisoformat(truth["end"]), truth.get("start")
    if reading.end is None or not _one_day(reading.end, end):
        return False
    if start is None or reading.relation == "growth_yoy":
        return True
    first, begins = date.fromisoformat(start), reading.start or today
    if reading.relation not in ("change", "compare", "beats"):
        first, begins = max(first, today), max(begins, today)  # days that are known already decide nothing
    return abs(first - begins) <= _START


def _one_day(a: date, b: date) -> bool:
    """Whether no weekday lies after the one up to the other."""
    first, last = sorted((a, b))
    return all((first + timedelta(days=i)).weekday() >= 5 for i in range(1, (last - first).days + 1))


def _days(reading: Said) -> int:
    return (reading.end - reading.start).days if reading.end and reading.start else 366
