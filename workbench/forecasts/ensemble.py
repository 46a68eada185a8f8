"""The forecaster of a series: members that draw paths, weighted and calibrated by their results at earlier cutoffs."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from workbench.forecasts.member_weights import EnsembleFit, density_and_rank, fit_ensemble
from workbench.forecasts.members.garch_paths import garch_paths
from workbench.forecasts.members.level_paths import (
    local_level_paths,
    ongoing_paths,
    pull_of,
    pulled_back,
    reverting_paths,
)
from workbench.forecasts.members.scaled_past import FEWEST, ScaledPast
from workbench.forecasts.members.shock_paths import (
    analogue_paths,
    filtered_paths,
    har_paths,
    implied_paths,
    walk_paths,
)
from workbench.forecasts.members.smoothed_paths import smoothed_paths, theta_paths
from workbench.forecasts.series.series_history import Days, History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError

SEED = 20
#: Past cutoffs that weights are learned from, and paths that each member draws at one of them.
_CUTOFFS, _PATHS_THEN = 60, 250
#: A history with fewer quarters than this is learned from month by month.
_FEW_QUARTERS = 20
#: Values of an implied volatility that the member needs.
_IMPLIED = 60

#: Past cutoffs that are remembered (some 300 bytes each).
_MOST_SCORES = 50_000

Member = Callable[..., FloatArray | None]
_MEMBERS: dict[str, Member] = {
    "walk": walk_paths,
    "filtered shocks": filtered_paths,
    "HAR": har_paths,
    "GJR-GARCH": garch_paths,
    "implied": implied_paths,
    "reverting": reverting_paths,
    "local level": local_level_paths,
    "smoothed": smoothed_paths,
    "theta": theta_paths,
    "analogues": analogue_paths,
    "ongoing": ongoing_paths,
}
#: Members that draw shocks alone.
WALKS = ("walk", "filtered shocks", "HAR", "GJR-GARCH", "implied")


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """The built-in `SeriesForecaster`: the pool of its members' paths.

    Nothing in it is the base rate of a claim; that stands beside the answer.

    >>> days = np.arange("2008-01", "2018-07", dtype="datetime64[M]").astype("datetime64[D]")
    >>> steps = np.random.default_rng(0).normal(size=len(days))
    >>> history = History.of(days, 50 + np.cumsum(steps))
    >>> paths = Ensemble(learned=False).paths(history, date(2018, 9, 30), Calendar.of(history))
    >>> paths.days.astype(str).tolist(), "reverting" in paths.members
    (['2018-07-01', '2018-08-01', '2018-09-01'], True)
    """

    #: Volatility of the next month that options imply, in percent a year (the VIX for the S&P 500). Values after the last known one of the
    #: series are left out.
    implied: History | None = None
    #: Which members may draw; those that a series is too short for, or of another frequency, draw nothing.
    members: tuple[str, ...] = tuple(_MEMBERS)
    #: Paths of each member.
    each: int = 1000
    #: False: equal weights, no calibration.
    learned: bool = True
    name: str = "ensemble"
    #: Members' scores at past cutoffs, by a hash of all their inputs; pass one dict to the ensembles of several cutoffs or
    #: series, and nothing is scored twice.
    scores: dict[str, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    def paths(self, history: History, horizon: date, calendar: Calendar) -> Paths:
        """Return the members' paths with their weights; see `SeriesForecaster.paths`."""
        history.need(FEWEST, "a forecast")
        days = calendar.stamps(history.days[-1].item(), horizon)
        if not len(days):
            raise DomainError(f"no value is to come after {history.days[-1]} through {horizon}")
        past = ScaledPast.of(history, calendar)
        if not past.steps.any():
            return Paths.of(
                np.full((1, len(days)), history.values[-1]),
                days,
                known=history,
                calendar=calendar,
                member="constant",
            )
        drawn = self._draw(past, days, self.each)
        fit = self.fit(past, len(days)) if self.learned else None
        weights = np.full(len(self.members), 1.0) if fit is None else fit.weights
        present = [name for name in self.members if drawn[name] is not None]
        shares = np.array([weights[self.members.index(name)] for name in present])
        shares /= shares.sum()
        values = np.concatenate([drawn[name] for name in present])
        path_weights = np.repeat(shares / self.each, self.each)
        if fit is not None:
            # In place: these are a million numbers, and a record has 120 such forecasts.
            centre = path_weights @ values
            values -= centre
            deviation = np.sqrt(path_weights @ np.square(values))
            calibration = fit.on_steps(np.arange(1.0, len(days) + 1))
            values *= calibration.spread
            values += centre + calibration.shift * deviation
        return Paths(
            values=past.unscaled(values),
            days=days,
            weights=path_weights / path_weights.sum(),
            known=history,
            calendar=calendar,
            members=tuple(present),
            drawn_by=np.repeat(np.arange(len(present)), self.each),
        )

    def fit(self, past: ScaledPast, steps: int) -> EnsembleFit:
        """Return weights, and calibration through so many steps, from cutoffs whose outcomes are known."""
        return fit_ensemble(self.past_scores(past, steps), past.calendar.quarter)

    def past_scores(self, past: ScaledPast, steps: int) -> dict[int, FloatArray]:
        """Score the members at those cutoffs, by horizon, each of shape (cutoffs, 2, members): density at the
        outcome, and the share of the member below it.
        """
        cutoffs = past_cutoffs(past, steps)
        # At one cutoff all horizons are read from the same draws, to the farthest whose outcome is known.
        reach = {count: horizon for horizon, counts in cutoffs.items() for count in counts}
        scores = {count: self._score(past, count, horizon) for count, horizon in reach.items()}
        empty = np.empty((0, 2, len(self.members)))
        return {
            horizon: np.stack([scores[count][place] for count in counts]) if counts else empty
            for place, (horizon, counts) in enumerate(cutoffs.items())
        }

    def _score(self, past: ScaledPast, count: int, reach: int) -> FloatArray:
        """Score the outcome after the first ``count`` values, by horizon through ``reach`` and by member, shape (horizons, 2, members)."""
        implied = self._implied_until(past.days[:count])
        inputs = (count, reach, past.logarithmic, past.calendar, self.members)
        key = hashlib.sha256(past.x[: count + reach].tobytes())
        key.update(past.days[: count + reach].tobytes())
        key.update(repr(inputs).encode() + (b"" if implied is None else implied.tobytes()))
        if (name := key.hexdigest()) in self.scores:
            return self.scores[name]
        horizons = [horizon for horizon in past.calendar.horizons(reach) if horizon <= reach]
        result = np.full((len(horizons), 2, len(self.members)), np.nan)
        for column, drawn in enumerate(self.draws_at(past, count, reach).values()):
            for place, horizon in enumerate(horizons):
                if drawn is not None:
                    came = float(past.x[count + horizon - 1])
                    result[place, :, column] = density_and_rank(drawn[:, horizon - 1], came)
        if len(self.scores) >= _MOST_SCORES:
            self.scores.clear()
        self.scores[name] = result
        return result

    def draws_at(self, past: ScaledPast, count: int, steps: int) -> dict[str, FloatArray | None]:
        """Return each member's draws for the steps after the first ``count`` values, on the scale; None where it has no forecast."""
        return self._draw(past.until(count), past.days[count : count + steps], _PATHS_THEN)

    def _draw(self, past: ScaledPast, days: Days, paths: int) -> dict[str, FloatArray | None]:
        # Season first: members draw on what it leaves, and it is put back on all of them. Half of a strong pull to the mean reaches those that
        # draw shocks alone: without it their lower tails of a VIX of 13 lay below all that was ever seen; all of it took the level of a few
        # calm years for the one that a series returns to.
        rest, season = past.rest, past.season_of(days)
        pull = pull_of(rest)
        drawn: dict[str, FloatArray | None] = {}
        for name in self.members:
            if name == "implied":
                implied = self._implied_until(past.days)
                draws = (
                    None
                    if implied is None
                    else implied_paths(rest, len(days), implied, paths=paths, seed=SEED)
                )
            else:
                draws = _MEMBERS[name](rest, len(days), paths=paths, seed=SEED)
            if draws is not None and pull.strong and name in WALKS:
                draws = pulled_back(draws, float(rest.x[-1]), pull._replace(share=0.5 * pull.share))
            drawn[name] = None if draws is None else draws + season if season.any() else draws
        return drawn

    def _implied_until(self, days: Days) -> FloatArray | None:
        """Return the implied volatility on the last days of a series, each the last value on or before it; None where there are too few."""
        if self.implied is None:
            return None
        positions = np.searchsorted(self.implied.days, days, side="right") - 1
        usable = positions >= 0
        if usable.sum() < _IMPLIED:
            return None
        return self.implied.values[positions[usable]]


