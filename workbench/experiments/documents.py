"""The JSON documents of studies beside their results: what `experiment status` prints."""

from typing import Any

from workbench.experiments.ledger import SORT, fold, stream_of
from workbench.experiments.plan import StudyPlan
from workbench.store import Store


def status_document(store: Store, plan: StudyPlan) -> dict[str, Any]:
    """How far a study is, by arm; ``state`` is one sentence."""
    name = plan.spec.name
    state = fold(name, store.events(stream_of(name)) if name in store.streams(SORT) else [])
    rows = []
    for arm in plan.arms:
        cells = [cell for cell in plan.cells() if cell.arm == arm]
        finished = [state.forecasts[cell] for cell in cells if cell in state.forecasts]
        missing = [state.missing[cell] for cell in cells if cell in state.missing]
        costs = [each.cost_usd for each in finished] + [each.cost_usd for each in missing]
        rows.append(
            {
                "arm": arm,
                "made": len(finished),
                "missing": len(missing),
                "in_work": sum(1 for cell in cells if cell in state.begun and not state.ended(cell)),
                "to_come": sum(1 for cell in cells if not state.ended(cell)),
                "calls": sum(each.calls for each in finished) + sum(each.calls for each in missing),
                "cost_usd": None
                if any(cost is None for cost in costs)
                else float(sum(cost or 0.0 for cost in costs)),
            }
        )
    left = sum(1 for cell in plan.cells() if not state.ended(cell))
    if not state.study:
        words = "not begun"
    elif left:
        words = f"{left} forecasts to come; results are locked"
    elif state.audited is None:
        words = "all forecasts are made; the leak audit is to come, results are locked"
    else:
        words = f"done and audited, {len(state.audited.findings)} findings"
    return {"study": name, "state": words, "begun": state.first_utc, "last": state.last_utc, "arms": rows}
