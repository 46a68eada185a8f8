"""What a planned run will cost, said before it is paid for, and how far off that was."""

from workbench.agents.routing import FREE
from workbench.engine.run.state import RunState
from workbench.models.cost import CostForecast, forecast_cost

#: Who asks models once the tree stands.
_ROLES = ("grounder", "synthesizer")


def forecast(state: RunState, *, whole: bool = False) -> CostForecast:
    """Return what the rest of a planned run will take; with ``whole`` what all of it was expected to."""
    tree = state.tree
    leaves = sum(1 for leaf in tree.leaves() if whole or tree[leaf].belief is None)
    return forecast_cost(
        state.settings.model,
        # Of a routed tree nobody knows before its leaves are looked at: the most it can take is said.
        leaves=0 if state.settings.grounder in FREE else leaves,
        inner=sum(1 for node in tree.inner() if whole or tree[node].belief is None),
        trials=state.settings.trials,
        prices=state.settings.prices,
        roles=state.settings.models,
        grounder=state.settings.grounder,
    )


def cost_line(state: RunState) -> str:
    """Return the cost forecast as one line: calls, and US dollars where the price of a token is known, with a range."""
    expected = forecast(state)
    roles = {role: name for role, name in state.settings.models.items() if role in _ROLES}
    models = dict.fromkeys(roles.get(role, state.settings.model) for role in _ROLES)
    line = f"grounding will take about {expected.model_calls} calls to {' and '.join(models)}"
    few, many = expected.range_of(expected.model_calls)
    if expected.spread > 1:
        line += f" ({few:.0f} to {many:.0f})"
    if expected.cost_usd is None:
        return f"{line} ({expected.input_tokens + expected.output_tokens:,} tokens), whose price is unknown"
    low, high = expected.range_of(expected.cost_usd)
    between = f" (${low:.2f} to ${high:.2f})" if expected.spread > 1 else ""
    return f"{line}, about ${expected.cost_usd:.2f}{between}"


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
