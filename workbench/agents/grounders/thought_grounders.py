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
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field

from proxies.asof.asof_text import as_of
from workbench.agents.base import AgentSettings, Grounding, GroundingFailure, LeafTask
from workbench.agents.conversation import Conversation
from workbench.agents.errors import AgentGaveUp, BadSetting
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.agents.findings.check_table import RunKind
from workbench.agents.findings.conclusion_checks import case_finding, conclusion_findings
from workbench.agents.grounders.thought_replies import (
    EVENT,
    LONGEST_THOUGHT,
    Answer,
    EventOutcomes,
    Value,
    Vote,
    agreeing,
    combine,
    conclusion_text,
    parse_outcomes,
    parse_percentiles,
    query_text,
    read_outcomes,
    read_query,
    read_thoughts,
    thoughts_text,
    value_text,
)
from workbench.agents.loop.tool_box import ToolUse
from workbench.agents.loop.toolset import Toolset, WebOpener, open_leaf_web
from workbench.agents.replies.reply_schemas import CONCLUSION
from workbench.agents.replies.stage_replies import Conclusion, parse_conclusion
from workbench.prompts import prompts_of
from workbench.propositions import Belief
from workbench.propositions.strict_json import STRICT, read_strict

if TYPE_CHECKING:
    from workbench.models.base import ReplySchema

T = TypeVar("T")
_RESULTS = 10  # of one search
_FORMS = {
    "plain": "thought_conclude",
    "brief": "zero_shot_brief",
    "recall": "zero_shot_recall",
    "halawi": "zero_shot_halawi",
}
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


#: A source of the gathered news, by its rank.
_SOURCE_LINE = re.compile(r"(?m)(?:^|: )(\d{1,2})\. (.*)$")


