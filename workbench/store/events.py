"""The closed set of events of a run, and of sets of questions and studies.

Every event is one frozen model; its ``kind`` names it and ``v`` is the version of its shape. Tree state, progress, resume, undo and
the audit report are folds over these. Long texts are not in an event: it carries the hash under which the body lies in the store.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
)

from workbench.terminal import shown_text

Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
#: A public key as OpenSSH writes it, and a signature by it in base64; both are ed25519.
PublicKey = Annotated[str, Field(pattern=r"^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}$")]
# 64 bytes are 86 letters of base64 and two of padding.
Signature = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]
JournalHead = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


def _as_shown(value: Any) -> Any:
    """Clean every text in JSON data as screens show it; other values are left to the field's own type."""
    match value:
        case str():
            return shown_text(value)
        case dict():
            return {name: _as_shown(item) for name, item in value.items()}
        case list() | tuple():
            return [_as_shown(item) for item in value]
        case _:
            return value


#: A text that screens print as it stands. Cleaned when an event is made, so that no door can forget it; and when one is
#: read, so that a stranger's package is shown like it, while its bytes and hashes stay.
Shown = Annotated[str, BeforeValidator(_as_shown)]
#: JSON data whose texts are cleaned so.
ShownData = Annotated[dict[str, Any], BeforeValidator(_as_shown)]


#: An unknown field is refused rather than dropped: it means that another version wrote the event. The schema of a model is
#: built when it is first used: a command meets a dozen of the fifty kinds.
SHAPE = ConfigDict(frozen=True, extra="forbid", defer_build=True)


_KINDS: dict[str, type["Event"]] = {}


class Event(BaseModel):
    """What happened to a run, a set of questions or a study; a class that says its kind joins the closed set."""

    model_config = SHAPE

    kind: ClassVar[str]

    # columns of the log
    node: str | None = None
    trial: int | None = None

    def __init_subclass__(cls, kind: str = "", **how: Any) -> None:
        super().__init_subclass__(**how)
        if kind:
            cls.kind = kind
            _KINDS[kind] = cls


class Annotation(Event):
    """What people say of a run. No agent is shown any of it, and no request depends on it."""


class StreamEvent(Event):
    """An event of a set of questions or of a study: streams of their own beside the runs (`Store.streams`)."""


class TrialEvent(Event):
    """What happens in a trial of a leaf."""

    node: str
    trial: int


class AttemptEvent(TrialEvent):
    """What happens in one attempt of a trial."""

    attempt: int = Field(ge=1)


class CallEvent(TrialEvent):
    """What happens to one request; attempt 0 is that of what is asked beside attempts."""

    attempt: int = Field(ge=0)
    stage: str
    step: int
    retry: int
    request_hash: str


class CellEvent(StreamEvent):
    """What happens in a cell of a study; ``run`` makes its forecast, "" for an arm without one."""

    node: str
    trial: int
    arm: Shown
    seed: int
    run: str = ""


class CutText(BaseModel):
    """A piece of people's words on the claim that was cut because it is of after the cutoff; ``field`` names its place."""

    model_config = SHAPE

    field: str
    text: str
    reason: Shown


class Follows(BaseModel):
    """The run of the same claim that a review takes up, and the body with the parts that stand (``engine.record.followed_run``)."""

    model_config = SHAPE

    run: Shown
    body: Hash


class RunStarted(Event, kind="run.started"):
    """The analyst stated a proposition and a cutoff; ``settings`` is all that shapes the run, ``cut`` the pieces left out.

    ``quote_key`` makes the marks between which its prompts quote strangers (``workbench.quoting``). ``read_as`` is the reading that the claim
    was asked with, by which it is resolved (``workbench.questions.readings``); None where there was none. ``history`` is the share of past
    periods in which it came true, how many independent ones there are, and what a simulation of its series
    makes of it; ``fan`` the body with that simulation's quantiles. ``follows`` names the run that a review takes up.
    """

    statement: Shown
    cutoff: Shown
    cutoff_instant: str
    settings: dict[str, Any]
    cut: tuple[CutText, ...] = ()
    quote_key: str = ""
    read_as: dict[str, Any] | None = None
    history: tuple[float, float, float | None] | None = None
    fan: Hash | None = None
    follows: Follows | None = None


