"""The model calls that thinking grounders are made of, each with an address of its own, and the trace they leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.agents.base import Grounding, LeafTask
from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import BadSetting, MalformedReply
from workbench.agents.evidence.trace import TraceEvidence, TraceStep
from workbench.agents.grounders.thoughts.outcomes import EventOutcomes, OutcomeForecast, parse_outcomes
from workbench.agents.loop.tools import Call
from workbench.agents.loop.toolset import Toolset
from workbench.agents.replies import Conclusion, parse_conclusion
from workbench.agents.reply_json import first_line, read_json
from workbench.agents.reply_schemas import CONCLUSION
from workbench.prompts import render
from workbench.propositions import Belief

if TYPE_CHECKING:
    from workbench.agents.loop.tools import ToolBox
    from workbench.agents.loop.toolset import WebOpener
    from workbench.models.base import ReplySchema

T = TypeVar("T")
_LONGEST_QUERY = 400  # characters, as the search tool takes
_RESULTS = 10  # of one search
_LONGEST_THOUGHT = 2000  # characters of one thought that later calls read again


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A yes or no, how sure the model is of it in [0, 1], and what decides it."""

    yes: bool
    confidence: float
    key_factor: str


class ThoughtCalls:
    """One grounding's calls; every call is a dialogue of its own, so that branches of thought do not see each other.

    Stages are numbered in the order of the calls, so that a resumed grounding finds each reply at its address.

    Parameters
    ----------
    open_web : callable, optional
        The web of the leaf: with it every proposal of thoughts looks something up first, for that proposal alone.
    """

    def __init__(self, task: LeafTask, *, open_web: WebOpener | None = None) -> None:
        self.task = task
        self._tools = None if open_web is None else Toolset(task, open_web, results=_RESULTS)
        self._box = None if self._tools is None else self._tools.box(("search",))
        self.steps: list[TraceStep] = []
        self.count = 0
        self.background = f"{task.context.strip()}\n\n" if task.context.strip() else ""
        self._proposition = f"{task.node.id}: {task.node.statement}"

    async def propose(self, path: Sequence[str], count: int) -> list[str]:
        """Return ``count`` thoughts that go on from a path: one call, and where thoughts search one more for what to search for."""
        background = self.background + ("" if self._box is None else await self._look_up(self._box, path))
        reply_format = render("thoughts_reply").text
        prompt = render(
            "thought_propose",
            proposition=self._proposition,
            cutoff=self.task.cutoff.text,
            background=background,
            path=_path(path),
            count=count,
            reply_format=reply_format,
        )
        thoughts = await self._ask("propose", prompt.text, lambda text: _thoughts(text, count), reply_format)
        listing = "\n".join(f"- {thought}" for thought in thoughts)
        self.steps.append(TraceStep(title=f"Propose {len(thoughts)} thoughts", text=listing))
        return thoughts

    async def _look_up(self, box: ToolBox, path: Sequence[str]) -> str:
        """Search once for what the next thoughts need, as of the cutoff, and return what was found as part of their prompt."""
        reply_format = render("query_reply").text
        prompt = render(
            "thought_query",
            proposition=self._proposition,
            cutoff=self.task.cutoff.text,
            background=self.background,
            path=_path(path),
            reply_format=reply_format,
        )
        words = await self._ask("query", prompt.text, _words, reply_format)
        (seen,) = await box.run([Call(id=None, name="search", arguments={"words": words})], self.count)
        # The text of strangers stands in a block that it cannot close.
        results = seen.text.replace("```", "~~~")
        self.steps.append(
            TraceStep(title="Search", text=f"```text\n{words}\n\n{results}\n```", answers=seen.answers)
        )
        quoted = json.dumps(words, ensure_ascii=False)
        return f"{render('thought_found', words=quoted, results=seen.text).text}\n\n"

    async def value(self, path: Sequence[str]) -> float:
        """Return how useful a line of thought is, 0 to 10: one call."""
        reply_format = render("value_reply").text
        prompt = render(
            "thought_value",
            proposition=self._proposition,
            cutoff=self.task.cutoff.text,
            path=_path(path),
            reply_format=reply_format,
        )
        value = await self._ask("value", prompt.text, _value, reply_format)
        self.steps.append(TraceStep(title="Value a line of thought", text=f"{value:g} of 10: {path[-1]}"))
        return value

    async def merge(self, thoughts: Sequence[str], task: str, *, stage: str) -> str:
        """Return one thought made of several, or of one: one call."""
        reply_format = render("thoughts_reply").text
        prompt = render(
            "thought_merge",
            proposition=self._proposition,
            cutoff=self.task.cutoff.text,
            path=_path(thoughts),
            task=task,
            reply_format=reply_format,
        )
        merged = (await self._ask(stage, prompt.text, lambda text: _thoughts(text, 1), reply_format))[0]
        self.steps.append(TraceStep(title=stage.capitalize(), text=merged))
        return merged

    async def conclude(self, path: Sequence[str], *, prompt: str = "thought_conclude") -> Conclusion:
        """Return the probability after a path: one call."""
        reply_format = render("conclusion_reply").text
        inputs: dict[str, str] = {
            "proposition": self._proposition,
            "cutoff": self.task.cutoff.text,
            "background": self.background,
            "reply_format": reply_format,
        }
        if prompt == "thought_conclude":
            inputs["path"] = _path(path)
        text = render(prompt, **inputs).text
        return await self._conclusion("answer", "Conclude", text, reply_format)

    async def forecast(self, event: EventOutcomes) -> OutcomeForecast:
        """Return the probability of every outcome of an event: one call (paper P)."""
        reply_format = render("outcomes_reply", example=event.example()).text
        prompt = render(
            "zero_shot_brief",
            proposition=self._proposition,
            event=event.event or self.task.node.statement,
            cutoff=self.task.cutoff.text,
            outcomes=event.listing(),
            background=self.task.context.strip() or "(no source is given)",
            prices=event.price_lines(),
            reply_format=reply_format,
        )
        forecast = await self._ask(
            "answer", prompt.text, lambda text: parse_outcomes(text, event.outcomes), reply_format
        )
        stated = "\n".join(f"- {name}: {p:g}" for name, p in forecast.probabilities.items())
        text = f"{forecast.rationale}\n\n{stated}"
        self.steps.append(
            TraceStep(title="Forecast every outcome", text=text, p=forecast.probabilities[event.leaf])
        )
        return forecast

    async def conclude_by(self, manner: str, *, stage: str) -> Conclusion:
        """Return the probability that the model states when it is asked in this manner: one call."""
        reply_format = render("conclusion_reply").text
        prompt = render(
            "zero_shot_manner",
            proposition=self._proposition,
            cutoff=self.task.cutoff.text,
            background=self.background,
            manner=manner,
            reply_format=reply_format,
        )
        return await self._conclusion(stage, f"Conclude ({stage})", prompt.text, reply_format)

    async def conclude_from(self, answers: Sequence[str]) -> Conclusion:
        """Return the probability of a forecaster that reads these answers: one call."""
        reply_format = render("conclusion_reply").text
        prompt = render(
            "zero_shot_aggregate",
            proposition=self._proposition,
            cutoff=self.task.cutoff.text,
            answers=_path([answer[:_LONGEST_THOUGHT] for answer in answers]),
            reply_format=reply_format,
        )
        return await self._conclusion("aggregate", "Decide", prompt.text, reply_format)

    async def vote(self) -> Vote:
        """Return a yes or no with its confidence: one call."""
        reply_format = render("vote_reply").text
        prompt = render(
            "zero_shot_vote",
            proposition=self._proposition,
            cutoff=self.task.cutoff.text,
            background=self.background,
            reply_format=reply_format,
        )
        vote = await self._ask("vote", prompt.text, _vote, reply_format)
        said = f"{'yes' if vote.yes else 'no'}, confidence {vote.confidence:g}: {vote.key_factor}"
        self.steps.append(TraceStep(title="Vote", text=said))
        return vote

    async def _conclusion(self, stage: str, title: str, prompt: str, reply_format: str) -> Conclusion:
        conclusion = await self._ask(stage, prompt, parse_conclusion, reply_format, schema=CONCLUSION)
        self.steps.append(
            TraceStep(title=title, text=conclusion.report or conclusion.key_factor, p=conclusion.p)
        )
        return conclusion

    def grounding(
        self, p: float, key_factor: str, report: str, *, outcomes: Mapping[str, float] | None = None
    ) -> Grounding:
        """Return the finished grounding; the last step of its trace states this probability.

        ``outcomes`` are the probabilities of all outcomes of the event that the leaf is one of.
        """
        if not self.steps or self.steps[-1].p != p:
            self.steps.append(TraceStep(title="Combine", text=report, p=p))
        return Grounding(
            belief=Belief(p=p, key_factor=key_factor, report=report),
            evidence=TraceEvidence(
                steps=tuple(self.steps),
                outcomes=dict(outcomes or {}),
                web=() if self._tools is None else self._tools.web_records(),
            ),
            trace={"steps": self.count},
        )

    async def _ask(
        self,
        stage: str,
        prompt: str,
        parse: Callable[[str], T],
        reply_format: str,
        *,
        schema: ReplySchema | None = None,
    ) -> T:
        self.count += 1
        dialogue = Dialogue(
            system=render("thought_system").text,
            nodes=(self.task.node,),
            cutoff=self.task.cutoff,
            ask=self.task.ask,
            settings=self.task.settings,
            extra_share=self.task.settings.extra_ask_share,
        )
        return await dialogue.exchange(
            f"{stage}-{self.count}",
            prompt,
            parse,
            propositions=self._proposition,
            reply_format=reply_format,
            schema=schema,
            final=True,
        )


