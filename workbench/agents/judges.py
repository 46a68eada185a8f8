"""Questions about work that is done: how sound a report's reasoning is, whether a model remembers an event, and whether a text knows too much.

The answers change nothing of a run: scores and verdicts are shown beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from workbench.agents.errors import MalformedReply
from workbench.agents.replies.json_reply import first_line
from workbench.agents.replies.stage_replies import ReplyShape, read_reply
from workbench.agents.second_model import SecondModel
from workbench.models.base import (
    Asker,
    ModelRole,
    NodeRef,
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Scores of one report by dimension, 1 to 5, and why in one line each."""

    scores: dict[str, int]
    reasons: dict[str, str]

    @property
    def mean(self) -> float:
        """Mean of the five scores."""
        return sum(self.scores.values()) / len(self.scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Whether a model says that it remembers how an event came out, what it remembers, and its probability of yes in [0, 1]."""

    recognized: bool
    facts: tuple[str, ...]
    recalled: bool | None
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakFinding:
    """A model's verdict on one text: whether it holds what was not known at the cutoff, and the words that show it."""

    verdict: LeakVerdict
    quote: str


class _JudgementShape(ReplyShape):
    scores: dict[str, int]
    reasons: dict[str, str] = Field(default_factory=dict)


class _RecallShape(ReplyShape):
    recognized_event: bool
    evidence_facts: list[str] = Field(default_factory=list)
    recalled_outcome: Literal["yes", "no"] | None = None
    probability: float = Field(ge=0, le=1)


class _FindingShape(ReplyShape):
    id: int
    verdict: LeakVerdict
    quote: str = ""


class _FindingsShape(ReplyShape):
    texts: list[_FindingShape]


def parse_judgement(text: str) -> Judgement:
    """Read a judge's reply; raises `MalformedReply` unless each of the five dimensions has a whole number from 1 to 5."""
    shape = read_reply(_JudgementShape, text)
    if set(shape.scores) != set(DIMENSIONS):
        raise MalformedReply(f'"scores" holds exactly {", ".join(DIMENSIONS)}')
    if bad := [name for name, score in shape.scores.items() if not 1 <= score <= 5]:
        raise MalformedReply(f"{bad[0]} is scored outside 1 to 5")
    reasons = {name: first_line(shape.reasons.get(name, ""), 300) for name in DIMENSIONS}
    return Judgement(scores={name: shape.scores[name] for name in DIMENSIONS}, reasons=reasons)


def parse_recall(text: str) -> Recall:
    """Read a reply about what is remembered; raises `MalformedReply` where it claims to remember and names nothing."""
    shape = read_reply(_RecallShape, text)
    facts = tuple(first_line(fact, 200) for fact in shape.evidence_facts if fact.strip())
    if shape.recognized_event and not facts:
        raise MalformedReply(
            '"recognized_event" is true and "evidence_facts" names nothing that you remember'
        )
    return Recall(
        recognized=shape.recognized_event,
        facts=facts,
        recalled=None if shape.recalled_outcome is None else shape.recalled_outcome == "yes",
        p=shape.probability,
    )


def parse_leaks(text: str, count: int) -> list[LeakFinding]:
    """Read verdicts on so many texts, numbered from 1; raises `MalformedReply` unless each has one."""
    shape = read_reply(_FindingsShape, text)
    verdicts = {item.id: item for item in shape.texts}
    if len(verdicts) != len(shape.texts) or set(verdicts) != set(range(1, count + 1)):
        raise MalformedReply(f"give one verdict for each of the texts 1 to {count}")
    return [
        LeakFinding(verdict=verdicts[n].verdict, quote=first_line(verdicts[n].quote, 300))
        for n in range(1, count + 1)
    ]


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
    prompt = prompts_of(ask).render(
        "judge",
        statement=node.statement,
        report=report[:REPORT_LENGTH],
        probability=f"{p:.4f}",
        cutoff=cutoff.shown,
    )
    return await _second("judge", "judge_system", node, cutoff, ask, settings).answer(
        "judge",
        prompt.text,
        parse_judgement,
        propositions=node.statement,
        reply_format='One ```json object {"scores": {...}, "reasons": {...}}.',
    )


async def recall_event(node: NodeRef, *, cutoff: Cutoff, ask: Asker, settings: AgentSettings) -> Recall:
    """Return what the run's own model remembers of an event (Prophet Arena, App. F.3.1); raises as `judge_report`."""
    return await _second(None, "recall_system", node, cutoff, ask, settings).answer(
        "recall",
        prompts_of(ask).render("recall", statement=node.statement).text,
        parse_recall,
        propositions=node.statement,
        reply_format='One ```json object {"recognized_event", "evidence_facts", "recalled_outcome", "probability"}.',
    )


async def find_leaks(
    node: NodeRef, texts: Sequence[str], *, cutoff: Cutoff, ask: Asker, settings: AgentSettings
) -> list[LeakFinding]:
    """Return a verdict on each of at most `BATCH` texts (BLF, App. B.3: a detective of another family); raises as `judge_report`."""
    marks = prompts_of(ask).marks
    listed = "\n\n".join(
        marks.quoted(text[:TEXT_LENGTH], f"text {number}") for number, text in enumerate(texts, 1)
    )
    return await _second("judge", "leaks_system", node, cutoff, ask, settings).answer(
        "leaks",
        prompts_of(ask).render("leaks", statement=node.statement, texts=listed, cutoff=cutoff.shown).text,
        lambda reply: parse_leaks(reply, len(texts)),
        propositions=node.statement,
        reply_format='One ```json object {"texts": [{"id", "verdict", "quote"}]}, one entry per text.',
    )


def _second(
    role: ModelRole | None, system: str, node: NodeRef, cutoff: Cutoff, ask: Asker, settings: AgentSettings
) -> SecondModel:
    return SecondModel(
        role=role,
        system=prompts_of(ask).render(system).text,
        nodes=[node],
        cutoff=cutoff,
        ask=ask,
        # Two readings of one text should differ as little as they can.
        settings=replace(settings, temperature=0.0),
    )
