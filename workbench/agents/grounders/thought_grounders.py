"""Grounders that only think (paper A, section 5.2: baselines; each by its own paper's definition), with their calls where every reply can be read.

==================  =======================================================================  ===================
grounder            what it does                                                             calls by default
==================  =======================================================================  ===================
zero-shot           concludes, in the way that ``elicit`` names                              1
tree-of-thoughts    ``depth`` times: each kept line proposes ``branching`` thoughts in one    2 x (lines) + values
                    call, each candidate is valued in one, the best ``beam`` are kept; then   + 1: 1 + 3, 2 + 6,
                    concludes from the best (Yao et al. 2023, breadth first)                 + 1 = 13
graph-of-thoughts   ``branching`` thoughts, one call each, each valued; the best half are      3 + 3 + 1 + 1 + 1 = 9
                    merged in one call; ``refine`` refinements; concludes (Besta et al. 2024)
forest-of-thoughts  ``trees`` trees of thoughts; ends early when two agree within 0.05, else   2 x 13 if they agree,
                    all trees and one call that decides between them (Bi et al. 2024)          else 3 x 13 + 1 = 40
``elicit``          (Prophet Arena, App. D.3 and D.7.2; BLF, App. C.8)
``ensemble``        the probability by four prompts; the mean                                4
``both-directions`` the probability that it comes true, and that it does not; (p + 1 - q)/2  2
``votes``           yes or no, ``count`` times; the share of yes                             10
``weighted-votes``  the same, each vote weighing what its confidence says                    10
``aggregate``       ``count`` answers, and one call that reads all of them and decides       5 + 1
``scaffold``        the probability after five steps of reasoning that are named             1
==================  =======================================================================  ===================

With ``search`` every proposal of trees, graphs and forests is preceded by one call that names what to search for and by that search, as
of the cutoff and through all layers; its results stand in that proposal alone, and the filter reads each result once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from proxies.asof.asof_text import as_of
from workbench.agents.base import AgentSettings, Grounding, GroundingFailure, LeafTask
from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import AgentGaveUp, BadSetting
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.agents.findings.check_table import RunKind
from workbench.agents.findings.conclusion_checks import conclusion_findings
from workbench.agents.grounders.thought_replies import (
    LONGEST_THOUGHT,
    Answer,
    EventOutcomes,
    Vote,
    agreeing,
    combine,
    conclusion_text,
    number_scale,
    parse_outcomes,
    parse_percentiles,
    query_text,
    read_outcomes,
    read_query,
    read_thoughts,
    read_value,
    read_vote,
    scale_words,
    thoughts_text,
    value_text,
)
from workbench.agents.loop.tool_box import ToolUse
from workbench.agents.loop.toolset import Toolset, WebOpener, open_leaf_web
from workbench.agents.replies.reply_schemas import CONCLUSION
from workbench.agents.replies.stage_replies import Conclusion, parse_conclusion
from workbench.prompts import prompts_of
from workbench.propositions import Belief

if TYPE_CHECKING:
    from workbench.models.base import ReplySchema

T = TypeVar("T")
_RESULTS = 10  # of one search
_MOST = 50  # of any count that a setting names
_EVENT = ("event", "outcomes", "leaf", "prices", "exclusive", "number")
_FORMS = {
    "plain": "thought_conclude",
    "brief": "zero_shot_brief",
    "recall": "zero_shot_recall",
    "halawi": "zero_shot_halawi",
}
#: Calls of each way of asking, but for the one that decides between answers.
_WAYS = {
    "ensemble": 4,
    "both-directions": 2,
    "votes": 10,
    "weighted-votes": 10,
    "aggregate": 5,
    "scaffold": 1,
}
_COUNTED = ("votes", "weighted-votes", "aggregate")
#: What an ensemble asks beside the plain prompt; the paper's three are not printed, these are ours.
_MANNERS = (
    "Begin with how often comparable cases came true, and name the cases. Only then say what is particular about this one, and move"
    " from the first number as far as that carries.",
    "Make the strongest case that it turns out true, then the strongest case that it does not, each in a paragraph. Then judge"
    " between them.",
    "Imagine that the day has come and it turned out as you least expect. Say how that came about, and how likely that story is."
    " Then give your probability.",
)
_OPPOSITE = (
    "The question here is the opposite one: how likely is it that the proposition does NOT turn out true? Give the probability of"
    ' that as "p_true", with the reasons for it.'
)
#: Paper P's scaffold asks for the reasoning that its judge scores, dimension by dimension; the words are ours.
_SCAFFOLD = (
    "Reason in five steps, each under a heading of its own: (1) which of the sources you use, and how far each can be trusted; (2) what"
    " in them bears on the question, one piece after another; (3) how the pieces go together, and how much each weighs; (4) what"
    " remains uncertain, and what speaks against your view; (5) how all that becomes one number. Only then give your probability."
)
_MERGE = "Join them into one thought that keeps what each has right, says where they contradict each other, and which side is the stronger."
_REFINE = "Improve this thought: correct what does not hold as of the cutoff, add the strongest consideration that it misses."


class ThoughtCalls:
    """One grounding's calls; each is a dialogue of its own, so that branches of thought do not see each other.

    Stages are numbered in the order of the calls: a resumed grounding finds each reply at its address.
    """

    def __init__(self, task: LeafTask, open_web: WebOpener | None) -> None:
        self.task = task
        self._render = prompts_of(task.ask).render
        self._tools = None if open_web is None else Toolset(task, open_web, results=_RESULTS)
        self._steps: list[TraceStep] = []
        self._answers: list[Answer] = []
        #: Of an event that was asked for whole: which outcome the leaf is, and the probability of each.
        self._outcome: tuple[str, Mapping[str, float]] = ("", {})
        self._count = 0

    async def propose(self, path: Sequence[str], count: int) -> list[str]:
        """Return ``count`` thoughts that go on from a path."""
        found = "" if self._tools is None else await self._look_up(self._tools, path)
        thoughts = await self._ask(
            "propose", "thought_propose", "thoughts_reply", lambda text: read_thoughts(text, count),
            found=found, path=_numbered(path), count=count,
        )  # fmt: skip
        self._step("propose", f"Propose {count} thoughts", thoughts_text(thoughts))
        return thoughts

    async def _look_up(self, tools: Toolset, path: Sequence[str]) -> str:
        """Search once for what the next thoughts need, and return what was found as part of their prompt."""
        words = await self._ask("query", "thought_query", "query_reply", read_query, path=_numbered(path))
        search = ToolUse(id=None, name="search", arguments={"words": words})
        (seen,) = await tools.box(("search",)).run([search], self._count)
        # The text of strangers stands in a block that it cannot close.
        text = query_text(words) + seen.text.replace("```", "~~~") + "\n```"
        self._steps.append(
            TraceStep(title="Search", text=text, answers=seen.answers, stage=f"query-{self._count}")
        )
        quoted = json.dumps(words, ensure_ascii=False)
        return f"{self._render('thought_found', words=quoted, results=seen.text).text}\n\n"

    async def best(self, paths: Sequence[tuple[str, ...]], count: int) -> list[tuple[str, ...]]:
        """Value each path in a call of its own and return the most useful; of equals the first."""
        values = []
        for path in paths:
            value = await self._ask("value", "thought_value", "value_reply", read_value, path=_numbered(path))
            self._step("value", "Value a line of thought", value_text(value) + path[-1])
            values.append(value)
        ranked = sorted(range(len(paths)), key=lambda place: -values[place])
        return [paths[place] for place in ranked[:count]]

    async def merge(self, thoughts: Sequence[str], task: str, *, stage: str) -> str:
        """Return one thought made of several, or of one."""
        (merged,) = await self._ask(
            stage, "thought_merge", "thoughts_reply", lambda text: read_thoughts(text, 1),
            path=_numbered(thoughts), task=task,
        )  # fmt: skip
        self._step(stage, stage.capitalize(), merged)
        return merged

    async def conclude(
        self, prompt: str, *, stage: str = "answer", title: str = "Conclude", **inputs: Any
    ) -> Conclusion:
        """Return the probability that the model states."""
        conclusion = await self._ask(
            stage, prompt, "conclusion_reply", parse_conclusion, schema=CONCLUSION, **inputs
        )
        return self._answer(stage, title, conclusion)

    async def conclude_from(self, path: Sequence[str]) -> Conclusion:
        """Return the probability after a path of thoughts."""
        return await self.conclude("thought_conclude", path=_numbered(path))

    async def conclude_event(self, event: EventOutcomes) -> Conclusion:
        """Return the probability of the leaf's outcome, from one call that asks for every outcome or percentile."""
        title = as_of(event.event or self.task.node.statement, self.task.cutoff, kind="title")
        number = event.number
        if number is not None:
            forecast = await self._ask(
                "percentiles", "zero_shot_percentiles", "percentiles_reply",
                lambda text: parse_percentiles(text, number_scale(number)), event=title, scale=scale_words(number),
            )  # fmt: skip
            self._outcome = json.dumps(dict(number), sort_keys=True), forecast.probabilities
            return self._answer("percentiles", "Forecast the number", forecast.number_conclusion(number))
        prompt, reply = "zero_shot_brief", "outcomes_reply"
        inputs: dict[str, Any] = {"event": title, "outcomes": event.listing(), "prices": event.price_lines()}
        if event.exclusive:
            prompt, reply = "zero_shot_choice", "choice_reply"
            del inputs["prices"]
        forecast = await self._ask(
            "outcomes",
            prompt,
            reply,
            lambda text: parse_outcomes(text, event.outcomes, exclusive=event.exclusive),
            form={"example": event.example()},
            **inputs,
        )
        self._outcome = event.leaf, forecast.probabilities
        return self._answer("outcomes", "Forecast every outcome", forecast.conclusion(event.leaf))

    async def vote(self) -> Vote:
        """Return a yes or no with its confidence."""
        vote = await self._ask("vote", "zero_shot_vote", "vote_reply", read_vote)
        self._step("vote", "Vote", str(vote))
        self._answers.append(vote)
        return vote

    def combined(self, way: str) -> float:
        """Return the probability that all answers so far come to."""
        return combine(way, self._answers)

    def grounding(self, way: str, key_factor: str, report: str) -> Grounding:
        """Return the finished grounding, its answers combined in this way; the last step of its trace states the probability."""
        p = self.combined(way)
        if not self._steps or self._steps[-1].p != p:
            self._steps.append(TraceStep(title="Combine", text=report, p=p))
        outcome, outcomes = self._outcome
        return Grounding(
            belief=Belief(p=p, key_factor=key_factor, report=report),
            evidence=Evidence(
                steps=tuple(self._steps),
                combined=way,
                outcome=outcome,
                outcomes=outcomes,
                web=() if self._tools is None else self._tools.web_records(),
            ),
            trace={"steps": self._count},
        )

    def concluded(self, conclusion: Conclusion) -> Grounding:
        """Return the finished grounding whose last answer stands, with what a reader should know of it."""
        kind = RunKind(live=self.task.cutoff.live, no_kernel=True)
        return replace(
            self.grounding("last", conclusion.key_factor, conclusion.report),
            findings=conclusion_findings(conclusion, None, kind),
        )

    def _answer(self, stage: str, title: str, conclusion: Conclusion) -> Conclusion:
        self._step(stage, title, conclusion_text(conclusion), p=conclusion.p)
        self._answers.append(conclusion)
        return conclusion

    def _step(self, stage: str, title: str, text: str, *, p: float | None = None) -> None:
        self._steps.append(TraceStep(title=title, text=text, p=p, stage=f"{stage}-{self._count}", reply=0))

    async def _ask(
        self,
        stage: str,
        prompt: str,
        reply: str,
        read: Callable[[str], T],
        *,
        schema: ReplySchema | None = None,
        form: Mapping[str, str] | None = None,
        **inputs: Any,
    ) -> T:
        self._count += 1
        task = self.task
        dialogue = Dialogue(
            system=self._render("thought_system").text,
            nodes=(task.node,),
            cutoff=task.cutoff,
            ask=task.ask,
            settings=task.settings,
            extra_share=task.settings.extra_ask_share,
        )
        proposition = f"{task.node.id}: {task.node.statement}"
        reply_format = self._render(reply, **form or {}).text
        shown = {"proposition": proposition, "cutoff": task.cutoff.shown, "reply_format": reply_format}
        return await dialogue.exchange(
            f"{stage}-{self._count}",
            self._render(prompt, **shown, **inputs).text,
            read,
            propositions=proposition,
            reply_format=reply_format,
            schema=schema,
            choice="none",
            whole=True,
        )


