"""Named scenarios as a fold over records: opened with a rationale, edited, undone, redone, weighed, closed.

A scenario is a list of edits over the base tree, which it never changes; undo takes the last edit off the list, so it is exact.
The store carries the records as events and gives their sequence numbers; time comes in with the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

from workbench.propositions.edits import Edit, edit_from_json, edit_to_json
from workbench.propositions.errors import EditConflict, TreeFormatError
from workbench.propositions.strict_json import STRICT, ReadBy, read_strict
from workbench.propositions.values import check_probability

Action = Literal["open", "edit", "undo", "redo", "weigh", "annotate", "close"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRecord:
    """One stored event of a scenario: it was opened, edited, undone, ..."""

    __pydantic_config__ = STRICT

    action: Action
    #: Its name.
    scenario: str
    #: author, at: Who, and when (ISO 8601, UTC).
    author: str
    at: str
    #: Sequence number of the scenario's last record that the author had seen; needed for all but ``open``.
    base_seq: int | None = None
    #: For ``edit``.
    edit: Annotated[
        Edit | None, ReadBy(lambda data, context: None if data is None else edit_from_json(data))
    ] = None
    #: For ``open`` and ``annotate``: the scenario's assumption, and why.
    rationale: str = ""
    #: For ``open`` and ``weigh``: how likely the scenario is held.
    probability: float | None = None

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise TreeFormatError(
                f"a scenario record is one of {', '.join(get_args(Action))}, not {self.action!r}"
            )
        if not self.scenario.strip():
            raise TreeFormatError("a scenario needs a name")
        if (self.edit is not None) != (self.action == "edit"):
            raise TreeFormatError(
                f"a record of {self.action} {'needs' if self.action == 'edit' else 'takes no'} edit"
            )
        if self.probability is not None:
            check_probability(self.probability, of=f"the probability of scenario {self.scenario}")

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "edit": None if self.edit is None else edit_to_json(self.edit)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScenarioRecord:
        """Read a record as :meth:`to_json` writes it."""
        return read_strict(cls, data, what="a scenario record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A named list of edits over the base tree, with those undone and not yet redone."""

    name: str
    rationale: str
    author: str
    at: str
    seq: int
    probability: float | None = None
    edits: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class ScenarioSet:
    """All open scenarios of a run, by name, in the order they were opened."""

    scenarios: Mapping[str, Scenario] = field(default_factory=dict)

    @classmethod
    def fold(cls, records: Iterable[tuple[int, ScenarioRecord]]) -> ScenarioSet:
        """Return the scenarios after these records, each with its sequence number."""
        book = cls()
        for seq, record in records:
            book = book.apply(record, seq)
        return book

    def __getitem__(self, name: str) -> Scenario:
        try:
            return self.scenarios[name]
        except KeyError:
            names = ", ".join(self.scenarios) or "none is open"
            raise TreeFormatError(f"no scenario {name!r}; there are: {names}") from None

    def apply(self, record: ScenarioRecord, seq: int) -> ScenarioSet:
        """Return the scenarios after one more record.

        Raises `EditConflict`: The record was made against an older state, opens a name that is taken, or has nothing to undo or redo.
        Raises `TreeFormatError`: No such scenario.
        """
        name = record.scenario
        if record.action == "open":
            if name in self.scenarios:
                raise EditConflict(f"a scenario {name!r} is open already")
            opened = Scenario(
                name=name,
                rationale=record.rationale,
                author=record.author,
                at=record.at,
                seq=seq,
                probability=record.probability,
            )
            return ScenarioSet({**self.scenarios, name: opened})
        old = self[name]
        # Two people may edit at once: undo takes off the last edit, so it must be the one its author saw.
        if record.base_seq != old.seq:
            raise EditConflict(
                f"scenario {name!r} has changed: this {record.action} was made on record {record.base_seq}, "
                f"the last is {old.seq}; look again and repeat it"
            )
        if record.action == "close":
            return ScenarioSet({key: value for key, value in self.scenarios.items() if key != name})
        return ScenarioSet({**self.scenarios, name: replace(_after(old, record), seq=seq)})


def _after(old: Scenario, record: ScenarioRecord) -> Scenario:
    if record.action == "edit":
        assert record.edit is not None
        # A new edit ends redo: the edits undone were made for a tree that is no longer this one.
        return replace(old, edits=(*old.edits, record.edit), undone=())
    if record.action == "weigh":
        return replace(old, probability=record.probability)
    if record.action == "annotate":
        return replace(old, rationale=record.rationale)
    source, into = (old.edits, old.undone) if record.action == "undo" else (old.undone, old.edits)
    if not source:
        raise EditConflict(f"scenario {old.name!r} has nothing to {record.action}")
    source, into = source[:-1], (*into, source[-1])
    if record.action == "undo":
        return replace(old, edits=source, undone=into)
    return replace(old, edits=into, undone=source)
