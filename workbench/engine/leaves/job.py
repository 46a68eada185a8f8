"""What one grounding needs to know, as a plain value: the same for this process and for a worker on another machine."""

from dataclasses import dataclass, field, replace

from proxies.asof.clock import Cutoff
from proxies.ledger import Address
from sandbox import Limits
from workbench.agents.base import AgentSettings
from workbench.engine.record.state import RunState, TrialState
from workbench.engine.run_settings import RunSettings
from workbench.models.base import NodeRef
from workbench.prompts import TODAY, PromptSet
from workbench.propositions import NodeId, Proposition


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundJob:
    """One attempt of one trial of a leaf; trial 0 is what a synthesizer looks up for an inner node.

    The grounder is named in ``settings`` with its own settings; whoever takes the job opens it by that name. Nothing in it is
    a key: a worker uses those of its own environment. ``keyed`` and ``network`` say which data worked when the run was opened, for
    the prompts. ``prompts`` are those that differ from today's (``PromptSet.earlier``), ``quote_key`` is that of the run's marks.
    """

    run: str
    node: NodeId
    trial: int
    attempt: int
    leaf: Proposition
    begun: TrialState
    cutoff: Cutoff
    settings: RunSettings
    keyed: tuple[str, ...]
    network: bool = True
    limits: Limits
    prompts: dict[str, str] = field(default_factory=dict)
    quote_key: str = ""

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
        return cls(
            run=state.run_id,
            node=node,
            trial=trial,
            attempt=attempt,
            leaf=state.tree[node],
            begun=state.trial(node, trial),
            cutoff=state.parsed_cutoff(),
            settings=state.settings,
            keyed=keyed,
            network=network,
            limits=limits,
            prompts=dict(prompts.earlier),
            quote_key=prompts.marks.key,
        )

    @property
    def bounds(self) -> AgentSettings:
        """The agents' bounds, with the number of steps that the attempt began with: its prompts name it."""
        agent, begun = self.settings.agent, self.begun.max_steps
        return agent if begun is None else replace(agent, max_proof_steps=begun)

    @property
    def ref(self) -> NodeRef:
        """The leaf, as prompts name it."""
        return NodeRef(id=self.node, statement=self.leaf.statement)

    @property
    def framing(self) -> str:
        """How this trial is to look at the leaf; "" where the run leaves it free."""
        # A claim that has drivers is asked about plainly: the framings are for the trials of those.
        framings = [] if self.leaf.children else self.settings.framings
        return framings[(self.trial - 1) % len(framings)] if framings else ""

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
