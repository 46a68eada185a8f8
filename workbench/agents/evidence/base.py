"""The plug point Evidence: what every kind must be able to do, and what it may look at while it does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from sandbox.errors import SandboxError
from workbench.errors import UsageError
from workbench.plug_points import EVIDENCE, UnknownPlugin, load_plugin, package_of
from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from proxies.ledger import LedgerRow
    from sandbox.record.verify import Verification
    from workbench.models.base import ModelReply, NodeRef
    from workbench.propositions import Belief


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofContext:
    """The records of one concluded trial, as evidence may read them; built by the engine."""

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

    def tool_answers(self) -> dict[str, Any]:
        """Return what a grounder's own data calls were answered, by content hash; raises ``StoreCorrupt`` for an altered answer."""
        rows = self.data_calls("tool")
        return {str(row.answer.meta.get("content_hash")): row.answer.data for row in rows if row.answer}


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


class Replay(Protocol):
    """Re-runs a notebook; the engine gives it to evidence that has one."""

    async def __call__(self, proof: ProofContext, conclusion: Callable[[], str | None]) -> Verification:
        """Compare the session's records and run its cells again in a sealed kernel, answered from the ledger.

        ``conclusion`` is called once; it says in one sentence what is wrong with the recorded conclusion, or returns None.
        """
        ...


class Evidence(Protocol):
    """What one grounding rests on.

    A kind is registered in ``analyst_workbench.evidence`` under its ``kind``; the entry point's value is the class.
    """

    @property
    def kind(self) -> str:
        """Name under which the kind is registered."""
        ...

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the evidence that :meth:`to_json` wrote; raises ``ValueError`` for anything else."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return what has to be stored beside ledgers and journal for :meth:`verify`, as JSON values."""
        ...

    def render(self, proof: ProofContext) -> Any | None:
        """Return the proof notebook (an ``nbformat`` node), or None if the session has written it already.

        Called once, when the leaf concludes.
        """
        ...

    def compare(self, proof: ProofContext) -> Verification:
        """Compare the evidence with the records and execute nothing.

        Called before anything of a run is re-run, and when a package is imported: a difference here means that the run was
        altered, and nothing of it is trusted then.
        """
        ...

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Do what :meth:`compare` does, and re-run what can be re-run, offline and without a model.

        Called when a leaf concludes and by ``verify``.
        """
        ...


def read_evidence(kind: str, data: Mapping[str, Any], *, package: str | None = None) -> Evidence:
    """Return stored evidence as an object of its kind.

    Raises `MissingEvidence`: The package that brought the kind is not installed, or does not understand what is stored. Raises
    `EvidenceBroken`: The package's code raised something else.
    """
    try:
        with package_errors(kind, "while it was read"):
            try:
                evidence: Evidence = load_plugin(EVIDENCE, kind, package=package).from_json(data)
            except ValueError as error:
                raise MissingEvidence(f"the stored {kind} evidence cannot be read: {error}") from error
    except UnknownPlugin as error:
        raise MissingEvidence(str(error)) from None
    return evidence


def rendered(evidence: Evidence, proof: ProofContext) -> Any | None:
    """Return the proof notebook that evidence renders, valid, or None if there is none to write.

    Raises ``EvidenceBroken`` if a package's evidence cannot do it.
    """
    with package_errors(evidence.kind, "while it rendered its notebook"):
        book = evidence.render(proof)
        if book is not None:
            import nbformat

            nbformat.validate(book)
    return book


@contextmanager
def package_errors(kind: str, when: str) -> Iterator[None]:
    """Turn what another package's evidence raises unforeseen into ``EvidenceBroken``; a bug of our own kinds stays one.

    What evidence may raise passes: that stored data cannot be read, and that a kernel cannot be started.
    """
    try:
        yield
    except (MissingEvidence, UnknownPlugin, StoreCorrupt, SandboxError):
        raise
    except Exception as error:  # anything can go wrong in a stranger's code
        package = package_of(EVIDENCE, kind)
        if package is None:
            raise
        words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise EvidenceBroken(
            f"the evidence {kind} of the package {package} raised {words}, {when}"
        ) from error


class MissingEvidence(UsageError):
    """Stored evidence is of a kind that this installation cannot read."""


class EvidenceBroken(UsageError):
    """Evidence of another package raised what its author did not foresee; the message names both."""
