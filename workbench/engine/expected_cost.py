"""What a run will take, from its settings: the calls of its leaves, of its rules, and of what is asked beside them.

The first request of each dialogue is rendered by the agents themselves, as the run would send it, and counted.
"""

from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from types import SimpleNamespace
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.catalogue import load_catalogue
from workbench.agents.analyzers.critic import second_findings
from workbench.agents.asked import with_words
from workbench.agents.base import Brief, Grounder, KnownContext, LeafTask
from workbench.agents.registry import open_analyzer, open_grounder, open_synthesizer
from workbench.agents.routing import FREE
from workbench.agents.synthesizers.root_prior import state_prior
from workbench.engine.access.catalogue_guide import CatalogueGuide
from workbench.engine.access.model_gateway import with_day
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import DIRECT, RunSettings
from workbench.models.base import ModelReply, ModelRequest, NodeRef
from workbench.models.costs import TOKENS, CostForecast, forecast_cost, request_tokens
from workbench.propositions import ROOT, Belief, Polarity, Proposition, Tree

#: Leaves whose first requests are rendered; the others are taken to be as long on average.
_MOST_RENDERED = 20


def forecast(state: RunState, *, whole: bool = False) -> CostForecast:
    """Return what the rest of a planned run will take; with ``whole`` what all of it was expected to."""
    tree, settings = state.tree, state.settings
    inner = [node for node in tree.inner() if whole or tree[node].belief is None]
    beside = {"prior": 1} if settings.agent.root_prior and tree.root.id in inner else {}
    if whole and state.news is not None and state.news.sources:
        beside["news"] = 1
    direct: list[int] = []
    if tree.root.children and tree.root.id in inner:
        direct = [
            number
            for number in range(1, settings.direct + 1)
            if whole or state.trial(ROOT, number).belief is None
        ]
    return forecast_of(
        settings,
        direct=direct,
        leaves=[tree[leaf] for leaf in tree.leaves() if whole or tree[leaf].belief is None],
        inner=len(inner),
        beside=beside | (analysis_calls(settings, len(inner)) if whole else {}),
        claim=tree.root.statement,
        cutoff=state.parsed_cutoff(),
    )


def cost_line(state: RunState) -> str:
    """Return the cost forecast as one line: calls, and US dollars where the price of a token is known, with a range."""
    expected, settings = forecast(state), state.settings
    roles = (settings.models.get(role, settings.model) for role in ("grounder", "synthesizer"))
    models = dict.fromkeys((*roles, *settings.direct_models))
    line = f"collecting the evidence will take about {expected.model_calls} calls to {' and '.join(models)}"
    if expected.spread > 1:
        line += f"{_calls_range(expected)}, {expected.token_words}"
    if expected.cost_usd is None:
        return f"{line}, whose price is unknown"
    low, high = expected.range_of(expected.cost_usd)
    between = f" (${low:.2f} to ${high:.2f})" if expected.spread > 1 else ""
    return f"{line}, about ${expected.cost_usd:.2f}{between}"


def price_line(state: RunState, *, leaves: Sequence[Proposition], inner: int) -> str:
    """Return what some leaves and nodes will take, in words."""
    expected = forecast_of(
        state.settings, leaves=leaves, inner=inner, claim=state.statement, cutoff=state.parsed_cutoff()
    )
    price = "price unknown" if expected.cost_usd is None else f"about ${expected.cost_usd:.2f}"
    calls = f"about {expected.model_calls} calls{_calls_range(expected)}"
    return f"{calls} to {state.settings.model}, {price}"


def _calls_range(expected: CostForecast) -> str:
    few, many = expected.range_of(expected.model_calls)
    return f" ({few:.0f} to {many:.0f})" if expected.spread > 1 else ""


def error_line(state: RunState, calls: int, cost_usd: float | None) -> str | None:
    """Return how far off the forecast of a finished run was; None for a model that costs nothing."""
    expected = forecast(state, whole=True)
    if expected.spread == 1:
        return None
    off = calls / expected.model_calls - 1
    line = f"forecast {expected.model_calls} calls for the tree, {calls} were made ({off:+.0%})"
    if not expected.cost_usd or cost_usd is None:
        return line
    return f"{line}; forecast ${expected.cost_usd:.2f}, cost ${cost_usd:.2f} ({cost_usd / expected.cost_usd - 1:+.0%})"


