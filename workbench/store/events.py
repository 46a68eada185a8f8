"""The closed set of things that can happen to a run.

Every event is one frozen model; ``kind`` names it and ``v`` is the version of its shape. Tree state, progress, resume,
undo and the audit report are folds over these. Long texts are not in an event: it carries the hash under which
the body lies in the store.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, TypeAdapter

Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
#: A public key as OpenSSH writes it, and a signature by it in base64; both are ed25519.
PublicKey = Annotated[str, Field(pattern=r"^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}$")]
# 64 bytes are 86 letters of base64 and two of padding.
Signature = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]
JournalHead = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


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
    """Work on an unfinished run goes on; ``only`` names the leaves that this sitting keeps to, none means all."""

    kind: Literal["run.resumed"] = "run.resumed"
    only: tuple[str, ...] = ()


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


class LeafReopened(_Event):
    """A person has a leaf grounded again: its trials get new attempts, what they concluded stands until then.

    ``resynthesis`` is how the propositions above follow: by their stored rules, or by asking the synthesizer again.
    """

    kind: Literal["leaf.reopened"] = "leaf.reopened"
    node: str
    resynthesis: Literal["numeric", "full"] = "numeric"
    author: str = ""
    reason: str = ""


class LeafStep(_Event):
    """A leaf got a reply that it paid for; terminal and page show from it how far the leaf is.

    ``number`` counts the requests of the attempt from 1, ``what`` is the stage and how the reply ended if not well.
    """

    kind: Literal["leaf.step"] = "leaf.step"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    number: int = Field(ge=1)
    what: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


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
    """An attempt at a leaf ended without a conclusion; ``final`` when no attempt is left in this sitting.

    ``gave_up`` is the step of its dialogue that got no usable reply, and the retry at which a later sitting asks there again;
    None where a later sitting begins a new attempt.
    """

    kind: Literal["leaf.failed"] = "leaf.failed"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    reason: str
    final: bool
    gave_up: tuple[NonNegativeInt, NonNegativeInt] | None = None


class LeafPooled(_Event):
    """All trials of a leaf are in; ``p`` is what the leaf counts as, ``dead`` the number of trials without a conclusion."""

    kind: Literal["leaf.pooled"] = "leaf.pooled"
    node: str
    p: Probability
    key_factor: str
    report: Hash
    trials: tuple[float, ...]
    dead: int = Field(default=0, ge=0)


class LookUpRecord(BaseModel):
    """What a synthesizer looked up for a node first: the attempt under which its requests are filed, and its stored form."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempt: int = Field(ge=1)
    body: Hash


class NodeSynthesized(_Event):
    """An inner node was combined from its children; ``package`` brings the rule's kind, None for ours.

    ``looked_up`` is None where nothing was looked up, also where a node only follows a leaf that was grounded again.
    """

    kind: Literal["node.synthesized"] = "node.synthesized"
    node: str
    rule: dict[str, Any]
    package: str | None = None
    p: Probability
    key_factor: str
    report: Hash
    looked_up: LookUpRecord | None = None


