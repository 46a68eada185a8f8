"""What a grounding rests on: steps with the ledger rows and cells behind them, and by name the function that computes them again.

There is one kind for every grounder; `evidence.notebook` renders it, `evidence.check` holds it to the records. A grounder whose
numbers can be computed again registers a function for that (``analyst_workbench.evidence``) and stores what it starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.agents.loop.belief_state import BeliefState
from workbench.agents.loop.submission import Submission
from workbench.agents.loop.tool_box import ToolSource
from workbench.agents.routing import Route
from workbench.errors import UsageError
from workbench.plug_points import EVIDENCE, UnknownPlugin, load_plugin
from workbench.propositions import Belief
from workbench.propositions.strict_json import STRICT, read_strict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from proxies.ledger import LedgerRow
    from sandbox.record.verify import Verification
    from workbench.models.base import ModelReply, NodeRef
    from workbench.store import Store
    from workbench.store.events import EvidenceRecord


#: Steps of the ledger between two grounders of a leaf (``grounders.router``).
STEPS_EACH = 1000
_LATEST = 3_000_000  # an ordinal day of the year 8214


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCall:
    """One tool call of a step."""

    #: tool, arguments: As the model made it, the belief aside.
    tool: str
    arguments: Mapping[str, Any]
    #: Its place among the calls of its step, from 1.
    number: int
    #: Its id in the dialogue; None where it stood in the text of a reply.
    call_id: str | None
    #: text, sha256: What the model read, and its hash.
    text: str
    sha256: str
    #: Content hashes of the data answers it rests on.
    answers: tuple[str, ...] = ()
    #: Ids that it gave out.
    sources: tuple[str, ...] = ()
    #: What is remarkable about foreign text in it.
    marks: tuple[str, ...] = ()
    failed: bool = False
    #: Id of the notebook cell that it ran.
    cell: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One step towards a belief."""

    #: What was done, in a few words.
    title: str
    #: What came of it, as Markdown; of a step of an agent's loop the model's own words.
    text: str
    #: Belief after the step, in [0, 1].
    p: float | None = None
    #: Content hashes of the data answers that the step used (``Answer.meta["content_hash"]``).
    answers: tuple[str, ...] = ()
    #: stage, reply: Where the model's reply of this step stands in the ledger; None where no model was asked.
    stage: str = ""
    reply: int | None = None
    calls: tuple[TraceCall, ...] = ()
    #: The whole belief after the step.
    belief: BeliefState | None = None
    #: Its probability as the model stated it, where it was overwritten.
    stated: float | None = None
    notes: tuple[str, ...] = ()
    #: What the model was told behind the answers.
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A line over days or over steps, with what is measured against it; `evidence.notebook` draws it."""

    #: title, words: Above the figure, and what it shows for whoever does not see it.
    title: str
    words: str
    #: Oldest first; days are ordinal numbers, parts of a day as decimals. With ``steps`` they are numbers of steps, each drawn as a dot.
    points: tuple[tuple[float, float], ...]
    steps: bool = False
    #: Levels across the whole width.
    marks: tuple[tuple[float, str], ...] = ()
    #: end, fan: The day on which the fan stands, and its five values, lowest first.
    end: float | None = None
    fan: tuple[float, ...] = ()
    #: low, high: Bounds of the vertical axis; None: those of what is drawn.
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        places = [*(place for place, _ in self.points), self.end or 1]
        if (
            not self.points
            or len(self.fan) not in (0, 5)
            or not all(1 <= place < _LATEST for place in places)
        ):
            raise ValueError("a drawing has points at days or steps, and a fan of five values or none")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePart:
    """One grounder's share of a routed leaf: its belief, its evidence, and the first step of its data calls in the ledger."""

    grounder: str
    first_step: int
    belief: Belief
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one grounding rests on; without steps and parts the session's own notebook is the proof."""

    __pydantic_config__ = STRICT

    #: In order; the last one that states a belief is the conclusion.
    steps: tuple[TraceStep, ...] = ()
    #: What was going to be done, as Markdown.
    plan: str = ""
    #: What could be cited.
    sources: tuple[ToolSource, ...] = ()
    #: What the belief was computed from.
    drawing: Drawing | None = None
    #: recompute, basis: The function that computes all this again, and what it starts from beside the ledger; "" where there is none.
    recompute: str = ""
    basis: Mapping[str, Any] = field(default_factory=dict)
    #: What an agent's loop submitted; None for a grounder that has no loop. With it come ``clamp`` and ``dates`` (how the submission was
    #: read), ``findings`` (what a reader should know of the result) and ``statistics`` (counts: steps, calls, tokens).
    submission: Submission | None = None
    clamp: tuple[float, float] = (0.0, 1.0)
    dates: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    statistics: Mapping[str, float] = field(default_factory=dict)
    #: What became of every search result and page, with the layer that dropped it and why. For audits: it may name what is later than the
    #: cutoff, so the proof notebook does not show it.
    web: tuple[Mapping[str, Any], ...] = ()
    #: outcome, outcomes: Probability of every outcome of an event, where one call was asked for all of them, and which of them the leaf
    #: is.
    outcome: str = ""
    outcomes: Mapping[str, float] = field(default_factory=dict)
    #: Of a grounder that only thinks: how its answers came to p (``thoughts.combining``); None for every other one.
    combined: str | None = None
    #: route, parts, failed: Of the router: where the leaf went, what each grounder found, and why others gave no belief.
    route: Route | None = None
    parts: tuple[EvidencePart, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.route is None) != (not self.parts):
            raise ValueError("a route has parts, and parts have a route")
        if self.submission is not None and len(self.submission.raw) != max(1, len(self.dates)):
            raise ValueError("a submission has a probability, or one for each date")

    @property
    def kind(self) -> str:
        """What the log calls it: by its function, or ``routed``, ``trace`` or ``notebook``."""
        return self.recompute or ("routed" if self.parts else "trace" if self.steps else "notebook")

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON values, without what says nothing."""
        return plain(self)

    def shares(self, proof: ProofContext) -> list[tuple[Evidence, ProofContext]]:
        """Return the evidence of each grounder with the records as it knows them; without a route this evidence alone."""
        if not self.parts:
            return [(self, proof)]
        return [(part.evidence, proof.of_part(part)) for part in self.parts]


def read_evidence(data: object, *, package: str | None = None) -> Evidence:
    """Return the evidence that ``to_json`` wrote.

    Raises `MissingEvidence`: It is something else, or the function that computes it again is not installed.
    """
    try:
        evidence = read_strict(Evidence, data, what="the evidence")
        for each in (evidence, *(part.evidence for part in evidence.parts)):
            if each.recompute:
                load_plugin(EVIDENCE, each.recompute, package=package)
    except UnknownPlugin as error:
        raise MissingEvidence(str(error)) from None
    except UsageError as error:
        raise MissingEvidence(f"the stored evidence cannot be read: {error}") from error
    return evidence


def logged_evidence(store: Store, record: EvidenceRecord) -> Evidence:
    """Return what a concluded trial rests on, by the record on its log; raises ``MissingEvidence`` or ``StoreCorrupt``."""
    return read_evidence(store.json(record.body) if record.body else {}, package=record.package)


def plain(value: Any) -> dict[str, Any]:
    """Return a dataclass as JSON values, without what has its default."""
    kind: Any = type(value)
    written: dict[str, Any] = _adapter(kind).dump_python(value, mode="json", exclude_defaults=True)
    return written


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


class MissingEvidence(UsageError):
    """Stored evidence cannot be read by this installation."""


class Recompute(Protocol):
    """Computes evidence again from the ledger, offline and without a model: the plug point ``analyst_workbench.evidence``."""

    def __call__(self, evidence: Evidence, proof: ProofContext) -> Verification:
        """Return what differs; called in a thread when a leaf concludes and by ``verify``, after the records were found whole.

        ``StoreCorrupt`` and ``ClaimRefused`` may be raised: the data cannot be read again.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedReply:
    """A model's reply on the ledger: where it stands, the messages it answers (as ``to_json`` writes them), and the reply."""

    stage: str
    step: int
    retry: int
    messages: Sequence[Mapping[str, Any]]
    reply: ModelReply


