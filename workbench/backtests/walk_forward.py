"""Forecast one claim at one past cutoff from the rows known then, beside its base rate and a driftless walk, with its outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

from workbench.backtests.known_rows import KnownRows
from workbench.forecasts.driftless_walk import DriftlessWalk
from workbench.forecasts.reading import chance
from workbench.forecasts.series_paths import Calendar
from workbench.offline.claim_forecast import refuse_later_rows
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, check, claim_history, resolve, settle
from workbench.questions.errors import ClaimRefused, LookAhead
from workbench.questions.series.readings_of_claims import claim_reading
from workbench.science.errors import ScienceError

_OTHER_WORLDS = 3


class Forecast(NamedTuple):
    """Probability of a claim, and the share of past windows in which it came true."""

    p: float
    base_rate: float


class ClaimForecaster(Protocol):
    """Forecasts claims from the rows known at their cutoffs."""

    @property
    def name(self) -> str:
        """Names its record in tables."""

    def forecast(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> Forecast:
        """Return the forecast; ``rows`` are what was known at the end of ``last_day``, and nothing later.

        Raises
        ------
        ClaimRefused, ScienceError
            The claim cannot be asked there, is decided, or too little was known.
        """


#: Makes a forecaster for a world's known rows; one that needs only the rows of each cutoff ignores them.
OpenForecaster = Callable[[KnownRows], ClaimForecaster]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastForecast:
    """A claim at a past cutoff with its outcome; probabilities in [0, 1], days as YYYY-MM-DD."""

    statement: str
    series: str
    last_day: str
    end: str
    p: float
    base_rate: float
    walk: float
    outcome: float


def past_forecast(
    claim: Claim, known: KnownRows, last_day: date, forecaster: ClaimForecaster
) -> PastForecast:
    """Return a claim's forecast at a past cutoff, and its outcome.

    Raises `ClaimRefused`: The claim could not be asked then, or nobody knows yet how it came out. Raises `LookAhead`: A row of after the
    cutoff is among those known.
    """
    rows = known.as_of(last_day)
    refuse_later_rows(rows, last_day)
    check(claim, last_day)
    outcome = resolve(claim, known.settled(claim.end), rows)
    try:
        forecast = forecaster.forecast(claim, rows, last_day)
        walk = driftless_chance(claim, rows)
    except ScienceError as problem:
        raise ClaimRefused(str(problem)) from None
    return PastForecast(
        statement=claim.statement,
        series=claim.series,
        last_day=last_day.isoformat(),
        end=claim.end.isoformat(),
        p=forecast.p,
        base_rate=forecast.base_rate,
        walk=walk,
        outcome=float(outcome),
    )


def refuse_later_knowledge(
    open_forecaster: OpenForecaster, known: KnownRows, claim: Claim, last_day: date
) -> None:
    """Refuse a forecaster whose past forecast depends on rows that became known after its cutoff.

    It is opened in worlds that are equal up to the cutoff: weights or parameters that were fitted on all rows differ in them. Several,
    since a choice between two may fall alike in another future by chance.

    Raises `LookAhead`: The forecasts differ.
    """
    first = open_forecaster(known).forecast(claim, known.as_of(last_day), last_day)
    for seed in range(_OTHER_WORLDS):
        world = known.altered(last_day, seed)
        second = open_forecaster(world).forecast(claim, world.as_of(last_day), last_day)
        if first != second:
            raise LookAhead(
                f"the forecast of {last_day} rests on what became known after it: {first.p:.4f} in this world, {second.p:.4f} in "
                "one with another future"
            )


def driftless_chance(claim: Claim, rows: Mapping[str, Rows]) -> float:
    """Return the probability of a claim under the driftless walk, from the rows known at its cutoff.

    Raises `ScienceError`: Too few values are known.
    """
    claim = settle(claim, rows)
    history = claim_history(claim, rows)
    walk = DriftlessWalk(logs=not (claim.about.monthly and claim.about.kind == "yield"))
    paths = walk.paths(history, claim.end, Calendar.of(history))
    return chance(claim_reading(claim), paths).p
