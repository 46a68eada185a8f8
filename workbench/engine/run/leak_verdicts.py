"""What the filter of web results judged in a run so far, read back from its ledger, so that a resumed run judges nothing again."""

from workbench.engine.run.state import RunState
from workbench.models.base import Model, NodeRef
from workbench.models.roles import name_for
from workbench.prompts import TODAY, PromptSet
from workbench.search.leak_filter import STAGE, Verdicts, filter_request, recorded_texts
from workbench.store import ModelLedger, Store


def run_verdicts(store: Store, state: RunState, model: Model, prompts: PromptSet = TODAY) -> Verdicts:
    """Return the verdicts that all leaves and trials of a run share, with those that its ledger holds.

    A recorded request is taken only if the same results would be asked about in the very same words, of the same model: so the
    question, the cutoff and the version of the prompts are compared without being stored apart. Raises ``StoreCorrupt``.
    """
    cutoff = state.parsed_cutoff()
    verdicts = Verdicts(prompts=prompts)
    for digest, recorded, reply in ModelLedger(store).requests(state.run_id, STAGE):
        content = recorded["messages"][-1]["content"]
        nodes = [NodeRef(id=node["id"], statement=node["statement"]) for node in recorded["nodes"]]
        if len(nodes) != 1:
            continue
        request = filter_request(recorded_texts(content), node=nodes[0], cutoff=cutoff, prompts=prompts)
        if request.canonical_hash(name_for(model, request)) == digest:
            verdicts.keep_recorded(content, reply, question=nodes[0].statement, cutoff=cutoff)
    return verdicts
