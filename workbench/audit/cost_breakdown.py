"""Break down a run's time and money: models, kernels, data, the check of proofs, and waiting.

From its records alone. Leaves work side by side, so their seconds may add up to many times the clock's.
"""

from typing import Any

from sandbox.errors import JournalBroken
from sandbox.record.journal import read_journal
from workbench.engine.access.model_gateway import spending
from workbench.engine.record.state import RunState
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev


def time_and_money(store: Store, state: RunState) -> dict[str, Any]:
    """Return a run's working time by the clock and the parts of its work, as JSON values; part of ``audit --json``.

    ``models`` is how long replies took, ``data`` how long answers of sources took, ``kernels`` how long cells ran without the
    data they waited for, ``checks`` how long the check of concluded proofs took. ``waiting`` is what is left of the leaves'
    time: for a place at the model or at a kernel, and for a provider that was down. ``usd`` of ``waiting`` is the worst case
    of calls that got no answer, which the provider may have billed.
    """
    models, data = ModelLedger(store), ApiLedger(store)
    leaf_replies, other_replies = models.seconds(state.run_id)
    cell_data, other_data = data.seconds(state.run_id)
    cells, in_cells = _cells(store, state)
    kernels = max(0.0, in_cells - cell_data)
    proofs, checks = _checks(store, state)
    leaves = sum(trial.until(state.last_utc) for trial in state.trials.values())
    waiting = max(0.0, leaves - leaf_replies - kernels - cell_data - other_data)
    lost = spending(store, state.run_id)
    replies = leaf_replies + other_replies
    rows: list[tuple[str, float, int | None, str, float | None]] = [
        ("models", replies, models.count(state.run_id), "replies", models.cost(state.run_id)),
        ("kernels", kernels, cells, "cells", 0.0),
        ("data", cell_data + other_data, data.count(state.run_id), "calls", 0.0),
        ("checks", checks, proofs, "proofs", 0.0),
        ("waiting", waiting, lost.unanswered or None, "calls without an answer", lost.unanswered_usd),
    ]
    total = sum(row[1] for row in rows)
    parts = [
        {
            "name": name,
            "seconds": round(seconds, 3),
            "share": seconds / total if total else 0.0,
            "count": count,
            "unit": unit,
            "usd": usd,
        }
        for name, seconds, count, unit, usd in rows
    ]
    return {"worked_seconds": round(state.worked_seconds, 3), "parts": parts}


def _cells(store: Store, state: RunState) -> tuple[int, float]:
    """Count the code cells of the run's sessions and their seconds, data included; a broken journal counts nothing."""
    count, seconds = 0, 0.0
    for path in sorted((store.folder(state.run_id) / "sessions").glob("*.jsonl")):
        try:
            results = [cell.result for cell in read_journal(path) if cell.result is not None]
        except (JournalBroken, OSError):  # `proofs verified` and `verify` name it
            continue
        count += len(results)
        seconds += sum(result.duration_s for result in results)
    return count, seconds


def _checks(store: Store, state: RunState) -> tuple[int, float]:
    """Count the checked proofs and their seconds; a check made up after a kill counts from the resume."""
    begun: dict[tuple[str, int], float] = {}
    count, seconds, resumed = 0, 0.0, 0.0
    for stored in store.events(state.run_id, kinds=("leaf.grounded", "leaf.verified", "run.resumed")):
        now = stored.instant
        match stored.event:
            case ev.RunResumed():
                resumed = now
            case ev.LeafGrounded(node=node, trial=trial):
                begun[node, trial] = now
            case ev.LeafVerified(node=node, trial=trial):
                count += 1
                seconds += max(0.0, now - max(begun.get((node, trial), now), resumed))
    return count, seconds
