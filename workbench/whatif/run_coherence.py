"""Find contradictions between the answers of several runs."""

from collections.abc import Sequence
from typing import Any

from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import Option, UsageError, WorkbenchError, command
from workbench.store import Store
from workbench.synthesis.coherence.exclusive import forecast_findings


def check_runs(
    store: Store, runs: Sequence[str] = (), exclusive: Sequence[Sequence[str]] = ()
) -> dict[str, Any]:
    """Return the document of ``workbench coherence --json``: coherent, forecasts, findings, and the runs left out with reasons.

    Raises `UsageError`: A named run has no probability, or an exclusive group mixes cutoffs.
    """
    named = {
        name: store.resolve_run(name) for name in (*runs, *(name for group in exclusive for name in group))
    }
    left_out: list[str] = []
    states: dict[str, RunState] = {}
    for run_id in dict.fromkeys(named.values()) if runs else store.run_ids():
        try:
            state = load_state(store, run_id)
        except WorkbenchError as error:
            if run_id in named.values():
                raise
            left_out.append(f"run {run_id} cannot be read ({error}): left out")
            continue
        if state.tree.root.p is not None:
            states[run_id] = state
        elif run_id in named.values():
            raise UsageError(
                f"run {run_id} has no probability of its claim yet: ", command("resume", run_id), " first"
            )
        else:
            left_out.append(f"run {run_id} has no probability of its claim yet: left out")
    groups = [[named[name] for name in group] for group in exclusive]
    for group in groups:
        if len(set(group)) < 2:
            raise UsageError(
                Option("exclusive"), " names the runs of one question, at least two: RUN,RUN,..."
            )
        if len({_last_known_day(states[run_id]) for run_id in group}) > 1:
            raise UsageError(f"{', '.join(group)} have different cutoffs: compare runs with the same cutoff")
    instants: dict[str, list[str]] = {}
    for run_id, state in states.items():
        instants.setdefault(_last_known_day(state), []).append(run_id)
    if len(instants) > 1:
        left_out.append(f"the runs have {len(instants)} cutoffs: only those of one cutoff are compared")
    findings = []
    for members in instants.values():
        p = {run_id: states[run_id].tree.root.p or 0.0 for run_id in members}
        statements = {run_id: states[run_id].statement for run_id in members}
        findings += forecast_findings(p, statements, [group for group in groups if group[0] in p])
    return {
        "coherent": not findings,
        "forecasts": [
            {"run_id": run_id, "statement": state.statement, "cutoff": state.cutoff, "p": state.tree.root.p}
            for run_id, state in states.items()
        ],
        "findings": [finding.to_json() for finding in findings],
        "left_out": left_out,
    }


def _last_known_day(state: RunState) -> str:
    return state.cutoff_instant[:10]