def analysis_calls(settings: RunSettings, inner: int) -> dict[str, int]:
    """Return how often models are asked until a tree of so many inner nodes stands: a round for each, and its critic."""
    rounds = 0 if settings.analyzer == "single" else inner
    reads = settings.agent.tree_critic or "critic" in settings.models
    return {"analyze": rounds, "critic": rounds if reads else 0}


def forecast_of(
    settings: RunSettings,
    *,
    leaves: int | Sequence[Proposition],
    inner: int,
    beside: Mapping[str, int] | None = None,
    claim: str = "Something that is asked about happens by the end of the year",
    cutoff: Cutoff | None = None,
    direct: Sequence[int] = (),
) -> CostForecast:
    """Return what it takes to ground these leaves and to combine so many nodes under a run's settings.

    `leaves`: With their statements, so that ``auto`` is priced by what it would choose; or how many, where nobody knows them yet.
    `direct`: The forecasts of the claim itself that are to come, by their numbers.
    """
    grounder = open_grounder(settings.grounder, settings.agent, settings.options.get("grounder"))
    calls = getattr(grounder, "expected_calls", None)
    routed: dict[str, int] | None = {} if settings.grounder in FREE else None
    more = dict(beside or {})
    # the router's: by attribute, as a module of its own it brings pandas into every command
    by_grounder = getattr(grounder, "expected_calls_by_grounder", None)
    if by_grounder is not None and isinstance(leaves, int):
        routed = {grounder.usual: leaves}  # type: ignore[attr-defined]
    elif by_grounder is not None and not isinstance(leaves, int):
        routed, chosen = by_grounder((leaf.id, leaf.statement, leaf.resolves_by) for leaf in leaves)
        more["route"] = chosen * settings.trials
    count = leaves if isinstance(leaves, int) else len(leaves)
    rendered: dict[str, float] = {}
    if not settings.stays_here:
        root = Tree.root_only(claim).root
        some = replace(root, id="P1") if inner else root
        named = [some] * min(count, 1) if isinstance(leaves, int) else leaves[:_MOST_RENDERED]
        rehearsal = _Rehearsal.of(settings, claim, cutoff or Cutoff.parse("now"))
        grounders = {settings.grounder: grounder}
        if by_grounder is not None:  # ``auto`` is rehearsed as what it chooses
            opened = grounder.grounders  # type: ignore[attr-defined]
            grounders = {
                name: opened.get(name) or open_grounder(name, settings.agent) for name in routed or ()
            }
        rendered = rehearsal.of_leaves(grounders, named) | rehearsal.of_tree(named, count, inner, more)
        if direct:
            asked = rehearsal.of_leaves({DIRECT: open_grounder(DIRECT, settings.agent)}, [root])
            rendered["direct"] = asked[DIRECT]
    if not inner and settings.direct_models:  # a claim alone, which its models forecast in turn
        direct, count, routed = range(1, settings.trials + 1), 0, None
        rendered["direct"] = rendered.get(settings.grounder, TOKENS["thought"][0])
    return forecast_cost(
        settings.model,
        leaves=count,
        inner=inner,
        trials=settings.trials,
        prices=settings.prices,
        roles=settings.models,
        grounder=settings.grounder,
        reply_tokens=settings.reply_tokens,
        calls_per_leaf=calls if isinstance(calls, int) else None,
        most_steps=settings.agent.max_proof_steps,
        routed=routed,
        rendered=rendered,
        beside=more,
        direct=Counter(settings.direct_model(number) for number in direct),
    )


class _Asked(Exception):
    """Takes a request out of an agent that was about to send it."""

    def __init__(self, request: ModelRequest) -> None:
        self.request = request


