"""The interval around a run's probability, named by its source, and the error of a leaf that rests on past windows.

It is never a model's own confidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum, hypot, sqrt
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from workbench.engine.record.state import RunState
from workbench.errors import Option, command, sentence
from workbench.forecasts.separate_windows import FEWEST_SEPARATE, chance_variance
from workbench.formatting import MINUS, counted, percent
from workbench.offline.report_records import OutcomeRecord, read_records
from workbench.propositions import ROOT, NodeId, Tree
from workbench.propositions.ids import natural_order
from workbench.store import Store
from workbench.store.events import NodeRefitted
from workbench.synthesis import resynthesize
from workbench.synthesis.sensitivity.uncertainty import Pair, root_uncertainty, source_correlation
from workbench.whatif.run_sensitivity import leaf_sources, leaf_trials
from workbench.whatif.tree_documents import root_spread

#: Leaves of one tree whose errors are held against each other, each with each.
MOST_LEAVES = 300
#: Weeks of a record that are read: a century.
_MOST_WEEKS = 5_300
#: Standard deviations to either side that hold the central 90% of a normal distribution.
_CENTRAL_90 = 1.6449
#: Below this two pasts have nothing in common.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class PastWindows:
    """The past outcomes of one leaf."""

    #: first: Day of the first window, as an ordinal number; the others follow week by week.
    first: int
    #: By week 1 true, 0 false, -1 unknown.
    outcomes: npt.NDArray[np.int64]
    #: How many separate windows they count as, at least 1: windows of half a year, one a week, overlap.
    effective: float
    #: models, weights: What each model of the leaf's p says, and its weight; empty in records that have no weights.
    models: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    #: Standard deviation of p about the true chance, as its forecaster gave it; None for a share of past windows.
    error: float | None = None

    @classmethod
    def of(cls, record: OutcomeRecord) -> "PastWindows":
        """Take them from a record; raises ``ValueError``, ``KeyError``, ``TypeError`` or ``AttributeError`` for one that says nothing."""
        weights = {name: float(weight) for name, weight in record.data.get("weights", {}).items()}
        models = [float(record.data["models"][name]) for name in weights]
        error = float(record.data["error"]) if "error" in record.data else None
        count, effective = len(record.outcomes), record.effective_windows
        if not all(0 <= share <= 1 for share in (*models, *weights.values(), error or 0.0)):
            raise ValueError("a share lies outside [0, 1]")
        if count > _MOST_WEEKS or not 1 <= effective <= count:
            raise ValueError("so many windows there cannot be")
        return cls(
            first=record.weeks_from.toordinal(),
            outcomes=record.outcomes,
            effective=effective,
            models=tuple(models),
            weights=tuple(weights.values()),
            error=error,
        )

    @property
    def too_few(self) -> bool:
        """Whether a band would say nothing."""
        return self.effective < FEWEST_SEPARATE

    def variance(self, p: float) -> float:
        """Return the variance of a chance near ``p``: its forecaster's, else from its separate windows and its models' disagreement."""
        if self.error is not None:
            return self.error**2
        return chance_variance(p, self.effective, self.models, self.weights)

    def band(self, p: float) -> tuple[float, float]:
        """Return the central 90% of a chance near ``p``, given its past and its models."""
        half = _CENTRAL_90 * sqrt(self.variance(p))
        return max(0.0, p - half), min(1.0, p + half)

    def to_json(self, p: float) -> dict[str, Any]:
        """Return the band of a share near ``p`` as JSON values, with its sentence."""
        low, high = self.band(p)
        return {"effective_windows": self.effective, "low": low, "high": high, "line": self.line(p)}

    def line(self, p: float) -> str:
        """Return the band as a sentence."""
        if self.too_few:
            return f"No 90% range: {self.effective:.1f} independent past periods are too few"
        low, high = self.band(p)
        ends = f"90% range for this estimate: {percent(low)} to {percent(high)}"
        periods = f"{self.effective:.1f} independent past periods"
        if self.error is not None:
            return f"{ends}. It reflects {_doubts(self.models)} and a short history ({periods})"
        if not self.models:
            return f"{ends}. It reflects chance in {periods}"
        return f"{ends}. It reflects chance in {periods} and {_doubts(self.models)}"


def _doubts(models: Sequence[float]) -> str:
    return "the error of its one model" if len(models) == 1 else f"disagreement between {len(models)} models"


def past_windows(tree: Tree, leaves: Iterable[NodeId] | None = None) -> dict[NodeId, PastWindows]:
    """Return the past windows of each leaf, or of those named, whose report has a record of its own statement and its own p.

    A leaf that was set by hand, or pooled with another forecast, no longer rests on its windows alone and is left out.
    """
    windows = {}
    for leaf in tree.leaves() if leaves is None else leaves:
        belief = tree[leaf].belief
        if belief is None or tree[leaf].override is not None or '"record"' not in belief.report:
            continue
        for record in read_records(belief.report):
            # A model may have written a line that looks like one.
            if record.statement == tree[leaf].statement and abs(record.p - belief.p) <= 1e-9:
                with suppress(ValueError, KeyError, TypeError, AttributeError):
                    windows[leaf] = PastWindows.of(record)
    return windows


def window_correlation(windows: Mapping[NodeId, PastWindows]) -> dict[Pair, float]:
    """Correlate the errors of leaves, in [-1, 1], by their past outcomes, week by week.

    Over the weeks that two leaves share, out of all that each has: leaves with the same past err together, leaves with no common
    week apart. So every pair is an inner product of unit vectors, and the whole a matrix of correlations that can be.
    """
    if not windows:
        return {}
    days = [past.first + 7 * np.arange(len(past.outcomes)) for past in windows.values()]
    every_day = np.unique(np.concatenate(days))
    units = np.zeros((len(windows), len(every_day)))
    for row, (past, on) in enumerate(zip(windows.values(), days, strict=True)):
        known = past.outcomes >= 0
        centred = np.where(known, past.outcomes - past.outcomes[known].mean(), 0.0) if known.any() else 0.0
        # Always true, or never: nothing that could go along with anything.
        units[row, np.searchsorted(every_day, on)] = centred / (np.sqrt(np.sum(centred**2)) or 1.0)
    rho = np.clip(units @ units.T, -1.0, 1.0)
    pairs = combinations(enumerate(windows), 2)
    return {
        frozenset((one, other)): float(rho[row, column])
        for (row, one), (column, other) in pairs
        if abs(rho[row, column]) > _ROUNDING
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """An interval around the root with the sentence on its source."""

    low: float
    high: float
    origin: str
    #: What there are several of, in a word.
    repeats: Literal["trials", "past periods", "models", "refits"] = "trials"
    #: How errors of leaves go together in it, as a sentence; empty where they are taken apart.
    together: str = ""

    @property
    def is_point(self) -> bool:
        """Whether both ends are written alike, which is no certainty."""
        return percent(self.low) == percent(self.high)

    def line(self) -> str:
        """Return it as the sentence of the headline."""
        also = f" {self.together}" if self.together else ""
        if self.is_point:
            return f"The {self.repeats} agree to the last digit shown. That is not certainty: {self.origin}.{also}"
        return f"{percent(self.low)} to {percent(self.high)}: {self.origin}.{also}"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, with the sentence that screens show."""
        return {"low": self.low, "high": self.high, "repeats": self.repeats, "line": self.line()}

    def widened(self, refits: "Band | None") -> "Band":
        """Return the band with the spread of refitted weights added to that of the leaves, as independent errors."""
        if refits is None:
            return self
        half = (refits.high - refits.low) / 2
        middle = (self.low + self.high) / 2
        return replace(
            self,
            low=max(0.0, middle - hypot(middle - self.low, half)),
            high=min(1.0, middle + hypot(self.high - middle, half)),
            origin=f"{self.origin}. The spread of refitted weights is included",
        )


