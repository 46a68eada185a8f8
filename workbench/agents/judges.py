"""Questions about work that is done: how sound a report's reasoning is, whether a model remembers an event, and whether a text knows too much.

The answers change nothing of a run: scores and verdicts are shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, field_validator, model_validator

from workbench.agents.conversation import ask_once
from workbench.agents.errors import MalformedReply
from workbench.agents.replies.lenient_json import first_line
from workbench.agents.replies.stage_replies import ReplyShape
from workbench.models.base import Asker, ModelRole, NodeRef
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings

#: The five dimensions of Prophet Arena's judge (App. D.7 and F.2), each scored from 1 (poor) to 5 (excellent).
DIMENSIONS: tuple[str, ...] = ("sources", "evidence", "combination", "uncertainty", "mapping")
LeakVerdict = Literal["leak", "no leak", "unsure"]
LEAK_VERDICTS: tuple[LeakVerdict, ...] = ("leak", "no leak", "unsure")
#: Texts that one request about leaks holds, and characters of each: a longer list loses the model's care.
BATCH, TEXT_LENGTH = 8, 3000
#: Characters of a report that the judge reads.
REPORT_LENGTH = 20_000


T = TypeVar("T")


class Judgement(ReplyShape):
    """Scores of one report by dimension, whole numbers from 1 to 5, and why in one line each."""

    scores: dict[str, int]
    reasons: dict[str, str] = Field(default_factory=dict, validate_default=True)

    @field_validator("scores")
    @classmethod
    def _whole(cls, scores: dict[str, int]) -> dict[str, int]:
        if set(scores) != set(DIMENSIONS):
            raise MalformedReply(f'"scores" holds exactly {", ".join(DIMENSIONS)}')
        if bad := [name for name, score in scores.items() if not 1 <= score <= 5]:
            raise MalformedReply(f"{bad[0]} is scored outside 1 to 5")
        return {name: scores[name] for name in DIMENSIONS}

    @field_validator("reasons")
    @classmethod
    def _one_line_each(cls, reasons: dict[str, str]) -> dict[str, str]:
        return {name: first_line(reasons.get(name, ""), 300) for name in DIMENSIONS}

    @property
    def mean(self) -> float:
        """Mean of the five scores."""
        return sum(self.scores.values()) / len(self.scores)


class Recall(ReplyShape):
    """Whether a model says that it remembers how an event came out, what it remembers, and its probability of yes in [0, 1]."""

    recognized: bool = Field(alias="recognized_event")
    facts: Annotated[
        list[str],
        AfterValidator(lambda facts: [first_line(fact, 200) for fact in facts if fact.strip()]),
    ] = Field(alias="evidence_facts", default_factory=list)
    outcome: Literal["yes", "no"] | None = Field(alias="recalled_outcome", default=None)
    p: float = Field(alias="probability", ge=0, le=1)

    @model_validator(mode="after")
    def _names_something(self) -> Recall:
        if self.recognized and not self.facts:
            raise MalformedReply(
                '"recognized_event" is true and "evidence_facts" names nothing that you remember'
            )
        return self

    @property
    def recalled(self) -> bool | None:
        """Whether it remembers that the event came true; None: neither."""
        return None if self.outcome is None else self.outcome == "yes"


class LeakFinding(ReplyShape):
    """A model's verdict on one text: whether it holds what was not known at the cutoff, and the words that show it."""

    id: int
    verdict: LeakVerdict
    quote: Annotated[str, AfterValidator(partial(first_line, length=300))] = ""


class _Findings(ReplyShape):
    texts: list[LeakFinding]


def parse_leaks(text: str, count: int) -> list[LeakFinding]:
    """Read verdicts on so many texts, numbered from 1; raises `MalformedReply` unless each has one."""
    texts = sorted(_Findings.read(text).texts, key=lambda item: item.id)
    if [item.id for item in texts] != list(range(1, count + 1)):
        raise MalformedReply(f"give one verdict for each of the texts 1 to {count}")
    return texts


async def judge_report(
    node: NodeRef, report: str, p: float, *, cutoff: Cutoff, ask: Asker, settings: AgentSettings
) -> Judgement:
    """Return the judge's scores of one report (Prophet Arena, App. F.2: five dimensions, temperature 0, a reference case).

    Raises
    ------
    workbench.agents.errors.AgentGaveUp
        No usable reply.
    workbench.models.errors.ModelError
        From the asker.
    """
    return await _second(
        "judge",
        Judgement.read,
        node,
        cutoff,
        ask,
        settings,
        reply_format='One ```json object {"scores": {...}, "reasons": {...}}.',
        statement=node.statement,
        report=report[:REPORT_LENGTH],
        probability=f"{p:.4f}",
    )


async def recall_event(node: NodeRef, *, cutoff: Cutoff, ask: Asker, settings: AgentSettings) -> Recall:
    """Return what the run's own model remembers of an event (Prophet Arena, App. F.3.1); raises as `judge_report`."""
    return await _second(
        "recall",
        Recall.read,
        node,
        cutoff,
        ask,
        settings,
        role=None,
        reply_format='One ```json object {"recognized_event", "evidence_facts", "recalled_outcome", "probability"}.',
        statement=node.statement,
    )


async def find_leaks(
    node: NodeRef, texts: Sequence[str], *, cutoff: Cutoff, ask: Asker, settings: AgentSettings
) -> list[LeakFinding]:
    """Return a verdict on each of at most `BATCH` texts (BLF, App. B.3: a detective of another family); raises as `judge_report`."""
    marks = prompts_of(ask).marks
    listed = "\n\n".join(
        marks.quoted(text[:TEXT_LENGTH], f"text {number}") for number, text in enumerate(texts, 1)
    )
    return await _second(
        "leaks",
        lambda reply: parse_leaks(reply, len(texts)),
        node,
        cutoff,
        ask,
        settings,
        reply_format='One ```json object {"texts": [{"id", "verdict", "quote"}]}, one entry per text.',
        statement=node.statement,
        texts=listed,
    )


async def _second(
    stage: str,
    parse: Callable[[str], T],
    node: NodeRef,
    cutoff: Cutoff,
    ask: Asker,
    settings: AgentSettings,
    *,
    role: ModelRole | None = "judge",
    **inputs: Any,
) -> T:
    # Two readings of one text should differ as little as they can.
    settings = replace(settings, temperature=0.0)
    return await ask_once(
        ask,
        stage,
        parse,
        about=node.statement,
        nodes=[node],
        cutoff=cutoff,
        settings=settings,
        role=role,
        **inputs,
    )
