"""A finding, the kinds of run that a check may treat otherwise, and what every check of a reply is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

T = TypeVar("T")

LONGEST_WORDS = 400  # characters of a finding on record: a quoted number may have thousands of digits


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """What is special of a run; a dated run of this home that ran to its end has none of these, and several may hold."""

    #: Its cutoff is ``now``: every call is clamped at its own instant.
    live: bool = False
    #: It may look up the answer, as an upper bound.
    clairvoyant: bool = False
    #: It came out of a package: its records are its sender's.
    imported: bool = False
    #: No kernel was started.
    no_kernel: bool = False
    #: The claim was not broken down, or not yet.
    no_tree: bool = False
    #: It has not ended.
    stopped: bool = False
    #: No data call is on record.
    no_data: bool = False

    def names(self) -> tuple[str, ...]:
        """Return what holds, in words."""
        return tuple(item.name.replace("_", " ") for item in fields(self) if getattr(self, item.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFinding:
    """What a check found: ``words`` are a sentence for people, ``mend`` tells the model what to send instead."""

    check: str
    words: str
    mend: str = ""

    def to_json(self) -> dict[str, str]:
        """Return what the log and the documents hold of it."""
        return {"check": self.check, "words": self.words[:LONGEST_WORDS]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ReplyFinding:
        """Return it as it was recorded."""
        return cls(check=str(data["check"]), words=str(data["words"]))


@dataclass(frozen=True, slots=True)
class FindingCheck(Generic[T]):
    """A check as a total function of the kind of run."""

    name: str
    #: Returns the words for people and for the model; None where nothing is wrong.
    look: Callable[[T], tuple[str, str] | None]
    #: What is done instead, by the name of a kind (a field of ``RunKind``); None: the question does not arise. Of several that hold the
    #: first counts.
    where: Mapping[str, Callable[[T], tuple[str, str] | None] | None] = field(default_factory=dict)

    def finding(self, said: T, kind: RunKind) -> ReplyFinding | None:
        """Return what is wrong with what was said in a run of this kind."""
        looks = (look for name, look in self.where.items() if getattr(kind, name))
        look = next(looks, self.look)
        fault = None if look is None else look(said)
        return None if fault is None else ReplyFinding(check=self.name, words=fault[0], mend=fault[1])


def sent_back(findings: Sequence[ReplyFinding]) -> str:
    """Return what a model is told of findings: each in a sentence, with what mends it."""
    sentences = [f"{item.words.rstrip('.')}. {item.mend}".rstrip(" .") for item in findings]
    return ". Also: ".join(sentences)
