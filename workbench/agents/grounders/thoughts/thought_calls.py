"""The model calls that thinking grounders are made of, each with an address of its own, and the trace they leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from proxies.asof.asof_text import AsOfText, as_of
from workbench.agents.base import Grounding, LeafTask
from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import BadSetting
from workbench.agents.evidence.trace import TraceEvidence, TraceStep
from workbench.agents.grounders.thoughts.outcomes import (
    EventOutcomes,
    OutcomeForecast,
    number_conclusion,
    number_scale,
    parse_outcomes,
    parse_percentiles,
    scale_words,
)
from workbench.agents.grounders.thoughts.thought_readings import (
    LONGEST_THOUGHT,
    Answer,
    Vote,
    combine,
    conclusion_text,
    read_thoughts,
    read_value,
    read_vote,
    read_words,
    thoughts_text,
    value_text,
    vote_text,
    words_text,
)
from workbench.agents.loop.tool_box import ToolBox, ToolUse
from workbench.agents.loop.toolset import Toolset, WebOpener
from workbench.agents.replies.reply_schemas import CONCLUSION
from workbench.agents.replies.stage_replies import Conclusion, parse_conclusion
from workbench.prompts import prompts_of
from workbench.propositions import Belief

if TYPE_CHECKING:
    from workbench.models.base import ReplySchema

T = TypeVar("T")
_RESULTS = 10  # of one search


class ThoughtCalls:
    """One grounding's calls; every call is a dialogue of its own, so that branches of thought do not see each other.

    Stages are numbered in the order of the calls, so that a resumed grounding finds each reply at its address.
    """

    def __init__(self, task: LeafTask, *, open_web: WebOpener | None = None) -> None:
        self.task = task
        self._render = prompts_of(task.ask).render
        self._tools = None if open_web is None else Toolset(task, open_web, results=_RESULTS)
        self._box = None if self._tools is None else self._tools.box(("search",))
        self.steps: list[TraceStep] = []
        self.answers: list[Answer] = []
        #: What one call said of every outcome of an event, and which of them the leaf is.
        self.outcomes: Mapping[str, float] = {}
        self.outcome = ""
        self.count = 0
        self._proposition = f"{task.node.id}: {task.node.statement}"

    async def propose(self, path: Sequence[str], count: int) -> list[str]:
        """Return ``count`` thoughts that go on from a path: one call, and where thoughts search one more for what to search for."""
        found = "" if self._box is None else await self._look_up(self._box, path)
        thoughts = await self._ask(
            "propose",
            "thought_propose",
            lambda text: read_thoughts(text, count),
            "thoughts_reply",
            found=found,
            path=_path(path),
            count=count,
        )
        self._step("propose", f"Propose {len(thoughts)} thoughts", thoughts_text(thoughts))
        return thoughts

    async def _look_up(self, box: ToolBox, path: Sequence[str]) -> str:
        """Search once for what the next thoughts need, as of the cutoff, and return what was found as part of their prompt."""
        words = await self._ask("query", "thought_query", read_words, "query_reply", path=_path(path))
        (seen,) = await box.run([ToolUse(id=None, name="search", arguments={"words": words})], self.count)
        # The text of strangers stands in a block that it cannot close.
        text = words_text(words) + seen.text.replace("```", "~~~") + "\n```"
        self.steps.append(
            TraceStep(title="Search", text=text, answers=seen.answers, stage=f"query-{self.count}")
        )
        quoted = json.dumps(words, ensure_ascii=False)
        return f"{self._render('thought_found', words=quoted, results=seen.text).text}\n\n"

    async def value(self, path: Sequence[str]) -> float:
        """Return how useful a line of thought is, 0 to 10: one call."""
        value = await self._ask("value", "thought_value", read_value, "value_reply", path=_path(path))
        self._step("value", "Value a line of thought", value_text(value) + path[-1])
        return value

    async def merge(self, thoughts: Sequence[str], task: str, *, stage: str) -> str:
        """Return one thought made of several, or of one: one call."""
        (merged,) = await self._ask(
            stage,
            "thought_merge",
            lambda text: read_thoughts(text, 1),
            "thoughts_reply",
            path=_path(thoughts),
            task=task,
        )
        self._step(stage, stage.capitalize(), merged)
        return merged

    async def conclude(self, path: Sequence[str], *, prompt: str = "thought_conclude") -> Conclusion:
        """Return the probability after a path: one call."""
        inputs = {"path": _path(path)} if prompt == "thought_conclude" else {}
        return await self._conclusion("answer", "Conclude", prompt, **inputs)

    async def conclude_event(self, event: EventOutcomes) -> Conclusion:
        """Return the probability of the leaf's outcome, from one call that is asked for every outcome of the event (paper P)."""
        title = as_of(event.event or self.task.node.statement, self.task.cutoff, kind="title")
        if event.number is not None:
            return await self._conclude_number(title, event.number)
        kind = (
            ("zero_shot_choice", "choice_reply") if event.exclusive else ("zero_shot_brief", "outcomes_reply")
        )
        prices: dict[str, Any] = {} if event.exclusive else {"prices": event.price_lines()}
        forecast = await self._ask(
            "outcomes",
            kind[0],
            lambda text: parse_outcomes(text, event.outcomes, exclusive=event.exclusive),
            kind[1],
            example=event.example(),
            event=title,
            outcomes=event.listing(),
            **prices,
        )
        return self._answer(
            "outcomes", "Forecast every outcome", forecast.conclusion(event.leaf), event.leaf, forecast
        )

    async def _conclude_number(self, title: AsOfText, number: Mapping[str, Any]) -> Conclusion:
        forecast = await self._ask(
            "percentiles",
            "zero_shot_percentiles",
            lambda text: parse_percentiles(text, number_scale(number)),
            "percentiles_reply",
            event=title,
            scale=scale_words(number),
        )
        about = json.dumps(dict(number), sort_keys=True)
        return self._answer(
            "percentiles", "Forecast the number", number_conclusion(number, forecast), about, forecast
        )

    def _answer(
        self, stage: str, title: str, answer: Conclusion, about: str, forecast: OutcomeForecast
    ) -> Conclusion:
        self._step(stage, title, answer.report, p=answer.p)
        self.answers.append(answer)
        self.outcome, self.outcomes = about, forecast.probabilities
        return answer

    async def conclude_by(self, manner: str, *, stage: str) -> Conclusion:
        """Return the probability that the model states when it is asked in this manner: one call."""
        return await self._conclusion(stage, f"Conclude ({stage})", "zero_shot_manner", manner=manner)

    async def conclude_from(self, answers: Sequence[str]) -> Conclusion:
        """Return the probability of a forecaster that reads these answers: one call."""
        shown = _path([answer[:LONGEST_THOUGHT] for answer in answers])
        return await self._conclusion("aggregate", "Decide", "zero_shot_aggregate", answers=shown)

    async def vote(self) -> Vote:
        """Return a yes or no with its confidence: one call."""
        vote = await self._ask("vote", "zero_shot_vote", read_vote, "vote_reply")
        self._step("vote", "Vote", vote_text(vote))
        self.answers.append(vote)
        return vote

    async def _conclusion(self, stage: str, title: str, prompt: str, **inputs: Any) -> Conclusion:
        conclusion = await self._ask(
            stage, prompt, parse_conclusion, "conclusion_reply", schema=CONCLUSION, **inputs
        )
        self._step(stage, title, conclusion_text(conclusion), p=conclusion.p)
        self.answers.append(conclusion)
        return conclusion

    def _step(self, stage: str, title: str, text: str, *, p: float | None = None) -> None:
        self.steps.append(TraceStep(title=title, text=text, p=p, stage=f"{stage}-{self.count}", reply=0))

    def combined(self, way: str) -> float:
        """Return the probability that all answers so far come to."""
        return combine(way, self.answers)

    def grounding(self, way: str, key_factor: str, report: str) -> Grounding:
        """Return the finished grounding, its answers combined in this way; the last step of its trace states the probability."""
        p = self.combined(way)
        if not self.steps or self.steps[-1].p != p:
            self.steps.append(TraceStep(title="Combine", text=report, p=p))
        return Grounding(
            belief=Belief(p=p, key_factor=key_factor, report=report),
            evidence=TraceEvidence(
                steps=tuple(self.steps),
                combined=way,
                outcome=self.outcome,
                outcomes=self.outcomes,
                web=() if self._tools is None else self._tools.web_records(),
            ),
            trace={"steps": self.count},
        )

    async def _ask(
        self,
        stage: str,
        prompt: str,
        parse: Callable[[str], T],
        reply: str,
        *,
        schema: ReplySchema | None = None,
        example: str = "",
        **inputs: Any,
    ) -> T:
        self.count += 1
        task = self.task
        dialogue = Dialogue(
            system=self._render("thought_system").text,
            nodes=(task.node,),
            cutoff=task.cutoff,
            ask=task.ask,
            settings=task.settings,
            extra_share=task.settings.extra_ask_share,
        )
        form = self._render(reply, **({"example": example} if example else {})).text
        shown = {"proposition": self._proposition, "cutoff": task.cutoff.shown, "reply_format": form}
        return await dialogue.exchange(
            f"{stage}-{self.count}",
            self._render(prompt, **shown, **inputs).text,
            parse,
            propositions=self._proposition,
            reply_format=form,
            schema=schema,
            choice="none",
            whole=True,
        )


def _path(thoughts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {thought}" for number, thought in enumerate(thoughts, 1)) or "(nothing yet)"


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
