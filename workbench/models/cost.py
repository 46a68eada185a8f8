"""What a run will cost: calls times tokens, for the forecast that ``--plan-only`` prints.

The averages are assumptions, stated here in one place: tokens of one call per stage as a run with the house's
prompts uses them, and calls per leaf and per inner node.
"""

from collections.abc import Mapping
from dataclasses import dataclass

#: Input and output tokens of one call, by stage.
TOKENS: Mapping[str, tuple[int, int]] = {
    "analyze": (3_000, 900),
    "step": (7_000, 900),
    "debug": (8_000, 500),
    "conclude": (11_000, 700),
    "synthesis": (6_000, 700),
}
#: Calls a leaf takes with a language model: steps, corrections (on average), one conclusion.
CALLS_PER_LEAF: Mapping[str, float] = {"step": 6.0, "debug": 0.7, "conclude": 1.0}
OFFLINE_CALLS_PER_LEAF: Mapping[str, float] = {"step": 4.0, "debug": 0.0, "conclude": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """Calls and tokens still to come, and their price; ``cost_usd`` is None if the price is unknown."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


def forecast_cost(model: str, *, leaves: int, inner: int, trials: int = 1) -> CostForecast:
    """Return what grounding and combining a planned tree will take; ``--plan-only`` prints it.

    Parameters
    ----------
    model : str
        As on the command line. Prices are LiteLLM's list prices.
    leaves, inner, trials : int
        Leaves to ground, inner nodes to combine, trials per leaf.

    Examples
    --------
    >>> forecast_cost("offline/analyst", leaves=9, inner=3)
    CostForecast(model_calls=48, input_tokens=0, output_tokens=0, cost_usd=0.0)
    """
    offline = model.startswith("offline/")
    per_leaf = OFFLINE_CALLS_PER_LEAF if offline else CALLS_PER_LEAF
    calls = {stage: count * leaves * trials for stage, count in per_leaf.items()}
    calls["synthesis"] = float(inner)
    total = round(sum(calls.values()))
    if offline:
        return CostForecast(model_calls=total, input_tokens=0, output_tokens=0, cost_usd=0.0)
    tokens_in = sum(count * TOKENS[stage][0] for stage, count in calls.items())
    tokens_out = sum(count * TOKENS[stage][1] for stage, count in calls.items())
    from workbench.models.litellm_client import price_per_token

    prices = price_per_token(model)
    cost = None if prices is None else tokens_in * prices[0] + tokens_out * prices[1]
    return CostForecast(
        model_calls=total, input_tokens=round(tokens_in), output_tokens=round(tokens_out), cost_usd=cost
    )