def trials_band(
    spread: Mapping[str, Any] | None,
    repeated: Mapping[NodeId, Sequence[float]],
    correlation: Mapping[Pair, float] | None = None,
) -> Band | None:
    """Return the band of ``root_spread``; ``repeated`` are the leaves with two trials or more."""
    if spread is None:
        return None
    shared = {pair: rho for pair, rho in (correlation or {}).items() if pair <= repeated.keys()}
    counts = sorted({len(values) for values in repeated.values()})
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return Band(
        low=spread["low"],
        high=spread["high"],
        origin=(
            f"90% range from {number} independent trials of a driver."
            " It shows how repeatable the probability is, not how certain the event is"
        ),
        together=_strongest_pair(shared, "Drivers that read the same series are assumed to err together"),
    )


def windows_band(tree: Tree) -> Band | None:
    """Return the band of leaves that rest on past windows; None where none does, one rests on too few, or the root has no value.

    Each leaf's p counts as a share of its separate windows, with a binomial's variance, to which the disagreement of its models is
    added, and errors go together as the past outcomes did. Carried up by path weights; what all models have wrong is not in it.
    A root that is a forecast of its own paths has the band of that forecast, whatever its drivers explain.
    """
    if (forecast := _own_forecast(tree)) is not None:
        return None if forecast.too_few else _forecast_band(forecast, tree.root.p or 0.0)
    by_leaf = past_windows(tree)
    if not by_leaf or len(by_leaf) > MOST_LEAVES or tree.root.p is None:
        return None
    if any(past.too_few for past in by_leaf.values()):
        return None
    variances = {leaf: past.variance(tree[leaf].p or 0.0) for leaf, past in by_leaf.items()}
    correlation = window_correlation(by_leaf)
    spread = root_uncertainty(tree, variances, correlation, method="first-order")
    counts = sorted(round(past.effective) for past in by_leaf.values())
    number = str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    models = any(past.models for past in by_leaf.values())
    causes = "chance and the disagreement between models" if models else "chance alone"
    return Band(
        low=spread.low,
        high=spread.high,
        origin=(
            f"90% range from {causes}, with {number} independent past periods for {counted(len(by_leaf), 'driver')}."
            " It shows how well the past is known, not how certain the event is"
        ),
        repeats="past periods",
        together=_strongest_pair(correlation, "Their errors are correlated as their past outcomes were"),
    )