def _numbered(thoughts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {thought}" for number, thought in enumerate(thoughts, 1)) or "(nothing yet)"


class _Thinker:
    #: The web of a leaf, for those whose thoughts search (setting ``search``).
    open_web: WebOpener | None = None

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief with the trace of its thoughts, or why there is none."""
        try:
            return await self._think(ThoughtCalls(task, self.open_web))
        except AgentGaveUp as error:
            return GroundingFailure(reason=str(error), retryable=True)

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        raise NotImplementedError


class ZeroShotGrounder(_Thinker):
    """One call. ``form``: ``plain``, ``brief`` (paper P's task, for all outcomes of an event: `outcomes`), ``recall`` (does the model
    know the outcome, paper P, D.8), ``halawi`` (the short task of Halawi et al. 2024, as in ForecastBench's zero-shot entries).

    ``elicit`` asks in several ways instead, ``count`` how often where that is free.
    """

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        known = ("form", "elicit", "count", *_EVENT)
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise BadSetting(f"zero-shot has no setting {unknown[0]!r}; it has: {', '.join(known)}")
        form = options.get("form", "plain")
        if form not in _FORMS:
            raise BadSetting(f"form of zero-shot is one of {', '.join(_FORMS)}, not {form!r:.40}")
        about_event = bool(set(_EVENT) & set(options))
        if form not in ("brief", "plain") and about_event:
            raise BadSetting(f"{', '.join(_EVENT)} of zero-shot go with form=brief or plain")
        self.prompt = _FORMS[form]
        self.event = read_outcomes(options) if form == "brief" or about_event else None
        self.way = options.get("elicit")
        if self.way is not None and form != "plain":
            raise BadSetting(f"elicit of zero-shot has prompts of its own: leave out form={form}")
        self.count = self._answers_of(self.way, options)

    @staticmethod
    def _answers_of(way: Any, options: Mapping[str, Any]) -> int:
        if way is None:
            if "count" in options:
                raise BadSetting("count of zero-shot goes with elicit")
            return 1
        if way not in _WAYS:
            raise BadSetting(f"elicit of zero-shot is one of {', '.join(_WAYS)}, not {way!r:.40}")
        if "count" not in options:
            return _WAYS[way]
        if way not in _COUNTED:
            raise BadSetting(f"count goes with {', '.join(_COUNTED)}; {way} always asks {_WAYS[way]} times")
        return _whole("count", options["count"], agent="zero-shot")

    @property
    def expected_calls(self) -> int:
        """Calls of one grounding where every reply can be read."""
        return self.count + (self.way == "aggregate")

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        if self.way is not None:
            return await self._elicit(calls, self.way)
        if self.event is not None:
            return calls.concluded(await calls.conclude_event(self.event))
        if self.prompt != "thought_conclude":
            return calls.concluded(await calls.conclude(self.prompt))
        return calls.concluded(await calls.conclude_from(()))

    async def _elicit(self, calls: ThoughtCalls, way: str) -> Grounding:
        if way == "scaffold":
            return calls.concluded(await _conclude_by(calls, _SCAFFOLD, "scaffold"))
        if way == "aggregate":
            answers = [await calls.conclude_from(()) for _ in range(self.count)]
            texts = [
                f"It gave {answer.p:g}. {conclusion_text(answer)}"[:LONGEST_THOUGHT] for answer in answers
            ]
            return calls.concluded(
                await calls.conclude(
                    "zero_shot_aggregate", stage="aggregate", title="Decide", answers=_numbered(texts)
                )
            )
        if way in _COUNTED:
            votes = [await calls.vote() for _ in range(self.count)]
            what = "Share of yes" + ", weighed by confidence" * (way == "weighted-votes")
            parts, key_factor = [float(vote.yes) for vote in votes], votes[0].key_factor
        else:
            both = way == "both-directions"
            plain = await calls.conclude_from(())
            manners, stage = ((_OPPOSITE,), "opposite") if both else (_MANNERS, "variant")
            others = [await _conclude_by(calls, manner, stage) for manner in manners]
            what = "Half from yes, half from one minus no" if both else "Mean of four prompts"
            parts, key_factor = [answer.p for answer in (plain, *others)], plain.key_factor
        listing = ", ".join(f"{part:g}" for part in parts)
        return calls.grounding(way, key_factor, f"{what}: {calls.combined(way):g}, of {listing}.")


async def _conclude_by(calls: ThoughtCalls, manner: str, stage: str) -> Conclusion:
    return await calls.conclude("zero_shot_manner", stage=stage, title=f"Conclude ({stage})", manner=manner)


def _whole(name: str, value: object, *, agent: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise BadSetting(f"{name} of {agent} must be a whole number from 1 to {_MOST}, not {value!r:.40}")
    return value


class _Searcher(_Thinker):
    """Settings of those that work on several thoughts: their bounds, and ``search``."""

    agent: ClassVar[str]
    defaults: ClassVar[Mapping[str, int]]

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        bounds = dict(options)
        search = bounds.pop("search", False)
        if not isinstance(search, bool):
            raise BadSetting(f"search of {self.agent} is true or false, not {search!r:.40}")
        if unknown := sorted(set(bounds) - set(self.defaults)):
            raise BadSetting(
                f"{self.agent} has no setting {unknown[0]!r}; it has: {', '.join(self.defaults)}"
            )
        self.open_web = open_leaf_web if search else None
        self.bounds = {
            name: _whole(name, value, agent=self.agent) for name, value in {**self.defaults, **bounds}.items()
        }

    def _calls(self, proposals: int, others: int) -> int:
        # A search takes a call for its words, and at most one of the filter that reads what was found (layer 2).
        return proposals * (1 if self.open_web is None else 3) + others


class TreeOfThoughtsGrounder(_Searcher):
    """Breadth-first search over lines of thought: settings ``depth``, ``branching``, ``beam``, ``search``."""

    agent, defaults = "tree-of-thoughts", {"depth": 2, "branching": 3, "beam": 2}

    @property
    def expected_calls(self) -> int:
        """A proposal per line, a value per candidate, the conclusion."""
        proposals, values = tree_size(**self.bounds)
        return self._calls(proposals, values + 1)

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        return calls.concluded(await search_tree(calls, **self.bounds))


class GraphOfThoughtsGrounder(_Searcher):
    """Thoughts generated apart, valued, merged and refined: settings ``branching``, ``refine``, ``search``."""

    agent, defaults = "graph-of-thoughts", {"branching": 3, "refine": 1}

    @property
    def expected_calls(self) -> int:
        """Thoughts and their values, the merge, refinements, the conclusion."""
        branching = self.bounds["branching"]
        return self._calls(branching, branching + 1 + self.bounds["refine"] + 1)

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        branching = self.bounds["branching"]
        thoughts = [(await calls.propose((), 1))[0] for _ in range(branching)]
        best = await calls.best([(thought,) for thought in thoughts], (branching + 1) // 2)
        merged = await calls.merge([thought for (thought,) in best], _MERGE, stage="merge")
        for _ in range(self.bounds["refine"]):
            merged = await calls.merge((merged,), _REFINE, stage="refine")
        return calls.concluded(await calls.conclude_from((merged,)))


class ForestOfThoughtsGrounder(_Searcher):
    """Several trees of thoughts and a decision between them: settings ``trees`` and those of a tree."""

    agent, defaults = "forest-of-thoughts", {"trees": 3, **TreeOfThoughtsGrounder.defaults}

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        super().__init__(settings, options)
        self.trees = self.bounds.pop("trees")

    @property
    def expected_calls(self) -> int:
        """All trees and the decision between them."""
        proposals, values = tree_size(**self.bounds)
        return self._calls(self.trees * proposals, self.trees * (values + 1) + (self.trees > 1))

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        conclusions: list[Conclusion] = []
        for _ in range(self.trees):
            conclusion = await search_tree(calls, **self.bounds)
            conclusions.append(conclusion)
            near = agreeing([tree.p for tree in conclusions])
            if near is not None:  # the trees that are left out could not change the consensus
                text = f"Trees of thoughts agree: {near:g} and {conclusion.p:g}.\n\n{conclusion.report}"
                return calls.grounding("agreement", conclusion.key_factor, text)
        if self.trees == 1:
            return calls.concluded(conclusions[0])
        views = [f"One tree of thoughts gives {tree.p:g}: {tree.key_factor}" for tree in conclusions]
        return calls.concluded(await calls.conclude_from(views))


def tree_size(*, depth: int, branching: int, beam: int) -> tuple[int, int]:
    """Return how many proposals and how many values one tree of thoughts takes.

    >>> tree_size(depth=2, branching=3, beam=2)
    (3, 9)
    """
    proposals, values, lines = 0, 0, 1
    for _ in range(depth):
        proposals, values = proposals + lines, values + lines * branching
        lines = min(beam, lines * branching)
    return proposals, values


async def search_tree(calls: ThoughtCalls, *, depth: int, branching: int, beam: int) -> Conclusion:
    """Search a tree of thoughts breadth first and conclude from its best line."""
    lines: list[tuple[str, ...]] = [()]
    for _ in range(depth):
        candidates = [(*line, thought) for line in lines for thought in await calls.propose(line, branching)]
        lines = await calls.best(candidates, beam)
    return await calls.conclude_from(lines[0])
