"""What a planned run will cost, said before it is paid for."""

from workbench.engine.run.state import RunState
from workbench.models.cost import forecast_cost


def cost_line(state: RunState) -> str:
    """Return the cost forecast as one line: calls, and US dollars where the price of a token is known."""
    forecast = forecast_cost(
        state.settings.model,
        leaves=sum(1 for leaf in state.tree.leaves() if state.tree[leaf].belief is None),
        inner=sum(1 for node in state.tree.inner() if state.tree[node].belief is None),
        trials=state.settings.trials,
    )
    line = f"grounding will take about {forecast.model_calls} calls to {state.settings.model}"
    if forecast.cost_usd is None:
        return f"{line} ({forecast.input_tokens + forecast.output_tokens:,} tokens), whose price is unknown"
    return f"{line}, about ${forecast.cost_usd:.2f}"
