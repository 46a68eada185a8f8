"""What synthesizers looked up for inner nodes: read from the log, checked against ledgers and notebook, written as a notebook."""

from dataclasses import dataclass
from pathlib import Path

from workbench.agents.evidence.base import ProofContext
from workbench.agents.evidence.look_up import LookUp
from workbench.engine.record.attempt_records import attempt_context
from workbench.engine.record.state import RunState
from workbench.propositions import Belief, NodeId
from workbench.store import Store, StoreCorrupt
from workbench.store import events as ev

#: What stands in the place of a belief while the notebook of a look-up is made: it shows none.
_NO_BELIEF = Belief(p=0.5)


@dataclass(frozen=True, slots=True)
class NodeLookUp:
    """The look-up behind a node's rule, and the records of its attempt."""

    look_up: LookUp
    proof: ProofContext


def look_up_nodes(store: Store, state: RunState) -> dict[NodeId, ev.LookUpRecord]:
    """Return the newest look-up of each inner node, as the log names it up to where the state stands."""
    rows = store.events(state.run_id, kinds=("node.synthesized",), until=state.seq)
    return {
        row.event.node: row.event.looked_up
        for row in rows
        if isinstance(row.event, ev.NodeSynthesized) and row.event.looked_up is not None
    }


def node_look_up(
    store: Store, state: RunState, node: NodeId, record: ev.LookUpRecord | None = None
) -> NodeLookUp | None:
    """Return what was looked up for a node, None where nothing was.

    Raises `StoreCorrupt`: Its body was altered or is gone. Raises `ValueError`: The body is no look-up.
    """
    record = record or look_up_nodes(store, state).get(node)
    if record is None:
        return None
    look_up = LookUp.from_json(store.json(record.body))
    return NodeLookUp(look_up, look_up_context(store, state, node, record.attempt))


def stored_look_ups(store: Store, state: RunState) -> dict[NodeId, LookUp]:
    """Return what was looked up for the inner nodes of a run, for whoever asks the synthesizer again; raises as `node_look_up`."""
    stored = {node: node_look_up(store, state, node) for node in look_up_nodes(store, state)}
    return {node: each.look_up for node, each in stored.items() if each is not None}


def look_up_context(store: Store, state: RunState, node: NodeId, attempt: int) -> ProofContext:
    """Return the records of a look-up's attempt."""
    return attempt_context(
        store, state, node, 0, attempt, belief=state.tree[node].belief or _NO_BELIEF, journal=Path()
    )


def look_up_faults(store: Store, state: RunState) -> list[tuple[NodeId, str]]:
    """Return inner nodes whose look-up differs from the records, each with what differs; nothing is executed."""
    faults: list[tuple[NodeId, str]] = []
    for node, record in look_up_nodes(store, state).items():
        try:
            stored = node_look_up(store, state, node, record)
        except (StoreCorrupt, ValueError) as error:
            faults.append((node, " ".join(str(error).split())[:300]))
            continue
        if stored is not None:
            faults += [
                (node, f"{fault.check}: {fault.what}") for fault in stored.look_up.faults(stored.proof)
            ]
    return faults