def past_cutoffs(past: ScaledPast, steps: int) -> dict[int, list[int]]:
    """Return, by horizon through so many steps, the cutoffs to learn from, as numbers of values known there.

    A quarter apart, or as far as the horizon reaches; of slower series than daily ones, and in a short history, a month apart (two steps at
    least) for horizons shorter than a quarter: how wide they move from one month to the next is of the last ten years, not of fifteen.
    """
    calendar, count = past.calendar, len(past.x)
    first = max(2 * FEWEST, 504 if past.daily else 2 * FEWEST)
    month = max(round(calendar.steps_a_year / 12), 2)
    short = (count - first) // calendar.quarter < _FEW_QUARTERS
    apart = month if short or not past.daily else calendar.quarter
    # Counted from the beginning of the series, so that the next cutoff finds the same ones and need not score them again.
    return {
        horizon: [
            then
            for then in range(max(apart, horizon), count - horizon + 1, max(apart, horizon))
            if then >= first
        ][-_CUTOFFS:]
        for horizon in calendar.horizons(steps)
    }


def nearest_horizon(steps: int, calendar: Calendar) -> int:
    """Return the horizon whose past forecasts are most like one of so many steps.

    >>> [nearest_horizon(steps, Calendar(frequency="session")) for steps in (1, 4, 20, 62, 124, 128)]
    [5, 5, 21, 63, 126, 126]
    """
    return min(calendar.horizons(steps), key=lambda horizon: abs(np.log(horizon / steps)))
