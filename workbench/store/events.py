"""The closed set of things that can happen to a run.

Every event is one frozen model; ``kind`` names it and ``v`` is the version of its shape. Tree state, progress, resume,
undo and the audit report are folds over these. Long texts are not in an event: it carries the hash under which
the body lies in the store.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
#: A public key as OpenSSH writes it, and a signature by it in base64; both are ed25519.
PublicKey = Annotated[str, Field(pattern=r"^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}$")]
# 64 bytes are 86 letters of base64 and two of padding.
Signature = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]
JournalHead = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]


class _Event(BaseModel):
    # An unknown field is refused rather than dropped: it means that another version wrote the event.
    model_config = ConfigDict(frozen=True, extra="forbid")

    node: str | None = None
    trial: int | None = None


class RunStarted(_Event):
    """The analyst stated a proposition and a cutoff; ``settings`` is all that shapes the run."""

    kind: Literal["run.started"] = "run.started"
    statement: str
    cutoff: str
    cutoff_instant: str
    settings: dict[str, Any]


class RunResumed(_Event):
    """Work on an unfinished run goes on."""

    kind: Literal["run.resumed"] = "run.resumed"


class RunSealed(_Event):
    """The isolation level at which this run's kernels start, found by trying it."""

    kind: Literal["run.sealed"] = "run.sealed"
    isolation: str
    refused: tuple[str, ...] = ()


class TreeExpanded(_Event):
    """The analyzer added propositions; ``tree`` is the body of the whole tree after the round."""

    kind: Literal["tree.expanded"] = "tree.expanded"
    tree: Hash
    round: int = Field(ge=1)


class LeafKept(_Event):
    """A deeper analysis of a leaf came to nothing; it stays a leaf."""

    kind: Literal["leaf.kept"] = "leaf.kept"
    node: str
    reason: str


class TreePlanned(_Event):
    """The tree stands; its leaves may be grounded."""

    kind: Literal["tree.planned"] = "tree.planned"
    tree: Hash


class TreeEdited(_Event):
    """A person changed the planned tree before it was grounded."""

    kind: Literal["tree.edited"] = "tree.edited"
    tree: Hash
    base_seq: int


class EvidenceRecord(BaseModel):
    """What a grounding rests on: the kind of evidence, the package that brings the kind (None: ours), and its stored form.

    ``body`` is None in records of the first version, whose notebook evidence has nothing to store.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    package: str | None = None
    body: Hash | None = None


class LeafStarted(_Event):
    """An attempt at grounding a leaf began."""

    kind: Literal["leaf.started"] = "leaf.started"
    node: str
    trial: int
    attempt: int = Field(ge=1)


class LeafGrounded(_Event):
    """A trial of a leaf came to a conclusion.

    ``journal_head`` is the hash of the last line of its closed session's journal: a journal that was written anew, every
    hash in it recomputed, ends otherwise. None where no session was opened, and in runs of before version 3.
    """

    kind: Literal["leaf.grounded"] = "leaf.grounded"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    p: Probability
    key_factor: str
    report: Hash
    steps: int
    failed_cells: int
    evidence: EvidenceRecord
    journal_head: JournalHead | None = None


class LeafVerified(_Event):
    """A concluded proof was compared with itself and with a re-run from the ledger."""

    kind: Literal["leaf.verified"] = "leaf.verified"
    node: str
    trial: int
    verified: bool
    differing: tuple[str, ...] = ()


class LeafFailed(_Event):
    """An attempt at a leaf ended without a conclusion; ``final`` when no attempt is left in this sitting."""

    kind: Literal["leaf.failed"] = "leaf.failed"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    reason: str
    final: bool


class LeafPooled(_Event):
    """All trials of a leaf are in; ``p`` is what the leaf counts as."""

    kind: Literal["leaf.pooled"] = "leaf.pooled"
    node: str
    p: Probability
    key_factor: str
    report: Hash
    trials: tuple[float, ...]


class NodeSynthesized(_Event):
    """An inner node was combined from its children; ``package`` brings the rule's kind, None for ours."""

    kind: Literal["node.synthesized"] = "node.synthesized"
    node: str
    rule: dict[str, Any]
    package: str | None = None
    p: Probability
    key_factor: str
    report: Hash


class NodeFailed(_Event):
    """The synthesizer found no usable rule for an inner node in this sitting."""

    kind: Literal["node.failed"] = "node.failed"
    node: str
    reason: str


class RunStopped(_Event):
    """The run was stopped before its end: Ctrl-C, a budget, or a failure; it can be resumed."""

    kind: Literal["run.stopped"] = "run.stopped"
    why: Literal["interrupt", "budget", "failure", "plan-only", "refused"]
    detail: str


class RunFinished(_Event):
    """The root has a probability."""

    kind: Literal["run.finished"] = "run.finished"
    p: Probability


class ScenarioRecorded(_Event):
    """Something happened to a named what-if: ``record`` is a ``propositions.scenarios.ScenarioRecord`` as JSON."""

    kind: Literal["scenario.recorded"] = "scenario.recorded"
    record: dict[str, Any]


class PackageSignature(BaseModel):
    """Who signed a package, with what is needed to check it again: the run's id and the head of its log are recomputed.

    ``members`` is the hash over all members of the package.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: PublicKey
    members: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    signature: Signature


class RunImported(_Event):
    """The run came out of a package, here: its records up to this event are another home's.

    The import appends it, so a package cannot leave it out. ``package`` is the hash of the file; ``differing`` says what
    its records contradicted when it was taken in all the same (``anyway``); ``signature`` is one that was right then.
    """

    kind: Literal["run.imported"] = "run.imported"
    package: Hash
    anyway: bool = False
    differing: tuple[str, ...] = ()
    signature: PackageSignature | None = None


Event = Annotated[
    RunStarted
    | RunResumed
    | RunSealed
    | TreeExpanded
    | LeafKept
    | TreePlanned
    | TreeEdited
    | LeafStarted
    | LeafGrounded
    | LeafVerified
    | LeafFailed
    | LeafPooled
    | NodeSynthesized
    | NodeFailed
    | RunStopped
    | RunFinished
    | ScenarioRecorded
    | RunImported,
    Field(discriminator="kind"),
]

#: Events of one trial of a leaf that move its state.
LeafEvent = LeafStarted | LeafGrounded | LeafVerified | LeafFailed

#: Version of the shapes above; older events are brought up to it by ``store.migrations``, newer ones are refused.
VERSION = 3

_adapter: TypeAdapter[Event] = TypeAdapter(Event)


def parse_event(data: dict[str, Any]) -> Event:
    """Return the event that ``data`` describes; raises ``pydantic.ValidationError`` on anything else."""
    return _adapter.validate_python(data)
