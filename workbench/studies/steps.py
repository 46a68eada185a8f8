"""How the agents of a study worked: steps, calls, tokens and evidence (paper B, Table 19), and how good each step's belief was (Fig. 12).

Read from the evidence of every run, so nothing is asked again. Leaves below a tree count as leaves of their own; the curve over
steps needs runs whose claim is the leaf, since only those have an outcome.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.agents.evidence.trace import TraceEvidence
from workbench.engine.fold import load_state
from workbench.engine.proof_check import stored_evidence
from workbench.engine.state import RunState
from workbench.store import Store
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_state import StudyState


def step_statistics(store: Store, exam: StudyExam, state: StudyState) -> dict[str, Any]:
    """Means over the leaves of each arm that ran an agent's loop, and its Brier score by step; empty without any.

    ``submitted`` is the share of loops that ended by their own submission and not at a limit, ``gap`` the mean distance of what
    was submitted from the belief stated beside it (paper B, App. E: there should be none).
    """
    outcome = dict(zip(exam.events.event_id.tolist(), exam.events.outcome.tolist(), strict=True))
    loops: dict[str, list[TraceEvidence]] = {}
    beliefs: dict[str, dict[str, list[list[float]]]] = {}
    for cell, forecast in state.forecasts.items():
        if not forecast.run:
            continue
        run = load_state(store, forecast.run)
        for node in run.tree.leaves():
            for trace in _loops_of(store, run, node):
                loops.setdefault(cell.arm, []).append(trace)
                path = [step.p for step in trace.steps if step.p is not None]
                if path and not run.tree.root.children and cell.event in outcome:
                    beliefs.setdefault(cell.arm, {}).setdefault(cell.event, []).append(path)
    return {
        arm: {**_counts(traces), "brier_by_step": _brier_by_step(beliefs.get(arm, {}), outcome)}
        for arm, traces in loops.items()
    }


def _loops_of(store: Store, run: RunState, node: str) -> list[TraceEvidence]:
    evidence = [
        stored_evidence(store, run, node, number)
        for (leaf, number), trial in run.trials.items()
        if leaf == node and trial.evidence is not None and trial.evidence.kind == TraceEvidence.kind
    ]
    return [each for each in evidence if isinstance(each, TraceEvidence) and each.submission is not None]


def _counts(traces: Sequence[TraceEvidence]) -> dict[str, Any]:
    names = dict.fromkeys(name for trace in traces for name in trace.statistics)
    submissions = [trace.submission for trace in traces if trace.submission is not None]
    gaps = [submission.gap for submission in submissions if submission.gap is not None]
    return {
        "leaves": len(traces),
        **{name: float(np.mean([trace.statistics.get(name, 0.0) for trace in traces])) for name in names},
        "submitted": float(np.mean([not submission.forced for submission in submissions])),
        "gap": float(np.mean(gaps)) if gaps else None,
    }


def _brier_by_step(
    beliefs: Mapping[str, Sequence[Sequence[float]]], outcome: Mapping[str, float]
) -> list[float]:
    """Brier score of the trials' mean belief after each step; a loop that has ended keeps its last belief."""
    length = max((len(path) for paths in beliefs.values() for path in paths), default=0)
    scores = []
    for step in range(length):
        errors = [
            (float(np.mean([path[min(step, len(path) - 1)] for path in paths])) - outcome[event]) ** 2
            for event, paths in beliefs.items()
        ]
        scores.append(float(np.mean(errors)))
    return scores
