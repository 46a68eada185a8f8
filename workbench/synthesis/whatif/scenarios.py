"""Named scenarios: lists of edits over the base tree, folded from records; laid side by side, and mixed by probability.

A scenario never changes the base; undo takes the last edit off its list, so it is exact. The store carries the records as events
and gives their sequence numbers; time comes in with the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import fsum
from typing import Annotated, Any, Literal, NamedTuple, get_args

from workbench.propositions import EditConflict, Tree, TreeFormatError, check_probability
from workbench.propositions.strict_json import STRICT, ReadBy, read_strict
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.whatif.edits import Edit, edit_from_json

TOLERANCE = 1e-9

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
        return {**asdict(self), "edit": None if self.edit is None else self.edit.to_json()}

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


def compare(base: Tree, scenarios: Mapping[str, Tree]) -> list[dict[str, Any]]:
    """Lay scenarios side by side, the root first, then all that differs anywhere, in tree order; None where there is no value."""
    trees = (base, *scenarios.values())
    rows = []
    for node in dict.fromkeys(node for tree in trees for node in tree.ids()):
        base_p, *values = [tree.p_of(node) for tree in trees]
        if node == base.root.id or any(value != base_p for value in values):
            statement = next(tree[node].statement for tree in trees if node in tree)
            by_name = dict(zip(scenarios, values, strict=True))
            rows.append({"id": node, "statement": statement, "base": base_p, "scenarios": by_name})
    return rows


class Mixture(NamedTuple):
    """A probability-weighted mix of scenarios."""

    #: The weighted mean; None where a scenario that counts has no value.
    root: float | None
    #: Per scenario; what they leave of 1 stands under ``base``.
    weights: dict[str, float]


def mix(base: Tree, scenarios: Mapping[str, tuple[float, Tree]]) -> Mixture:
    """Average the root over scenarios, each with its probability; the base takes the rest.

    Raises `SensitivityError`: A probability outside [0, 1], more than 1 together, or a scenario named base.
    """
    weights = {name: weight for name, (weight, _) in scenarios.items()}
    total = fsum(weights.values())
    if any(not 0 <= weight <= 1 for weight in weights.values()) or total > 1 + TOLERANCE:
        raise SensitivityError(
            f"the scenarios' probabilities must lie in [0, 1] and sum to at most 1, not {total:g}"
        )
    if "base" in weights:
        raise SensitivityError("no scenario may be called base: that is the tree without edits")
    roots = {name: tree.root.p for name, (_, tree) in scenarios.items()}
    if (rest := 1.0 - total) > TOLERANCE:
        weights["base"], roots["base"] = rest, base.root.p
    terms = [None if (p := roots[name]) is None else weight * p for name, weight in weights.items() if weight]
    known = [term for term in terms if term is not None]
    root = min(1.0, max(0.0, fsum(known))) if len(known) == len(terms) else None
    return Mixture(root, weights)
