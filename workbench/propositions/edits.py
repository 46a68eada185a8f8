"""An analyst's edits of a tree, as plain records: they can be stored, replayed and undone by leaving them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from workbench.propositions.errors import TreeFormatError
from workbench.propositions.rule import Polarity
from workbench.propositions.strict_json import STRICT, StoredId, read_strict
from workbench.propositions.values import Override, check_probability, check_range


@dataclass(frozen=True, slots=True, kw_only=True)
class SetValue:
    """A soft truth value of the analyst's, or a range with its middle; ``override`` has the author, reason and expiry.

    An inner node is pinned.
    """

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "set"
    node: StoredId
    p: float
    override: Override | None = None
    #: low, high: The ends of a range; None where p is one number.
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", check_probability(self.p, of=f"p of {self.node}"))
        check_range(self.low, self.p, self.high, of=f"p of {self.node}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Hold an inner node at the value it has."""

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "pin"
    node: StoredId


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpin:
    """Give a node back to the model: a leaf to its grounding, an inner node to its children."""

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "unpin"
    node: StoredId


@dataclass(frozen=True, slots=True, kw_only=True)
class AddChild:
    """A new proposition under a node, with a value if there is one; it has no weight until the rule gives it one."""

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "add"
    node: StoredId
    statement: str
    polarity: Polarity | None = None
    child: StoredId | None = None
    p: float | None = None

    def __post_init__(self) -> None:
        if self.p is not None:
            object.__setattr__(
                self, "p", check_probability(self.p, of=f"p of the child added under {self.node}")
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNode:
    """A branch taken out; the parent's rule keeps its other coefficients."""

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "remove"
    node: StoredId


@dataclass(frozen=True, slots=True, kw_only=True)
class Restate:
    """Other words for a proposition; its value turns stale unless only the wording changed (``keep_belief``)."""

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "restate"
    node: StoredId
    statement: str
    keep_belief: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPolarity:
    """The polarity of a proposition, for or against its parent; a parent's rule that contradicts it is turned."""

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "polarity"
    node: StoredId
    polarity: Polarity


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReport:
    """Another text and key factor at a proposition that has a value."""

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "report"
    node: StoredId
    report: str
    key_factor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRule:
    """A synthesis rule at an inner node, as JSON: the analyst's, or a full resynthesis's.

    ``p`` is the value stated with a rule that has no function (vanilla); other rules compute theirs.
    """

    __pydantic_config__ = STRICT

    kind: ClassVar[str] = "rule"
    node: StoredId
    rule: Mapping[str, Any]
    p: float | None = None

    def __post_init__(self) -> None:
        if self.p is not None:
            object.__setattr__(self, "p", check_probability(self.p, of=f"p of {self.node}"))


Edit = SetValue | Pin | Unpin | AddChild | RemoveNode | Restate | SetPolarity | SetReport | SetRule

_KINDS: dict[str, type[Any]] = {
    kind.kind: kind
    for kind in (SetValue, Pin, Unpin, AddChild, RemoveNode, Restate, SetPolarity, SetReport, SetRule)
}


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """Write the edit as a plain JSON object with its kind; fields that are None or False are left out.

    >>> edit_to_json(SetValue(node="P2.1", p=0.0))
    {'kind': 'set', 'node': 'P2.1', 'p': 0.0}
    """
    data: dict[str, Any] = {"kind": edit.kind}
    for field in fields(edit):
        value = getattr(edit, field.name)
        # By identity: 0.0 == False, and a p of 0 must be stored.
        if value is None or value is False:
            continue
        data[field.name] = (
            value.to_json()
            if isinstance(value, Override)
            else str(value)
            if isinstance(value, Polarity)
            else value
        )
    return data


def edit_from_json(data: Mapping[str, Any]) -> Edit:
    """Read an edit as :func:`edit_to_json` writes it.

    Raises `TreeFormatError, ProbabilityOutOfRange, IdMismatch`.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str) or data["kind"] not in _KINDS:
        raise TreeFormatError(f"an edit is an object with a kind, one of {', '.join(_KINDS)}")
    kind = _KINDS[data["kind"]]
    body = {key: value for key, value in data.items() if key != "kind"}
    edit: Edit = read_strict(kind, body, what=f"the {data['kind']} edit")
    return edit
