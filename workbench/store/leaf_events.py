"""Events of a leaf: its trials begin, take steps, conclude, are checked and pooled."""

from typing import Literal

from pydantic import BaseModel, Field, NonNegativeInt

from workbench.store.event_base import SHAPE, EventBase, Hash, JournalHead, Probability, Shown


class LeafKept(EventBase):
    """A deeper analysis of a leaf failed; it stays a leaf."""

    kind: Literal["leaf.kept"] = "leaf.kept"
    node: str
    reason: Shown


class EvidenceRecord(BaseModel):
    """The evidence of a grounding: its kind, the package that brings the kind (None: ours), and its stored form, if any."""

    model_config = SHAPE

    kind: str
    package: str | None = None
    body: Hash | None = None


class LeafStarted(EventBase):
    """An attempt at grounding a leaf began; ``known_calls`` are the data calls of other leaves that it was offered.

    ``asked_on`` is the day that its first requests name; a request that goes out on a later day names that one, and is stored so.
    """

    kind: Literal["leaf.started"] = "leaf.started"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    known_calls: tuple[Shown, ...] = ()
    asked_on: str = ""


class LeafReopened(EventBase):
    """A person has a leaf grounded again: its trials get new attempts, their old conclusions stand until then.

    ``resynthesis`` is how the propositions above follow: by their stored rules, or by asking the synthesizer again.
    """

    kind: Literal["leaf.reopened"] = "leaf.reopened"
    node: str
    resynthesis: Literal["numeric", "full"] = "numeric"
    author: Shown = ""
    reason: Shown = ""


class LeafStep(EventBase):
    """A leaf got a reply that it paid for; terminal and page show its progress from it.

    ``number`` counts the requests of the attempt from 1, ``what`` is the stage and how the reply ended if not well,
    ``about`` the heading of what it wrote, or the tool it called.
    """

    kind: Literal["leaf.step"] = "leaf.step"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    number: int = Field(ge=1)
    what: Shown
    about: Shown = ""
    model: Shown
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class FindingRecord(BaseModel):
    """A finding of a check in a conclusion that its model stood by."""

    model_config = SHAPE

    check: Shown
    words: Shown


class LeafGrounded(EventBase):
    """A trial of a leaf reached its conclusion; ``findings`` are its faults although the model stood by it.

    ``journal_head`` is the hash of the last line of its closed session's journal: a journal that was written anew, every
    hash in it recomputed, ends otherwise. None where no session was opened.
    """

    kind: Literal["leaf.grounded"] = "leaf.grounded"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    p: Probability
    key_factor: Shown
    report: Hash
    steps: int
    failed_cells: int
    evidence: EvidenceRecord
    journal_head: JournalHead | None = None
    findings: tuple[FindingRecord, ...] = ()


class LeafVerified(EventBase):
    """A concluded proof was compared with itself and with a re-run from the ledger.

    ``findings`` name the cells that show another result each time they are run.
    """

    kind: Literal["leaf.verified"] = "leaf.verified"
    node: str
    trial: int
    verified: bool
    differing: tuple[Shown, ...] = ()
    findings: tuple[FindingRecord, ...] = ()


class LeafFailed(EventBase):
    """An attempt at a leaf ended without a conclusion; ``final`` when no attempt is left in this sitting.

    ``gave_up`` is the step of its dialogue that got no usable reply, and the retry at which a later sitting asks there again;
    None where a later sitting begins a new attempt.
    """

    kind: Literal["leaf.failed"] = "leaf.failed"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    reason: Shown
    final: bool
    gave_up: tuple[NonNegativeInt, NonNegativeInt] | None = None


class LeafPooled(EventBase):
    """All trials of a leaf are in; ``p`` is the leaf's value, ``dead`` the number of trials without a conclusion."""

    kind: Literal["leaf.pooled"] = "leaf.pooled"
    node: str
    p: Probability
    key_factor: Shown
    report: Hash
    trials: tuple[float, ...]
    dead: int = Field(default=0, ge=0)


class LeafWaiting(EventBase):
    """An attempt at a leaf cannot go on in this sitting, by no fault of its proof; a resumed run takes it up as it stands."""

    kind: Literal["leaf.waiting"] = "leaf.waiting"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    reason: Shown
