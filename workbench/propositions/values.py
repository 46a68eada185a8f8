"""The plain values a tree is made of: a belief, an override, a proposition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, get_args

from workbench.propositions.errors import ProbabilityOutOfRange, TreeFormatError
from workbench.propositions.ids import NodeId
from workbench.propositions.rule import Polarity, Rule
from workbench.propositions.strict_json import STRICT, ReadBy, read_strict

Source = Literal["model", "analyst"]

#: Longest statement that is accepted and read: a claim is a sentence, not a document.
MAX_STATEMENT = 600


#: No probability counts as nearer to 0 or 1 where log odds are taken (BLF, App. C.9).
NEAREST = 1e-4


def logit(p: float) -> float:
    """Return the log odds of a probability held within ``NEAREST`` of 0 and 1.

    >>> logit(0.5), round(logit(1.0), 4)
    (0.0, 9.2102)
    """
    held = min(max(p, NEAREST), 1.0 - NEAREST)
    return math.log(held / (1.0 - held))


def check_probability(value: object, *, of: str = "p") -> float:
    """Return the value as a float in [0, 1].

    Raises `ProbabilityOutOfRange`: Not a number, not finite, or outside [0, 1].
    """
    # bool is an int in Python, and "p": true in foreign JSON is a mistake rather than 1.0.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ProbabilityOutOfRange(f"{of} must be a number in [0, 1], not {value!r}")
    number = float(value)
    if not 0.0 <= number <= 1.0:  # a NaN fails too
        raise ProbabilityOutOfRange(f"{of} must lie in [0, 1], not {number:g}")
    return number


def check_range(low: float | None, p: float, high: float | None, *, of: str = "p") -> None:
    """Check that a range has both ends or none, and that p lies between them.

    Raises `ProbabilityOutOfRange`.
    """
    if low is None and high is None:
        return
    if low is None or high is None or not check_probability(low) <= p <= check_probability(high):
        raise ProbabilityOutOfRange(f"{of} must lie in its range, not {p:g} in {low} to {high}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A soft truth value with its reasons."""

    __pydantic_config__ = STRICT

    #: Degree of belief, in [0, 1].
    p: float
    #: One or two sentences: what decides it.
    key_factor: str = ""
    #: The grounding's or the synthesis' text.
    report: str = ""
    #: Who holds it.
    source: Source = "model"
    #: low, high: The ends of a range that the analyst gave in place of one number; ``p`` lies halfway.
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", check_probability(self.p))
        check_range(self.low, self.p, self.high)
        if self.source not in get_args(Source):
            raise TreeFormatError(f"a belief's source is model or analyst, not {self.source!r}")

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        ends = {} if self.low is None else {"low": self.low, "high": self.high}
        return {
            "p": self.p,
            "key_factor": self.key_factor,
            "report": self.report,
            "source": self.source,
            **ends,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Belief:
        """Read a belief as :meth:`to_json` writes it; raises ``TreeFormatError`` or ``ProbabilityOutOfRange``."""
        return read_strict(cls, data, what="a belief")


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Author, reason, time and expiry of an analyst's value in place of the model's.

    Times are ISO 8601 texts in UTC as the caller gives them; this room has no clock. An override without ``expires`` holds
    until it is withdrawn.
    """

    __pydantic_config__ = STRICT

    author: str
    reason: str
    at: str
    expires: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def _read_rule(data: Any, rule_from_json: Any) -> Rule | None:
    if data is None:
        return None
    # The reader comes in as an argument because this room may not import synthesis, which builds on it.
    if rule_from_json is None:
        raise TreeFormatError("a tree with rules is read with workbench.synthesis.tree_from_json")
    rule: Rule = rule_from_json(data)
    return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposition:
    """One true/false statement in the tree."""

    __pydantic_config__ = STRICT

    id: NodeId
    statement: str
    #: Ids of the supporting propositions, in natural order; empty for a leaf.
    children: tuple[NodeId, ...] = ()
    #: The analyzer's note on how the children below bear on this proposition.
    causality: str = ""
    #: The analyzer's prose of the round in which it expanded this proposition.
    analysis: str = ""
    #: What settles it, as the analyzer proposed: source, series, date.
    resolves_by: str = ""
    #: The class of comparable cases that the analyzer names for it.
    reference_class: str = ""
    #: How its children work together, as the analyzer proposed: each adds something, all are needed, or any suffices.
    combine: Literal["", "all", "any"] = ""
    #: Per child: whether it speaks for or against.
    polarities: Mapping[NodeId, Polarity] = field(default_factory=dict)
    #: The value in effect; None until grounded or synthesized.
    belief: Belief | None = None
    #: The model's own value, kept beside while an analyst's is in effect.
    model_belief: Belief | None = None
    #: Who overrode it and why, if that was said.
    override: Override | None = None
    #: How the value follows from the children; None for a leaf.
    rule: Annotated[Rule | None, ReadBy(_read_rule)] = None
    #: An inner node held at an analyst's value: its children have no say until it is unpinned.
    pinned: bool = False
    #: The belief no longer follows from what lies below, and there is no function to recompute it.
    stale: bool = False
    #: The rule was made for other children or other words; it still computes, a full resynthesis would remake it.
    refit_due: bool = False

    @property
    def is_leaf(self) -> bool:
        """Whether nothing lies below."""
        return not self.children

    @property
    def p(self) -> float | None:
        """The soft truth value in effect; None if there is none or it is stale."""
        return None if self.belief is None or self.stale else self.belief.p