class TextCut(Event, kind="text.cut"):
    """People's words on the claim were cut to its cutoff after the run was opened: ``context`` has the texts from here on."""

    cut: tuple[CutText, ...]
    context: dict[str, str]


class NewsSearched(Event, kind="news.searched"):
    """What is new about the claim was searched for before anything was asked of it; ``reason`` says why nothing was read."""

    news: Hash | None = None
    sources: int = Field(default=0, ge=0)
    reason: Shown = ""


class RunResumed(Event, kind="run.resumed"):
    """Work on an unfinished run goes on; ``only`` names the nodes that this sitting keeps to, none means all."""

    only: tuple[str, ...] = ()


class RunSealed(Event, kind="run.sealed"):
    """The isolation level at which this run's kernels start, found by trying it."""

    isolation: str
    refused: tuple[Shown, ...] = ()


class TreeExpanded(Event, kind="tree.expanded"):
    """The analyzer added propositions; ``tree`` is the body of the whole tree after the round."""

    tree: Hash
    round: int = Field(ge=1)


class TreePlanned(Event, kind="tree.planned"):
    """The tree stands; its leaves may be grounded."""

    tree: Hash


class TreeEdited(Event, kind="tree.edited"):
    """A person changed the planned tree before it was grounded."""

    tree: Hash
    base_seq: int


class LookUpRecord(BaseModel):
    """A synthesizer's look-up for a node: the attempt under which its requests are filed, and its stored form."""

    model_config = SHAPE

    attempt: int = Field(ge=1)
    body: Hash


class NodeSynthesized(Event, kind="node.synthesized"):
    """An inner node was combined from its children; ``package`` brings the rule's kind, None for ours.

    ``looked_up`` is None where nothing was looked up, also where a node only follows a leaf that was grounded again.
    """

    node: str
    rule: dict[str, Any]
    package: str | None = None
    p: Probability
    key_factor: Shown
    report: Hash
    looked_up: LookUpRecord | None = None


class NumberSpread(BaseModel):
    """One number over several refits of a node; ``flips`` where it was above 0 in one and below in another."""

    model_config = SHAPE | ConfigDict(allow_inf_nan=False)

    mean: float
    sd: float
    low: float
    high: float
    flips: bool = False


class NodeRefitted(Event, kind="node.refitted"):
    """The synthesizer was asked for a node several times more, to see how far its weights can be trusted; its rule stays.

    ``count`` is how often, ``failed`` how many replies were of no use; ``value`` and ``coefficients`` are over the others.
    """

    node: str
    count: int = Field(ge=2)
    failed: NonNegativeInt = 0
    value: NumberSpread | None = None
    coefficients: dict[str, NumberSpread] = Field(default_factory=dict)


class NodeFailed(Event, kind="node.failed"):
    node: str
    reason: Shown


#: Why a sitting ended before the run was done.
StopReason = Literal[
    "interrupt",
    "budget",
    "failure",
    "plan-only",
    "refused",
    "outage",
    "resources",
    "other-writer",
    "leaves-left",
    "rebuy",
]


class RunStopped(Event, kind="run.stopped"):
    """The run was stopped before its end; it can be resumed.

    ``outage`` is a provider that did not answer for as long as was allowed, or serves nobody with this account, ``resources`` a full
    disk or no descriptors left, ``other-writer`` another process at work on the same run, ``leaves-left`` the end of a sitting that was
    kept to some leaves, ``rebuy`` a request that changed since it was answered.
    """

    why: StopReason
    detail: Shown


class RunWaiting(Event, kind="run.waiting"):
    """A provider does not answer; the run asks it again and again until it does, or for as long as is allowed."""

    provider: Shown
    reason: Shown


class RunContinued(Event, kind="run.continued"):
    provider: Shown
    seconds: float = Field(ge=0.0)


class RunChanged(Event, kind="run.changed"):
    """A person resumed the run with other settings; ``changes`` holds the new value of each by its name."""

    changes: dict[str, Any]


class CallAsked(CallEvent, kind="call.asked"):
    """A request is about to be sent to a model. Without a reply in the ledger and without a refusal it is unanswered.

    What it may cost at most is charged to the run until it is answered: the provider may have billed it.
    """

    model: Shown
    worst_usd: float | None = None
    worst_tokens: int = 0


