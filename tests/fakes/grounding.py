"""One leaf grounded without an engine, its data calls through a real broker, and the records that its evidence is verified against."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import orjson

from proxies.asof.clock import Cutoff
from proxies.broker import Broker, open_broker
from proxies.ledger import Address, LedgerRow, MemoryLedger
from proxies.settings import ProxySettings
from sandbox.record.verify import Verification
from tests.fakes.leaf import FakeGuide
from workbench.agents.base import AgentSettings, Grounder, Grounding, GroundingFailure, LeafTask
from workbench.agents.evidence.base import Evidence, ProofContext, read_evidence
from workbench.agents.evidence.check import verify
from workbench.agents.evidence.notebook import proof_notebook
from workbench.models.base import ModelReply, ModelRequest, NodeRef


async def no_model(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
    raise AssertionError(f"no model is asked here, at {stage}")


async def no_notebook() -> Any:
    raise AssertionError("no notebook is opened here")


@dataclasses.dataclass
class GroundedLeaf:
    """What came out, and the records as the engine would keep them."""

    outcome: Grounding | GroundingFailure
    ledger: MemoryLedger
    statement: str
    cutoff: Cutoff
    folder: Path

    @property
    def grounding(self) -> Grounding:
        assert isinstance(self.outcome, Grounding), self.outcome
        return self.outcome

    @property
    def reason(self) -> str:
        assert isinstance(self.outcome, GroundingFailure), self.outcome
        return self.outcome.reason

    def stored(self, change: Callable[[dict[str, Any]], None] | None = None) -> Evidence:
        """The evidence as the log gives it back, after a change to what is stored."""
        data = orjson.loads(orjson.dumps(self.grounding.evidence.to_json(), option=orjson.OPT_SORT_KEYS))
        if change is not None:
            change(data)
        return read_evidence(data)

    def proof(self, **changes: Any) -> ProofContext:
        """The records of the trial, its notebook written."""

        def calls(stage: str | None = None) -> list[LedgerRow]:
            return [row for place, row in sorted(self.ledger.rows.items()) if stage in (None, place.stage)]

        context = ProofContext(
            node=NodeRef(id="P1", statement=self.statement),
            trial=1,
            attempt=1,
            cutoff=self.cutoff.text,
            belief=self.grounding.belief,
            journal=self.folder / "P1.jsonl",
            notebook=self.folder / "P1.ipynb",
            data_calls=calls,
            last_reply=lambda stage: None,
        )
        return dataclasses.replace(context, **changes)

    def write_notebook(self) -> None:
        book = proof_notebook(self.stored(), self.proof())
        (self.folder / "P1.ipynb").write_text(nbformat.writes(book))

    async def verified(
        self, change: Callable[[dict[str, Any]], None] | None = None, **changes: Any
    ) -> Verification:
        """What ``verify`` says, after a change to the stored evidence or to the records."""

        async def replay(proof: ProofContext) -> Verification:
            raise AssertionError("there is no notebook to run")

        self.write_notebook()
        return await verify(self.stored(change), self.proof(**changes), replay)


async def ground_leaf(
    grounder: Grounder,
    statement: str,
    cutoff: str,
    folder: Path,
    *,
    broker: Broker | None = None,
    ask: Any = no_model,
    node: str = "P1",
    **task: Any,
) -> GroundedLeaf:
    """Ground a leaf and close the broker; without one over the embedded series alone."""
    parsed, ledger = Cutoff.parse(cutoff), MemoryLedger()
    session = (broker := broker or open_broker(ProxySettings())).session(parsed, ledger)

    async def call_api(path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Any:
        place = Address(run="r", node=node, trial=1, attempt=1, stage="tool", step=step, retry=retry)
        return await session.call(path, dict(params), place)

    outcome = await grounder.ground(
        LeafTask(
            node=NodeRef(id=node, statement=statement),
            cutoff=parsed,
            ask=ask,
            open_notebook=no_notebook,
            call_api=call_api,
            data=FakeGuide(),
            settings=AgentSettings(),
            **task,
        )
    )
    await broker.aclose()
    return GroundedLeaf(outcome=outcome, ledger=ledger, statement=statement, cutoff=parsed, folder=folder)
