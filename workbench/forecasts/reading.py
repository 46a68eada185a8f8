"""A claim about a series as plain data, its chance as a share of paths, and its outcome, by one and the same function.

A reading is computed in four steps, for known values and for paths alike:

1. **series**: one, or the ratio or difference of two;
2. **transformation**: a number for every step of the window (the value, its growth since the start, its distance to an average ...);
3. **statistic**: one number for the window (its last, highest, lowest, mean ..., or on how many steps the comparison holds);
4. **comparison** with the level.

The window holds the steps after ``start`` through ``end``. What lies in it before the last known value is known, the rest is drawn;
where the known part leaves no way out, the reading is decided, with the value that did it as proof.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import numpy as np

from workbench.forecasts.periods import Period, around_whole_periods, numbers_of_periods
from workbench.forecasts.series.series_history import Days, History
from workbench.forecasts.series_paths import Calendar, Combination, Paths
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError

Transformation = Literal["value", "change", "growth", "average_gap", "from_peak", "over_high", "over_low"]
Statistic = Literal["last", "highest", "lowest", "mean", "total", "volatility", "steps", "streak", "first"]
Comparison = Literal["above", "at_least", "below", "at_most", "between"]

#: Transformations that compare a value with every earlier one.
_RECORDS = ("over_high", "over_low")
#: Statistics that numpy takes over the steps of each path.
_OVER_STEPS: dict[Statistic, Callable[..., FloatArray]] = {
    "highest": np.max,
    "lowest": np.min,
    "mean": np.mean,
    "total": np.sum,
}
#: Relative width within which two numbers are equal, whatever their last bits say.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A claim about a series as a functional of its values from ``start`` to ``end``, compared with a level.

    Raises `DomainError`: Fields that do not go together.

    "The S&P 500 closes 10% or more below its 2018-06-29 close at least once through 2018-12-31":

    >>> Reading(
    ...     series=("SP500",), transformation="growth", statistic="lowest", comparison="at_most", level=-10.0,
    ...     start=date(2018, 6, 29), end=date(2018, 12, 31),
    ... ).never
    False
    """

    #: One name, or two that ``combination`` joins (the first over, or less, the second). Names are whatever the caller looks series up by;
    #: nothing here reads them.
    series: tuple[str, ...]
    #: Of every step: ``value`` (in the series' unit); ``change`` and ``growth`` (in percent) since the value on ``start``, or over ``lag``
    #: steps where that is given (12 for a month's growth on the year); ``average_gap`` (percent above the mean of the last ``lag`` values,
    #: the step's own among them); ``from_peak`` (percent below the highest value since ``start``, at most 0); ``over_high`` and
    #: ``over_low`` (units above the highest, or the lowest, of all known values before, or of those of the last ``weeks``).
    transformation: Transformation = "value"
    #: Of the window: ``last``, ``highest`` ("touches", "at least once"), ``lowest``, ``mean``, ``total``, ``volatility`` (annualised,
    #: percent, root of the mean squared log change; of the value alone), ``steps``: on how many of its steps the comparison holds, or
    #: ``streak``: on how many that follow each other at most, or ``first``: 1 where the level is met before ``rival`` is, -1 where it is
    #: the other way round, 0 where the window meets neither.
    statistic: Statistic = "last"
    #: ``above`` and ``below`` leave equality out; ``between`` includes both ends.
    comparison: Comparison
    #: level, upper: In the unit of the transformation; ``upper`` with ``between`` only.
    level: float
    #: Last day of the window, included.
    end: date
    #: The value on it is what changes are measured from; its stamp is the last one on or before it. None is the last known value.
    start: date | None = None
    upper: float | None = None
    #: With ``first``: the level on the other side, below that of ``at_least`` and above that of ``at_most``.
    rival: float | None = None
    lag: int | None = None
    weeks: int | None = None
    #: Steps are the last values of the whole calendar weeks or months in the window, and the first is held against the last value before
    #: it; a week or month that has begun by ``start`` is none of them. None: every value is a step.
    every: Period | None = None
    #: With ``steps`` and ``streak``: the comparison holds on at least so many of them ("on 3 of the next 5 days").
    times: int = 1
    #: "A outperforms B" is growth of the ratio above 0; a spread is the difference.
    combination: Combination | None = None
    #: The complement of all of it.
    never: bool = False

    def __post_init__(self) -> None:
        if len(self.series) != (1 if self.combination is None else 2):
            raise DomainError(
                "a reading is about one series, or about two that a ratio or a difference joins"
            )
        if not np.isfinite([self.level, self.upper or 0.0, self.rival or 0.0]).all():
            raise DomainError("a level is a finite number")
        if (self.upper is None) == (self.comparison == "between") or (
            self.upper is not None and self.upper <= self.level
        ):
            raise DomainError("a range, and nothing else, needs an upper level, above its lower one")
        if (self.rival is None) == (self.statistic == "first"):
            raise DomainError("two levels, of which one is met first, and nothing else has a rival")
        if self.rival is not None and not (
            (self.comparison == "at_least" and self.rival < self.level)
            or (self.comparison == "at_most" and self.rival > self.level)
        ):
            raise DomainError("of two levels, of which one is met first, the rival lies on the other side")
        if self.lag is not None and (
            self.lag < 1 or self.transformation in ("value", "from_peak", *_RECORDS)
        ):
            raise DomainError("a lag of at least one step belongs to changes, growth and averages")
        if self.weeks is not None and (self.weeks < 1 or self.transformation not in _RECORDS):
            raise DomainError("a number of weeks, at least one, belongs to new highs and lows")
        if self.transformation == "average_gap" and self.lag is None:
            raise DomainError("the distance to an average needs the number of values averaged")
        if self.statistic == "volatility" and self.transformation != "value":
            raise DomainError("volatility is one of the values themselves")
        if self.times < 1 or (self.times > 1 and self.statistic not in ("steps", "streak")):
            raise DomainError("a number of times, at least one, belongs to the steps of a window")
        if self.every is not None and (
            self.statistic not in ("steps", "streak", "highest", "lowest")
            or self.transformation not in ("value", "change", "growth")
        ):
            raise DomainError("weeks and months are counted, or the highest or lowest of them is taken")
        if self.start is not None and self.start >= self.end:
            raise DomainError(f"the window from {self.start} to {self.end} is empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of a claim: the value that decided it, and its day, are the proof."""

    true: bool
    day: date
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """The probability of a reading on some paths."""

    #: Weight of the paths on which it is true; exactly 0 or 1 where it is decided. Where it is not, 0 and 1 only say that no path, or
    #: every one, did it: bound it before taking a logarithm.
    p: float
    #: Set where the known values have decided it.
    decided: Decision | None
    #: The same by model; their spread is what the models disagree about.
    by_member: dict[str, float]


class NoPercentage(DomainError):
    """A move in percent, or a volatility, of values at or below 0."""

    def __init__(self) -> None:
        super().__init__(
            "no move in percent and no volatility can be measured from values at or below zero, which this series has; "
            "ask in points or for a level"
        )


def chance(reading: Reading, paths: Paths) -> Chance:
    """Compute the probability of a reading from the paths of its series.

    Readings of one series that are asked of the *same* paths are coherent: the chance never rises with the level of "above", a touch is
    as likely as a close beyond the level or likelier, a range is the difference of its two ends, complements sum to 1.

    Raises `DomainError`: The start lies before the known values, the paths end before the claim, or values at or below 0 leave it
    undecidable (`NoPercentage`).

    >>> known = History.of(["2018-06-28", "2018-06-29"], [99.0, 100.0])
    >>> days = np.array(["2018-07-02", "2018-07-03"], dtype="datetime64[D]")
    >>> paths = Paths.of([[101.0, 98.0], [99.0, 97.0]], days, known=known, calendar=Calendar(frequency="session"))
    >>> end = date(2018, 7, 3)
    >>> touch = Reading(series=("X",), statistic="highest", comparison="at_least", level=101.0, end=end)
    >>> close = Reading(series=("X",), comparison="at_least", level=98.0, end=end)
    >>> chance(touch, paths).p, chance(close, paths).p
    (0.5, 0.5)
    """
    decision = decide(reading, paths.known, paths.calendar)
    if decision is not None:
        return Chance(
            p=float(decision.true),
            decided=decision,
            by_member=dict.fromkeys(paths.members, float(decision.true)),
        )
    refuse_percentage(reading, paths.known, paths.calendar)
    true, measured = outcomes_on(reading, paths)
    # Steps in amounts may carry one path in thousands of a price below 0: no percentage is asked of it.
    if not measured.any():
        raise NoPercentage
    every, shares = paths.weights * measured, {}
    for index, name in enumerate(paths.members):
        weights = np.where(paths.drawn_by == index, every, 0.0)
        shares[name] = _share_of_weight(weights, true) if weights.any() else float("nan")
    return Chance(p=_share_of_weight(every, true), decided=None, by_member=shares)


def outcomes_on(reading: Reading, paths: Paths) -> tuple[np.ndarray, np.ndarray]:
    """Tell on which paths a reading is true, and on which it has a number at all, shape (paths,) both; raises as `chance`."""
    numbers, needed = statistics(reading, paths), _least_count(reading)
    met = _compares(reading, numbers) if needed is None else numbers >= needed
    return np.asarray(met != reading.never), ~np.isnan(numbers)


def decide(reading: Reading, known: History, calendar: Calendar) -> Decision | None:
    """Decide a reading by the known values, whatever follows; None while it can still go either way.

    Resolution and forecast are this one function: after the last step of the window every reading is decided, and some (a level
    that was reached, a volatility that is used up) are before.
    """
    first, last = _bounds_of_window(reading, known.days)
    to_come = calendar.stamps(known.days[-1].item(), reading.end)
    ahead = len(to_come)
    if reading.every is not None:
        places, first = _ends_of_periods(reading, np.concatenate([known.days[: last + 1], to_come]), first)
        past_places = places[places <= last]
        ahead = len(places) - len(past_places)
        if first > last:
            return None
        known = History(days=known.days[past_places], values=known.values[past_places])
        last = len(past_places) - 1
    steps = last - first
    if not steps:
        if not ahead:
            raise DomainError(f"no step lies after {known.days[first]} through {reading.end}")
        return None
    y = _transformed(reading, known.values[None, :], first, last, known.days)[0]
    low, high = _reachable(reading, y, ahead, calendar)
    # True on some value that can still come, and on some value that cannot: else the reading is decided.
    surely, possibly = _decided(reading, low, high)
    unmeasured = np.isnan(low) | np.isnan(high)
    decided = np.flatnonzero((surely | ~possibly) & ~unmeasured)
    if not len(decided):
        if unmeasured[-1]:
            raise NoPercentage
        return None
    row = int(decided[0])
    return Decision(
        true=bool(surely[row]) != reading.never,
        day=known.days[first + 1 + row].item(),
        value=float(known.values[first + 1 + row]),
    )


def statistics(reading: Reading, paths: Paths) -> FloatArray:
    """Compute the statistic of a reading on every path, shape (paths,): it is compared with the level.

    Its quantiles answer "what level has one chance in ten"; steps are counted as numbers. NaN on a path where values at or below 0 leave
    it undefined.

    Raises
    ------
    DomainError
        As for `chance`.
    """
    if len(paths.calendar.stamps(paths.days[-1].item(), reading.end)):
        raise DomainError(f"the paths end on {paths.days[-1]}, before the claim does on {reading.end}")
    paths = paths.on_steps(deciding_steps(reading, paths))
    days = np.concatenate([paths.known.days, paths.days])
    now = len(paths.known) - 1
    first, last = _bounds_of_window(reading, days, now)
    if last <= first:
        raise DomainError(f"no step lies after {days[first]} through {reading.end}")
    # Only as much of the past as the window and its averages reach back to.
    since = 0 if reading.transformation in _RECORDS else max(0, min(first, now) - (reading.lag or 0))
    past = np.broadcast_to(paths.known.values[since:], (len(paths.values), now + 1 - since))
    x = np.concatenate([past, paths.values], axis=1)
    first, last = first - since, last - since
    if reading.every is not None:
        places, first = _ends_of_periods(reading, days[since : since + last + 1], first)
        x, last = x[:, places], len(places) - 1
        if last <= first:
            raise DomainError(f"no whole {reading.every} lies after {days[first]} through {reading.end}")
    y = _transformed(reading, x, first, last, days[since:])
    if (over_steps := _OVER_STEPS.get(reading.statistic)) is not None:
        return np.asarray(over_steps(y, axis=1))
    match reading.statistic:
        case "last":
            return y[:, -1]
        case "volatility":
            return np.asarray(100.0 * np.sqrt(paths.calendar.steps_a_year * (y**2).mean(axis=1)))
        case "streak":
            return np.asarray(_runs(_holds(reading, y)).max(axis=1))
        case "first":
            return _first_met(reading, y)[:, -1]
        case _:
            return np.asarray(_holds(reading, y).sum(axis=1))


def deciding_steps(reading: Reading, paths: Paths) -> slice:
    """Return the steps of the paths that decide a reading: the last alone where nothing on the way to it matters, else all.

    Of a window of half a year that is a hundredth of the work, and a band asks for a chance ten times.
    """
    through = int(np.searchsorted(paths.days, np.datetime64(reading.end, "D"), side="right"))
    begun = reading.start is None or np.datetime64(reading.start, "D") <= paths.known.days[-1]
    alone = reading.statistic == "last" and reading.transformation in ("value", "change", "growth")
    return slice(through - 1, through) if alone and begun and through and reading.lag is None else slice(None)


def _bounds_of_window(reading: Reading, days: Days, now: int | None = None) -> tuple[int, int]:
    if reading.start is None:
        first = len(days) - 1 if now is None else now
    else:
        first = int(np.searchsorted(days, np.datetime64(reading.start, "D"), side="right")) - 1
        if first < 0:
            raise DomainError(f"no value on or before {reading.start} is known")
    return first, max(first, int(np.searchsorted(days, np.datetime64(reading.end, "D"), side="right")) - 1)


def _ends_of_periods(reading: Reading, days: Days, first: int) -> tuple[np.ndarray, int]:
    """Find the values that stay where weeks or months are the steps, and the position of the one that the first step follows.

    All up to there stay, then the last of every whole period; ``days`` end with the window.
    """
    every = reading.every or "week"
    number = numbers_of_periods(every, days)
    head, beyond = around_whole_periods(every, reading.start or days[first].item(), reading.end)
    is_last = np.append(number[1:] != number[:-1], True)
    ends = np.flatnonzero(is_last & (number > head) & (number < beyond))
    before = int(np.searchsorted(number, head, side="right")) - 1
    return np.concatenate([np.arange(before + 1), ends]), before


def _transformed(reading: Reading, x: FloatArray, first: int, last: int, days: Days) -> FloatArray:
    """Compute the number of every step of the window, shape (paths, steps), NaN where it has none; every one depends on values up to its
    own step only.
    """
    window = x[:, first + 1 : last + 1]
    if reading.statistic == "volatility":
        return np.diff(np.log(above_zero(x[:, first : last + 1])), axis=1)
    if reading.transformation == "value":
        return window
    if reading.transformation == "from_peak":
        return percent_over(window, np.maximum.accumulate(x[:, first : last + 1], axis=1)[:, 1:])
    if reading.transformation in _RECORDS:
        return np.asarray(window - _earlier_extremes(reading, x, first, last, days))
    if reading.lag is not None and first + 1 - reading.lag < (
        -1 if reading.transformation == "average_gap" else 0
    ):
        raise DomainError(f"fewer than {reading.lag} values before the window are known")
    if reading.transformation == "average_gap":
        count = reading.lag or 1
        sums = np.cumsum(np.concatenate([np.zeros((len(x), 1)), x[:, : last + 1]], axis=1), axis=1)
        return average_gap(reading, window, (sums[:, first + 2 :] - sums[:, first + 2 - count : last + 2 - count]) / count)  # fmt: skip
    base = x[:, [first]] if reading.lag is None else x[:, first + 1 - reading.lag : last + 1 - reading.lag]
    if reading.transformation == "change":
        return np.asarray(window - base)
    return percent_over(window, base)


def above_zero(x: FloatArray) -> FloatArray:
    """Return values with NaN for those at or below 0, which have no logarithm and of which nothing is a percentage."""
    return np.where(x > 0, x, np.nan)


def percent_over(x: FloatArray, base: FloatArray) -> FloatArray:
    """Compute by how many percent values lie above their base; NaN where the base is not above 0."""
    return np.asarray(100.0 * (x / above_zero(base) - 1.0))


def refuse_percentage(reading: Reading, known: History, calendar: Calendar) -> None:
    """Refuse a percentage of values to come where one of the last year's was at or below zero; raises `NoPercentage`."""
    later = reading.start is not None and np.datetime64(reading.start, "D") > known.days[-1]
    relative = reading.transformation in ("growth", "from_peak", "average_gap") and not _passes(reading)
    moving = reading.statistic == "volatility" or (relative and (later or reading.lag is not None))
    if moving and not (known.values[-round(calendar.steps_a_year) :] > 0).all():
        raise NoPercentage


def _passes(reading: Reading) -> bool:
    """Tell whether an average is only to be passed, by however little."""
    alone = reading.transformation == "average_gap" and reading.statistic == "last"
    return alone and reading.level == 0.0 and reading.upper is None


def average_gap(reading: Reading, x: FloatArray, means: FloatArray) -> FloatArray:
    """Compute by how many percent values lie above their averages; in units where an average of 0 or less is only to be passed."""
    gaps = percent_over(x, means)
    return np.where(means > 0, gaps, x - means) if _passes(reading) else gaps


def _earlier_extremes(reading: Reading, x: FloatArray, first: int, last: int, days: Days) -> FloatArray:
    """Compute the highest (lowest) value before each step of the window, shape (paths, steps): of all that
    are known, or of the last weeks.
    """
    extreme = np.maximum if reading.transformation == "over_high" else np.minimum
    if reading.weeks is None:
        return np.asarray(extreme.accumulate(x[:, :last], axis=1)[:, first:])
    back = np.timedelta64(7 * reading.weeks, "D")
    if days[0] > days[first + 1] - back:
        raise DomainError(f"fewer than {reading.weeks} weeks of values before the window are known")
    begins = np.searchsorted(days, days[first + 1 : last + 1] - back)
    columns = [
        extreme.reduce(x[:, begin : first + 1 + step], axis=1) for step, begin in enumerate(begins.tolist())
    ]
    return np.stack(columns, axis=1)


def _compares(reading: Reading, y: FloatArray) -> np.ndarray:
    nudge = _ROUNDING * max(1.0, abs(reading.level), abs(reading.upper or 0.0))
    match reading.comparison:
        case "above":
            return np.asarray(y > reading.level + nudge)
        case "at_least":
            return np.asarray(y >= reading.level - nudge)
        case "below":
            return np.asarray(y < reading.level - nudge)
        case "at_most":
            return np.asarray(y <= reading.level + nudge)
        case "between":
            return np.asarray((y >= reading.level - nudge) & (y <= (reading.upper or 0.0) + nudge))


def _holds(reading: Reading, y: FloatArray) -> FloatArray:
    """Tell for every step whether its number compares: 1 or 0, and NaN where it has none."""
    return np.where(np.isnan(y), np.nan, _compares(reading, y))


def _runs(holds: np.ndarray) -> np.ndarray:
    """Count for every step how many in a row hold up to it, shape (paths, steps)."""
    count = np.cumsum(holds, axis=1)
    before = np.maximum.accumulate(np.where(holds, 0, count), axis=1)
    return np.asarray(count - before)


def _first_met(reading: Reading, y: FloatArray) -> FloatArray:
    """Return for every step 1 where the level was met before the rival up to it, -1 the other way round, else 0, shape (paths, steps)."""
    assert reading.rival is not None, "the reading has checked it"
    on_other_side: Comparison = "at_most" if reading.comparison == "at_least" else "at_least"
    rival = replace(reading, statistic="last", comparison=on_other_side, level=reading.rival, rival=None)
    met = _holds(reading, y) - _holds(rival, y)
    begins = np.argmax(met != 0.0, axis=1)
    order = np.arange(y.shape[1])[None, :] >= begins[:, None]
    return np.asarray(np.where(order, np.take_along_axis(met, begins[:, None], axis=1), 0.0))


def _least_count(reading: Reading) -> int | None:
    """Return the least statistic that makes a reading true, where it is a count and not compared with the level itself."""
    return {"steps": reading.times, "streak": reading.times, "first": 1}.get(reading.statistic)


def _reachable(
    reading: Reading, y: FloatArray, ahead: int, calendar: Calendar
) -> tuple[FloatArray, FloatArray]:
    steps_left = np.arange(len(y) - 1, -1, -1) + ahead
    over = steps_left == 0
    low, high = np.full(len(y), -np.inf), np.full(len(y), np.inf)
    match reading.statistic:
        case "highest":
            low = np.maximum.accumulate(y)
            high = np.where(over, low, high)
        case "lowest":
            high = np.minimum.accumulate(y)
            low = np.where(over, high, low)
        case "steps":
            low = np.cumsum(_holds(reading, y))
            high = low + steps_left
        case "streak":
            now = _runs(_holds(reading, y)[None, :])[0]
            low = np.maximum.accumulate(now)
            high = np.maximum(low, now + steps_left)
        case "first":
            met = _first_met(reading, y[None, :])[0]
            still_open = (met == 0) & ~over
            low, high = np.where(still_open, -1.0, met), np.where(still_open, 1.0, met)
        case "volatility":
            # It is one of the whole window, of which no step to come may move the value at all.
            if np.isnan(y).any():
                raise NoPercentage
            squares = np.cumsum(y**2)
            low = 100.0 * np.sqrt(calendar.steps_a_year * squares / (len(y) + ahead))
            high = np.where(over, low, high)
        case _:
            whole = {"last": y, "mean": np.cumsum(y) / np.arange(1, len(y) + 1), "total": np.cumsum(y)}[
                reading.statistic
            ]
            low, high = np.where(over, whole, low), np.where(over, whole, high)
    return low, high


def _decided(reading: Reading, low: FloatArray, high: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    needed = _least_count(reading)
    if needed is not None:
        return low >= needed, high >= needed
    ends = _compares(reading, low), _compares(reading, high)
    if reading.comparison != "between":
        # One bound is open, so the numbers that meet it reach to one end.
        return ends[0] & ends[1], ends[0] | ends[1]
    nudge = _ROUNDING * max(1.0, abs(reading.level), abs(reading.upper or 0.0))
    return ends[0] & ends[1], (high >= reading.level - nudge) & (low <= (reading.upper or 0.0) + nudge)


def _share_of_weight(weights: FloatArray, true: np.ndarray) -> float:
    """Return the weight of the true paths among all; exactly 0 and 1 where none or all is."""
    total, part = float(weights.sum()), float(weights[true].sum())
    return 1.0 if true[weights > 0].all() else part / total
