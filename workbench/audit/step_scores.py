"""Score the agents' steps in this home's own runs: were their later beliefs better than their first? ``score --own --steps``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from workbench.agents.evidence.base import Evidence
from workbench.agents.grounders.loop_parts import SAME
from workbench.engine.proof_check import stored_evidence
from workbench.engine.record.fold import load_state
from workbench.engine.record.resolved_runs import counts_for
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, WorkbenchError, command
from workbench.science.comparing.mean_intervals import PLAIN, Resampling
from workbench.science.comparing.trajectories import step_scores

if TYPE_CHECKING:
    from workbench.store import Store

#: Columns of BLF, Table 19, by the names that a trace counts them under.
STATISTICS = ("steps", "input tokens", "output tokens", "characters a step", "pieces of evidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTrial:
    """One concluded trial of an agent's loop: its arm, its trace, and the outcome of its leaf (None: not resolved)."""

    run_id: str
    node: str
    arm: str
    trace: Evidence
    outcome: float | None

    @property
    def beliefs(self) -> list[float | None]:
        """Belief after each step of the loop."""
        return [step.p for step in self.trace.steps]

    @property
    def states_beliefs(self) -> bool:
        """Whether its steps hold beliefs: a loop without a belief state has its conclusion alone."""
        return any(step.belief is not None for step in self.trace.steps)


def loop_trials(store: Store) -> tuple[list[LoopTrial], list[dict[str, str]]]:
    """Return the concluded trials of loops in this home's own runs, and the runs and leaves that do not count, with the reason."""
    trials: list[LoopTrial] = []
    left_out: list[dict[str, str]] = []
    for run_id in store.run_ids():
        # A run without a trace is not even folded: most of a home's runs are of other grounders.
        grounded: list[Any] = [stored.event for stored in store.events(run_id, kinds=("leaf.grounded",))]
        if not any(event.evidence.kind in ("trace", "routed") for event in grounded):
            continue
        try:
            state = load_state(store, run_id)
            if state.imported is not None:
                left_out.append({"run_id": run_id, "reason": "imported: somebody else's work"})
                continue
            trials += _of_run(store, state, left_out)
        except WorkbenchError as error:
            reason = f"cannot be read: {' '.join(str(error).split())[:120]}"
            left_out.append({"run_id": run_id, "reason": reason})
    return trials, left_out


def _of_run(store: Store, state: RunState, left_out: list[dict[str, str]]) -> Iterator[LoopTrial]:
    cutoff = state.parsed_cutoff()
    counted: dict[str, float] = {}
    for node, outcome in state.leaf_outcomes().items():
        if outcome.p not in (0.0, 1.0):
            why = f"{node} came out as a share ({outcome.p:g})"
        elif not counts_for(cutoff, outcome.day):
            why = f"{node} was decided on {outcome.day}, before the cutoff"
        else:
            counted[node] = outcome.p
            continue
        left_out.append({"run_id": state.run_id, "reason": why})
    for (node, number), trial in state.trials.items():
        if trial.belief is None or trial.evidence is None:
            continue
        for grounder, trace in loop_traces(store, state, node, number):
            arm = f"{grounder} / {state.settings.models.get('grounder', state.settings.model)}"
            if grounder == "belief" and all(step.belief is None for step in trace.steps):
                arm = f"belief off (NoBel) / {arm.partition(' / ')[2]}"
            yield LoopTrial(run_id=state.run_id, node=node, arm=arm, trace=trace, outcome=counted.get(node))


def loop_traces(store: Store, state: RunState, node: str, trial: int) -> Iterator[tuple[str, Evidence]]:
    """Yield the grounder and the trace of each loop that worked on a trial of a leaf and came to its end."""
    evidence = stored_evidence(store, state, node, trial)
    parts = [(part.grounder, part.evidence) for part in evidence.parts]
    for grounder, part in parts or [(state.settings.grounder, evidence)]:
        if part.submission is not None:
            yield grounder, part


def steps_document(store: Store, resampling: Resampling | None = None) -> dict[str, Any]:
    """Return step statistics and the Brier score by step for each grounder and model: ``score --own --steps``.

    ``statistics`` are medians over all concluded trials (BLF, Table 19), ``consistent`` how many submitted what they believed (App. E).
    ``steps`` hold the Brier score of the mean-over-trials belief after each step on leaves with an outcome (Fig. 12), step 0 being 0.5; a
    trial that has submitted counts with its last belief. Intervals draw whole runs; a single run gives none.

    Raises `UsageError`: No own run has a trial of a loop.
    """
    resampling = resampling or PLAIN
    trials, left_out = loop_trials(store)
    if not trials:
        raise UsageError(
            "no run here has a driver that an agent's loop collected evidence for: ",
            command("analyze", "...", grounder="belief"),
            " (or search, deep_research)",
        )
    arms = sorted({trial.arm for trial in trials})
    return {
        "arms": {arm: _arm([trial for trial in trials if trial.arm == arm], resampling) for arm in arms},
        **resampling.note(),
        "left_out": left_out,
    }


def _arm(trials: Sequence[LoopTrial], resampling: Resampling) -> dict[str, Any]:
    submissions = [
        trial.trace.submission
        for trial in trials
        if trial.trace.submission is not None and trial.trace.submission.gap is not None
    ]
    return {
        "n": len(trials),
        "statistics": medians(trials, STATISTICS),
        "consistent": {
            "n": len(submissions),
            "same": sum(submission.gap is not None and submission.gap <= SAME for submission in submissions),
        },
        "by_step": brier_by_step([trial for trial in trials if trial.states_beliefs], resampling),
    }


def medians(trials: Sequence[LoopTrial], names: Iterable[str]) -> dict[str, float]:
    """Return the median over trials of each count that their traces keep (BLF, Table 19)."""
    return {name: median(trial.trace.statistics.get(name, 0.0) for trial in trials) for name in names}


def brier_by_step(trials: Sequence[LoopTrial], resampling: Resampling) -> dict[str, Any] | None:
    """Return the Brier score after each step with its interval, from 0.5 on; None without a leaf that has an outcome."""
    leaves: dict[tuple[str, str], list[LoopTrial]] = {}
    for trial in trials:
        if trial.outcome is not None:
            leaves.setdefault((trial.run_id, trial.node), []).append(trial)
    if not leaves:
        return None
    scores = step_scores(
        [[trial.beliefs for trial in of_leaf] for of_leaf in leaves.values()],
        [of_leaf[0].outcome or 0.0 for of_leaf in leaves.values()],
        [run_id for run_id, _ in leaves],
        resampling=resampling,
    )
    return {
        "n": scores.n,
        "runs": scores.clusters,
        "steps": [
            {
                "step": step,
                "brier": brier,
                "interval": None if bounds is None else list(bounds),
                "working": working,
            }
            for step, (brier, bounds, working) in enumerate(
                zip(scores.brier, scores.intervals, scores.working, strict=True)
            )
        ],
    }
