"""An inner node's way to the web, for synthesizers that look something up, and what the filter of results judged in the run so far."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from workbench.agents.base import LeafTask
from workbench.agents.evidence.look_up import LookUp
from workbench.agents.synthesizers.synthesis_look_up import no_notebook
from workbench.engine.access.look_up_records import look_up_context
from workbench.engine.leaves.grounding import NotebookDataCalls, Sitting
from workbench.engine.record.run_files import write_notebook
from workbench.engine.record.state import RunState
from workbench.models.base import Asker, Model, NodeRef
from workbench.models.roles import name_for
from workbench.prompts import TODAY, PromptSet
from workbench.propositions import NodeId, Proposition
from workbench.search.leak_filter import STAGE, Verdicts, filter_request, recorded_texts
from workbench.store import ModelLedger, Store


def run_verdicts(store: Store, state: RunState, model: Model, prompts: PromptSet = TODAY) -> Verdicts:
    """Return the verdicts that all leaves and trials of a run share, with those that its ledger holds.

    A recorded request is taken only if the same results would be asked about in the very same words, of the same model: so the
    question, the cutoff and the version of the prompts are compared without being stored apart. Raises ``StoreCorrupt``.
    """
    cutoff = state.parsed_cutoff()
    verdicts = Verdicts(prompts=prompts)
    ledger = ModelLedger(store)
    for call in ledger.calls(state.run_id, stage=STAGE):
        content = ledger.message(call.messages[-1])["content"]
        nodes = [NodeRef(id=node["id"], statement=node["statement"]) for node in call.request["nodes"]]
        if len(nodes) != 1:
            continue
        request = filter_request(
            recorded_texts(content, prompts.marks), node=nodes[0], cutoff=cutoff, prompts=prompts
        )
        if request.canonical_hash(name_for(model, request)) == call.request_hash:
            verdicts.keep_recorded(content, call.reply, question=nodes[0].statement, cutoff=cutoff)
    return verdicts


@runtime_checkable
class LooksUp(Protocol):
    """A synthesizer that may look things up; ``looks_up`` says whether it does in this run."""

    @property
    def looks_up(self) -> bool:
        """Whether ``look_up`` is called before each synthesis, and its result handed to it as ``looked_up``."""
        ...

    async def look_up(self, task: LeafTask, node: Proposition, children: tuple[Proposition, ...]) -> LookUp:
        """Return what was looked_up for an inner node."""
        ...


async def look_up(sitting: Sitting, synthesizer: LooksUp, node: NodeId, attempt: int, ask: Asker) -> LookUp:
    """Return what was looked up for an inner node; its data go through the same door as a leaf's, approvals included.

    Raises what data calls of a leaf raise where a source cannot be asked at all.
    """
    tree, job = sitting.state.tree, sitting.job(node, 0, attempt)
    task = LeafTask(
        node=job.ref,
        cutoff=job.cutoff,
        ask=ask,
        open_notebook=no_notebook,
        call_api=NotebookDataCalls(sitting.data(job), job, sitting.slots).from_grounder,
        data=sitting.guide,
        settings=job.bounds,
        resolves_by=_resolution(sitting.state, node),
        verdicts=sitting.verdicts,
    )
    return await synthesizer.look_up(task, tree[node], tuple(tree.children(node)))


def write_look_up(sitting: Sitting, looked_up: LookUp, node: NodeId, attempt: int) -> None:
    """Write the notebook of a look-up beside the proofs of the leaves."""
    proof = look_up_context(sitting.store, sitting.state, node, attempt)
    write_notebook(proof.notebook, looked_up.render(proof))


def _resolution(state: RunState, node: NodeId) -> str:
    """What settles a node and those below it, a line each: who settles a child must not be read for its parent either."""
    lines = [state.settings.context.criteria if node == "P0" else "", state.tree[node].resolves_by]
    below = [node]
    while below:
        for child in state.tree[below.pop()].children:
            lines.append(state.tree[child].resolves_by)
            below.append(child)
    return "\n".join(dict.fromkeys(" ".join(line.split()) for line in lines if line.strip()))
