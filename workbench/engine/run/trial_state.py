"""Where a trial of a leaf stands, and what the leaf counted as before it was grounded again."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workbench.propositions import Belief
from workbench.store import events as ev


@dataclass(frozen=True, slots=True)
class TrialState:
    """Where one trial of a leaf stands. ``attempt`` is the newest begun; ``open`` when it neither concluded nor failed.

    An open one with a ``failure`` waits for another sitting: what stopped it was no fault of its proof. ``seconds`` is how
    long its attempts were in work before ``since``, all sittings counted; ``since`` is None while none is in work. ``gave_up``
    is where the attempt's dialogue got no usable reply, one (step, retry) for each sitting that ended so; while ``goes_on``
    holds, a later sitting takes the attempt up there. ``max_steps`` is the bound on steps that the attempt began with: it
    stands in its prompts. ``rejected`` are the attempts just before the newest that a person ended by rejecting a cell: the newest
    goes on from there. ``concluded`` is the attempt that ``belief`` is of; ``again`` says that a later one is to replace it.
    """

    attempt: int = 0
    open: bool = False
    goes_on: bool = False
    gave_up: tuple[tuple[int, int], ...] = ()
    max_steps: int | None = None
    rejected: tuple[int, ...] = ()
    belief: Belief | None = None
    failure: str | None = None
    verified: bool | None = None
    evidence: ev.EvidenceRecord | None = None
    journal_head: str | None = None
    seconds: float = 0.0
    since: str | None = None
    concluded: int = 0
    again: bool = False

    def until(self, at_utc: str) -> float:
        """Return how long its attempts were in work at an instant, in seconds."""
        return self.seconds + (0.0 if self.since is None else max(0.0, seconds_between(self.since, at_utc)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierGrounding:
    """What a leaf counted as before it was grounded again, who wanted that, and why; ``attempts`` by trial."""

    p: float
    key_factor: str
    attempts: tuple[int, ...]
    at_utc: str
    author: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "p": self.p,
            "key_factor": self.key_factor,
            "attempts": list(self.attempts),
            "reopened_utc": self.at_utc,
            "author": self.author,
            "reason": self.reason,
        }


def seconds_between(start: str, end: str) -> float:
    """Return the seconds from one stored instant to another; 0 where either is none."""
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):  # a stranger's package may hold what is no instant
        return 0.0
