"""What people say of a run. No agent is shown any of it, and no request depends on it."""

from typing import Literal

from workbench.store.event_base import Day, EventBase, Hash, JournalHead, Probability


class CommentAdded(EventBase):
    """A reviewer said something about one proposition; shown wherever the run is, and covered by a sign-off."""

    kind: Literal["comment.added"] = "comment.added"
    node: str
    text: str
    author: str = ""


class NoteAdded(EventBase):
    """The analyst's own note on the run, or on one proposition of it, with tags that are set or taken off."""

    kind: Literal["note.added"] = "note.added"
    text: str = ""
    tags: tuple[str, ...] = ()
    untagged: tuple[str, ...] = ()
    author: str = ""


class OutcomeRecorded(EventBase):
    """How the claim turned out, or with ``node`` one of its leaves; the newest one counts. ``p`` is 1 for yes, 0 for no, between them for a share.

    ``day`` is the date of the outcome, ``source`` whether a person says so or a series that the claim is about.
    """

    kind: Literal["outcome.recorded"] = "outcome.recorded"
    p: Probability
    day: Day
    source: Literal["person", "series", "file"] = "person"
    author: str = ""


class ReviewSigned(EventBase):
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


class LeaksAudited(EventBase):
    """A model of another family has read what a finished run kept, and its reports, for what was not known at the cutoff.

    ``findings`` is a body: one row per text with the model's verdict, the date rules' and the words that show it.
    """

    kind: Literal["leaks.audited"] = "leaks.audited"
    model: str
    findings: Hash
