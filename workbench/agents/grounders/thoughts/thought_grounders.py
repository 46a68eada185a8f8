"""Zero-shot, tree, graph and forest of thoughts as grounders (paper A, section 5.2: baselines; each by its own paper's definition).

Calls of one grounding, where every reply can be read:

=================  =======================================================================  ===================
grounder           what it does                                                             calls by default
=================  =======================================================================  ===================
zero-shot          concludes                                                                1
tree-of-thoughts   ``depth`` times: each kept line proposes ``branching`` thoughts in one    2 x (lines) + values
                   call, each candidate is valued in one, the best ``beam`` are kept; then   + 1: 1 + 3, 2 + 6,
                   concludes from the best (Yao et al. 2023, breadth first)                 + 1 = 13
graph-of-thoughts  ``branching`` thoughts, one call each, each valued; the best half are      3 + 3 + 1 + 1 + 1 = 9
                   merged in one call; ``refine`` refinements; concludes (Besta et al. 2024)
forest-of-thoughts ``trees`` trees of thoughts; ends early when two agree within 0.05, else   2 x 13 if they agree,
                   all trees and one call that decides between them (Bi et al. 2024)          else 3 x 13 + 1 = 40
=================  =======================================================================  ===================

With ``search`` every proposal of trees, graphs and forests is preceded by one call that names what to search for and by that search, as
of the cutoff and through all layers; its results stand in that proposal alone, and the filter reads each result once. A tree then makes
3 searches and 3 calls more, a graph 3, a forest 6 or 9, and at most as many calls of the filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from workbench.agents.base import AgentSettings, Grounding, GroundingFailure, LeafTask
from workbench.agents.errors import AgentGaveUp, BadSetting
from workbench.agents.findings.check_table import RunKind
from workbench.agents.findings.conclusion_checks import conclusion_findings
from workbench.agents.grounders.thoughts.elicited import calls_of, count_of, elicit
from workbench.agents.grounders.thoughts.outcomes import read_outcomes
from workbench.agents.grounders.thoughts.thought_calls import ThoughtCalls, whole_numbers
from workbench.agents.grounders.thoughts.thought_readings import agreeing
from workbench.agents.loop.toolset import WebOpener, open_leaf_web
from workbench.agents.replies.stage_replies import Conclusion

_EVENT = ("event", "outcomes", "leaf", "prices", "exclusive", "number")
_FORMS = {
    "plain": "thought_conclude",
    "brief": "zero_shot_brief",
    "recall": "zero_shot_recall",
    "halawi": "zero_shot_halawi",
}


class _Thinker:
    """What the four share: calls of one leaf, and a failure as a value."""

    #: The web of a leaf, for those whose thoughts search (setting ``search``).
    open_web: WebOpener | None = None

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief with the trace of its thoughts, or why there is none."""
        calls = ThoughtCalls(task, open_web=self.open_web)
        try:
            return await self._think(calls)
        except AgentGaveUp as error:
            return GroundingFailure(reason=str(error), retryable=True)

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        raise NotImplementedError


def _grounding(calls: ThoughtCalls, conclusion: Conclusion) -> Grounding:
    kind = RunKind(live=calls.task.cutoff.live, no_kernel=True)
    return replace(
        calls.grounding("last", conclusion.key_factor, conclusion.report),
        findings=conclusion_findings(conclusion, None, kind),
    )


class ZeroShotGrounder(_Thinker):
    """One call. ``form``: ``plain``, ``brief`` (paper P's task, for all outcomes of an event: `outcomes`), ``recall`` (does the model
    know the outcome, paper P, D.8), ``halawi`` (the short task of Halawi et al. 2024, as in ForecastBench's zero-shot entries).

    ``elicit`` asks in several ways instead (`elicited`), ``count`` how often where that is free.
    """

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        known = ("form", "elicit", "count", *_EVENT)
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise BadSetting(f"zero-shot has no setting {unknown[0]!r}; it has: {', '.join(known)}")
        form = options.get("form", "plain")
        if form not in _FORMS:
            raise BadSetting(f"form of zero-shot is one of {', '.join(_FORMS)}, not {form!r:.40}")
        if form not in ("brief", "plain") and set(_EVENT) & set(options):
            raise BadSetting(f"{', '.join(_EVENT)} of zero-shot go with form=brief or plain")
        self.prompt = _FORMS[form]
        asked = form == "brief" or set(_EVENT) & set(options)
        self.event = read_outcomes(options) if asked else None
        self.way = options.get("elicit")
        if self.way is None and "count" in options:
            raise BadSetting("count of zero-shot goes with elicit")
        if self.way is not None and form != "plain":
            raise BadSetting(f"elicit of zero-shot has prompts of its own: leave out form={form}")
        self.count = 1 if self.way is None else count_of(str(self.way), options)

    @property
    def expected_calls(self) -> int:
        """One, or what the way of asking takes."""
        return 1 if self.way is None else calls_of(self.way, self.count)

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        if self.way is not None:
            return await elicit(calls, self.way, self.count)
        if self.event is not None:
            return _grounding(calls, await calls.conclude_event(self.event))
        return _grounding(calls, await calls.conclude((), prompt=self.prompt))


class _Searcher(_Thinker):
    """What those that work on several thoughts share: their bounds, and whether they search."""

    agent: ClassVar[str]
    defaults: ClassVar[Mapping[str, int]]

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        self.open_web, options = web_of(options, agent=self.agent)
        self.bounds = whole_numbers(options, self.defaults, agent=self.agent)


