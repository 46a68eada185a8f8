"""What a run will take, from its settings: the calls of its leaves, of its rules, and of what is asked beside them."""

from collections.abc import Mapping, Sequence

from workbench.agents.registry import open_grounder
from workbench.agents.routing import FREE
from workbench.engine.run_settings import RunSettings
from workbench.models.costs import CostForecast, forecast_cost
from workbench.propositions import Proposition


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
) -> CostForecast:
    """Return what it takes to ground these leaves and to combine so many nodes under a run's settings.

    Parameters
    ----------
    leaves
        With their statements, so that ``auto`` is priced by what it would choose; or how many, where nobody knows them yet.
    beside
        As for ``forecast_cost``.
    """
    grounder = open_grounder(settings.grounder, settings.agent, settings.options.get("grounder"))
    calls = getattr(grounder, "expected_calls", None)
    routed: dict[str, int] | None = {} if settings.grounder in FREE else None
    more = dict(beside or {})
    # the router's: by attribute, as a module of its own it brings pandas into every command
    by_grounder = getattr(grounder, "expected_calls_by_grounder", None)
    if isinstance(leaves, Sequence) and by_grounder is not None:
        routed, chosen = by_grounder((leaf.id, leaf.statement, leaf.resolves_by) for leaf in leaves)
        more["route"] = chosen * settings.trials
    return forecast_cost(
        settings.model,
        leaves=leaves if isinstance(leaves, int) else len(leaves),
        inner=inner,
        trials=settings.trials,
        prices=settings.prices,
        roles=settings.models,
        grounder=settings.grounder,
        reply_tokens=settings.reply_tokens,
        calls_per_leaf=calls if isinstance(calls, int) else None,
        routed=routed,
        framed=bool(settings.framings),
        beside=more,
    )
