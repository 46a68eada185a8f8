"""The value of a series on a day, or its highest and lowest until then: quantiles, a fan, and how such forecasts did before."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd

from workbench.errors import UsageError
from workbench.forecasts.driftless_walk import DriftlessWalk
from workbench.forecasts.past_windows import beside_now
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths, SeriesForecaster, weighted_quantiles
from workbench.formatting import places_of, quoted, signed_figure
from workbench.questions.series.value_states import SeriesStates
from workbench.science.arrays import FloatArray
from workbench.science.comparing.clusters import clusters_of
from workbench.science.comparing.paired import PairedVerdict, paired_test
from workbench.science.documents.skill_words import past_dates, skill_line
from workbench.science.errors import ScienceError
from workbench.science.scoring.crps import crps_of_draws, interval_coverage, pit_of_draws

SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
#: "What level has 1 chance in ..."
ONE_IN = (4, 10, 20, 100)
BANDS = (0.5, 0.8, 0.9)
#: Past cutoffs of the record: each is a whole forecast, of half a second.
MOST = 16
#: A number of each row of values until the day.
READ_AT: dict[str, Callable[[FloatArray], FloatArray]] = {
    "value": lambda rows: rows[:, -1],
    "highest": lambda rows: rows.max(axis=1),
    "lowest": lambda rows: rows.min(axis=1),
}
_FAN_POINTS = 60
_PAST_POINTS = 250
_FEWEST = 260  # values before the first past cutoff


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What is asked of a series: its value ``on`` a day, or its highest and lowest value ``by`` then."""

    #: name, unit: For people.
    name: str
    unit: str
    #: What was known at the cutoff.
    history: History
    day: date
    #: Whether ``by`` the day is meant.
    extremes: bool = False
    #: Of a source that revises its values: how each of them stood when. Past forecasts are then made from what stood at their cutoffs.
    states: SeriesStates | None = None
    #: Why no past forecast can be made again, "" where one can.
    no_record: str = ""

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of the numbers that are asked for, in `READ_AT`."""
        return ("highest", "lowest") if self.extremes else ("value",)

    def draws(self, paths: Paths) -> dict[str, FloatArray]:
        """Return the draws of what is quantity, by name: ``value``, or ``highest`` and ``lowest``."""
        return {name: READ_AT[name](paths.values) for name in self.asked}

    def outcome(self, later: History) -> dict[str, float] | None:
        """Return what came, by the same names; None while the day's value is not known."""
        days = later.days
        # A month's value bears its first day: the day has come when no value is to come until it.
        if len(Calendar.of(self.history).stamps(days[-1].item(), self.day)):
            return None
        inside = (days > self.history.days[-1]) & (days <= np.datetime64(self.day, "D"))
        values = later.values[inside]
        if not len(values):
            return None
        return {name: float(READ_AT[name](values[None, :])[0]) for name in self.asked}


def quantity_document(
    quantity: Quantity, forecaster: SeriesForecaster, *, later: History | None = None, most: int = MOST
) -> dict[str, Any]:
    """Return what ``workbench quantity`` prints.

    Raises `UsageError`: The day is known already, or too little is known of the series.
    """
    calendar = Calendar.of(quantity.history)
    try:
        paths = forecaster.paths(quantity.history, quantity.day, calendar)
    except ScienceError as problem:
        raise UsageError(f"{quantity.name} until {quantity.day}: {problem}") from None
    draws = quantity.draws(paths)
    record = (
        None if not most or quantity.no_record else quantity_record(quantity, forecaster, calendar, most=most)
    )
    came = None if later is None else quantity.outcome(later)
    quantiles = {name: _quantiles(values, paths.weights) for name, values in draws.items()}
    document = {
        "series": quantity.name,
        "unit": quantity.unit,
        "by" if quantity.extremes else "on": quantity.day.isoformat(),
        "forecaster": forecaster.name,
        "quantiles": quantiles,
        "one_in": [
            {
                "one_in": count,
                "above": _weighted_level(draws.get("highest", draws.get("value")), paths, 1 - 1 / count),
                "below": _weighted_level(draws.get("lowest", draws.get("value")), paths, 1 / count),
            }
            for count in ONE_IN
        ],
        **fan_of(paths),
        "outcome": None if came is None else _scored(draws, paths, came),
        "record": record,
    }
    return {**document, "line": _line(document, quantity.no_record)}


