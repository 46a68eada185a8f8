"""The interval around a run's probability, under the name of where it comes from. It is never an interval of the event."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, hypot, sqrt
from typing import Any, Literal

from workbench.engine.past_windows import MOST_LEAVES, PastWindows, past_windows, window_correlation
from workbench.engine.run.state import RunState
from workbench.engine.tree_documents import root_spread
from workbench.engine.whatif.sensitivity import leaf_sources, leaf_trials
from workbench.formatting import percent
from workbench.propositions import ROOT, NodeId, Tree
from workbench.propositions.ids import natural_order
from workbench.store import Store
from workbench.store.events import NodeRefitted
from workbench.synthesis import resynthesize, source_correlation
from workbench.synthesis.sensitivity.uncertainty import Pair, root_uncertainty

#: Standard deviations to either side that hold the central 90 % of a normal distribution.
_CENTRAL_90 = 1.6449


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """An interval around the root with the sentence that says where it comes from."""

    low: float
    high: float
    origin: str
    #: What there are several of, in a word.
    repeats: Literal["trials", "past windows", "refits"] = "trials"
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
            return f"The {self.repeats} agree to the last digit shown, which is no certainty: {self.origin}.{also}"
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
            origin=f"{self.origin}; the spread of refitted weights is in it",
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
            f"how far {number} independent trials of a leaf spread, carried up to the claim (its central 90 %);"
            " it says how repeatable the answer is, not how sure the event"
        ),
        together=_together(shared, "Leaves that read the same series are taken to err together"),
    )


def windows_band(tree: Tree, windows: Mapping[NodeId, PastWindows] | None = None) -> Band | None:
    """Return the band of leaves that rest on past windows; None where none does, or the root has no value.

    Each leaf's p counts as a share of its separate windows, with a binomial's variance, and errors go together as the past
    outcomes did. Carried up by path weights; what else could be wrong with a model of the past is not in it.
    """
    known = past_windows(tree) if windows is None else windows
    if not known or len(known) > MOST_LEAVES or tree.root.p is None:
        return None
    variances = {leaf: each.variance(tree[leaf].p or 0.0) for leaf, each in known.items()}
    correlation = window_correlation(known)
    spread = root_uncertainty(tree, variances, correlation, method="first-order")
    counts = sorted(round(each.effective) for each in known.values())
    number = str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    which = "1 leaf that rests" if len(known) == 1 else f"{len(known)} leaves that rest"
    return Band(
        low=spread.low,
        high=spread.high,
        origin=(
            f"how far chance alone may move {which} on {number} separate past windows, carried up to the claim"
            " (its central 90 %); it says how well the past is known, not how sure the event"
        ),
        repeats="past windows",
        together=_together(correlation, "Their errors go together as their past outcomes did"),
    )


def leaf_correlations(store: Store, state: RunState) -> list[dict[str, Any]]:
    """Return how the errors of leaves are taken to go together in the band, the strongest pair first: ``a``, ``b``, ``correlation``."""
    repeated = {leaf for leaf, values in leaf_trials(state).items() if len(values) > 1}
    if repeated:
        sources = {leaf: used for leaf, used in leaf_sources(store, state).items() if leaf in repeated}
        correlation = source_correlation(sources)
    else:
        windows = past_windows(state.tree)
        correlation = window_correlation(windows) if len(windows) <= MOST_LEAVES else {}
    # Pairs stand in the order of the tree; the sort is stable.
    rows = sorted(correlation.items(), key=lambda row: -abs(row[1]))
    named = ((*natural_order(pair), rho) for pair, rho in rows)
    return [{"a": first, "b": second, "correlation": rho} for first, second, rho in named]


def _together(correlation: Mapping[Pair, float], words: str) -> str:
    """The strongest pair by name, and how many there are; two decimals, as no reader can use more."""
    if not correlation:
        return ""
    pair, rho = max(correlation.items(), key=lambda item: (abs(item[1]), sorted(item[0])))
    first, second = natural_order(pair)
    count = len(correlation)
    others = f", the most of {count} pairs" if count > 1 else ""
    sign = "+" if rho > 0 else "\N{MINUS SIGN}"
    return f"{words} ({first} and {second} {sign}{abs(rho):.2f}{others})."


def refits_band(tree: Tree, refits: Mapping[NodeId, NodeRefitted]) -> Band | None:
    """Return the band of what the synthesizer said when it was asked again; None where no refit gave a value.

    Each refitted node's standard deviation is carried up by the root's slope in that node (its difference between one
    deviation below and one above, all else as it stands); the nodes are taken as independent, so their squares add up.

    Parameters
    ----------
    tree : Tree
        The root must have a value.
    refits : mapping
        The newest refits of inner nodes, of the rules that the tree has.
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
    which = "1 inner proposition" if len(squares) == 1 else f"{len(squares)} inner propositions"
    return Band(
        low=max(0.0, p - half),
        high=min(1.0, p + half),
        origin=(
            f"how far {number} refits of the weights of {which} spread, carried up to the claim (its central 90 %);"
            " it says how repeatable the weights are, not how sure the event"
        ),
        repeats="refits",
    )


def _slope(tree: Tree, node: NodeId, node_p: float, sd: float) -> float:
    """Return how much the root moves per unit of a node, between one standard deviation below and one above."""
    low, high = max(0.0, node_p - sd), min(1.0, node_p + sd)
    if node == ROOT or high == low:
        return 1.0 if node == ROOT else 0.0
    below, above = (resynthesize(tree, {node: value}).after for value in (low, high))
    return 0.0 if below is None or above is None else (above - below) / (high - low)


def run_band(store: Store, state: RunState) -> Band | None:
    """Return the band of a run, whatever there is of it: of trials, else of past windows, with that of refitted weights.

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
