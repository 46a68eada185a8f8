"""From a claim to numbers: whether it can be asked at a cutoff, what the models need, and how it came out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd

from workbench.forecasts.past_windows import (
    ClaimWindows,
    Scale,
    TooLittleHistory,
    reading_windows,
    scale_of,
)
from workbench.forecasts.periods import whole_periods
from workbench.forecasts.reading import Decision, NoPercentage, decide
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, combined_history
from workbench.forecasts.trading_days import trading_days
from workbench.formatting import number
from workbench.questions.claims import Claim, amount, settled
from workbench.questions.errors import ANOTHER_MODEL, ClaimRefused
from workbench.questions.series.known_series import Days, Frequency, data_end
from workbench.questions.series.readings_of_claims import claim_reading
from workbench.questions.series.series_registry import series_named
from workbench.science.errors import ScienceError

Rows = Sequence[Mapping[str, Any]]

# Two years, one of them a leap year.
LONGEST_DAYS = 731
# A weekend lengthened by a holiday leaves at most four days without a close; an older value means missing data.
FRESH = timedelta(days=5)
# Beside the distance to an average, which needs none where the average is only to be passed.
_IN_PERCENT = ("change", "drawdown", "peak", "step", "move", "first_move", "relative", "volatility")


def check(claim: Claim, last_day: date) -> None:
    """Refuse a claim that cannot be asked at a cutoff; ``last_day`` is the last day visible then.

    Looks at the calendar and at documented ranges only, never at a value.

    Raises `ClaimRefused`: Settled already, resolving after the data end, more than two years ahead, starting before the data do, or in
    percent of a series that can be at or below zero.
    """
    if claim.start is not None and claim.start >= claim.end:
        # of a sentence the grammar refuses it; a driver may end before what it is a driver of begins
        raise ClaimRefused(f"no day lies after {claim.start} and through {claim.end}; choose a later date")
    names = [claim.series] + ([claim.other] if claim.other else [])
    for name in names:
        series = series_named(name)
        if (ended := data_end(series)) is not None and claim.end > ended:
            raise ClaimRefused(
                f"the embedded data on {series.article} end on {ended}, so a claim that resolves on "
                f"{claim.end} cannot be treated; choose an earlier date, or ",
                *ANOTHER_MODEL,
            )
        if series.signed and (claim.pattern in _IN_PERCENT or (claim.pattern == "average" and claim.level)):
            raise ClaimRefused(
                f"{series.article} can be at or below zero, and no move in percent can be measured from there; ask in points or "
                "for a level"
            )
        if claim.start is not None and series.first is not None and claim.start < series.first:
            raise ClaimRefused(
                f"the embedded data on {series.article} begin on {series.first}, after {claim.start}; "
                "choose a later start"
            )
    if not _open(claim, last_day):
        raise ClaimRefused(
            f"the claim is already settled at the cutoff (the last visible day is {last_day}, it resolves on "
            f"{claim.end}); choose a later date or an earlier cutoff"
        )
    if claim.period is not None:
        whole = whole_periods(claim.period, claim.start or last_day, claim.end)
        if whole < claim.times:
            raise ClaimRefused(
                f"{whole} whole {claim.period}s lie between {claim.start or last_day} and {claim.end}, and the claim wants "
                f"{claim.times}; choose a later date"
            )
    if (claim.end - last_day).days > LONGEST_DAYS:
        raise ClaimRefused(
            f"{claim.end} is more than two years after the cutoff, too far ahead for the history available; "
            "choose a nearer date"
        )


def _open(claim: Claim, last_day: date) -> bool:
    if claim.about.monthly or not claim.about.embedded:  # which days it has, its values tell
        return claim.end > last_day
    # From a Friday to its Sunday no session is left, so the outcome is already in the last visible close.
    return claim.end > last_day and trading_days(last_day, claim.end) > 0


def observed(claim: Claim, rows: Mapping[str, Rows]) -> Claim:
    """Return the claim with what the rows alone tell of its series: how often it has a value, and whether its levels return.

    Of embedded series both are documented. A series that has not grown or shrunk steadily over its history is taken to return.
    """
    if claim.observed is not None or claim.about.embedded:
        return claim
    history = history_of(value_series(claim.series, rows))
    frequency, days = _FREQUENCIES[Calendar.of(history).frequency]
    kind = claim.about.kind
    if kind == "index":
        # A series that never moved has no correlation with time.
        moved = len(history) > 2 and np.ptp(history.values) > 0
        steady = moved and abs(np.corrcoef(np.arange(len(history)), history.values)[0, 1]) > 0.9
        kind = "index" if steady and (history.values > 0).all() else "yield"
    return replace(claim, observed=replace(claim.about, frequency=frequency, days=days, kind=kind))


_FREQUENCIES: dict[str, tuple[Frequency, Days]] = {
    "session": ("daily", "weekdays"),
    "weekday": ("daily", "weekdays"),
    "day": ("daily", "every day"),
    "week": ("weekly", "every day"),
    "month": ("monthly", "every day"),
    "quarter": ("quarterly", "every day"),
    "year": ("yearly", "every day"),
}


def _elsewhere(claim: Claim) -> bool:
    return not (claim.about.embedded and (claim.against is None or claim.against.embedded))


def series_of(claim: Claim, rows: Mapping[str, Rows]) -> list[pd.Series]:
    """The claim's series (the spread already taken) and, for relative claims, the other one."""
    return [value_series(name, rows) for name in (claim.series, claim.other) if name]


