"""People's remarks on a run. No agent is shown any of them, and no request depends on them."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from workbench.store.event_base import SHAPE, Day, EventBase, Hash, JournalHead, Probability, Shown

NodeName = Annotated[str, Field(pattern=r"^P(0|[1-9]\d{0,8}(\.[1-9]\d{0,8})*)$", max_length=400)]
#: Nobody's estimate is certainty: its log-odds would weigh more than everybody else's.
OpenProbability = Annotated[float, Field(gt=0.0, lt=1.0)]
Instant = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$")
]


class CommentAdded(EventBase):
    """A reviewer commented on one proposition; shown wherever the run is, and covered by a sign-off."""

    kind: Literal["comment.added"] = "comment.added"
    node: str
    text: Shown
    author: Shown = ""


class EstimateGiven(EventBase):
    """A person's estimate of a proposition, beside the model's answer, which stays; without ``p`` the author takes it back."""

    kind: Literal["estimate.given"] = "estimate.given"
    node: str
    p: OpenProbability | None
    why: Shown = ""
    author: Annotated[Shown, Field(min_length=1)]


class NoteAdded(EventBase):
    """The analyst's own note on the run, or on one proposition of it, with tags that are set or taken off."""

    kind: Literal["note.added"] = "note.added"
    text: Shown = ""
    tags: tuple[Shown, ...] = ()
    untagged: tuple[Shown, ...] = ()
    author: Shown = ""


class OutcomeRecorded(EventBase):
    """The outcome of the claim, or with ``node`` of a leaf; the newest one counts. ``p`` is 1 for yes, 0 for no, between them for a share.

    ``day`` is the date of the outcome, ``source`` whether a person says so or a series that the claim is about.
    """

    kind: Literal["outcome.recorded"] = "outcome.recorded"
    p: Probability
    day: Day
    source: Literal["person", "series", "file"] = "person"
    author: Shown = ""


class ReviewSigned(EventBase):
    """Somebody accepts the run, or returns it. The name is typed, not proved: a package's signature proves a key.

    ``head`` is the log's before this event, ``tree`` and ``comments`` are hashes of what was reviewed, ``checklist`` has the points
    done; ``attested`` is one hash over all of these, the run, author and verdict.
    """

    kind: Literal["review.signed"] = "review.signed"
    author: Shown
    verdict: Literal["accept", "return"]
    checklist: dict[Shown, bool]
    head: JournalHead
    tree: Hash
    comments: Hash
    attested: Hash


class ReturnedComment(BaseModel):
    """A comment as it was made in another home."""

    model_config = SHAPE

    node: NodeName
    text: Shown
    author: Shown = ""
    at_utc: Instant


class ReturnedEstimate(BaseModel):
    """An estimate as it was given in another home."""

    model_config = SHAPE

    node: NodeName
    p: OpenProbability | None
    why: Shown = ""
    author: Annotated[Shown, Field(min_length=1)]
    at_utc: Instant


class ReturnedSignOff(BaseModel):
    """A sign-off as it was made in another home, with the fields of `ReviewSigned`."""

    model_config = SHAPE

    author: Shown
    verdict: Literal["accept", "return"]
    checklist: dict[Shown, bool]
    head: JournalHead
    tree: Hash
    comments: Hash
    attested: Hash
    at_utc: Instant


class ReviewReturned(EventBase):
    """A review came back: comments, estimates and sign-offs made over this run in another home, out of its package.

    ``shared`` counts the events of this log that the reviewer had too; what came after them, no sign-off in here covers.
    The log that was signed is the reviewer's: that each sign-off held over it was checked when the package was read.
    """

    kind: Literal["review.returned"] = "review.returned"
    package: Hash
    shared: int = Field(ge=1)
    comments: tuple[ReturnedComment, ...] = ()
    estimates: tuple[ReturnedEstimate, ...] = ()
    sign_offs: tuple[ReturnedSignOff, ...] = ()


class LeaksAudited(EventBase):
    """A model of another family read a finished run's texts and reports for facts not known at the cutoff.

    ``findings`` is a body: one row per text with the model's verdict, the date rules' and the words that show it.
    """

    kind: Literal["leaks.audited"] = "leaks.audited"
    model: Shown
    findings: Hash