def _own_forecast(tree: Tree) -> PastWindows | None:
    past = past_windows(tree, [ROOT]).get(ROOT)
    return past if past is not None and past.error is not None and not tree.root.stale else None


def _forecast_band(past: PastWindows, p: float) -> Band:
    low, high = past.band(p)
    return Band(
        low=low,
        high=high,
        origin=(
            f"90% range from {_doubts(past.models)} and a short history."
            " It shows how well the forecast is known, not how certain the event is"
        ),
        repeats="models",
    )


def no_band_reason(state: RunState) -> str:
    """Say why a run has no band (`run_band`), as the end of "no band: ..."."""
    tree = state.tree
    if tree.root.p is None:
        return "the claim has no probability yet"
    forecast = _own_forecast(tree)
    windows = past_windows(tree) if forecast is None else {ROOT: forecast}
    few = {node: past.effective for node, past in windows.items() if past.too_few}
    if few:
        node, number = min(few.items(), key=lambda entry: entry[1])
        which = "the claim" if node == ROOT else node
        return f"{which} rests on {number:.1f} independent past periods, which are too few"
    if len(windows) > MOST_LEAVES:
        return f"{len(windows)} drivers are too many to correlate their errors"
    return sentence(
        "no driver rests on past periods, each has one trial (",
        Option("trials", "2"),
        " makes more), and no weights were refitted (",
        command("refit"),
        ")",
    )