class NumberSpread(BaseModel):
    """One number over several refits of a node; ``flips`` where it was above 0 in one and below in another."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    mean: float
    sd: float
    low: float
    high: float
    flips: bool = False


class NodeRefitted(_Event):
    """The synthesizer was asked for a node several times more, to see how far its weights can be trusted; its rule stays.

    ``count`` is how often, ``failed`` how many replies were of no use; ``value`` and ``coefficients`` are over the others.
    """

    kind: Literal["node.refitted"] = "node.refitted"
    node: str
    count: int = Field(ge=2)
    failed: NonNegativeInt = 0
    value: NumberSpread | None = None
    coefficients: dict[str, NumberSpread] = Field(default_factory=dict)


class NodeFailed(_Event):
    """The synthesizer found no usable rule for an inner node in this sitting."""

    kind: Literal["node.failed"] = "node.failed"
    node: str
    reason: str


class RunStopped(_Event):
    """The run was stopped before its end; it can be resumed.

    ``outage`` is a provider that did not answer for as long as was allowed, ``resources`` a full disk or no descriptors left,
    ``other-writer`` another process at work on the same run, ``leaves-left`` the end of a sitting that was kept to some leaves.
    """

    kind: Literal["run.stopped"] = "run.stopped"
    why: Literal[
        "interrupt",
        "budget",
        "failure",
        "plan-only",
        "refused",
        "outage",
        "resources",
        "other-writer",
        "leaves-left",
    ]
    detail: str


class RunWaiting(_Event):
    """A provider does not answer; the run asks it again and again until it does, or for as long as is allowed."""

    kind: Literal["run.waiting"] = "run.waiting"
    provider: str
    reason: str


class RunContinued(_Event):
    """The provider that the run waited for has answered."""

    kind: Literal["run.continued"] = "run.continued"
    provider: str
    seconds: float = Field(ge=0.0)


class RunChanged(_Event):
    """A person resumed the run with other settings; ``changes`` holds the new value of each by its name."""

    kind: Literal["run.changed"] = "run.changed"
    changes: dict[str, Any]


class CallAsked(_Event):
    """A request is about to be sent to a model. Without a reply in the ledger and without a refusal it is unanswered.

    What it may cost at most is charged to the run until it is answered: the provider may have billed it.
    """

    kind: Literal["call.asked"] = "call.asked"
    node: str
    trial: int
    attempt: int = Field(ge=0)
    stage: str
    step: int
    retry: int
    request_hash: str
    model: str
    worst_usd: float | None = None
    worst_tokens: int = 0


class CallUnbilled(_Event):
    """A request that ``call.asked`` announced got no reply and no bill: it was refused, or it never arrived."""

    kind: Literal["call.unbilled"] = "call.unbilled"
    node: str
    trial: int
    attempt: int = Field(ge=0)
    stage: str
    step: int
    retry: int
    request_hash: str
    reason: str = ""


class LeafWaiting(_Event):
    """An attempt at a leaf cannot go on in this sitting, by no fault of its proof; a resumed run takes it up as it stands."""

    kind: Literal["leaf.waiting"] = "leaf.waiting"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    reason: str


class NodeWaiting(_Event):
    """A synthesis cannot go on in this sitting, by no fault of its replies; a resumed run takes it up as it stands."""

    kind: Literal["node.waiting"] = "node.waiting"
    node: str
    reason: str


#: What a step does that a person may be asked about first.
ApprovalSubject = Literal["cell", "call", "page"]


class ApprovalAsked(_Event):
    """A step of a leaf waits until a person has looked at it; ``subject`` is the body with all that would be run or sent."""

    kind: Literal["approval.asked"] = "approval.asked"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    what: ApprovalSubject
    subject: Hash


class ApprovalGiven(_Event):
    """A person's decision on a step; ``edited`` is the body of what is run instead. It holds for the subject in all attempts of the trial."""

    kind: Literal["approval.given"] = "approval.given"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    what: ApprovalSubject
    subject: Hash
    verdict: Literal["yes", "no", "edit"]
    reason: str = ""
    edited: Hash | None = None
    author: str


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


class CommentAdded(_Event):
    """A reviewer said something about one proposition; shown wherever the run is, and covered by a sign-off."""

    kind: Literal["comment.added"] = "comment.added"
    node: str
    text: str
    author: str = ""


class NoteAdded(_Event):
    """The analyst's own note on the run, or on one proposition of it, with tags that are set or taken off."""

    kind: Literal["note.added"] = "note.added"
    text: str = ""
    tags: tuple[str, ...] = ()
    untagged: tuple[str, ...] = ()
    author: str = ""


class OutcomeRecorded(_Event):
    """How the claim turned out, or with ``node`` one of its leaves; the newest one counts. ``p`` is 1 for yes, 0 for no, between them for a share.

    ``day`` is the date of the outcome, ``source`` whether a person says so or a series that the claim is about.
    """

    kind: Literal["outcome.recorded"] = "outcome.recorded"
    p: Probability
    day: Day
    source: Literal["person", "series", "file"] = "person"
    author: str = ""


class QuestionsImported(_Event):
    """A file or a venue's answer was read into a set of questions; ``left_out`` are entries that became none, with the reason."""

    kind: Literal["questions.imported"] = "questions.imported"
    origin: str
    form: str
    count: NonNegativeInt
    left_out: tuple[tuple[str, str], ...] = ()


class QuestionAdded(_Event):
    """A question entered a set, or a newer text of it; ``node`` is its id."""

    kind: Literal["question.added"] = "question.added"
    node: str
    question: dict[str, Any]


class ContextGathered(_Event):
    """What every arm reads of a question as of one time: ``text`` is the body they read, ``record`` the whole with its addresses."""

    kind: Literal["context.gathered"] = "context.gathered"
    node: str
    cutoff: str
    instant: str
    text: Hash
    record: Hash


class StudyOpened(_Event):
    """A study began, or began again with another budget: its file, its exam and what it rests on."""

    kind: Literal["study.opened"] = "study.opened"
    study: dict[str, Any]
    manifest: dict[str, Any]