class CallUnbilled(CallEvent, kind="call.unbilled"):
    """A request that ``call.asked`` announced got no reply and no bill: it was refused, or it never arrived."""

    reason: Shown = ""


class NodeWaiting(Event, kind="node.waiting"):
    """A synthesis cannot go on in this sitting, by no fault of its replies; a resumed run takes it up as it stands."""

    node: str
    reason: Shown


#: What waits for a person; ``run``: the whole analysis, which another program proposed.
ApprovalSubject = Literal["call", "page", "run"]


class ApprovalAsked(AttemptEvent, kind="approval.asked"):
    """A step waits until a person has looked at it; ``subject`` is the body with all that would be sent."""

    what: ApprovalSubject
    subject: Hash


class ApprovalGiven(AttemptEvent, kind="approval.given"):
    """A person's decision on a step; it holds for the subject in all attempts of the trial."""

    what: ApprovalSubject
    subject: Hash
    verdict: Literal["yes", "no"]
    reason: Shown = ""
    author: Shown


class RunFinished(Event, kind="run.finished"):
    """The root has a probability."""

    p: Probability


class ScenarioRecorded(Event, kind="scenario.recorded"):
    """An action on a named scenario: ``record`` is a ``synthesis.whatif.scenarios.ScenarioRecord`` as JSON."""

    record: ShownData


class PackageSignature(BaseModel):
    """The signature of a package, with all that is needed to check it again: the run's id and the head of its log are recomputed.

    ``members`` is the hash over all members of the package.
    """

    model_config = SHAPE

    key: PublicKey
    members: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    signature: Signature


class RunImported(Event, kind="run.imported"):
    """The run came out of a package, here: its records up to this event are another home's.

    The import appends it, so a package cannot leave it out. ``package`` is the hash of the file; ``differing`` says what
    its records contradicted when it was taken in all the same (``anyway``); ``signature`` is one that was right then.
    """

    package: Hash
    anyway: bool = False
    differing: tuple[Shown, ...] = ()
    signature: PackageSignature | None = None


class LeafKept(Event, kind="leaf.kept"):
    """A deeper analysis of a leaf failed; it stays a leaf."""

    node: str
    reason: Shown


class EvidenceRecord(BaseModel):
    """The evidence of a grounding: its kind, the package that brings the kind (None: ours), and its stored form, if any."""

    model_config = SHAPE

    kind: str
    package: str | None = None
    body: Hash | None = None


class LeafStarted(AttemptEvent, kind="leaf.started"):
    """An attempt at grounding a leaf began; ``known_calls`` are the data calls of other leaves that it was offered.

    ``asked_on`` is the day that its first requests name; a request that goes out on a later day names that one, and is stored so.
    """

    known_calls: tuple[Shown, ...] = ()
    asked_on: str = ""


class LeafReopened(Event, kind="leaf.reopened"):
    """A person has a leaf grounded again: its trials get new attempts, their old conclusions stand until then.

    ``resynthesis`` is how the propositions above follow: by their stored rules, or by asking the synthesizer again.
    """

    node: str
    resynthesis: Literal["numeric", "full"] = "numeric"
    author: Shown = ""
    reason: Shown = ""


class LeafStep(AttemptEvent, kind="leaf.step"):
    """A leaf got a reply that it paid for; terminal and page show its progress from it.

    ``number`` counts the requests of the attempt from 1, ``what`` is the stage and how the reply ended if not well,
    ``about`` the heading of what it wrote, or the tool it called.
    """

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


class LeafGrounded(AttemptEvent, kind="leaf.grounded"):
    """A trial of a leaf reached its conclusion; ``findings`` are its faults although the model stood by it.

    ``journal_head`` is the hash of the last line of its closed session's journal: a journal that was written anew, every
    hash in it recomputed, ends otherwise. None where no session was opened.
    """

    p: Probability
    key_factor: Shown
    report: Hash
    steps: int
    failed_cells: int
    evidence: EvidenceRecord
    journal_head: JournalHead | None = None
    findings: tuple[FindingRecord, ...] = ()


class LeafVerified(TrialEvent, kind="leaf.verified"):
    """A concluded proof was compared with itself and with a re-run from the ledger.

    ``findings`` name the cells that show another result each time they are run.
    """

    verified: bool
    differing: tuple[Shown, ...] = ()
    findings: tuple[FindingRecord, ...] = ()


