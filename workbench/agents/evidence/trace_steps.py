"""What a grounder without a notebook of its own did: its steps, their tool calls and what each rests on, as stored values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from workbench.agents.loop.belief_state import BeliefState
from workbench.agents.loop.submission import Submission
from workbench.agents.loop.tool_box import ToolSource


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCall:
    """One tool call of a step."""

    #: tool, arguments: As the model made it, the belief aside.
    tool: str
    arguments: Mapping[str, Any]
    #: Its place among the calls of its step, from 1.
    number: int
    #: Its id in the dialogue; None where it stood in the text of a reply.
    call_id: str | None
    #: text, sha256: What the model read, and its hash.
    text: str
    sha256: str
    #: Content hashes of the data answers it rests on.
    answers: tuple[str, ...] = ()
    #: Ids that it gave out.
    sources: tuple[str, ...] = ()
    #: What is remarkable about foreign text in it.
    marks: tuple[str, ...] = ()
    failed: bool = False
    #: Id of the notebook cell that it ran.
    cell: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One step towards a belief."""

    #: What was done, in a few words.
    title: str
    #: What came of it, as Markdown; of a step of an agent's loop the model's own words.
    text: str
    #: Belief after the step, in [0, 1].
    p: float | None = None
    #: Content hashes of the data answers that the step used (``Answer.meta["content_hash"]``).
    answers: tuple[str, ...] = ()
    #: stage, reply: Where the model's reply of this step stands in the ledger; None where no model was asked.
    stage: str = ""
    reply: int | None = None
    calls: tuple[TraceCall, ...] = ()
    #: The whole belief after the step.
    belief: BeliefState | None = None
    #: Its probability as the model stated it, where it was overwritten.
    stated: float | None = None
    notes: tuple[str, ...] = ()
    #: What the model was told behind the answers.
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The steps of a grounding, in order; the last one that states a belief is the conclusion."""

    steps: tuple[TraceStep, ...]
    #: What was going to be done, as Markdown.
    plan: str = ""
    #: What an agent's loop submitted; None for a grounder that has no loop. With it come ``sources`` (what could be cited), ``clamp`` and
    #: ``dates`` (how the submission was read), ``findings`` (what a reader should know of the result) and ``statistics`` (counts: steps,
    #: calls, tokens).
    submission: Submission | None = None
    sources: tuple[ToolSource, ...] = ()
    clamp: tuple[float, float] = (0.0, 1.0)
    dates: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    statistics: Mapping[str, float] = field(default_factory=dict)
    #: What became of every search result and page, with the layer that dropped it and why. For audits: it may name what is later than the
    #: cutoff, so the proof notebook does not show it.
    web: tuple[Mapping[str, Any], ...] = ()
    #: outcome, outcomes: Probability of every outcome of an event, where one call was asked for all of them, and which of them the leaf
    #: is.
    outcome: str = ""
    outcomes: Mapping[str, float] = field(default_factory=dict)
    #: How tool answers are written, so that they can be written again from the ledger.
    form: int = 1
    #: Of a grounder that only thinks: how its answers came to p (``thoughts.combining``); None for every other trace.
    combined: str | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the trace that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            read = _adapter().validate_python([{"steps": data["steps"], **data}])[0]
        except (KeyError, ValidationError) as error:
            raise ValueError(f"not a trace: {error}") from error
        return cls(**{item.name: getattr(read, item.name) for item in fields(cls)})

    def to_json(self) -> dict[str, Any]:
        """Return the trace as JSON values, without what says nothing."""
        written: dict[str, Any] = _adapter().dump_python([self], mode="json", exclude_defaults=True)[0]
        return written


@cache
def _adapter() -> TypeAdapter[list[Trace]]:
    # Not strict, because stored JSON has lists for tuples; in a list, because only there pydantic takes a dataclass' config.
    return TypeAdapter(list[Trace], config=ConfigDict(extra="forbid", allow_inf_nan=False))
