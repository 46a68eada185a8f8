"""The closed set of events of a run.

Every event is one frozen model; ``kind`` names it and ``v`` is the version of its shape. Tree state, progress, resume, undo and
the audit report are folds over these. Long texts are not in an event: it carries the hash under which the body lies in the store.
The models stand in ``run_events``, ``leaf_events``, ``people_events`` and ``study_events``.
"""

from functools import cache
from typing import Annotated, Any, cast, get_args

from pydantic import Field, TypeAdapter, ValidationError

from workbench.store.event_base import PublicKey, Signature
from workbench.store.leaf_events import (
    EvidenceRecord,
    FindingRecord,
    LeafFailed,
    LeafGrounded,
    LeafKept,
    LeafPooled,
    LeafReopened,
    LeafStarted,
    LeafStep,
    LeafVerified,
    LeafWaiting,
)
from workbench.store.people_events import (
    CommentAdded,
    EstimateGiven,
    LeaksAudited,
    NoteAdded,
    OutcomeRecorded,
    ReturnedComment,
    ReturnedEstimate,
    ReturnedSignOff,
    ReviewReturned,
    ReviewSigned,
)
from workbench.store.run_events import (
    ApprovalAsked,
    ApprovalGiven,
    ApprovalSubject,
    CallAsked,
    CallUnbilled,
    CutText,
    Follows,
    LookUpRecord,
    NodeFailed,
    NodeRefitted,
    NodeSynthesized,
    NodeWaiting,
    NumberSpread,
    PackageSignature,
    RunChanged,
    RunContinued,
    RunFinished,
    RunImported,
    RunResumed,
    RunSealed,
    RunStarted,
    RunStopped,
    RunWaiting,
    ScenarioRecorded,
    StopReason,
    TextCut,
    TreeEdited,
    TreeExpanded,
    TreePlanned,
)
from workbench.store.study_events import (
    ContextGathered,
    ForecastBegun,
    ForecastMade,
    ForecastMissing,
    ForecastPromoted,
    QuestionAdded,
    QuestionsImported,
    StudyAudited,
    StudyOpened,
    ValueRecorded,
)

__all__ = [
    "VERSION",
    "Annotation",
    "ApprovalAsked",
    "ApprovalGiven",
    "ApprovalSubject",
    "CallAsked",
    "CallUnbilled",
    "CommentAdded",
    "ContextGathered",
    "CutText",
    "EstimateGiven",
    "Event",
    "EvidenceRecord",
    "FindingRecord",
    "Follows",
    "ForecastBegun",
    "ForecastMade",
    "ForecastMissing",
    "ForecastPromoted",
    "LeafEvent",
    "LeafFailed",
    "LeafGrounded",
    "LeafKept",
    "LeafPooled",
    "LeafReopened",
    "LeafStarted",
    "LeafStep",
    "LeafVerified",
    "LeafWaiting",
    "LeaksAudited",
    "LookUpRecord",
    "NodeFailed",
    "NodeRefitted",
    "NodeSynthesized",
    "NodeWaiting",
    "NoteAdded",
    "NumberSpread",
    "OutcomeRecorded",
    "PackageSignature",
    "PublicKey",
    "QuestionAdded",
    "QuestionsImported",
    "ReturnedComment",
    "ReturnedEstimate",
    "ReturnedSignOff",
    "ReviewReturned",
    "ReviewSigned",
    "RunChanged",
    "RunContinued",
    "RunFinished",
    "RunImported",
    "RunResumed",
    "RunSealed",
    "RunStarted",
    "RunStopped",
    "RunWaiting",
    "ScenarioRecorded",
    "Signature",
    "StopReason",
    "StreamEvent",
    "StudyAudited",
    "StudyOpened",
    "TextCut",
    "TreeEdited",
    "TreeExpanded",
    "TreePlanned",
    "ValueRecorded",
    "parse_event",
]

#: Events of a set of questions or of a study: streams of their own beside the runs (`Store.streams`).
StreamEvent = (
    QuestionsImported
    | QuestionAdded
    | ValueRecorded
    | ContextGathered
    | StudyOpened
    | ForecastBegun
    | ForecastMade
    | ForecastMissing
    | ForecastPromoted
    | StudyAudited
)

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
    | TextCut
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
    | EstimateGiven
    | NoteAdded
    | OutcomeRecorded
    | ReviewSigned
    | ReviewReturned
    | LeaksAudited
    | StreamEvent,
    Field(discriminator="kind"),
]

#: Events of one trial of a leaf that move its state.
LeafEvent = LeafStarted | LeafGrounded | LeafVerified | LeafFailed | LeafWaiting

#: People's remarks on a run. No agent is shown any of them, and no request depends on them.
Annotation = (
    CommentAdded | EstimateGiven | NoteAdded | OutcomeRecorded | ReviewSigned | ReviewReturned | LeaksAudited
)

#: Version of the shapes above; events of another are refused.
VERSION = 7

_MODELS = {model.model_fields["kind"].default: model for model in get_args(get_args(Event)[0])}


def parse_event(data: dict[str, Any]) -> Event:
    """Return the event that ``data`` describes; raises ``pydantic.ValidationError`` on anything else."""
    try:
        return cast(Event, _MODELS[data["kind"]].model_validate(data))
    except (KeyError, TypeError, ValidationError):
        return _event_adapter().validate_python(data)  # refuses too, in words that name the kind


@cache
def _event_adapter() -> TypeAdapter[Event]:
    return TypeAdapter(Event)
