"""What people said of a run: comments, estimates, notes, tags, the outcome, sign-offs. A fold over events, part of the run's state.

No agent is shown any of it: prompts are built from the tree and the settings, so a known outcome cannot reach a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import exp, fsum, log
from typing import Any
from unicodedata import normalize

from workbench.propositions import ROOT, NodeId
from workbench.store import StoredEvent
from workbench.store import events as ev


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A comment on a proposition, or a note on the run (``node`` None) or a proposition."""

    seq: int
    node: NodeId | None
    text: str
    author: str
    at_utc: str
    #: The hash of the package that brought it: author and day are then what its sender wrote.
    package: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object; ``package`` stands in it where a package brought the remark."""
        return _without_empty_package(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalEstimate:
    """What a person holds a proposition to be; ``p`` None where they took it back.

    ``too_late`` says that the outcome was on record here already: such an estimate is shown and never scored.
    """

    node: NodeId
    p: float | None
    author: str
    why: str
    at_utc: str
    too_late: bool = False
    package: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object; ``package`` stands in it where a package brought the estimate."""
        return _without_empty_package(self)


def _without_empty_package(said: Remark | PersonalEstimate) -> dict[str, Any]:
    return {name: part for name, part in asdict(said).items() if part or name != "package"}


def person(name: str) -> str:
    r"""Return what is the same for two spellings of one name: capitals, and forms of a letter that look alike by design.

    >>> person("Jose\u0301") == person("JOS\xc9"), person("\uff21nn") == person("ann")
    (True, True)
    """
    return normalize("NFKC", name).casefold()


def pooled_estimate(p: Sequence[float]) -> float:
    """Return the mean of probabilities in log-odds, each between 0 and 1.

    >>> round(pooled_estimate([0.5, 0.9]), 3), pooled_estimate([0.2])
    (0.75, 0.2)
    """
    if len(p) == 1:
        return p[0]
    # Not the pooling of workbench.science: it loads numpy, and a screen asks this.
    return 1.0 / (1.0 + exp(-fsum(log(each / (1.0 - each)) for each in p) / len(p)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the claim turned out: ``p`` 1 for yes, 0 for no, between them for a share; ``revised`` counts earlier answers."""

    p: float
    day: str
    source: str
    author: str
    at_utc: str
    revised: int = 0

    def brier(self, forecast: float) -> float:
        """Return the squared error of a forecast, 0 to 1, lower is better: the Brier score of one event.

        >>> round(Outcome(p=0.0, day="2018-12-31", source="series", author="", at_utc="").brier(0.66916), 3)
        0.448
        """
        # Not the scores of workbench.science: they load numpy, and every screen asks this.
        return (forecast - self.p) ** 2

    def to_json(self, forecast: float | None) -> dict[str, Any]:
        """Plain JSON object, with the Brier score of a forecast in [0, 1] if there is one."""
        return {**asdict(self), "brier": None if forecast is None else self.brier(forecast)}


@dataclass(frozen=True, slots=True)
class Annotations:
    """All annotations of a run in the order they were made; ``tags`` are those that stand.

    ``outcome`` is the claim's, ``leaf_outcomes`` those of single leaves, from which grounders and calibration learn.
    """

    comments: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()
    tags: tuple[str, ...] = ()
    outcome: Outcome | None = None
    leaf_outcomes: Mapping[NodeId, Outcome] = field(default_factory=dict)
    sign_offs: tuple[StoredEvent, ...] = ()
    #: Reviews that came back from other homes; their comments stand among ``comments``.
    returned: tuple[StoredEvent, ...] = ()
    leak_audits: tuple[ev.LeaksAudited, ...] = ()
    #: All of them, in the order in which they came; `standing` has those that count.
    estimates: tuple[PersonalEstimate, ...] = ()

    def outcomes(self) -> dict[NodeId, Outcome]:
        """Return the outcomes on record, of the claim and of its drivers."""
        return {**self.leaf_outcomes, **({} if self.outcome is None else {ROOT: self.outcome})}

    def standing(self, node: NodeId, *, in_time: bool = False) -> tuple[PersonalEstimate, ...]:
        """Return each author's newest estimate of a proposition, by the order of their first; ``in_time``: none made after the outcome.

        What a package brings under a name that has spoken in this home stands on record and counts for nothing: its sender
        may have typed any name.
        """
        said = [each for each in self.estimates if each.node == node]
        spoken_here = {person(each.author) for each in said if not each.package}
        newest: dict[str, PersonalEstimate] = {}
        for each in said:
            lent = bool(each.package) and person(each.author) in spoken_here
            if not lent and not (in_time and each.too_late):
                newest[person(each.author)] = each
        return tuple(each for each in newest.values() if each.p is not None)

    def apply(self, stored: StoredEvent) -> "Annotations":
        """Return the annotations after one more event of theirs; any other event is a bug of the caller."""
        event = stored.event
        match event:
            case ev.CommentAdded():
                return replace(self, comments=(*self.comments, _remark(stored, event)))
            case ev.EstimateGiven():
                return replace(self, estimates=(*self.estimates, self._estimate(event, stored.at_utc)))
            case ev.NoteAdded():
                standing = [tag for tag in (*self.tags, *event.tags) if tag not in event.untagged]
                notes = (*self.notes, _remark(stored, event)) if event.text else self.notes
                return replace(self, notes=notes, tags=tuple(dict.fromkeys(standing)))
            case ev.OutcomeRecorded():
                before = self.leaf_outcomes.get(event.node) if event.node is not None else self.outcome
                outcome = Outcome(
                    **event.model_dump(include={"p", "day", "source", "author"}),
                    at_utc=stored.at_utc,
                    revised=before.revised + (before.p != event.p) if before else 0,
                )
                if event.node is not None:
                    return replace(self, leaf_outcomes={**self.leaf_outcomes, event.node: outcome})
                return replace(self, outcome=outcome)
            case ev.ReviewSigned():
                return replace(self, sign_offs=(*self.sign_offs, stored))
            case ev.ReviewReturned():
                comments = [
                    Remark(seq=stored.seq, package=event.package, **each.model_dump())
                    for each in event.comments
                ]
                estimates = [self._estimate(each, each.at_utc, event.package) for each in event.estimates]
                return replace(
                    self,
                    comments=(*self.comments, *comments),
                    estimates=(*self.estimates, *estimates),
                    returned=(*self.returned, stored),
                )
            case ev.LeaksAudited():
                return replace(self, leak_audits=(*self.leak_audits, event))
        raise AssertionError(f"{event.kind} is no annotation")

    def _estimate(
        self, said: ev.EstimateGiven | ev.ReturnedEstimate, at_utc: str, package: str = ""
    ) -> PersonalEstimate:
        outcome = self.outcomes().get(said.node)
        return PersonalEstimate(
            **said.model_dump(include={"node", "p", "author", "why"}),
            at_utc=at_utc,
            too_late=outcome is not None,
            package=package,
        )

    def words(self) -> str:
        """Return all of it as one text in lower case, for a search."""
        parts = [text for each in (*self.comments, *self.notes) for text in (each.text, each.author)]
        parts += [text for each in self.estimates for text in (each.why, each.author)]
        return "\n".join([*self.tags, *parts]).casefold()


def _remark(stored: StoredEvent, event: ev.CommentAdded | ev.NoteAdded) -> Remark:
    said = event.model_dump(include={"node", "text", "author"})
    return Remark(seq=stored.seq, at_utc=stored.at_utc, **said)
