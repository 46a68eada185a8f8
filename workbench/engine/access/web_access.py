"""An inner node's way to the web, for synthesizers that look something up, and what the filter of results judged in the run so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import orjson

from proxies.broker import Broker
from sandbox import Limits
from workbench.agents.base import LeafTask
from workbench.agents.evidence.look_up import LookUp
from workbench.agents.synthesizers.synthesis_look_up import no_notebook
from workbench.engine.access.catalogue_guide import CatalogueGuide
from workbench.engine.access.look_up_records import look_up_context
from workbench.engine.approvals import Approvals, ApprovedData
from workbench.engine.leaves.grounding import DataSource, NotebookDataCalls, data_session
from workbench.engine.leaves.job import GroundJob
from workbench.engine.leaves.leaf_notebook import KernelSlots
from workbench.engine.record.recorder import Recorder
from workbench.engine.record.run_files import write_notebook
from workbench.engine.record.state import RunState
from workbench.models.base import Asker, Model, NodeRef
from workbench.models.roles import name_for
from workbench.prompts import TODAY, PromptSet
from workbench.propositions import NodeId, Proposition
from workbench.search.leak_filter import STAGE, Verdicts, filter_request, recorded_texts
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev


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
        request = filter_request(
            recorded_texts(content, prompts.marks), node=nodes[0], cutoff=cutoff, prompts=prompts
        )
        if request.canonical_hash(name_for(model, request)) == digest:
            verdicts.keep_recorded(content, reply, question=nodes[0].statement, cutoff=cutoff)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLookUps:
    """The look-ups of one run's inner nodes; its data go through the same door as a leaf's, approvals included."""

    recorder: Recorder
    broker: Broker
    guide: CatalogueGuide
    slots: KernelSlots
    keyed: tuple[str, ...] = ()
    approvals: Approvals | None = None
    verdicts: Verdicts | None = None

    async def look_up(self, synthesizer: LooksUp, node: NodeId, attempt: int, ask: Asker) -> LookUp:
        """Return what was looked_up; raises what data calls of a leaf raise where a source cannot be asked at all."""
        state, store = self.recorder.state, self.recorder.store
        job = GroundJob.of(
            state,
            node,
            0,
            attempt,
            keyed=self.keyed,
            network=self.broker.settings.network,
            limits=Limits(),
        )
        ledger = ApiLedger(store)
        data: DataSource = data_session(self.broker, job, ledger)
        if self.approvals is not None:
            data = ApprovedData(data, self.approvals, job, ledger)
        task = LeafTask(
            node=job.ref,
            cutoff=job.parsed_cutoff(),
            ask=ask,
            open_notebook=no_notebook,
            call_api=NotebookDataCalls(data, job, self.slots).from_grounder,
            data=self.guide,
            settings=job.bounds,
            resolves_by=_resolution(state, node),
            verdicts=self.verdicts,
        )
        children = tuple(state.tree[child] for child in state.tree[node].children)
        return await synthesizer.look_up(task, state.tree[node], children)

    def write(self, looked_up: LookUp, node: NodeId, attempt: int) -> None:
        """Write its notebook beside the proofs of the leaves."""
        proof = look_up_context(self.recorder.store, self.recorder.state, node, attempt)
        write_notebook(proof.notebook, looked_up.render(proof))


def look_up_record(looked_up: LookUp, attempt: int, put: Callable[[bytes], str]) -> ev.LookUpRecord:
    """File a look-up by ``put`` and return what the log says of it."""
    return ev.LookUpRecord(
        attempt=attempt, body=put(orjson.dumps(looked_up.to_json(), option=orjson.OPT_SORT_KEYS))
    )


def _resolution(state: RunState, node: NodeId) -> str:
    """What settles a node and those below it, a line each: who settles a child must not be read for its parent either."""
    lines = [state.settings.context.criteria if node == "P0" else "", state.tree[node].resolves_by]
    below = [node]
    while below:
        for child in state.tree[below.pop()].children:
            lines.append(state.tree[child].resolves_by)
            below.append(child)
    return "\n".join(dict.fromkeys(" ".join(line.split()) for line in lines if line.strip()))