class ThoughtCalls:
    """One grounding's calls; each is a dialogue of its own, so that branches of thought do not see each other.

    Stages are numbered in the order of the calls: a resumed grounding finds each reply at its address.
    """

    def __init__(self, task: LeafTask, open_web: WebOpener | None, *, sampled: bool = False) -> None:
        self.task = task
        self._sampled = sampled
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
        return await self._ask(
            "propose", f"Propose {count} thoughts", "thought_propose", "thoughts_reply",
            partial(read_thoughts, count=count), thoughts_text, found=found, path=_numbered(path), count=count,
        )  # fmt: skip

    async def _look_up(self, tools: Toolset, path: Sequence[str]) -> str:
        """Search once for what the next thoughts need, and return what was found as part of their prompt."""
        words = await self._ask(
            "query", "Search", "thought_query", "query_reply", read_query, query_text, path=_numbered(path)
        )
        search = ToolUse(id=None, name="search", arguments={"words": words})
        (seen,) = await tools.box(("search",)).run([search], self._count)
        # The text of strangers stands in a block that it cannot close.
        text = self._steps[-1].text + seen.text.replace("```", "~~~") + "\n```"
        self._steps[-1] = replace(self._steps[-1], text=text, answers=seen.answers, reply=None)
        quoted = json.dumps(words, ensure_ascii=False)
        return f"{self._render('thought_found', words=quoted, results=seen.text)}\n\n"

    async def best(self, paths: Sequence[tuple[str, ...]], count: int) -> list[tuple[str, ...]]:
        """Value each path in a call of its own and return the most useful; of equals the first."""
        values = [await self._value(path) for path in paths]
        ranked = sorted(range(len(paths)), key=lambda place: -values[place])
        return [paths[place] for place in ranked[:count]]

    async def _value(self, path: tuple[str, ...]) -> float:
        return await self._ask(
            "value", "Value a line of thought", "thought_value", "value_reply", lambda text: Value.read(text).value,
            lambda value: value_text(value) + path[-1], path=_numbered(path),
        )  # fmt: skip

    async def merge(self, thoughts: Sequence[str], task: str, *, stage: str) -> str:
        """Return one thought made of several, or of one."""
        (merged,) = await self._ask(
            stage, stage.capitalize(), "thought_merge", "thoughts_reply", partial(read_thoughts, count=1), "".join,
            path=_numbered(thoughts), task=task,
        )  # fmt: skip
        return merged

    async def conclude(
        self, prompt: str, *, stage: str = "answer", title: str = "Conclude", **inputs: Any
    ) -> Conclusion:
        """Return the probability that the model states."""
        # A paper's own form of asking comes without our rules.
        rules = () if prompt in (_FORMS["halawi"], _FORMS["recall"]) else ("forecast_rules",)
        framed = rules and self.task.framing
        own = f"\n\n{self._render(f'framing_{self.task.framing}')}" if framed else ""
        return await self._ask(
            stage, title, prompt, "conclusion_reply", parse_conclusion, conclusion_text, schema=CONCLUSION, rules=rules, own=own, **inputs
        )  # fmt: skip

    async def conclude_from(self, path: Sequence[str] = ()) -> Conclusion:
        """Return the probability after a path of thoughts."""
        return await self.conclude("thought_conclude", path=_numbered(path))

    async def conclude_by(self, manner: str, stage: str) -> Conclusion:
        """Return the probability by a manner of reasoning that is named."""
        return await self.conclude(
            "zero_shot_manner", stage=stage, title=f"Conclude ({stage})", manner=manner
        )

    async def conclude_event(self, event: EventOutcomes) -> Conclusion:
        """Return the probability of the leaf's outcome, from one call that asks for every outcome or percentile."""
        title = as_of(event.event or self.task.node.statement, self.task.cutoff, kind="title")
        number = event.number

        def read(text: str) -> Conclusion:
            if number is not None:
                forecast = parse_percentiles(text, number.scale())
                self._outcome = json.dumps(asdict(number), sort_keys=True), forecast.probabilities
                return forecast.number_conclusion(number)
            forecast = parse_outcomes(text, event.names, exclusive=event.exclusive)
            self._outcome = event.asked, forecast.probabilities
            return forecast.conclusion(event.asked)

        if number is not None:
            return await self._ask(
                "percentiles", "Forecast the number", "zero_shot_percentiles", "percentiles_reply", read, conclusion_text,
                rules=("forecast_rules", "number_rules"), event=title, scale=number.words(),
            )  # fmt: skip
        shown: dict[str, Any] = {} if event.exclusive else {"prices": event.price_lines()}
        prompt, reply = "zero_shot_brief", "outcomes_reply"
        rules: tuple[str, ...] = ()
        if event.exclusive:
            prompt, reply, rules = "zero_shot_choice", "choice_reply", ("forecast_rules", "choice_rules")
        return await self._ask(
            "outcomes", "Forecast every outcome", prompt, reply, read, conclusion_text,
            rules=rules, form={"example": event.example()}, event=title, outcomes=event.listing(), **shown,
        )  # fmt: skip

    async def vote(self) -> Vote:
        """Return a yes or no with its confidence."""
        return await self._ask("vote", "Vote", "zero_shot_vote", "vote_reply", Vote.read, str)

    def pooled(self, way: str, what: str, parts: Sequence[float], key_factor: str) -> Grounding:
        """Return the finished grounding of several answers that count together."""
        listing = ", ".join(f"{part:g}" for part in parts)
        return self.grounding(way, key_factor, f"{what}: {combine(way, self._answers):g}, of {listing}.")

    def grounding(self, way: str, key_factor: str, report: str) -> Grounding:
        """Return the finished grounding, its answers combined in this way; the last step of its trace states the probability."""
        p = combine(way, self._answers)
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
        sources = dict(_SOURCE_LINE.findall(self.task.context))
        cases = case_finding(conclusion.numbers, sources, self.task.context)
        return replace(
            self.grounding("last", conclusion.key_factor, conclusion.report),
            findings=conclusion_findings(conclusion, None, kind) + ((cases,) if cases else ()),
        )

    async def _ask(
        self,
        stage: str,
        title: str,
        prompt: str,
        reply: str,
        read: Callable[[str], T],
        shown: Callable[[T], str],
        *,
        schema: ReplySchema | None = None,
        form: Mapping[str, str] | None = None,
        rules: Sequence[str] = (),
        own: str = "",
        **inputs: Any,
    ) -> T:
        """Ask in a conversation of its own; what is read becomes a step of the trace, and an answer counts.

        What is sent again stands first, where a provider's cache finds it: ``rules`` name the prompts of fixed words before every
        question, and ``own``, which this sample alone is told, comes last.
        """
        self._count += 1
        stage, task = f"{stage}-{self._count}", self.task
        reply_format = self._render(reply, **form or {})
        system = self._render("thought_system", rules="".join(f"\n\n{self._render(name)}" for name in rules))
        conversation = Conversation.of_leaf(task, system)
        value = await conversation.exchange(
            stage,
            conversation.render(prompt, reply_format=reply_format, **inputs) + own,
            read,
            reply_format=reply_format,
            schema=schema,
            choice="none",
            whole=True,
            own=own if self._sampled else None,
        )
        if isinstance(value, Conclusion | Vote):
            self._answers.append(value)
        p = value.p if isinstance(value, Conclusion) else None
        self._steps.append(TraceStep(title=title, text=shown(value), p=p, stage=stage, reply=0))
        return value


