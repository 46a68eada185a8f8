"""What an agent gets and what it returns: the plug points between reasoning and the engine.

An agent never sees a model, a ledger or a price. It asks through an ``Asker``, which the engine supplies and which
adds the address, answers from the ledger, counts cost and writes the event log. A grounder that wants a notebook
calls ``LeafTask.open_notebook``; the engine closes it. One that does not ask for it costs no kernel.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from workbench.agents.errors import BadSetting
from workbench.propositions.strict_json import STRICT

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from proxies.ledger import Answer
    from sandbox.types import CellResult, JournalCell
    from workbench.agents.evidence.base import Evidence
    from workbench.models.base import ModelReply, ModelRequest, NodeRef
from workbench.propositions import Belief, Proposition, Rule, Tree


class Asker(Protocol):
    """Sends one request to the model of this run.

    Called by agents with the last three parts of the reply's ledger address. ``step`` counts the requests of one
    dialogue from 0; ``retry`` is 0 for a first ask and grows by one each time the same request is sent back because
    its reply could not be read. The same dialogue therefore has the same addresses when a run is resumed.

    Raises
    ------
    workbench.models.errors.ModelError
        The model failed for good. Agents let it pass.
    """

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        """Return the model's reply, from the ledger if the same was asked before."""
        ...


class ProofSession(Protocol):
    """The part of ``sandbox.Session`` that a grounder uses: look at the cells, append one more."""

    @property
    def cells(self) -> Sequence[JournalCell]:
        """Cells on record, oldest first; not empty when the leaf is resumed."""
        ...

    async def markdown(self, source: str) -> JournalCell:
        """Append a markdown cell."""
        ...

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        """Append a code cell, run it, and return its result; ``fixes`` names the cell it supersedes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Bounds on what agents may do; the defaults are the paper's where it gives one (Analytica, App. C.1).

    Parameters
    ----------
    max_leaves : int
        The analyzer stops after the round in which the tree has this many leaves; a round that would make more than
        twice as many is sent back.
    max_analyzer_rounds : int
        Rounds after which the tree is taken as it is.
    max_proof_steps : int
        Notebook steps of a leaf, after which it must conclude.
    debug_max_retries : int
        Corrections of one failing cell, after which the proof fails.
    max_exception_retry : int
        Further asks after a reply that cannot be read.
    max_interrupt_times : int
        Documentation requests inside one step.
    abs_intercept_max : float
        Largest absolute intercept of a linear rule, inclusive.
    stated_p_tolerance : float
        Largest distance of a stated from the computed probability, inclusive.
    require_pa : bool
        Whether a logic formula must name the assumption PA, as the paper's own code demands.
    truncate_debug : bool
        Leave a finished debugging episode out of later requests of the leaf; False keeps the dialogue whole.
    output_chars : int
        Characters of one cell's output that the model reads back.
    temperature : float or None
        Sampling temperature to ask for; None leaves it to the model.
    rule_seed : int
        Seed of the random rule's weights.
    """

    max_leaves: int = 10
    max_analyzer_rounds: int = 100
    max_proof_steps: int = 20
    debug_max_retries: int = 5
    max_exception_retry: int = 3
    max_interrupt_times: int = 5
    abs_intercept_max: float = 0.1
    stated_p_tolerance: float = 0.02
    require_pa: bool = False
    truncate_debug: bool = False
    output_chars: int = 6000
    temperature: float | None = None
    rule_seed: int = 0

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        for name in ("max_leaves", "max_analyzer_rounds", "max_proof_steps", "output_chars"):
            if getattr(self, name) < 1:
                raise BadSetting(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("debug_max_retries", "max_exception_retry", "max_interrupt_times"):
            if getattr(self, name) < 0:
                raise BadSetting(f"{name} must not be negative, not {getattr(self, name)}")
        for name in ("abs_intercept_max", "stated_p_tolerance"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadSetting(f"{name} must be in [0, 1], not {getattr(self, name)}")


class DataGuide(Protocol):
    """Documentation of the data that a leaf may call; grounders put it into prompts and answer a model's requests from it."""

    @property
    def overview(self) -> str:
        """Short map of the sources."""
        ...

    def document(self, paths: list[str]) -> str:
        """Return the documentation of 1 to 25 full endpoint paths as Markdown; raises ``proxies.errors.ProxyError``."""
        ...

    def search(self, words: str) -> str:
        """Return the endpoints that match some words, a line each; raises ``proxies.errors.ProxyError``."""
        ...


class DataCaller(Protocol):
    """Makes one date-clamped data call on behalf of a grounder that has no notebook.

    Called with the last two parts of the call's ledger address: equal steps of a resumed leaf are answered from the ledger.
    """

    async def __call__(self, path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Answer:
        """Return the broker's answer; raises ``proxies.errors.ProxyError``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafTask:
    """All that a grounder may know of its leaf: nothing here names another leaf.

    Parameters
    ----------
    node : NodeRef
        Id and statement of the leaf.
    cutoff : Cutoff
        Knowledge cutoff; the broker enforces it, the prompts only say it.
    ask : Asker
        The way to the model.
    open_notebook : callable
        Starts the leaf's sealed notebook at its first call and returns the same session after. On resume it holds the
        cells of the earlier process. Raises ``sandbox.errors.KernelStartFailed``.
    call_api : DataCaller
        The way to data without a notebook.
    data : DataGuide
        Documentation of the data.
    settings : AgentSettings
        Bounds that all agents share; a grounder's own settings went to its factory.
    """

    node: NodeRef
    cutoff: Cutoff
    ask: Asker
    open_notebook: Callable[[], Awaitable[ProofSession]]
    call_api: DataCaller
    data: DataGuide
    settings: AgentSettings = AgentSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """A leaf's finished proof.

    Parameters
    ----------
    belief : Belief
        Probability, key factor, report.
    evidence : Evidence
        What the belief rests on; it can render itself as a proof notebook and verify itself later, offline.
    trace : mapping
        Counts for the log: ``steps`` taken and ``failed_cells`` are kept, 0 where absent.
    """

    belief: Belief
    evidence: Evidence
    trace: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingFailure:
    """Why a leaf got no belief; ``retryable`` says whether a new attempt may succeed."""

    reason: str
    retryable: bool


class Analyzer(Protocol):
    """Expands a tree until its leaves can be grounded."""

    async def analyze(
        self, tree: Tree, *, cutoff: Cutoff, ask: Asker, on_round: Callable[[Tree], Awaitable[None]]
    ) -> Tree:
        """Return the expanded tree; ``on_round`` is awaited with the tree after every accepted round."""
        ...


class Grounder(Protocol):
    """Scores one leaf."""

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief and its evidence, or why there is none; only model errors and cancellation are raised."""
        ...


class Synthesizer(Protocol):
    """Combines the beliefs of direct children into their parent's."""

    @property
    def stages(self) -> tuple[str, ...]:
        """Stages at which a model is asked; empty for a synthesizer that asks none. Cost forecasts and preflights read it."""
        ...

    @property
    def needs_polarity(self) -> bool:
        """Whether every child must come with a polarity; the analyzer is asked for them then."""
        ...

    async def synthesize(
        self, node: Proposition, children: Sequence[Proposition], *, cutoff: Cutoff, ask: Asker
    ) -> tuple[Rule, Belief]:
        """Return the rule and the belief it gives; every child must have a belief.

        The rule must be registered in ``analyst_workbench.rules``: one that cannot be read back is refused before the
        result is recorded.
        """
        ...