def _path(thoughts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {thought}" for number, thought in enumerate(thoughts, 1)) or "(nothing yet)"


def _thoughts(text: str, count: int) -> list[str]:
    def read(data: Any) -> list[str]:
        thoughts = data.get("thoughts") if isinstance(data, dict) else None
        if not isinstance(thoughts, list) or not all(
            isinstance(each, str) and each.strip() for each in thoughts
        ):
            raise MalformedReply('the JSON must hold a list of texts under "thoughts"')
        if len(thoughts) < count:
            raise MalformedReply(f"{count} thoughts were asked for, {len(thoughts)} came")
        return [each.strip()[:_LONGEST_THOUGHT] for each in thoughts[:count]]

    return read_json(text, read, what="a `json` block")[0]


def _words(text: str) -> str:
    def read(data: Any) -> str:
        words = data.get("words") if isinstance(data, dict) else None
        if not isinstance(words, str) or not words.strip():
            raise MalformedReply('the JSON must hold a text under "words"')
        return " ".join(words.replace("`", "'").split())[:_LONGEST_QUERY]

    return read_json(text, read, what="a `json` block")[0]


def _value(text: str) -> float:
    def read(data: Any) -> float:
        value = data.get("value") if isinstance(data, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10:
            raise MalformedReply(f'"value" must be a number from 0 to 10, not {first_line(str(value), 40)}')
        return float(value)

    return read_json(text, read, what="a `json` block")[0]


def _vote(text: str) -> Vote:
    def read(data: Any) -> Vote:
        entry = data if isinstance(data, dict) else {}
        said, confidence = entry.get("vote"), entry.get("confidence")
        if not isinstance(said, str) or said.strip().lower() not in ("yes", "no"):
            raise MalformedReply(f'"vote" must be "yes" or "no", not {first_line(str(said), 40)}')
        if (
            isinstance(confidence, bool)
            or not isinstance(confidence, int | float)
            or not 0 <= confidence <= 1
        ):
            raise MalformedReply(
                f'"confidence" must be a number from 0 to 1, not {first_line(str(confidence), 40)}'
            )
        factor = str(entry.get("key_factor") or "").strip()[:_LONGEST_THOUGHT]
        return Vote(yes=said.strip().lower() == "yes", confidence=float(confidence), key_factor=factor)

    return read_json(text, read, what="a `json` block")[0]


def whole_numbers(options: Mapping[str, Any], defaults: Mapping[str, int], *, agent: str) -> dict[str, int]:
    """Settings that are whole numbers of at least 1, with their defaults; raises `BadSetting`."""
    unknown = sorted(set(options) - set(defaults))
    if unknown:
        raise BadSetting(f"{agent} has no setting {unknown[0]!r}; it has: {', '.join(defaults)}")
    values = {**defaults, **options}
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 50:
            raise BadSetting(f"{name} of {agent} must be a whole number from 1 to 50, not {value!r:.40}")
    return values