class DataCalls(Protocol):
    """Reads the data calls of one attempt from the ledger."""

    def __call__(self, stage: str | None = None) -> list[LedgerRow]:
        """Return them, oldest first; those of one stage if it is named."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofContext:
    """The records of one concluded trial, as evidence is held to them; built by the engine."""

    #: The leaf.
    node: NodeRef
    #: trial, attempt: Which grounding of it.
    trial: int
    attempt: int
    #: Knowledge cutoff as the run has it.
    cutoff: str
    #: What the log holds: the value to verify.
    belief: Belief
    #: journal, notebook: Where the session's journal stands, if there was a session, and the proof notebook.
    journal: Path
    notebook: Path
    #: The data calls of this attempt, from the ledger, oldest first; those of one stage if it is named (``cell`` for cells, ``tool`` for a
    #: grounder's own). Raises ``StoreCorrupt`` for an altered answer.
    data_calls: DataCalls
    #: The newest recorded reply of a stage of this attempt, or None.
    last_reply: Callable[[str], ModelReply | None]
    #: All recorded replies of this attempt with the requests they answer, oldest first. Raises ``StoreCorrupt``.
    replies: Callable[[], Sequence[RecordedReply]] = tuple

    def answered(self) -> Iterator[tuple[LedgerRow, str, Any]]:
        """Yield a grounder's own data calls that were answered, each with the content hash and the data of its answer."""
        for row in self.data_calls("tool"):
            if row.answer is not None:
                yield row, str(row.answer.meta.get("content_hash")), row.answer.data

    def of_part(self, part: EvidencePart) -> ProofContext:
        """Return the records as one grounder of a routed leaf knows them: its belief, its steps counted from 0."""
        steps = range(part.first_step, part.first_step + STEPS_EACH)

        def data_calls(stage: str | None = None) -> list[LedgerRow]:
            return [
                row
                if row.address.stage != "tool"
                else replace(row, address=replace(row.address, step=row.address.step - steps.start))
                for row in self.data_calls(stage)
                if row.address.stage != "tool" or row.address.step in steps
            ]

        @cache
        def replies() -> Sequence[RecordedReply]:
            return [
                replace(each, step=each.step - steps.start) for each in self.replies() if each.step in steps
            ]

        def last_reply(stage: str) -> ModelReply | None:
            return next((each.reply for each in reversed(replies()) if each.stage == stage), None)

        return replace(
            self, belief=part.belief, data_calls=data_calls, replies=replies, last_reply=last_reply
        )
