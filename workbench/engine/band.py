"""The interval around a run's probability, under the name of where it comes from. It is never an interval of the event."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, Literal

from workbench.engine.run.state import RunState
from workbench.engine.tree_documents import sensitivity_report
from workbench.engine.whatif.sensitivity import leaf_sources, leaf_trials
from workbench.engine.wording import percent
from workbench.propositions import ROOT, NodeId, Tree
from workbench.store import Store
from workbench.store.events import NodeRefitted
from workbench.synthesis import resynthesize

#: Standard deviations to either side that hold the central 90 % of a normal distribution.
_CENTRAL_90 = 1.6449


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """An interval around the root with the sentence that says where it comes from."""

    low: float
    high: float
    origin: str
    #: What was done again and again, in a word.
    repeats: Literal["trials", "refits"] = "trials"

    @property
    def is_point(self) -> bool:
        """Whether both ends are written alike, which is no certainty."""
        return percent(self.low) == percent(self.high)

    def line(self) -> str:
        """Return it as the sentence of the headline."""
        if self.is_point:
            return f"The {self.repeats} agree to the last digit shown, which is no certainty: {self.origin}."
        return f"{percent(self.low)} to {percent(self.high)}: {self.origin}."


def trials_band(spread: Mapping[str, Any] | None, repeated: Mapping[NodeId, Sequence[float]]) -> Band | None:
    """Return the band of ``sensitivity_report``'s uncertainty; ``repeated`` are the leaves with two trials or more."""
    if spread is None:
        return None
    counts = sorted({len(values) for values in repeated.values()})
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return Band(
        low=spread["low"],
        high=spread["high"],
        origin=(
            f"how far {number} independent trials of a leaf spread, carried up to the claim (its central 90 %);"
            " it says how repeatable the answer is, not how sure the event"
        ),
    )


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
    """Return the band of a run: of its trials, else of its refits; None without either or without a value of the root."""
    trials = leaf_trials(state)
    repeated = {leaf: values for leaf, values in trials.items() if len(values) > 1}
    if state.tree.root.p is None:
        return None
    if not repeated:
        return refits_band(state.tree, state.refits)
    report = sensitivity_report(state.tree, trials, None, leaf_sources(store, state))
    return trials_band(report["uncertainty"], repeated)
