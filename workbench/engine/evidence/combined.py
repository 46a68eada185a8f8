"""Do a run's leaves and nodes follow from what was concluded below them? Recomputed from the log, nothing is executed.

A proof is checked against its own trial (`verification`). What its leaf counts as, and what the nodes above make of that, stands
in events of its own: a number changed there would contradict no proof.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.engine.evidence.looked_up import look_up_faults
from workbench.engine.run.aggregation import Aggregation
from workbench.engine.run.state import RunState
from workbench.propositions import NodeId
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import evaluate

#: How far a stored p may be from the one that it follows from: the last bits of a sum.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """A node whose stored belief does not follow; ``check`` is ``pooled``, ``rule``, ``look-up`` or ``root``."""

    node: NodeId
    check: str
    what: str


def combined_faults(store: Store, state: RunState) -> list[Combined]:
    """Return every leaf that is not its trials, every node that is not its rule or its look-up, and an end that is not the root's.

    Read up to where the state stands, so that who may see a run only as it once stood is told nothing of later.
    """
    rows = store.events(state.run_id, until=state.seq)
    return [
        *_pooled_faults((row.event for row in rows), state.settings.aggregation),
        *(
            Combined(node=node, check="rule", what="the stored p is not what its rule gives")
            for node in rule_faults(state)
        ),
        *(Combined(node=node, check="look-up", what=what) for node, what in look_up_faults(store, state)),
    ]


def rule_faults(state: RunState) -> list[NodeId]:
    """Return the inner nodes whose stored p is not what their rule gives from their children."""
    values = evaluate(state.tree).values
    return [
        node
        for node in state.tree.inner()
        if (computed := values.get(node)) is not None
        and abs(computed - (state.tree[node].p or 0.0)) > TOLERANCE
    ]


def _pooled_faults(events: Iterable[ev.Event], aggregation: Aggregation) -> list[Combined]:
    """Follow the log: the tree may have been edited since, and an edited leaf is what a person says it is."""
    concluded: dict[NodeId, dict[int, ev.LeafGrounded]] = {}
    root: float | None = None
    faults = []
    for event in events:
        match event:
            case ev.LeafGrounded():
                concluded.setdefault(event.node, {})[event.trial or 1] = event
            case ev.LeafPooled():
                trials = [row for _, row in sorted(concluded.get(event.node, {}).items())]
                if what := _pooled_fault(event, trials, aggregation):
                    faults.append(Combined(node=event.node, check="pooled", what=what))
            case ev.LeafReopened():  # what its trials concluded before counts no more
                concluded.pop(event.node, None)
            case ev.TreeEdited():
                root = None
            case ev.RunFinished() if root is not None and abs(event.p - root) > TOLERANCE:
                faults.append(
                    Combined(
                        node="P0",
                        check="root",
                        what=f"the run ended with {event.p!r}, its root says {root!r}",
                    )
                )
            case _:
                pass
        if isinstance(event, ev.LeafPooled | ev.NodeSynthesized) and event.node == "P0":
            root = event.p
    return faults


def _pooled_fault(
    event: ev.LeafPooled, trials: list[ev.LeafGrounded], aggregation: Aggregation
) -> str | None:
    values = [trial.p for trial in trials]
    if not values or list(event.trials) != values:
        return f"it counts the trials {list(event.trials)}, concluded were {values}"
    p = aggregation.combine(values, dead=event.dead)
    if abs(event.p - p) > TOLERANCE:
        return f"it counts as {event.p!r}, its trials give {p!r}"
    # Of several trials the report is written together, in words that may have changed since.
    if event.key_factor != trials[0].key_factor or (len(trials) == 1 and event.report != trials[0].report):
        return "its key factor or report is not the one of its trial"
    return None
