"""The records of one attempt as evidence reads them: its data calls, its replies, where its files lie."""

from pathlib import Path

from proxies.ledger import Address, LedgerRow
from workbench.agents.evidence.base import ProofContext, RecordedReply
from workbench.engine.record.run_files import notebook_name
from workbench.engine.record.state import RunState
from workbench.models.base import ModelReply, NodeRef
from workbench.propositions import Belief, NodeId
from workbench.store import ApiLedger, ModelLedger, Store


def attempt_context(
    store: Store,
    state: RunState,
    node: NodeId,
    trial: int,
    attempt: int,
    *,
    belief: Belief,
    journal: Path,
) -> ProofContext:
    """Return the records of an attempt; trial 0 is a synthesizer's at an inner node."""

    def data_calls(stage: str | None = None) -> list[LedgerRow]:
        return [
            row
            for row in ApiLedger(store).rows(state.run_id, node)
            if (row.address.trial, row.address.attempt) == (trial, attempt)
            and stage in (None, row.address.stage)
        ]

    def last_reply(stage: str) -> ModelReply | None:
        address = Address(
            run=state.run_id,
            node=node,
            trial=trial,
            attempt=attempt,
            stage=stage,
        )
        return ModelLedger(store).last_reply(address)

    def replies() -> list[RecordedReply]:
        place = Address(run=state.run_id, node=node, trial=trial, attempt=attempt)
        return [
            RecordedReply(
                stage=where.stage, step=where.step, retry=where.retry, messages=messages, reply=reply
            )
            for where, messages, reply in ModelLedger(store).dialogue(place)
        ]

    return ProofContext(
        node=NodeRef(id=node, statement=state.tree[node].statement),
        trial=trial,
        attempt=attempt,
        cutoff=state.cutoff,
        belief=belief,
        journal=journal,
        notebook=store.folder(state.run_id) / "proofs" / notebook_name(node, trial or 1),
        data_calls=data_calls,
        last_reply=last_reply,
        replies=replies,
    )