class ForecastBegun(_Event):
    """A cell of a study is in work: ``node`` is the event, ``run`` the run that makes the forecast, "" for an arm without one."""

    kind: Literal["forecast.begun"] = "forecast.begun"
    node: str
    trial: int
    arm: str
    seed: int
    run: str = ""


class ForecastMade(_Event):
    """A cell of a study has its probability, with what it took."""

    kind: Literal["forecast.made"] = "forecast.made"
    node: str
    trial: int
    arm: str
    seed: int
    p: Probability
    run: str = ""
    seconds: float = 0.0
    calls: NonNegativeInt = 0
    cost_usd: float | None = 0.0
    tokens: NonNegativeInt = 0


class ForecastMissing(_Event):
    """A cell of a study got no probability for good, and why."""

    kind: Literal["forecast.missing"] = "forecast.missing"
    node: str
    trial: int
    arm: str
    seed: int
    run: str = ""
    reason: str
    calls: NonNegativeInt = 0
    cost_usd: float | None = 0.0


class ForecastPromoted(_Event):
    """An event of a tournament night gets a tree after the quick pass: by the night's rule, or because a person says so."""

    kind: Literal["forecast.promoted"] = "forecast.promoted"
    node: str
    by: Literal["rule", "person"]
    reason: str = ""


class StudyAudited(_Event):
    """The leak audit of a study's forecasts; results are shown from here on. ``findings`` have a line each."""

    kind: Literal["study.audited"] = "study.audited"
    checked: NonNegativeInt
    findings: tuple[str, ...] = ()


class ReviewSigned(_Event):
    """Somebody accepts the run, or returns it. The name is typed, not proved: a package's signature proves a key.

    ``head`` is the log's before this event, ``tree`` and ``comments`` are hashes of what was looked at, ``checklist`` says what
    was done of it; ``attested`` is one hash over all of these, the run, author and verdict.
    """

    kind: Literal["review.signed"] = "review.signed"
    author: str
    verdict: Literal["accept", "return"]
    checklist: dict[str, bool]
    head: JournalHead
    tree: Hash
    comments: Hash
    attested: Hash


class LeaksAudited(_Event):
    """A model of another family has read what a finished run kept, and its reports, for what was not known at the cutoff.

    ``findings`` is a body: one row per text with the model's verdict, the date rules' and the words that show it.
    """

    kind: Literal["leaks.audited"] = "leaks.audited"
    model: str
    findings: Hash


Event = Annotated[
    RunStarted
    | RunResumed
    | RunSealed
    | TreeExpanded
    | LeafKept
    | TreePlanned
    | TreeEdited
    | LeafReopened
    | LeafStarted
    | LeafStep
    | LeafGrounded
    | LeafVerified
    | LeafFailed
    | LeafPooled
    | NodeSynthesized
    | NodeRefitted
    | NodeFailed
    | RunStopped
    | RunWaiting
    | RunContinued
    | RunChanged
    | CallAsked
    | CallUnbilled
    | LeafWaiting
    | NodeWaiting
    | ApprovalAsked
    | ApprovalGiven
    | RunFinished
    | ScenarioRecorded
    | RunImported
    | CommentAdded
    | NoteAdded
    | OutcomeRecorded
    | ReviewSigned
    | QuestionsImported
    | QuestionAdded
    | ContextGathered
    | StudyOpened
    | ForecastBegun
    | ForecastMade
    | ForecastMissing
    | ForecastPromoted
    | StudyAudited
    | LeaksAudited,
    Field(discriminator="kind"),
]

#: Events of one trial of a leaf that move its state.
LeafEvent = LeafStarted | LeafGrounded | LeafVerified | LeafFailed | LeafWaiting

#: What people say of a run. No agent is shown any of it, and no request depends on it.
Annotation = CommentAdded | NoteAdded | OutcomeRecorded | ReviewSigned | LeaksAudited

#: What happens to a set of questions or to a study: streams of their own beside the runs (`Store.streams`).
StreamEvent = (
    QuestionsImported
    | QuestionAdded
    | ContextGathered
    | StudyOpened
    | ForecastBegun
    | ForecastMade
    | ForecastMissing
    | ForecastPromoted
    | StudyAudited
)

#: Version of the shapes above; older events are brought up to it by ``store.migrations``, newer ones are refused.
VERSION = 6

_adapter: TypeAdapter[Event] = TypeAdapter(Event)


def parse_event(data: dict[str, Any]) -> Event:
    """Return the event that ``data`` describes; raises ``pydantic.ValidationError`` on anything else."""
    return _adapter.validate_python(data)
