"""The plain values a tree is made of: a belief, an override, a proposition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, get_args

from workbench.propositions.errors import ProbabilityOutOfRange, TreeFormatError
from workbench.propositions.ids import NodeId
from workbench.propositions.rule import Rule

Source = Literal["model", "analyst"]


class Polarity(StrEnum):
    """Whether a child's truth speaks for or against its parent's."""

    POSITIVE = "Positive"
    NEGATIVE = "Negative"


def check_probability(value: object, *, of: str = "p") -> float:
    """The value as a float in [0, 1].

    Raises
    ------
    ProbabilityOutOfRange
        Not a number, not finite, or outside [0, 1].
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ProbabilityOutOfRange(f"{of} must be a number in [0, 1], not {value!r}")
    number = float(value)
    if not 0.0 <= number <= 1.0:  # a NaN fails too
        raise ProbabilityOutOfRange(f"{of} must lie in [0, 1], not {number:g}")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A soft truth value with what speaks for it.

    Parameters
    ----------
    p : float
        Degree of belief, in [0, 1].
    key_factor : str
        One or two sentences: what decides it.
    report : str
        The grounding's or the synthesis' text.
    source : {"model", "analyst"}
        Who holds it.
    """

    p: float
    key_factor: str = ""
    report: str = ""
    source: Source = "model"

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", check_probability(self.p))
        if self.source not in get_args(Source):
            raise TreeFormatError(f"a belief's source is model or analyst, not {self.source!r}")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object."""
        return {"p": self.p, "key_factor": self.key_factor, "report": self.report, "source": self.source}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Belief:
        """Read what :meth:`to_json` wrote."""
        check_keys(data, {"p"}, {"key_factor", "report", "source"}, what="a belief")
        check_kinds(data, str, "key_factor", "report", "source", what="a belief")
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Who put an analyst's value in place of the model's, why, when, and until when.

    Times are ISO 8601 texts in UTC as the caller gives them; this room has no clock. An override without ``expires`` holds
    until it is withdrawn.
    """

    author: str
    reason: str
    at: str
    expires: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object."""
        return {"author": self.author, "reason": self.reason, "at": self.at, "expires": self.expires}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Override:
        """Read what :meth:`to_json` wrote."""
        check_keys(data, {"author", "reason", "at"}, {"expires"}, what="an override")
        check_kinds(data, str, "author", "reason", "at", what="an override")
        check_kinds(data, (str, type(None)), "expires", what="an override")
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposition:
    """One true/false statement in the tree.

    Parameters
    ----------
    children : tuple of str
        Ids of the supporting propositions, in natural order; empty for a leaf.
    causality : str
        The analyzer's note on how the children below bear on this proposition.
    polarities : mapping
        Per child: whether it speaks for or against.
    belief : Belief or None
        The value in effect; None until grounded or synthesized.
    model_belief : Belief or None
        The model's own value, kept beside while an analyst's is in effect.
    override : Override or None
        Who overrode it and why, where that was said.
    rule : Rule or None
        How the value follows from the children; None for a leaf.
    pinned : bool
        An inner node held at an analyst's value: its children have no say until it is unpinned.
    stale : bool
        The belief no longer follows from what lies below, and there is no function to recompute it.
    refit_due : bool
        The rule was made for other children or other words; it still computes, a full resynthesis would remake it.
    """

    id: NodeId
    statement: str
    children: tuple[NodeId, ...] = ()
    causality: str = ""
    polarities: Mapping[NodeId, Polarity] = field(default_factory=dict)
    belief: Belief | None = None
    model_belief: Belief | None = None
    override: Override | None = None
    rule: Rule | None = None
    pinned: bool = False
    stale: bool = False
    refit_due: bool = False

    @property
    def is_leaf(self) -> bool:
        """Whether nothing lies below."""
        return not self.children

    @property
    def p(self) -> float | None:
        """The soft truth value in effect; None where there is none or it is stale."""
        return None if self.belief is None or self.stale else self.belief.p


def check_keys(data: object, required: set[str], optional: set[str], *, what: str) -> None:
    """Refuse foreign data that lacks a key or brings one that nobody knows.

    Raises
    ------
    TreeFormatError
        Not an object, a key missing, or an unknown key.
    """
    if not isinstance(data, Mapping):
        raise TreeFormatError(f"{what} must be a JSON object, not {type(data).__name__}")
    missing = required - data.keys()
    if missing:
        raise TreeFormatError(f"{what} lacks {', '.join(sorted(missing))}")
    unknown = data.keys() - required - optional
    if unknown:
        raise TreeFormatError(f"{what} has unknown keys: {', '.join(sorted(map(str, unknown)))}")


_KIND_NAMES = {str: "text", bool: "true or false", list: "a list", dict: "an object", int: "a whole number"}


def check_kinds(data: Mapping[str, Any], kinds: type | tuple[type, ...], *keys: str, what: str) -> None:
    """Refuse foreign data whose entries under these keys, where present, are of another kind.

    Raises
    ------
    TreeFormatError
    """
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    for key in keys:
        if key in data and (
            not isinstance(data[key], wanted) or (isinstance(data[key], bool) and bool not in wanted)
        ):
            names = " or ".join(_KIND_NAMES.get(kind, "null") for kind in wanted)
            raise TreeFormatError(f"{key} of {what} must be {names}, not {str(data[key])[:80]!r}")
