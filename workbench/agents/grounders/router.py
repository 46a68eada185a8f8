"""``--grounder auto``: each leaf goes to the grounder that fits it, or to several whose forecasts are pooled; why is part of the evidence."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.agents.base import (
    AgentSettings,
    Grounder,
    Grounding,
    GroundingFailure,
    LeafTask,
)
from workbench.agents.conversation import Relayed, ask_once
from workbench.agents.errors import AgentGaveUp, BadSetting
from workbench.agents.evidence.base import STEPS_EACH, Evidence, EvidencePart
from workbench.agents.evidence.check import pooled_belief
from workbench.agents.grounders.market_grounder import named_market
from workbench.agents.grounders.statistical import read_leaf
from workbench.agents.registry import agent_names, no_options, open_grounder
from workbench.agents.replies.stage_replies import parse_route
from workbench.agents.routing import (
    FOR_DATA,
    FREE,
    ROUTED,
    Candidates,
    GrounderRecord,
    Leaf,
    Route,
    route_by_rule,
)
from workbench.errors import Option, sentence
from workbench.models.errors import ModelRefused
from workbench.plug_points import GROUNDERS
from workbench.prompts import prompts_of
from workbench.questions.errors import ClaimRefused

if TYPE_CHECKING:
    from proxies.ledger import Answer
    from workbench.models.base import ModelReply, ModelRequest


class RouterGrounder:
    """Chooses for each leaf by rule, then by model where the rules leave more than one.

    Parameters
    ----------
    settings : AgentSettings
        Handed on to the grounders.
    options : dict
        ``ground_with``: leaf id to grounder, or to several joined by ``+``; what a person chose is not second-guessed.
        ``among``: grounders that may be chosen, all installed ones unless given. ``undecided``: where a leaf goes that the rules leave
        open; without it a model is asked. ``record``: what each has done on leaves that were resolved before the cutoff, put in when
        the run is opened. A grounder's name: its own settings.
    """

    takes_known_calls: ClassVar[bool] = True

    def __init__(self, settings: AgentSettings, options: dict[str, Any]) -> None:
        installed = tuple(name for name in agent_names(GROUNDERS) if name != "auto")
        self._settings = settings
        self._chosen = _chosen(options.pop("ground_with", {}), installed)
        among = options.pop("among", None)
        names = (
            tuple(name for name in ROUTED if name in installed) if among is None else _names(among, installed)
        )
        undecided = options.pop("undecided", None)
        self._undecided = None if undecided is None else _names(undecided, installed)
        self._options = {name: dict(options.pop(name)) for name in list(options) if name in installed}
        self._candidates = Candidates(names=names, records=_records(options.pop("record", {})))
        no_options("the router", options)
        # A bad setting of any of them must show before a leaf is paid for.
        several = (*self._chosen.values(), self._undecided or ())
        used = dict.fromkeys((*names, *(name for each in several for name in each)))
        #: By name, each with its own settings; cost forecasts read them.
        self.grounders: dict[str, Grounder] = {
            name: open_grounder(name, settings, self._options.get(name)) for name in used
        }

    @property
    def usual(self) -> str:
        """Return the grounder that a leaf nobody knows yet is taken to go to."""
        return (self._undecided or FOR_DATA)[0]

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief by the grounder or grounders it went to; the evidence says which and why."""
        route = await self._route(task)
        if route is None:
            return GroundingFailure(
                reason=sentence(
                    "no grounder of this installation fits the leaf: name one with ",
                    Option("ground_with", by_set=True),
                ),
                retryable=False,
            )
        outcomes = await asyncio.gather(
            *(self._by(name, place, task) for place, name in enumerate(route.grounders))
        )
        ran = dict(zip(route.grounders, outcomes, strict=True))
        for name in route.instead:
            if any(isinstance(outcome, Grounding) for outcome in ran.values()):
                break
            ran[name] = await self._by(name, len(ran), task)
        parts = {name: outcome for name, outcome in ran.items() if isinstance(outcome, Grounding)}
        failed = {
            name: outcome.reason for name, outcome in ran.items() if isinstance(outcome, GroundingFailure)
        }
        last = list(ran.values())[-1]
        if not parts:
            assert isinstance(last, GroundingFailure)
            # A later attempt goes on where the dialogue of a single grounder broke off; of several nobody knows which.
            reason = "; ".join(f"{name}: {why}" for name, why in failed.items())
            return GroundingFailure(
                reason=reason[:500], retryable=last.retryable, gave_up=last.gave_up if len(ran) == 1 else None
            )
        return _together(route, parts, failed)

    def expected_route(self, node: str, statement: str, resolves_by: str) -> Route | None:
        """Return where a leaf goes without asking anybody; None where a model chooses. Cost forecasts ask."""
        named = self._chosen.get(node)
        if named is not None:
            return Route(grounders=named, by="person", reason="named for this leaf")
        route = route_by_rule(
            Leaf(
                statement=statement,
                series=_series(statement, resolves_by),
                market=_market_words(statement, resolves_by),
            ),
            self._candidates,
        )
        if route is not None or self._undecided is None:
            return route
        data = self._candidates.best(FOR_DATA)
        return Route(
            grounders=self._undecided,
            by="rule",
            reason="neither an event nor a figure by its words",
            instead=() if data is None or data in self._undecided else (data,),
        )

    def expected_calls_by_grounder(
        self, leaves: Iterable[tuple[str, str, str]]
    ) -> tuple[dict[str, int], int]:
        """Return how many leaves (node, statement, what settles it) go to each grounder that asks a model, and for how many one chooses.

        For those the last that may be chosen is counted, which is the notebook where it is there.
        """
        counts: Counter[str] = Counter()
        open_leaves = 0
        for node, statement, resolves_by in leaves:
            route = self.expected_route(node, statement, resolves_by)
            if route is None:
                open_leaves += 1
            names = route.grounders if route is not None else self._candidates.names[-1:]
            counts.update(name for name in names if name not in FREE)
        return dict(counts), open_leaves

    async def _route(self, task: LeafTask) -> Route | None:
        route = self.expected_route(task.node.id, task.node.statement, task.resolves_by)
        if route is not None or not self._candidates.names:
            return route
        return await self.ask_model(task)

    async def ask_model(self, task: LeafTask) -> Route | None:
        """Return the route that the model chooses; called where the rules leave more than one grounder. None if none can fit."""
        names = [name for name in self._candidates.names if name not in FREE]
        if not names:
            return None
        listed = "\n".join(
            f"- {name}: {_FITS.get(name, _UNKNOWN)}{self._candidates.why(name)}" for name in names
        )
        # What the rules would fall back on: without a usable reply the leaf is not lost.
        default = Route(
            grounders=(names[-1],),
            by="rule",
            reason="the rules left it open and no model chose",
            instead=tuple(names[:1]),
        )
        settled = f"\n\nSaid to settle it: {task.resolves_by}" if task.resolves_by else ""
        try:
            chosen, reason = await ask_once(
                task.ask,
                "route",
                lambda text: parse_route(text, names),
                about=task.node.statement,
                nodes=[task.node],
                cutoff=task.cutoff,
                settings=self._settings,
                reply_format='One ```json object {"grounders": [...], "reason": "..."}.',
                statement=task.node.statement + settled,
                grounders=listed,
            )
        except (AgentGaveUp, ModelRefused):
            return default
        return Route(
            grounders=chosen,
            by="model",
            reason=reason,
            instead=tuple(name for name in names if name not in chosen)[:1],
        )

    async def _by(self, name: str, place: int, task: LeafTask) -> Grounding | GroundingFailure:
        """Ground by one grounder; its requests and calls stand in the ledgers behind those of the ones before it."""
        # The router's own question stands at step 0 of stage "route", which no grounder has.
        behind = place * STEPS_EACH

        async def ask(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
            return await task.ask(request, stage=stage, step=step + behind, retry=retry)

        async def call_api(path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Answer:
            return await task.call_api(path, params, step=step + behind, retry=retry)

        moved = replace(task, ask=Relayed(prompts_of(task.ask), ask), call_api=call_api)
        return await self.grounders[name].ground(moved if place else task)


#: What a model is told of each grounder, and of one that another package brings.
_UNKNOWN = "a grounder of another package"
_FITS = {
    "search": "reads dated web pages; for events, decisions, statements, and whatever was written about",
    "belief": "like search, and keeps a belief with evidence for and against over several steps",
    "deep_research": "plans and follows several questions over many pages; slow and dear, for what is entangled",
    "notebook": "writes and runs analysis of data series and tables; for figures, counts, comparisons over time",
}


def _together(route: Route, parts: Mapping[str, Grounding], failed: Mapping[str, str]) -> Grounding:
    routed = tuple(
        EvidencePart(
            grounder=name,
            first_step=STEPS_EACH * [*route.grounders, *route.instead].index(name),
            belief=part.belief,
            evidence=part.evidence,
        )
        for name, part in parts.items()
    )
    evidence = Evidence(route=route, parts=routed, failed=dict(failed))
    trace = {
        name: sum(part.trace.get(name, 0) for part in parts.values()) for name in ("steps", "failed_cells")
    }
    findings = tuple(finding for part in parts.values() for finding in part.findings)
    return Grounding(belief=pooled_belief(routed, route), evidence=evidence, trace=trace, findings=findings)


def _series(statement: str, resolves_by: str) -> str:
    try:
        leaf, _ = read_leaf(statement, resolves_by)
    except ClaimRefused:
        return ""
    # A claim of two years ahead, or past the end of the embedded data, is read and not decided: its grounder says so, and the
    # route has another to go to.
    return " and ".join(map(str, leaf.refs))


def _market_words(statement: str, resolves_by: str) -> str:
    try:
        return str(named_market(statement, resolves_by))
    except ClaimRefused:
        return ""


def _names(value: Any, installed: tuple[str, ...]) -> tuple[str, ...]:
    names = (
        tuple(value.split("+")) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    )
    if not names:
        raise BadSetting(f"{value!r:.60} names no grounder: write one, or several joined by +")
    if unknown := [name for name in names if name not in installed]:
        raise BadSetting(f"no grounder is called {unknown[0]!s:.40}: one of {', '.join(installed)}")
    return tuple(dict.fromkeys(names))


def _chosen(value: Any, installed: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise BadSetting(
            'ground_with is a mapping from driver to grounder, for example {"P3": "statistical"}'
        )
    return {str(node): _names(names, installed) for node, names in value.items()}


def _records(value: Any) -> dict[str, GrounderRecord]:
    try:
        return {str(name): GrounderRecord(**record) for name, record in dict(value).items()}
    except (TypeError, ValueError) as error:
        raise BadSetting(f"record holds n, brier and cost_usd of grounders ({error})") from None
