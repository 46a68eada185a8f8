"""Documents of a valued tree for the command line and the dashboard: one function per question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from workbench.formatting import counted, percent
from workbench.propositions import NodeId, Tree
from workbench.steps import Steps, at_once
from workbench.synthesis.sensitivity import required_changes
from workbench.synthesis.sensitivity.assumptions import assumption_rows
from workbench.synthesis.sensitivity.information import ground_next, pooled_sd, value_of_information
from workbench.synthesis.sensitivity.paths import TornadoRow, swing_order, tornado_in_steps
from workbench.synthesis.sensitivity.uncertainty import root_uncertainty, source_correlation, trial_moments
from workbench.synthesis.whatif.edits import expired, play
from workbench.synthesis.whatif.evaluation import reachable_ranges, typed_ranges
from workbench.synthesis.whatif.scenarios import ScenarioSet, compare, mix
from workbench.whatif.typed_values import parse_probability


def sensitivity_rows(tree: Tree, reference: float = 0.0) -> list[dict[str, Any]]:
    """Return the document of ``workbench sensitivity --json``: one row per leaf and assumption, the widest swing first.

    Contributions are path weight times (p - reference). For linear rules that are not held at a bound those of the leaves
    sum to the root's distance from where it would be with every leaf at the reference.
    """
    return [{**row.to_json(), "contribution": contribution(row, reference)} for row in driver_rows(tree)]


def contribution(row: TornadoRow, reference: float) -> float | None:
    """Multiply a leaf's path weight by (p - reference); None where no function leads from it to the root."""
    return None if row.path_weight is None or row.p is None else row.path_weight * (row.p - reference)


def driver_rows(tree: Tree) -> list[TornadoRow]:
    """Return the leaves and the assumptions of logic rules that can move the root, the widest swing first."""
    return at_once(driver_rows_in_steps(tree))


def driver_rows_in_steps(tree: Tree) -> Steps[list[TornadoRow]]:
    """Make the rows of `driver_rows`."""
    assumed = assumption_rows(tree)
    ranges = {node: span for node, span in typed_ranges(tree).items() if not tree[node].children}
    leaves = yield from tornado_in_steps(tree, ranges)
    return sorted([*leaves, *assumed], key=swing_order) if assumed else leaves


def sensitivity_report(
    tree: Tree,
    trials: Mapping[NodeId, Sequence[float]] | None = None,
    costs: Mapping[NodeId, float] | None = None,
    sources: Mapping[NodeId, Collection[str]] | None = None,
    *,
    seed: int = 0,
    record: Sequence[Sequence[float]] = (),
) -> dict[str, Any]:
    """Return the sensitivity page's figures: tornado, the root's reachable range, its uncertainty, which leaf to ground next."""
    trial_values = list((trials or {}).values())
    spread = pooled_sd(trial_values) if any(len(values) > 1 for values in trial_values) else pooled_sd(record)
    low, high = reachable_ranges(tree)[tree.root.id]
    return {
        "root": tree.root.p,
        "reachable": [low, high],
        "tornado": sensitivity_rows(tree),
        "uncertainty": root_spread(tree, trials or {}, sources, seed=seed),
        "ground_next": [
            row.to_json() for row in ground_next(value_of_information(tree, trials, costs, assumed_sd=spread))
        ],
        "ground_next_note": spread_note(trials or {}, record),
    }


def spread_note(trials: Mapping[NodeId, Sequence[float]], record: Sequence[Sequence[float]] = ()) -> str:
    """Say how far answers of drivers asked again differed; "" where some of this run did.

    >>> spread_note({"P1": [0.4, 0.5]}), spread_note({"P1": [0.4, 0.4]})
    ('', 'No order: drivers that were asked twice gave the same probability both times.')
    >>> spread_note({"P1": [0.4]}, [[0.5, 0.6]])
    'No driver of this run was asked twice: the spread is that of 1 driver of earlier runs by the same grounder.'
    """
    repeated = [values for values in trials.values() if len(values) > 1]
    samples = repeated or [values for values in record if len(values) > 1]
    if samples and not pooled_sd(samples):
        return "No order: drivers that were asked twice gave the same probability both times."
    if repeated:
        return ""
    if samples:
        return f"No driver of this run was asked twice: the spread is that of {counted(len(samples), 'driver')} of earlier runs by the same grounder."
    return "No order: no driver was asked twice, so the effect of asking again is unknown."