def claim_history(claim: Claim, rows: Mapping[str, Rows]) -> History:
    """Return the known values that a claim is about: its series, or the ratio of its two."""
    first, *others = claim_histories(claim, rows)
    return combined_history(first, others[0], "ratio") if others else first


def claim_histories(claim: Claim, rows: Mapping[str, Rows]) -> list[History]:
    """Return the known values of a claim's series, one or two."""
    return [history_of(series) for series in series_of(claim, rows)]


def history_of(series: pd.Series) -> History:
    """Return values by day as a history."""
    return History.of(series.index.to_numpy(), series.to_numpy())


def value_series(name: str, rows: Mapping[str, Rows]) -> pd.Series:
    """Return the values of one known series by day, oldest first, gaps left out."""
    try:
        parts = [_column(rows[source]) for source in series_named(name).sources]
    except KeyError as missing:
        raise ClaimRefused(f"the values of {missing} were not fetched") from None
    # Rounded, because a difference of two decimal yields carries binary noise (5.15 - 4.2 is not 0.95): a claim about
    # equality with a level would turn on it.
    series = parts[0] if len(parts) == 1 else (parts[0] - parts[1]).dropna().round(4)
    if series.empty:
        raise ClaimRefused(
            f"no value of {series_named(name).article} is visible at this cutoff; choose a later cutoff"
        )
    return series


def _column(rows: Rows) -> pd.Series:
    # Through numpy: pandas' own reader of dates takes ten times as long, which 120 past cutoffs feel.
    days = pd.DatetimeIndex(np.array([row["date"] for row in rows], dtype="datetime64[ns]"))
    return pd.Series([row["value"] for row in rows], index=days, dtype=float).dropna()


def decided(claim: Claim, series: pd.Series) -> Decision | None:
    """Return how the values so far decide a claim, whatever comes after them; None while it can still go either way.

    Only a claim about the whole way since a past start can be decided before its end: a fall or rise that has
    happened stays so, and a volatility that the days passed have used up stays above its bound even if nothing moves
    any more.
    """
    if not (claim.by_reading or claim.pattern in ("drawdown", "volatility")) or claim.start is None:
        return None
    if claim.start >= series.index[-1].date():
        return None
    _needed(claim.series, series, claim.start)
    # Every weekday to come may still have a close, so no holiday is counted on.
    own = _elsewhere(claim) or claim.about.monthly
    calendar = Calendar.of(history_of(series)) if own else Calendar(frequency="weekday")
    return decide(claim_reading(claim), history_of(series), calendar)


def appraise(claim: Claim, rows: Mapping[str, Rows], last_day: date) -> ClaimWindows:
    """Return the base rate and past outcomes of a claim from the rows visible at the cutoff; the planner compares base rates.

    Raises `ClaimRefused`: The visible values have decided the claim (it has an outcome, not a probability), or hold fewer than two
    separate windows of its length.
    """
    claim = settle(claim, rows)
    if (decision := decided(claim, value_series(claim.series, rows))) is not None:
        raise ClaimRefused(
            f"the claim is already settled at the cutoff: the value of {decision.day} ({number(decision.value)}) has made it "
            f"{'true' if decision.true else 'false'}, so choose an earlier cutoff or a later start"
        )
    try:
        return reading_windows(claim_reading(claim), claim_history(claim, rows), last_day, claim_scale(claim))
    except (TooLittleHistory, ScienceError) as problem:
        raise refused_by(problem, "choose a later cutoff or a nearer date") from None


def refused_by(problem: Exception, remedy: str) -> ClaimRefused:
    """Return the refusal of a claim that a forecast could not be made of; a missing percentage names its own remedy."""
    return ClaimRefused(str(problem) if isinstance(problem, NoPercentage) else f"{problem}: {remedy}")