def fan_of(paths: Paths) -> dict[str, Any]:
    """Return what a fan chart is drawn from: ``last`` known value, ``past`` before it, and ``fan``, quantiles on the days ahead."""
    every = max(1, -(-len(paths.days) // _FAN_POINTS))
    # Counted from the end, so that the day itself is among them.
    steps = np.arange(len(paths.days))[::-1][::every][::-1]
    quantiles = paths.quantiles(SHARES)
    known = zip(paths.known.days[-_PAST_POINTS:], paths.known.values[-_PAST_POINTS:], strict=True)
    day, value = paths.last
    return {
        "last": {"day": day.isoformat(), "value": value},
        "fan": [
            {
                "day": str(paths.days[step]),
                **{share_name(share): float(quantiles[row, step]) for row, share in enumerate(SHARES)},
            }
            for step in steps
        ],
        "past": [{"day": str(day), "value": float(value)} for day, value in known],
    }


def share_name(share: float) -> str:
    """Return the key of a quantile in a document: ``0.05``."""
    return f"{share:g}"


def _quantiles(values: FloatArray, weights: FloatArray) -> dict[str, float]:
    levels = weighted_quantiles(values, weights, SHARES)
    return {share_name(share): float(level) for share, level in zip(SHARES, levels, strict=True)}


def _weighted_level(values: FloatArray | None, paths: Paths, share: float) -> float:
    assert values is not None, "one of the two names is there"
    return float(weighted_quantiles(values, paths.weights, [share])[0])


def _scored(draws: Mapping[str, FloatArray], paths: Paths, came: Mapping[str, float]) -> dict[str, Any]:
    return {
        name: {
            "value": came[name],
            "crps": crps_of_draws(values, came[name], paths.weights),
            "pit": pit_of_draws(values, came[name], paths.weights),
        }
        for name, values in draws.items()
    }


def quantity_record(
    quantity: Quantity, forecaster: SeriesForecaster, calendar: Calendar, *, most: int = MOST
) -> dict[str, Any] | None:
    """Return how the same forecast did at past cutoffs, from data of the same age as today's; None where none can be reached.

    Rivals are the driftless walk, and the past changes over as many steps (what a base rate is to a claim). Errors are counted in
    shares of the last value where all values are above 0, so that a series that grew tenfold is not judged by its end alone.
    """
    steps = len(calendar.stamps(quantity.history.days[-1].item(), quantity.day))
    logs = bool((quantity.history.values > 0).all())
    walk = DriftlessWalk(logs=logs)
    rows: list[dict[str, Any]] = []
    for known, end, later in _past_cutoffs(quantity, steps, most):
        past = replace(quantity, history=known, day=end)
        came = past.outcome(later)
        try:
            own = forecaster.paths(known, end, calendar)
            rival = walk.paths(known, end, calendar)
        except ScienceError:
            continue  # too short for the forecaster then, as it would have said
        assert came is not None, "the window lies in the known past"
        scale = abs(float(known.values[-1])) if logs else 1.0
        for name, values in past.draws(own).items():
            before = READ_AT[name](beside_now(known.values, steps, "growth" if logs else "change"))
            rows.append(
                {
                    "start": str(known.days[-1]),
                    "end": str(end),
                    "own": crps_of_draws(values, came[name], own.weights) / scale,
                    "driftless walk": crps_of_draws(past.draws(rival)[name], came[name], rival.weights) / scale,
                    "past changes": crps_of_draws(before, came[name]) / scale,
                    "pit": pit_of_draws(values, came[name], own.weights),
                }
            )  # fmt: skip
    if not rows:
        return None
    table = pd.DataFrame(rows)
    starts, ends = table["start"].tolist(), table["end"].tolist()
    labels = clusters_of(starts, series=[quantity.name] * len(rows), start=starts, end=ends)
    against: dict[str, Any] = {}
    for name in ("driftless walk", "past changes"):  # the last is what it is judged by
        crps = float(table[name].mean())
        test = paired_test((100.0 * (table[name] - table["own"]) / crps).to_numpy(), labels)
        verdict = {field: getattr(test, field) for field in ("interval", "verdict", "reason")}
        against[name] = {"crps": crps, "better_percent": test.estimate, **verdict}
    cutoffs = table["start"].nunique()
    coverage = {share_name(share): interval_coverage(table["pit"].to_numpy(), share) for share in BANDS}
    return {
        "n": cutoffs,
        "clusters": len(set(labels.tolist())),
        "first": min(starts),
        "last": max(starts),
        "crps": float(table["own"].mean()),
        "in_shares_of_last": logs,
        "against": against,
        "coverage": coverage,
        "pit": table["pit"].tolist(),
        "skill": test.verdict,
        "line": _skill_line(test, cutoffs, coverage),
    }


def _past_cutoffs(quantity: Quantity, steps: int, most: int) -> Iterator[tuple[History, date, History]]:
    """What was known at each past cutoff, the day asked about there, and the values that it came out by.

    A cutoff is the day on which a value came out, so what is not published yet is part of the horizon, then as now. A series that is
    revised is shown as it stood on that day, and the outcome as it was first published.
    """
    history, states = quantity.history, quantity.states
    first, last = min(_FEWEST, len(history) // 3), len(history) - 1 - steps
    if last < first or not steps:
        return
    released = None if states is None else set(states.releases())
    positions = [
        position
        for position in range(first, last + 1)
        if released is None or str(history.days[position]) in released
    ]
    number = min(most, len(positions))
    chosen = {round((len(positions) - 1) * place / max(number - 1, 1)) for place in range(number)}
    for position in (positions[each] for each in sorted(chosen)):
        day, end = history.days[position].item(), history.days[position + steps].item()
        if states is None:
            yield history.before(day + timedelta(days=1)), end, history.before(end + timedelta(days=1))
        else:
            yield states.settled(day), end, states.settled(end)


def _skill_line(test: PairedVerdict, cutoffs: int, coverage: Mapping[str, float]) -> str:
    said = skill_line(
        test,
        past_dates(cutoffs),
        rival="the spread of past changes",
        gain="gain in CRPS",
        written=lambda gain: f"{signed_figure(gain)}%",
    )
    return f"{said} The 90% band held {coverage['0.9']:.0%} of the outcomes."


def _line(document: Mapping[str, Any], no_record: str) -> str:
    places, parts = places_of(row["value"] for row in document["past"]), []
    for name, quantiles in document["quantiles"].items():
        label = "" if name == "value" else f"{name} "
        parts.append(
            f"{label}{quoted(quantiles['0.5'], places)}, 90% between "
            f"{quoted(quantiles['0.05'], places)} and {quoted(quantiles['0.95'], places)}"
        )
    when = f"by {document['by']}" if "by" in document else f"on {document['on']}"
    record = document["record"]
    missing = "no track record" + (f": {no_record}" if no_record else "")
    trust = missing if record is None else record["line"]
    return f"{document['series']} {when}: {'; '.join(parts)} {document['unit']} · {trust}"