class LeafFailed(AttemptEvent, kind="leaf.failed"):
    """An attempt at a leaf ended without a conclusion; ``final`` when no attempt is left in this sitting.

    ``gave_up`` is the step of its dialogue that got no usable reply, and the retry at which a later sitting asks there again;
    None where a later sitting begins a new attempt.
    """

    reason: Shown
    final: bool
    gave_up: tuple[NonNegativeInt, NonNegativeInt] | None = None


class LeafPooled(Event, kind="leaf.pooled"):
    """All trials of a leaf are in; ``p`` is the leaf's value, ``dead`` the number of trials without a conclusion."""

    node: str
    p: Probability
    key_factor: Shown
    report: Hash
    trials: tuple[float, ...]
    dead: int = Field(default=0, ge=0)


class LeafWaiting(AttemptEvent, kind="leaf.waiting"):
    """An attempt at a leaf cannot go on in this sitting, by no fault of its proof; a resumed run takes it up as it stands."""

    reason: Shown


NodeName = Annotated[str, Field(pattern=r"^P(0|[1-9]\d{0,8}(\.[1-9]\d{0,8})*)$", max_length=400)]
#: Nobody's estimate is certainty: its log-odds would weigh more than everybody else's.
OpenProbability = Annotated[float, Field(gt=0.0, lt=1.0)]
Instant = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$")
]


class CommentAdded(Annotation, kind="comment.added"):
    """A reviewer commented on one proposition; shown wherever the run is, and covered by a sign-off."""

    node: str
    text: Shown
    author: Shown = ""


class EstimateGiven(Annotation, kind="estimate.given"):
    """A person's estimate of a proposition, beside the model's answer, which stays; without ``p`` the author takes it back."""

    node: str
    p: OpenProbability | None
    why: Shown = ""
    author: Annotated[Shown, Field(min_length=1)]


class NoteAdded(Annotation, kind="note.added"):
    """The analyst's own note on the run, or on one proposition of it, with tags that are set or taken off."""

    text: Shown = ""
    tags: tuple[Shown, ...] = ()
    untagged: tuple[Shown, ...] = ()
    author: Shown = ""


class OutcomeRecorded(Annotation, kind="outcome.recorded"):
    """The outcome of the claim, or with ``node`` of a leaf; the newest one counts. ``p`` is 1 for yes, 0 for no, between them for a share.

    ``day`` is the date of the outcome, ``source`` whether a person says so, a series that the claim is about, or pages that were quoted.
    """

    p: Probability
    day: Day
    source: Literal["person", "series", "file", "web"] = "person"
    author: Shown = ""


class ReviewSigned(Annotation, kind="review.signed"):
    """Somebody accepts the run, or returns it. The name is typed, not proved: a package's signature proves a key.

    ``head`` is the log's before this event, ``tree`` and ``comments`` are hashes of what was reviewed, ``checklist`` has the points
    done; ``attested`` is one hash over all of these, the run, author and verdict.
    """

    author: Shown
    verdict: Literal["accept", "return"]
    checklist: dict[Shown, bool]
    head: JournalHead
    tree: Hash
    comments: Hash
    attested: Hash


# what a reviewer said in another home: `CommentAdded`, `EstimateGiven` and `ReviewSigned` with their time
class ReturnedComment(BaseModel):
    model_config = SHAPE

    node: NodeName
    text: Shown
    author: Shown = ""
    at_utc: Instant


class ReturnedEstimate(BaseModel):
    model_config = SHAPE

    node: NodeName
    p: OpenProbability | None
    why: Shown = ""
    author: Annotated[Shown, Field(min_length=1)]
    at_utc: Instant


class ReturnedSignOff(BaseModel):
    model_config = SHAPE

    author: Shown
    verdict: Literal["accept", "return"]
    checklist: dict[Shown, bool]
    head: JournalHead
    tree: Hash
    comments: Hash
    attested: Hash
    at_utc: Instant


class ReviewReturned(Annotation, kind="review.returned"):
    """A review came back: comments, estimates and sign-offs made over this run in another home, out of its package.

    ``shared`` counts the events of this log that the reviewer had too; what came after them, no sign-off in here covers.
    The log that was signed is the reviewer's: that each sign-off held over it was checked when the package was read.
    """

    package: Hash
    shared: int = Field(ge=1)
    comments: tuple[ReturnedComment, ...] = ()
    estimates: tuple[ReturnedEstimate, ...] = ()
    sign_offs: tuple[ReturnedSignOff, ...] = ()


