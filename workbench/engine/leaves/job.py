"""What one grounding needs to know, as a plain value: the same for this process and for a worker on another machine."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from proxies.asof.clock import Cutoff
from proxies.ledger import Address
from sandbox import Limits
from workbench.agents.base import AgentSettings, Grounding, GroundingFailure
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.models.base import ModelReply, NodeRef
from workbench.prompts import TODAY, PromptSet
from workbench.propositions import NodeId

if TYPE_CHECKING:
    from workbench.engine.access.model_gateway import ModelGateway
    from workbench.engine.record.recorder import Recorder
    from workbench.search.leak_filter import Verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundJob:
    """One attempt of one trial of a leaf.

    The grounder is named in ``settings`` with its own settings; whoever takes the job opens it by that name. Nothing in it is
    a key: a worker uses those of its own environment. ``keyed`` and ``network`` say which data worked when the run was opened, for
    the prompts. ``prompts`` are those that differ from today's (``PromptSet.earlier``), ``quote_key`` is that of the run's marks. ``gave_up``, ``max_steps``, ``known_calls`` and ``asked_on`` are those of ``TrialState``.
    """

    run: str
    node: NodeId
    trial: int
    attempt: int
    statement: str
    cutoff: str
    cutoff_instant: str
    settings: RunSettings
    keyed: tuple[str, ...]
    network: bool = True
    resolves_by: str = ""
    reference_class: str = ""
    limits: Limits
    gave_up: tuple[tuple[int, int], ...] = ()
    max_steps: int | None = None
    known_calls: tuple[str, ...] = ()
    asked_on: str = ""
    prompts: dict[str, str] = field(default_factory=dict)
    quote_key: str | None = None

    @classmethod
    def of(
        cls,
        state: RunState,
        node: NodeId,
        trial: int,
        attempt: int,
        *,
        keyed: tuple[str, ...],
        network: bool,
        limits: Limits,
        prompts: PromptSet = TODAY,
    ) -> "GroundJob":
        """Return the job of an attempt at a leaf of a run."""
        leaf, begun = state.tree[node], state.trial(node, trial)
        return cls(
            run=state.run_id,
            node=node,
            trial=trial,
            attempt=attempt,
            statement=leaf.statement,
            cutoff=state.cutoff,
            cutoff_instant=state.cutoff_instant,
            settings=state.settings,
            keyed=keyed,
            network=network,
            resolves_by=leaf.resolves_by,
            reference_class=leaf.reference_class,
            limits=limits,
            gave_up=begun.gave_up,
            max_steps=begun.max_steps,
            known_calls=begun.known_calls,
            asked_on=begun.asked_on,
            prompts=dict(prompts.earlier),
            quote_key=prompts.marks.key,
        )

    @property
    def bounds(self) -> AgentSettings:
        """The agents' bounds, with the number of steps that the attempt began with: its prompts name it."""
        agent = self.settings.agent
        return agent if self.max_steps is None else replace(agent, max_proof_steps=self.max_steps)

    @property
    def ref(self) -> NodeRef:
        """The leaf, as prompts name it."""
        return NodeRef(id=self.node, statement=self.statement)

    @property
    def framing(self) -> str:
        """How this trial is to look at the leaf; "" where the run leaves it free."""
        framings = self.settings.framings
        return framings[(self.trial - 1) % len(framings)] if framings else ""

    def parsed_cutoff(self) -> Cutoff:
        """Return the knowledge cutoff; ``now`` is the instant at which the run was opened."""
        return Cutoff.parse(
            self.cutoff, now=datetime.fromisoformat(self.cutoff_instant.replace("Z", "+00:00"))
        )

    def address(self, stage: str, step: int, retry: int) -> Address:
        """Return the ledger address of a request or data call of this attempt."""
        return Address(
            run=self.run,
            node=self.node,
            trial=self.trial,
            attempt=self.attempt,
            stage=stage,
            step=step,
            retry=retry,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOwner:
    """What a grounding elsewhere needs of the process that owns the run; only that process writes the store.

    ``level`` says at which isolation kernels of this sitting start, ``on_reply`` is called with each reply that was paid for.
    ``verdicts`` are those of the run's leak filter: what one worker had judged, no other has judged again.
    """

    recorder: "Recorder"
    gateway: "ModelGateway"
    level: Callable[[], Awaitable[str]]
    on_reply: Callable[[Address, ModelReply], None]
    verdicts: "Verdicts | None" = None


class Workers(Protocol):
    """Processes that ground leaves for the owner of a run; ``Engine`` uses them where it has any."""

    async def ground(self, job: GroundJob, owner: JobOwner) -> Grounding | GroundingFailure:
        """Have a worker do the job and return its outcome; raises what a grounding in this process would raise."""
        ...