def _numbered(thoughts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {thought}" for number, thought in enumerate(thoughts, 1)) or "(nothing yet)"


# --- ways to ask once more, or otherwise ----------------------------------------------------------------------------


async def _scaffold(calls: ThoughtCalls, way: str, count: int) -> Grounding:
    return calls.concluded(await calls.conclude_by(_SCAFFOLD, "scaffold"))


async def _aggregate(calls: ThoughtCalls, way: str, count: int) -> Grounding:
    answers = [await calls.conclude_from() for _ in range(count)]
    texts = [f"It gave {answer.p:g}. {conclusion_text(answer)}"[:LONGEST_THOUGHT] for answer in answers]
    decided = await calls.conclude(
        "zero_shot_aggregate", stage="aggregate", title="Decide", answers=_numbered(texts)
    )
    return calls.concluded(decided)


async def _votes(calls: ThoughtCalls, way: str, count: int) -> Grounding:
    votes = [await calls.vote() for _ in range(count)]
    what = "Share of yes" + ", weighed by confidence" * (way == "weighted-votes")
    return calls.pooled(way, what, [float(vote.yes) for vote in votes], votes[0].key_factor or "")


async def _manners(
    calls: ThoughtCalls, way: str, count: int, *, what: str, stage: str, manners: Sequence[str]
) -> Grounding:
    plain = await calls.conclude_from()
    answers = [plain, *[await calls.conclude_by(manner, stage) for manner in manners]]
    return calls.pooled(way, what, [answer.p for answer in answers], plain.key_factor)


_BOTH = partial(
    _manners, what="Half from yes, half from one minus no", stage="opposite", manners=(_OPPOSITE,)
)
_ENSEMBLE = partial(_manners, what="Mean of four prompts", stage="variant", manners=_MANNERS)
#: Calls of each way of asking, but for the one that decides between answers; whether their number is free; and its program.
_WAYS: dict[str, tuple[int, bool, Callable[[ThoughtCalls, str, int], Awaitable[Grounding]]]] = {
    "ensemble": (4, False, _ENSEMBLE),
    "both-directions": (2, False, _BOTH),
    "votes": (10, True, _votes),
    "weighted-votes": (10, True, _votes),
    "aggregate": (5, True, _aggregate),
    "scaffold": (1, False, _scaffold),
}

# --- settings -------------------------------------------------------------------------------------------------------

Whole = Annotated[int, Field(ge=1, le=50)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroShotSettings:
    """Settings of ``zero-shot``; with them go those of an event (`EventOutcomes`), for ``plain`` and ``brief``.

    Parameters
    ----------
    form : {"plain", "brief", "recall", "halawi"}
        ``brief`` is paper P's task, for all outcomes of an event; ``recall`` asks whether the model knows the outcome (paper P, D.8);
        ``halawi`` is the short task of Halawi et al. 2024, as in ForecastBench's zero-shot entries.
    elicit : str or None
        Asks in several ways instead, ``count`` how often where that is free.
    sampled : bool
        Other runs ask the same of the question, so that what they share is worth caching.
    """

    form: Literal["plain", "brief", "recall", "halawi"] = "plain"
    elicit: (
        Literal["ensemble", "both-directions", "votes", "weighted-votes", "aggregate", "scaffold"] | None
    ) = None
    count: Whole | None = None
    sampled: bool = False

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        if self.elicit is None and self.count is not None:
            raise BadSetting("count of zero-shot goes with elicit")
        if self.elicit is not None and self.form != "plain":
            raise BadSetting(f"elicit of zero-shot uses other prompts: leave out form={self.form}")
        if self.count is not None and not _WAYS[self.elicit or ""][1]:
            counted = ", ".join(name for name, (_, free, _) in _WAYS.items() if free)
            raise BadSetting(
                f"count goes with {counted}; {self.elicit} always asks {_WAYS[self.elicit or ''][0]} times"
            )

    @property
    def answers(self) -> int:
        """How many answers are asked for."""
        return 1 if self.elicit is None else self.count or _WAYS[self.elicit][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSettings:
    """Settings of a tree of thoughts; ``search``: whether each proposal is preceded by a search."""

    depth: Whole = 2
    branching: Whole = 3
    beam: Whole = 2
    search: bool = False

    __pydantic_config__ = STRICT

    def calls(self) -> tuple[int, int]:
        """Return how many proposals and how many other calls a grounding takes.

        >>> TreeSettings(depth=2, branching=3, beam=2).calls()
        (3, 10)
        """
        proposals, values, lines = 0, 0, 1
        for _ in range(self.depth):
            proposals, values = proposals + lines, values + lines * self.branching
            lines = min(self.beam, lines * self.branching)
        return proposals, values + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestSettings(TreeSettings):
    """Settings of a forest: those of its trees, and how many there are."""

    trees: Whole = 3

    __pydantic_config__ = STRICT

    def calls(self) -> tuple[int, int]:
        """Return how many proposals and how many other calls a grounding takes whose trees do not agree early."""
        proposals, others = TreeSettings.calls(self)
        return self.trees * proposals, self.trees * others + (self.trees > 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSettings:
    """Settings of a graph of thoughts."""

    branching: Whole = 3
    refine: Whole = 1
    search: bool = False

    __pydantic_config__ = STRICT

    def calls(self) -> tuple[int, int]:
        """Return how many proposals and how many other calls a grounding takes."""
        return self.branching, self.branching + 1 + self.refine + 1


S = TypeVar("S", bound=TreeSettings | GraphSettings)

# --- the grounders ---------------------------------------------------------------------------------------------------


class _Thinker:
    #: The web of a leaf, for those whose thoughts search (setting ``search``).
    open_web: WebOpener | None = None
    #: Whether other runs ask the same of the question.
    sampled = False

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief with the trace of its thoughts, or why there is none."""
        try:
            return await self._think(ThoughtCalls(task, self.open_web, sampled=self.sampled))
        except AgentGaveUp as error:
            return GroundingFailure(reason=str(error), retryable=True)

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        raise NotImplementedError


class ZeroShotGrounder(_Thinker):
    """One call, or several of one kind (`ZeroShotSettings`)."""

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        about = {name: value for name, value in options.items() if name in EVENT}
        own = {name: value for name, value in options.items() if name not in EVENT}
        self.own = read_strict(ZeroShotSettings, own, what="the settings of zero-shot")
        if about and self.own.form not in ("brief", "plain"):
            raise BadSetting(f"{', '.join(EVENT)} of zero-shot go with form=brief or plain")
        self.event = read_outcomes(about) if about or self.own.form == "brief" else None
        self.sampled = self.own.sampled

    @property
    def expected_calls(self) -> int:
        """Calls of one grounding where every reply can be read."""
        return self.own.answers + (self.own.elicit == "aggregate")

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        if (way := self.own.elicit) is not None:
            return await _WAYS[way][2](calls, way, self.own.answers)
        if self.event is not None:
            return calls.concluded(await calls.conclude_event(self.event))
        form = self.own.form
        return calls.concluded(
            await (calls.conclude_from() if form == "plain" else calls.conclude(_FORMS[form]))
        )


class _Searcher(_Thinker, Generic[S]):
    """Searches over several thoughts."""

    settings_kind: type[S]

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        what = f"the settings of {type(self).__name__}"
        self.own: S = read_strict(self.settings_kind, dict(options), what=what)
        self.open_web = open_leaf_web if self.own.search else None

    @property
    def expected_calls(self) -> int:
        """Calls of one grounding where every reply can be read and no trees agree early."""
        proposals, others = self.own.calls()
        # A search takes a call for its words, and at most one of the filter that reads what was found (layer 2).
        return proposals * (3 if self.own.search else 1) + others


async def _search_tree(calls: ThoughtCalls, own: TreeSettings) -> Conclusion:
    """Search a tree of thoughts breadth first and conclude from its best line."""
    lines: list[tuple[str, ...]] = [()]
    for _ in range(own.depth):
        candidates = [
            (*line, thought) for line in lines for thought in await calls.propose(line, own.branching)
        ]
        lines = await calls.best(candidates, own.beam)
    return await calls.conclude_from(lines[0])


class TreeOfThoughtsGrounder(_Searcher[TreeSettings]):
    """Yao et al. 2023, breadth first."""

    settings_kind = TreeSettings

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        return calls.concluded(await _search_tree(calls, self.own))


class GraphOfThoughtsGrounder(_Searcher[GraphSettings]):
    """Besta et al. 2024."""

    settings_kind = GraphSettings

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        count = self.own.branching
        thoughts = [(await calls.propose((), 1))[0] for _ in range(count)]
        best = await calls.best([(thought,) for thought in thoughts], (count + 1) // 2)
        merged = await calls.merge([thought for (thought,) in best], _MERGE, stage="merge")
        for _ in range(self.own.refine):
            merged = await calls.merge((merged,), _REFINE, stage="refine")
        return calls.concluded(await calls.conclude_from((merged,)))


class ForestOfThoughtsGrounder(_Searcher[ForestSettings]):
    """Bi et al. 2024."""

    settings_kind = ForestSettings

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        conclusions: list[Conclusion] = []
        for _ in range(self.own.trees):
            conclusion = await _search_tree(calls, self.own)
            conclusions.append(conclusion)
            near = agreeing([tree.p for tree in conclusions])
            if near is not None:  # the trees that are left out could not change the consensus
                text = f"Trees of thoughts agree: {near:g} and {conclusion.p:g}.\n\n{conclusion.report}"
                return calls.grounding("agreement", conclusion.key_factor, text)
        if len(conclusions) == 1:
            return calls.concluded(conclusions[0])
        views = [f"One tree of thoughts gives {tree.p:g}: {tree.key_factor}" for tree in conclusions]
        return calls.concluded(await calls.conclude_from(views))
