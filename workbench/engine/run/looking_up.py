"""An inner node's way to the web, for synthesizers that look something up before they weigh: at the run's cutoff, on its ledgers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import orjson

from proxies.broker import Broker
from sandbox import Limits
from workbench.agents.base import LeafTask
from workbench.agents.evidence.look_up import LookUp
from workbench.agents.synthesizers.looking_up import no_notebook
from workbench.engine.evidence.looked_up import look_up_context
from workbench.engine.run.approvals import Approvals
from workbench.engine.run.catalogue_guide import CatalogueGuide
from workbench.engine.run.files import write_notebook
from workbench.engine.run.job import GroundJob
from workbench.engine.run.job_work import DataCalls, DataSource, data_session
from workbench.engine.run.kernel_slots import KernelSlots
from workbench.engine.run.recorder import Recorder
from workbench.engine.run.state import RunState
from workbench.models.base import Asker
from workbench.propositions import NodeId, Proposition
from workbench.search.leak_filter import Verdicts
from workbench.store import ApiLedger
from workbench.store import events as ev


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
            data = self.approvals.data(job, data, ledger)
        task = LeafTask(
            node=job.ref,
            cutoff=job.parsed_cutoff(),
            ask=ask,
            open_notebook=no_notebook,
            call_api=DataCalls(data, job, self.slots).from_grounder,
            data=self.guide,
            settings=job.bounds,
            context=job.context(),
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
