"""What the past of a series says of a leaf that it decides: p, the models behind it, and the value it is measured from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.forecasts.leaf_forecast import (
    LeafForecast,
    State,
    forecast_reading,
    leaf_record,
    like_windows,
)
from workbench.forecasts.members.level_paths import pull_of
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.past_windows import P_MAX, P_MIN, Scale, TooLittleHistory, reading_windows, scale_of
from workbench.forecasts.reading import NoPercentage
from workbench.forecasts.series.exceedance import ExceedanceModel, exceedance
from workbench.forecasts.series.seasonal import Knn
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series.trend import for_source
from workbench.forecasts.series_paths import Calendar
from workbench.questions.claims import Claim, amount
from workbench.questions.decision import check, claim_scale, history_of, refused_by, settle, value_series
from workbench.questions.errors import ClaimRefused
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.readings_of_claims import claim_reading, state_of
from workbench.questions.series.series_leaf import RECORD, STAND_IN, SeriesLeaf
from workbench.science.errors import ScienceError

Method = Literal["paths", "paper"]
METHODS: tuple[Method, ...] = ("paths", "paper")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesEstimate:
    """What the past of a series says of a leaf; all of it follows from the rows, the reading and the method."""

    #: In [0.02, 0.98]; 0 or 1 where the visible values decide the claim.
    p: float
    #: models, comparators: Probabilities that count (by paths: of each member alone; else with equal weight), and those that are shown
    #: beside them with none.
    models: dict[str, float]
    comparators: dict[str, float]
    #: The value that the claim is measured from: on its start, or the last one visible.
    reference: float
    #: reference_day, last_day: Of that value, and of the last one visible.
    reference_day: date
    last_day: date
    #: Share of past windows of the same length in which the claim came true.
    base_rate: float | None = None
    #: How many separate windows stand behind it.
    windows: float | None = None
    #: What a leaf's notebook prints, outcomes by week among it; by paths also without those, else empty for a series that has none.
    record: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        values = asdict(self)
        return {
            name: value.isoformat() if isinstance(value, date) else value for name, value in values.items()
        }


def estimate_leaf(
    leaf: SeriesLeaf,
    statement: str,
    rows: Sequence[Sequence[Mapping[str, Any]]],
    last_visible: date,
    method: Method = "paths",
    *,
    paths: ClaimPaths | None = None,
) -> SeriesEstimate:
    """Return the probability of a leaf from the visible rows of its series; the grounder calls it, and ``verify`` calls it again.

    Parameters
    ----------
    rows : sequence
        Rows of each of ``leaf.refs``, oldest first.
    last_visible : date
        The last day visible at the cutoff.
    method : {"paths", "paper"}
        ``paths``: the share of the ensemble's paths, as in a leaf's notebook. ``paper``: the model that paper B takes for the source
        (App. I: hybrid, or KNN for DBnomics).
    paths : ClaimPaths, optional
        What draws the paths of embedded series; one for several leaves draws none twice.

    Raises
    ------
    ClaimRefused
        The claim is settled at the cutoff, the history is too short, or the method has no answer to its pattern.
    """
    try:
        return _estimate_leaf(leaf, statement, rows, last_visible, method, paths or ClaimPaths())
    except ScienceError as problem:
        raise refused_by(problem, "choose a later cutoff or another series") from None


def _estimate_leaf(
    leaf: SeriesLeaf,
    statement: str,
    rows: Sequence[Sequence[Mapping[str, Any]]],
    last_visible: date,
    method: Method,
    paths: ClaimPaths,
) -> SeriesEstimate:
    claim = leaf.claim
    if leaf.embedded:
        by_name = {ref.id: part for ref, part in zip(leaf.refs, rows, strict=True)}
        check(claim, last_visible)
        claim = settle(claim, by_name)
        series = value_series(claim.series, by_name)
        if method == "paths":
            forecast = paths.forecast(claim, by_name)
            return _of_paths(
                forecast, claim_scale(claim), state_of(claim), claim, statement, series, last_visible
            )
    else:
        if claim.end <= last_visible:
            raise ClaimRefused(
                f"the claim is already settled at the cutoff (it resolves on {claim.end}, the last visible day is {last_visible})"
            )
        series = value_series(STAND_IN, {STAND_IN: rows[0]})
        if claim.side == "toward":
            claim = replace(claim, side="above" if amount(claim) > float(series.iloc[-1]) else "below")
        if method == "paths":
            history, reading = history_of(series), claim_reading(claim)
            returns = (
                len(history) >= 30 and pull_of(ScaledPast.of(history, Calendar.of(history)).rest).evident
            )
            state: State = "level" if returns or not (series > 0).all() else state_of(claim)
            scale = scale_of(reading, returns=returns)
            return _of_paths(
                forecast_reading(reading, history), scale, state, claim, statement, series, last_visible
            )
    return _by_exceedance(leaf, claim, series)


def _of_paths(
    forecast: LeafForecast,
    scale: Scale,
    state: State,
    claim: Claim,
    statement: str,
    series: pd.Series,
    last_visible: date,
) -> SeriesEstimate:
    known, reference, day = forecast.paths.known, *_reference(claim, series)
    try:
        windows = reading_windows(forecast.reading, known, last_visible, scale)
    except (TooLittleHistory, ScienceError):
        windows = None
    like = None if windows is None else like_windows(known, windows, last_visible, by=state)
    record = {
        "record": RECORD,
        "kind": "reference" if claim.reference else "leaf",
        "statement": statement,
        **leaf_record(forecast, windows, like),
    }
    return SeriesEstimate(
        p=forecast.p,
        models=forecast.models,
        comparators={},
        reference=reference,
        reference_day=day,
        last_day=series.index[-1].date(),
        base_rate=None if windows is None else windows.base_rate,
        windows=None if windows is None else windows.effective_windows,
        record=record,
    )


def _reference(claim: Claim, series: pd.Series) -> tuple[float, date]:
    """The value that a claim is measured from: the last one on or before its start, the last one visible if that is later or not said.

    BLF, App. C.4: the value on the forecast date, not the one that a list of questions froze earlier.
    """
    start = claim.start
    if claim.about.monthly and start is not None:
        start = start.replace(day=1)
    before = series if start is None else series[: pd.Timestamp(start)]
    if before.empty:
        raise ClaimRefused(f"no value on or before {claim.start} is visible; choose a later start")
    return float(before.iloc[-1]), before.index[-1].date()


def _by_exceedance(leaf: SeriesLeaf, claim: Claim, series: pd.Series) -> SeriesEstimate:
    """P(value on the claim's end lies in its interval), by paper B's models of P(Y(r) > v) (BLF, App. I, eq. 1)."""
    if claim.pattern not in ("compare", "level", "range", "change"):
        raise ClaimRefused(
            f"a claim of the pattern {claim.pattern!r} needs a daily series of prices: ask how the series stands on one day"
        )
    reference, reference_day = _reference(claim, series)
    low, high = _bounds(claim, reference)
    history = history_of(series)
    end = claim.end.replace(day=1) if _monthly(history) else claim.end
    if end <= series.index[-1].date():
        raise ClaimRefused(
            f"the claim is settled by the value of {series.index[-1].date()}, which is visible at the cutoff"
        )
    cutoff = series.index[-1].date() + timedelta(days=1)
    source = leaf.refs[0].source
    paper: dict[str, ExceedanceModel] = {
        "hybrid": for_source("yfinance" if source == "yfinance" else "fred"),
        "safe-linear": for_source("yfinance" if source == "yfinance" else "fred").safe,
        "KNN": Knn(),
    }
    levels = [value for value in (low, high) if np.isfinite(value)]

    def chance(model: ExceedanceModel) -> float:
        above = exceedance(model, history, cutoff=cutoff, targets=[np.datetime64(end)], levels=levels)[0]
        over = dict(zip(levels, above.tolist(), strict=True))
        return float(over.get(low, 1.0) - over.get(high, 0.0))

    chosen = "KNN" if source == "dbnomics" else "hybrid"
    shown = {name: chance(model) for name, model in paper.items()}
    models = {chosen: shown.pop(chosen)}
    return SeriesEstimate(
        p=float(np.clip(models[chosen], P_MIN, P_MAX)),
        models=models,
        comparators=shown,
        reference=reference,
        reference_day=reference_day,
        last_day=series.index[-1].date(),
    )


def _monthly(history: History) -> bool:
    firsts = history.days == history.days.astype("datetime64[M]").astype("datetime64[D]")
    gaps = np.diff(history.days).astype(int)
    return bool(len(gaps) and np.median(gaps) >= 28 and firsts.all())


def _bounds(claim: Claim, reference: float) -> tuple[float, float]:
    infinite = float("inf")
    if claim.pattern == "range":
        return amount(claim), claim.upper or 0.0
    if claim.pattern == "compare":
        bound = reference
    elif claim.pattern == "change":
        if reference <= 0:
            raise NoPercentage
        bound = reference + reference * amount(claim) / 100
    else:
        bound = amount(claim)
    return (bound, infinite) if claim.side == "above" else (-infinite, bound)