def root_spread(
    tree: Tree,
    trials: Mapping[NodeId, Sequence[float]],
    sources: Mapping[NodeId, Collection[str]] | None = None,
    *,
    seed: int = 0,
) -> dict[str, Any] | None:
    """Return the root's uncertainty from the spread of its leaves' trials; None where no leaf has two, or the root no value."""
    moments = trial_moments(trials)
    if not moments or tree.root.p is None:
        return None
    # No distribution on [0, 1] with mean p has a variance above p(1 - p). Trials pooled in logit space can break that.
    usable = {leaf: v for leaf, v in moments.items() if (p := tree[leaf].p) is not None and v <= p * (1 - p)}
    correlation = source_correlation({leaf: read for leaf, read in (sources or {}).items() if leaf in usable})
    return root_uncertainty(tree, usable, correlation, seed=seed).to_json()


def scenario_table(
    base: Tree, book: ScenarioSet, names: Sequence[str] = (), *, now: str | None = None
) -> dict[str, Any]:
    """Lay scenarios side by side (all, or those named), with their mix where any has a probability.

    With ``now``, an ISO 8601 instant, overrides that are over do not count; ``expired`` names their nodes.
    """
    chosen = {name: book[name] for name in names or book.scenarios}
    trees = {name: play(base, scenario.edits, now).tree for name, scenario in chosen.items()}
    over = {
        name: [] if now is None else expired(play(base, scenario.edits).tree, now)
        for name, scenario in chosen.items()
    }
    weighed = {
        name: (scenario.probability, trees[name])
        for name, scenario in chosen.items()
        if scenario.probability is not None
    }
    mixture = mix(base, weighed) if weighed else None
    return {
        "base": {"root": base.root.p},
        "scenarios": [
            {
                "name": name,
                "seq": scenario.seq,
                "rationale": scenario.rationale,
                "author": scenario.author,
                "at": scenario.at,
                "probability": scenario.probability,
                "edits": len(scenario.edits),
                "can_undo": bool(scenario.edits),
                "can_redo": bool(scenario.undone),
                "root": trees[name].root.p,
                "stale": [node for node in trees[name].ids() if trees[name][node].stale],
                "overrides": override_rows(trees[name]),
                **({"band": band} if (band := band_of_ranges(trees[name])) else {}),
                "expired": over[name],
            }
            for name, scenario in chosen.items()
        ],
        "nodes": compare(base, trees),
        "mix": None if mixture is None else mixture._asdict(),
    }


def band_of_ranges(tree: Tree) -> dict[str, Any] | None:
    """Return the claim's central 90% where drivers were given ranges, with a sentence; None where none was."""
    ranges = typed_ranges(tree)
    if not ranges or tree.root.p is None:
        return None
    # numpy comes with it: most what-ifs have no range
    from workbench.synthesis.sensitivity.sampling import range_band

    band = range_band(tree, ranges)
    given = ", ".join(f"{node} {percent(low)} to {percent(high)}" for node, (low, high) in ranges.items())
    return {
        "low": band["low"],
        "high": band["high"],
        "mean": band["mean"],
        "ranges": {node: list(span) for node, span in ranges.items()},
        "line": f"90% range of the claim: {percent(band['low'])} to {percent(band['high'])}, simulated from {given}.",
    }


def override_rows(tree: Tree) -> list[dict[str, Any]]:
    """Return the analyst's values in effect with their author, each beside the model's own."""
    return [
        {
            "id": node.id,
            "p": node.p,
            **(
                {}
                if node.belief is None or node.belief.low is None
                else {"low": node.belief.low, "high": node.belief.high}
            ),
            "model_p": node.model_belief.p if node.model_belief is not None else None,
            **node.override.to_json(),
        }
        for node in tree.propositions()
        if node.override is not None
    ]


def ways_to_reach(tree: Tree, target: str) -> dict[str, Any]:
    """Return the single changes that bring the root to a probability: ``workbench whatif --reach``."""
    return required_changes.ways_to_reach(tree, parse_probability(target)).to_json()