def leaf_correlations(store: Store, state: RunState) -> list[dict[str, Any]]:
    """Return the correlations of leaves' errors in the band, the strongest pair first: ``a``, ``b``, ``correlation``."""
    repeated = {leaf for leaf, values in leaf_trials(state).items() if len(values) > 1}
    if repeated:
        sources = {leaf: read for leaf, read in leaf_sources(store, state).items() if leaf in repeated}
        correlation = source_correlation(sources)
    else:
        windows = past_windows(state.tree)
        correlation = window_correlation(windows) if len(windows) <= MOST_LEAVES else {}
    # Pairs stand in the order of the tree; the sort is stable.
    rows = sorted(correlation.items(), key=lambda row: -abs(row[1]))
    named = ((*natural_order(pair), rho) for pair, rho in rows)
    return [{"a": first, "b": second, "correlation": rho} for first, second, rho in named]


def _strongest_pair(correlation: Mapping[Pair, float], words: str) -> str:
    """Name the strongest pair and count the others; two decimals, as no reader can use more."""
    if not correlation:
        return ""
    pair, rho = max(correlation.items(), key=lambda item: (abs(item[1]), sorted(item[0])))
    first, second = natural_order(pair)
    count = len(correlation)
    others = f", the most of {count} pairs" if count > 1 else ""
    sign = "+" if rho > 0 else MINUS
    return f"{words} ({first} and {second} {sign}{abs(rho):.2f}{others})."


def refits_band(tree: Tree, refits: Mapping[NodeId, NodeRefitted]) -> Band | None:
    """Return the band of the synthesizer's repeated answers; None where no refit gave a value.

    Each refitted node's standard deviation is carried up by the root's slope in that node (its difference between one
    deviation below and one above, all else as it stands); the nodes are taken as independent, so their squares add up.
    """
    p = tree.root.p
    squares: list[float] = []
    counts: set[int] = set()
    for node, refitted in refits.items():
        node_p = tree[node].p if node in tree else None
        if refitted.value is None or node_p is None or refitted.count - refitted.failed < 2:
            continue
        counts.add(refitted.count - refitted.failed)
        squares.append((_slope(tree, node, node_p, refitted.value.sd) * refitted.value.sd) ** 2)
    if not squares or p is None:
        return None
    half = _CENTRAL_90 * sqrt(fsum(squares))
    number = str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    which = counted(len(squares), "combined driver")
    return Band(
        low=max(0.0, p - half),
        high=min(1.0, p + half),
        origin=(
            f"90% range from {number} refits of the weights of {which}."
            " It shows how repeatable the weights are, not how certain the event is"
        ),
        repeats="refits",
    )


def _slope(tree: Tree, node: NodeId, node_p: float, sd: float) -> float:
    low, high = max(0.0, node_p - sd), min(1.0, node_p + sd)
    if node == ROOT or high == low:
        return 1.0 if node == ROOT else 0.0
    below, above = (resynthesize(tree, {node: value}).after for value in (low, high))
    return 0.0 if below is None or above is None else (above - below) / (high - low)


def run_band(store: Store, state: RunState) -> Band | None:
    """Return the band of a run: of trials, else of past windows, with that of refitted weights.

    None without any of them, or without a value of the root.
    """
    if state.tree.root.p is None:
        return None
    trials = leaf_trials(state)
    refits = refits_band(state.tree, state.refits)
    repeated = {leaf: values for leaf, values in trials.items() if len(values) > 1}
    if not repeated:
        band = windows_band(state.tree)
    else:
        # Which data the leaves share matters to this alone, and reading it takes a look at every call of the run.
        sources = leaf_sources(store, state)
        spread = root_spread(state.tree, trials, sources)
        band = trials_band(spread, repeated, source_correlation(sources))
    return refits if band is None else band.widened(refits)