class _NeedsData(Exception):
    """An agent's way to its first question leads over data, which nobody fetches for a forecast of the cost."""


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    """Has agents come to their first question, and counts it."""

    settings: RunSettings
    claim: str
    cutoff: Cutoff
    context: KnownContext
    guide: CatalogueGuide

    @classmethod
    def of(cls, settings: RunSettings, claim: str, cutoff: Cutoff) -> "_Rehearsal":
        guide = CatalogueGuide.for_run(load_catalogue(), settings, cutoff, settings.keyed or (), network=True)
        return cls(settings, claim, cutoff, settings.context.as_of(cutoff), guide)

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        raise _Asked(request)

    def of_leaves(self, grounders: Mapping[str, Grounder], leaves: Sequence[Proposition]) -> dict[str, float]:
        framings = cycle(self.settings.framings or ("",))
        # What another package brings may do anything before it asks, and a researcher's plan is not like what its workers are asked.
        ours = {
            name: own
            for name, own in grounders.items()
            if type(own).__module__.startswith("workbench.") and name != "deep_research"
        }
        return {
            name: mean
            for name, own in ours.items()
            if (
                mean := _mean(
                    self._tokens(own.ground(self._task(leaf, next(framings))), leaf.id) for leaf in leaves
                )
            )
        }

    def _task(self, leaf: Proposition, framing: str) -> LeafTask:
        async def nothing(*args: Any, **named: Any) -> Any:
            return SimpleNamespace(cells=())

        async def no_data(*args: Any, **named: Any) -> Any:
            raise _NeedsData

        return LeafTask(
            node=NodeRef(id=leaf.id, statement=leaf.statement),
            cutoff=self.cutoff,
            ask=self,
            open_notebook=nothing,
            call_api=no_data,
            data=self.guide,
            settings=self.settings.agent,
            resolves_by=leaf.resolves_by,
            reference_class=leaf.reference_class,
            framing=framing,
        )

    def of_tree(
        self, leaves: Sequence[Proposition], count: int, inner: int, beside: Mapping[str, int]
    ) -> dict[str, float]:
        """Return the tokens of first requests about the tree, by stage; its parts are taken to be alike."""
        if not inner:
            return {}
        settings, cutoff, root = self.settings, self.cutoff, Tree.root_only(self.claim)
        width = max(1, round((count + inner - 1) / inner))
        like = cycle(leaf.statement for leaf in leaves)
        names = [f"P{number}" for number in range(1, width + 1)]
        tree = root.expand(
            "P0",
            {name: f"{next(like)} ({name})" for name in names},
            dict.fromkeys(names, Polarity.POSITIVE),
            "Each makes it more likely.",
        )
        report = Belief(p=0.5, key_factor="What decides it.", report="word " * settings.reply_tokens)
        children = [replace(child, belief=report) for child in tree.children("P0")]
        synthesizer = open_synthesizer(settings.rule, settings.agent, settings.options.get("synthesizer"))
        works: dict[str, Coroutine[Any, Any, object]] = {
            "synthesis": synthesizer.synthesize(tree.root, children, cutoff=cutoff, ask=self)
        }
        if beside.get("analyze"):
            works["analyze"] = self._analysis(root)
        if beside.get("prior"):
            statement = NodeRef(id="P0", statement=self.claim)
            works["prior"] = state_prior(statement, cutoff=cutoff, ask=self, settings=settings.agent)
        if beside.get("critic"):
            works["critic"] = second_findings(
                tree, names, number=0, cutoff=cutoff, ask=self, settings=settings.agent
            )
        return {stage: tokens for stage, work in works.items() if (tokens := self._tokens(work, "P0"))}

    async def _analysis(self, root: Tree) -> None:
        async def on_round(tree: Tree) -> None:
            return

        settings = self.settings
        analyzer = open_analyzer(settings.analyzer, settings.agent, settings.options.get("analyzer"))
        combines = settings.agent.combine_per_node
        brief = Brief(overview=self.guide.overview, combines=combines)
        more = {"brief": brief} if getattr(analyzer, "takes_brief", False) else {}
        await analyzer.analyze(root, cutoff=self.cutoff, ask=self, on_round=on_round, **more)

    def _tokens(self, work: Coroutine[Any, Any, object], node: str) -> int | None:
        """Count the first request of an agent at work; None where it asks for nothing, or waits for something else before."""
        try:
            work.send(None)
        except _Asked as asked:
            request = with_words(asked.request, self.context.lines(root=node == "P0").text)
            return request_tokens(self.settings.model, with_day(request, self.context, self.claim))
        except (StopIteration, RuntimeError, _NeedsData):  # a loop is waited for, and there may be none
            return None
        finally:
            work.close()
        return None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