class TreeOfThoughtsGrounder(_Searcher):
    """Breadth-first search over lines of thought: settings ``depth``, ``branching``, ``beam``, ``search``."""

    agent, defaults = "tree-of-thoughts", {"depth": 2, "branching": 3, "beam": 2}

    @property
    def expected_calls(self) -> int:
        """A proposal per line, a value per candidate, the conclusion."""
        return tree_calls(**self.bounds) + search_calls(self.open_web, tree_proposals(**self.bounds))

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        return _grounding(calls, await search_tree(calls, **self.bounds))


class GraphOfThoughtsGrounder(_Searcher):
    """Thoughts generated apart, valued, merged and refined: settings ``branching``, ``refine``, ``search``."""

    agent, defaults = "graph-of-thoughts", {"branching": 3, "refine": 1}

    @property
    def expected_calls(self) -> int:
        """Thoughts and their values, the merge, refinements, the conclusion."""
        branching = self.bounds["branching"]
        return 2 * branching + 1 + self.bounds["refine"] + 1 + search_calls(self.open_web, branching)

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        branching = self.bounds["branching"]
        thoughts = [(await calls.propose((), 1))[0] for _ in range(branching)]
        values = [await calls.value((thought,)) for thought in thoughts]
        ranked = sorted(range(branching), key=lambda place: (-values[place], place))
        best = [thoughts[place] for place in ranked[: max(1, (branching + 1) // 2)]]
        merged = await calls.merge(
            best,
            "Join them into one thought that keeps what each has right, says where they contradict each other, and which side is"
            " the stronger.",
            stage="merge",
        )
        for _ in range(self.bounds["refine"]):
            merged = await calls.merge(
                (merged,),
                "Improve this thought: correct what does not hold as of the cutoff, add the strongest consideration that it misses.",
                stage="refine",
            )
        return _grounding(calls, await calls.conclude((merged,)))


class ForestOfThoughtsGrounder(_Searcher):
    """Several trees of thoughts and a decision between them: settings ``trees`` and those of a tree."""

    agent, defaults = "forest-of-thoughts", {"trees": 3, **TreeOfThoughtsGrounder.defaults}

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        super().__init__(settings, options)
        self.trees = self.bounds.pop("trees")

    @property
    def expected_calls(self) -> int:
        """All trees and the decision between them."""
        look_ups = search_calls(self.open_web, self.trees * tree_proposals(**self.bounds))
        return self.trees * tree_calls(**self.bounds) + (self.trees > 1) + look_ups

    async def _think(self, calls: ThoughtCalls) -> Grounding:
        conclusions: list[Conclusion] = []
        for _ in range(self.trees):
            conclusion = await search_tree(calls, **self.bounds)
            conclusions.append(conclusion)
            near = agreeing([each.p for each in conclusions])
            if near is not None:  # consensus: the trees that are left out could not change it
                text = f"Trees of thoughts agree: {near:g} and {conclusion.p:g}.\n\n{conclusion.report}"
                return calls.grounding("agreement", conclusion.key_factor, text)
        if self.trees == 1:
            return _grounding(calls, conclusions[0])
        views = [f"One tree of thoughts gives {each.p:g}: {each.key_factor}" for each in conclusions]
        return _grounding(calls, await calls.conclude(views))


def web_of(options: Mapping[str, Any], *, agent: str) -> tuple[WebOpener | None, Mapping[str, Any]]:
    """The web that thoughts may search, None where ``search`` is not set, and the settings without it; raises `BadSetting`."""
    search = options.get("search", False)
    if not isinstance(search, bool):
        raise BadSetting(f"search of {agent} is true or false, not {search!r:.40}")
    others = {name: value for name, value in options.items() if name != "search"}
    return (open_leaf_web if search else None), others


def search_calls(open_web: WebOpener | None, proposals: int) -> int:
    """Calls that searching adds: per proposal one for the words, one of the filter that reads what was found (layer 2), at most."""
    return 0 if open_web is None else 2 * proposals


def tree_proposals(*, depth: int, branching: int, beam: int) -> int:
    """Proposals of one tree of thoughts.

    >>> tree_proposals(depth=2, branching=3, beam=2)
    3
    """
    count, lines = 0, 1
    for _ in range(depth):
        count += lines
        lines = min(beam, lines * branching)
    return count


def tree_calls(*, depth: int, branching: int, beam: int) -> int:
    """Calls of one tree of thoughts.

    >>> tree_calls(depth=2, branching=3, beam=2)
    13
    """
    calls, lines = 1, 1
    for _ in range(depth):
        calls += lines + lines * branching
        lines = min(beam, lines * branching)
    return calls


async def search_tree(calls: ThoughtCalls, *, depth: int, branching: int, beam: int) -> Conclusion:
    """Search a tree of thoughts breadth first and conclude from its best line."""
    lines: list[tuple[str, ...]] = [()]
    for _ in range(depth):
        candidates = [(*line, thought) for line in lines for thought in await calls.propose(line, branching)]
        values = [await calls.value(line) for line in candidates]
        ranked = sorted(range(len(candidates)), key=lambda place: (-values[place], place))
        lines = [candidates[place] for place in ranked[:beam]]
    return await calls.conclude(lines[0])