class LeaksAudited(Annotation, kind="leaks.audited"):
    """A model of another family read a finished run's texts and reports for facts not known at the cutoff.

    ``findings`` is a body: one row per text with the model's verdict, the date rules' and the words that show it.
    """

    model: Shown
    findings: Hash


class QuestionsImported(StreamEvent, kind="questions.imported"):
    """A file or a venue's answer was read into a set of questions; ``left_out`` are entries that became none, with the reason."""

    origin: Shown
    form: str
    count: NonNegativeInt
    left_out: tuple[tuple[str, str], ...] = ()


class QuestionAdded(StreamEvent, kind="question.added"):
    """A question entered a set, or a newer text of it; ``node`` is its id."""

    node: str
    question: dict[str, Any]


class ValueRecorded(StreamEvent, kind="value.recorded"):
    """The number that resolved a numeric question of a set; the newest one counts.

    ``node`` is its target: the question's id, with the horizon where it has several. Its levels are resolved by outcomes.
    """

    node: str
    value: FiniteFloat
    day: Day
    source: Literal["person", "series", "file", "web"] = "person"
    author: Shown = ""


class OutcomeProposed(StreamEvent, kind="outcome.proposed"):
    """How a question of a set came out by pages that a model read; no outcome until it is accepted. The newest one counts.

    ``answer`` is in the question's own words, "" where nothing settles it; ``sources`` are quoted pages with what code found of each
    (``counts``, ``faults``) and the hash of the ``page``; ``lacking`` says what keeps it from being accepted, "" if nothing does.
    """

    node: str
    answer: Shown
    day: Day
    model: str
    reasons: Shown = ""
    lacking: Shown = ""
    sources: tuple[ShownData, ...] = ()


class ForecastPosted(StreamEvent, kind="forecast.posted"):
    """What was handed in to a venue: written before it is sent, and again with what came of it.

    ``node`` is a question, or with a comment the post that it stands on; ``digest`` is of the forecasts. ``sending`` without a later event
    may have arrived.
    """

    node: str
    part: Literal["forecast", "comment"]
    state: Literal["sending", "accepted", "refused"]
    digest: Hash
    reason: Shown = ""


class ContextGathered(StreamEvent, kind="context.gathered"):
    """The context of a question for every arm as of one time: ``text`` is the body they read, ``record`` the whole with its addresses."""

    node: str
    cutoff: str
    instant: str
    text: Hash
    record: Hash


class StudyOpened(StreamEvent, kind="study.opened"):
    """A study began, or began again with another budget: its file, its exam and its manifest."""

    study: dict[str, Any]
    manifest: dict[str, Any]


class ForecastBegun(CellEvent, kind="forecast.begun"):
    """A cell of a study is in work: ``node`` is the event, ``run`` the run that makes the forecast, "" for an arm without one."""


class ForecastMade(CellEvent, kind="forecast.made"):
    p: Probability
    seconds: float = 0.0
    calls: NonNegativeInt = 0
    cost_usd: float | None = 0.0
    tokens: NonNegativeInt = 0


class ForecastMissing(CellEvent, kind="forecast.missing"):
    reason: Shown
    calls: NonNegativeInt = 0
    cost_usd: float | None = 0.0


class ForecastPromoted(StreamEvent, kind="forecast.promoted"):
    """An event of a tournament night gets a tree after the quick pass: by the night's rule, or because a person says so."""

    node: str
    by: Literal["rule", "person"]
    reason: Shown = ""


class StudyAudited(StreamEvent, kind="study.audited"):
    """The leak audit of a study's forecasts; results are shown from here on. ``findings`` have a line each."""

    checked: NonNegativeInt
    findings: tuple[Shown, ...] = ()


#: Version of the shapes above; events of another are refused.
VERSION = 1


def parse_event(data: dict[str, Any]) -> Event:
    """Return the event that ``data`` describes, its kind among it; raises ``ValueError``, pydantic's where the kind is one."""
    kind = data.get("kind")
    if kind not in _KINDS:
        raise ValueError(f"there is no event of kind {kind!r:.60}")
    return _KINDS[kind].model_validate({name: value for name, value in data.items() if name != "kind"})
