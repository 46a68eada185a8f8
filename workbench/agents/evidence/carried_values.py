"""What stands of a leaf that a review takes over, as the review's log has it: plain values, which every reader of a log loads."""

from dataclasses import dataclass, field
from typing import Any

from workbench.propositions import Belief
from workbench.propositions.strict_json import STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAgain:
    """A data call of the run before, as it is asked at the new cutoff, and what it then said (`answer_content`)."""

    path: str
    params: dict[str, Any]
    content: str

    __pydantic_config__ = STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedLeaf:
    """What stands of a leaf of the run before."""

    #: The run that collected its evidence, which may lie several reviews back.
    run: str
    #: Why it carries over, for people.
    reason: str
    #: What its trials concluded.
    trials: dict[str, Belief] = field(default_factory=dict)
    calls: tuple[AskedAgain, ...] = ()
    #: The last day that its run saw, where the leaf's own day is over: it then counts as how it came out. "" otherwise.
    settled_from: str = ""

    __pydantic_config__ = STRICT