def claim_scale(claim: Claim) -> Scale:
    """Return how past windows of a claim are laid beside now: levels of a volatility or a rate stay where they were."""
    about = claim.about
    if about.embedded and about.kind == "yield":
        # In 60 years these moved through levels that say little of now.
        return "change"
    returns = about.kind in ("volatility", "yield") and claim.against is None
    return scale_of(claim_reading(claim), returns=returns)


def _unsettled(claim: Claim) -> bool:
    return claim.side == "toward" or (claim.pattern == "change" and claim.about.kind == "yield")


def settle(claim: Claim, rows: Mapping[str, Rows]) -> Claim:
    """Return the claim with a touch's side chosen and a yield's percentage turned into a level, from visible rows."""
    claim = observed(claim, rows)
    if claim.pattern == "first":
        _refuse_one_sided(claim, rows)
    if not _unsettled(claim):
        return claim
    series = value_series(claim.series, rows)
    if claim.side == "toward":
        return settled(claim, float(series.iloc[-1]))
    start = series.index[-1].date() if claim.start is None else claim.start
    value = value_on(claim.series, series, start)
    if value is None:
        raise ClaimRefused(
            f"the value of {claim.about.article} for {start} is not visible yet; ask in levels instead of percent"
        )
    if value <= 0:
        raise ClaimRefused(
            f"{claim.about.article} was at {number(value)} on {start}, and no move in percent can be measured from a value at or "
            "below zero; ask in points or for a level"
        )
    level = round(value * (1 + amount(claim) / 100), 4)
    return replace(claim, pattern="level", start=None, level=level)


def _refuse_one_sided(claim: Claim, rows: Mapping[str, Rows]) -> None:
    series = value_series(claim.series, rows)
    start = claim.start or series.index[-1].date()
    value = value_on(claim.series, series, start) if start <= series.index[-1].date() else None
    low, high = sorted((amount(claim), claim.upper or 0.0))
    if value is not None and not low < value < high:
        raise ClaimRefused(
            f"{claim.about.article} was at {number(value)} on {start}, and {number(low)} and {number(high)} lie on one "
            f"side of that value; ask whether the series touches one of them through {claim.end}"
        )


def base_rate(claim: Claim, rows: Mapping[str, Rows], last_day: date) -> float:
    """Return the share of past windows of the claim's kind, known at the cutoff, in which it came true; in [0, 1]."""
    return appraise(claim, rows, last_day).base_rate


def value_on(name: str, series: pd.Series, day: date) -> float | None:
    """Return a series' value on a date: the last one on or before it, at most five days old; monthly: that month's.

    None if there is no such value.
    """
    if not series_named(name).embedded:
        history = history_of(series)
        before = series[: pd.Timestamp(day)]
        # The value of the day's own period, and of no earlier one.
        if before.empty or len(Calendar.of(history).stamps(before.index[-1].date(), day)):
            return None
        return float(before.iloc[-1])
    if series_named(name).monthly:
        month = pd.Timestamp(day).replace(day=1)
        return float(series[month]) if month in series.index else None
    before = series[: pd.Timestamp(day)]
    if before.empty or pd.Timestamp(day) - before.index[-1] > FRESH:
        return None
    return float(before.iloc[-1])


def resolve(claim: Claim, rows: Mapping[str, Rows], seen: Mapping[str, Rows]) -> bool:
    """Return how the claim came out.

    Raises `ClaimRefused`: A value that the claim needs is missing, or older than five days.
    """
    # The later values would choose the side that they then decide.
    claim = settle(claim, seen)
    since = claim.start or _last_seen(claim, seen)
    if not _elsewhere(claim):
        for name in (claim.series, claim.other) if claim.other else (claim.series,):
            series = value_series(name, rows)
            _needed(name, series, claim.end)
            if not claim.about.monthly:
                _needed(name, series, since)
    history = claim_history(claim, rows)
    try:
        decision = decide(replace(claim_reading(claim), start=since), history, Calendar.of(history))
    except ScienceError as problem:
        raise ClaimRefused(str(problem)) from None
    if decision is None:
        raise ClaimRefused(
            f"{claim.about.article} is known until {history.days[-1]}: too early to decide a claim that ends on {claim.end}"
        )
    return decision.true


def _last_seen(claim: Claim, seen: Mapping[str, Rows]) -> date:
    """Day of the last visible value; of two series, the last day on which both have one, as their ratio has."""
    first, *others = (series.index for series in series_of(claim, seen))
    days = first.intersection(others[0]) if others else first
    return date.fromisoformat(f"{days[-1]:%Y-%m-%d}")


def _needed(name: str, series: pd.Series, day: date) -> float:
    value = value_on(name, series, day)
    if value is None:
        raise ClaimRefused(
            f"{series_named(name).article} has no value on {day}, nor in the five days before it"
        )
    return value
