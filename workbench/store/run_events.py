"""Events of a run as a whole and of the inner nodes of its tree: sittings, plans, values, calls, approvals."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from workbench.store.event_base import (
    SHAPE,
    EventBase,
    Hash,
    Probability,
    PublicKey,
    Shown,
    ShownData,
    Signature,
)


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


class RunStarted(EventBase):
    """The analyst stated a proposition and a cutoff; ``settings`` is all that shapes the run, ``cut`` the pieces left out.

    ``quote_key`` makes the marks between which its prompts quote strangers (``workbench.quoting``). ``read_as`` is the reading that the claim
    was asked with, by which it is resolved (``workbench.questions.readings``); None where there was none. ``history`` is the share of past
    periods in which it came true, how many independent ones there are, and what a simulation of its series
    makes of it. ``follows`` names the run that a review takes up.
    """

    kind: Literal["run.started"] = "run.started"
    statement: Shown
    cutoff: Shown
    cutoff_instant: str
    settings: dict[str, Any]
    cut: tuple[CutText, ...] = ()
    quote_key: str | None = None
    read_as: dict[str, Any] | None = None
    history: tuple[float, float, float | None] | None = None
    follows: Follows | None = None


class TextCut(EventBase):
    """People's words on the claim were cut to its cutoff after the run was opened: ``context`` has the texts from here on."""

    kind: Literal["text.cut"] = "text.cut"
    cut: tuple[CutText, ...]
    context: dict[str, str]


class RunResumed(EventBase):
    """Work on an unfinished run goes on; ``only`` names the nodes that this sitting keeps to, none means all."""

    kind: Literal["run.resumed"] = "run.resumed"
    only: tuple[str, ...] = ()


class RunSealed(EventBase):
    """The isolation level at which this run's kernels start, found by trying it."""

    kind: Literal["run.sealed"] = "run.sealed"
    isolation: str
    refused: tuple[Shown, ...] = ()


class TreeExpanded(EventBase):
    """The analyzer added propositions; ``tree`` is the body of the whole tree after the round."""

    kind: Literal["tree.expanded"] = "tree.expanded"
    tree: Hash
    round: int = Field(ge=1)


class TreePlanned(EventBase):
    """The tree stands; its leaves may be grounded."""

    kind: Literal["tree.planned"] = "tree.planned"
    tree: Hash


class TreeEdited(EventBase):
    """A person changed the planned tree before it was grounded."""

    kind: Literal["tree.edited"] = "tree.edited"
    tree: Hash
    base_seq: int


class LookUpRecord(BaseModel):
    """A synthesizer's look-up for a node: the attempt under which its requests are filed, and its stored form."""

    model_config = SHAPE

    attempt: int = Field(ge=1)
    body: Hash


class NodeSynthesized(EventBase):
    """An inner node was combined from its children; ``package`` brings the rule's kind, None for ours.

    ``looked_up`` is None where nothing was looked up, also where a node only follows a leaf that was grounded again.
    """

    kind: Literal["node.synthesized"] = "node.synthesized"
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


class NodeRefitted(EventBase):
    """The synthesizer was asked for a node several times more, to see how far its weights can be trusted; its rule stays.

    ``count`` is how often, ``failed`` how many replies were of no use; ``value`` and ``coefficients`` are over the others.
    """

    kind: Literal["node.refitted"] = "node.refitted"
    node: str
    count: int = Field(ge=2)
    failed: NonNegativeInt = 0
    value: NumberSpread | None = None
    coefficients: dict[str, NumberSpread] = Field(default_factory=dict)


class NodeFailed(EventBase):
    """The synthesizer found no usable rule for an inner node in this sitting."""

    kind: Literal["node.failed"] = "node.failed"
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


class RunStopped(EventBase):
    """The run was stopped before its end; it can be resumed.

    ``outage`` is a provider that did not answer for as long as was allowed, ``resources`` a full disk or no descriptors left,
    ``other-writer`` another process at work on the same run, ``leaves-left`` the end of a sitting that was kept to some leaves, ``rebuy``
    a request that changed since it was answered.
    """

    kind: Literal["run.stopped"] = "run.stopped"
    why: StopReason
    detail: Shown


class RunWaiting(EventBase):
    """A provider does not answer; the run asks it again and again until it does, or for as long as is allowed."""

    kind: Literal["run.waiting"] = "run.waiting"
    provider: Shown
    reason: Shown


class RunContinued(EventBase):
    """The provider that the run waited for has answered."""

    kind: Literal["run.continued"] = "run.continued"
    provider: Shown
    seconds: float = Field(ge=0.0)


class RunChanged(EventBase):
    """A person resumed the run with other settings; ``changes`` holds the new value of each by its name."""

    kind: Literal["run.changed"] = "run.changed"
    changes: dict[str, Any]


class CallAsked(EventBase):
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
    model: Shown
    worst_usd: float | None = None
    worst_tokens: int = 0


class CallUnbilled(EventBase):
    """A request that ``call.asked`` announced got no reply and no bill: it was refused, or it never arrived."""

    kind: Literal["call.unbilled"] = "call.unbilled"
    node: str
    trial: int
    attempt: int = Field(ge=0)
    stage: str
    step: int
    retry: int
    request_hash: str
    reason: Shown = ""


class NodeWaiting(EventBase):
    """A synthesis cannot go on in this sitting, by no fault of its replies; a resumed run takes it up as it stands."""

    kind: Literal["node.waiting"] = "node.waiting"
    node: str
    reason: Shown


#: What waits for a person; ``run``: the whole analysis, which another program proposed.
ApprovalSubject = Literal["call", "page", "run"]


class ApprovalAsked(EventBase):
    """A step waits until a person has looked at it; ``subject`` is the body with all that would be sent."""

    kind: Literal["approval.asked"] = "approval.asked"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    what: ApprovalSubject
    subject: Hash


class ApprovalGiven(EventBase):
    """A person's decision on a step; it holds for the subject in all attempts of the trial."""

    kind: Literal["approval.given"] = "approval.given"
    node: str
    trial: int
    attempt: int = Field(ge=1)
    what: ApprovalSubject
    subject: Hash
    verdict: Literal["yes", "no"]
    reason: Shown = ""
    author: Shown


class RunFinished(EventBase):
    """The root has a probability."""

    kind: Literal["run.finished"] = "run.finished"
    p: Probability


class ScenarioRecorded(EventBase):
    """An action on a named scenario: ``record`` is a ``propositions.scenario_set.ScenarioRecord`` as JSON."""

    kind: Literal["scenario.recorded"] = "scenario.recorded"
    record: ShownData


class PackageSignature(BaseModel):
    """The signature of a package, with all that is needed to check it again: the run's id and the head of its log are recomputed.

    ``members`` is the hash over all members of the package.
    """

    model_config = SHAPE

    key: PublicKey
    members: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    signature: Signature


class RunImported(EventBase):
    """The run came out of a package, here: its records up to this event are another home's.

    The import appends it, so a package cannot leave it out. ``package`` is the hash of the file; ``differing`` says what
    its records contradicted when it was taken in all the same (``anyway``); ``signature`` is one that was right then.
    """

    kind: Literal["run.imported"] = "run.imported"
    package: Hash
    anyway: bool = False
    differing: tuple[Shown, ...] = ()
    signature: PackageSignature | None = None
