"""The plug point Evidence: what every kind must be able to do, and what it may look at while it does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from workbench.errors import UsageError
from workbench.plugins import EVIDENCE, UnknownPlugin, load_plugin

if TYPE_CHECKING:
    from proxies.ledger import LedgerRow
    from sandbox.record.verify import Verification
    from workbench.models.base import ModelReply, NodeRef
    from workbench.propositions import Belief


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofContext:
    """The records of one concluded trial, as evidence may read them; built by the engine.

    Parameters
    ----------
    node : NodeRef
        The leaf.
    trial, attempt : int
        Which grounding of it.
    cutoff : str
        Knowledge cutoff as the run has it.
    belief : Belief
        What the log holds: the value to verify.
    journal, notebook : Path
        Where the session's journal stands, if there was a session, and the proof notebook.
    data_calls : callable
        The data calls of this attempt, from the ledger, oldest first; those of one stage if it is named (``cell`` for
        cells, ``tool`` for a grounder's own). Raises ``StoreCorrupt`` for an altered answer.
    last_reply : callable
        The newest recorded reply of a stage of this attempt, or None.
    """

    node: NodeRef
    trial: int
    attempt: int
    cutoff: str
    belief: Belief
    journal: Path
    notebook: Path
    data_calls: DataCalls
    last_reply: Callable[[str], ModelReply | None]


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

    Raises
    ------
    MissingEvidence
        The package that brought the kind is not installed, or does not understand what is stored.
    """
    try:
        evidence: Evidence = load_plugin(EVIDENCE, kind, package=package).from_json(data)
    except UnknownPlugin as error:
        raise MissingEvidence(str(error)) from None
    except ValueError as error:
        raise MissingEvidence(f"the stored {kind} evidence cannot be read: {error}") from error
    return evidence


class MissingEvidence(UsageError):
    """Stored evidence is of a kind that this installation cannot read."""
