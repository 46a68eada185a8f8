"""What a run will cost: calls times tokens, for the forecast that ``--plan-only`` prints.

The averages are assumptions, stated here in one place: tokens of one call per stage as a run with the house's
prompts uses them, and calls per leaf and per inner node.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Input and output tokens of one call, by stage.
TOKENS: Mapping[str, tuple[int, int]] = {
    "analyze": (3_000, 900),
    "step": (7_000, 900),
    "debug": (8_000, 500),
    "conclude": (11_000, 700),
    "synthesis": (6_000, 700),
    "thought": (1_500, 400),
    # one move of an agent's loop, as benchmarks.grounders counts them
    "search": (4_600, 150),
    "belief": (9_800, 550),
    "research": (3_200, 150),
}
#: Calls a leaf takes with a language model: steps, corrections (on average), one conclusion.
CALLS_PER_LEAF: Mapping[str, float] = {"step": 6.0, "debug": 0.7, "conclude": 1.0}
#: Calls of a leaf by its grounder, where that is not the notebook.
CALLS_BY_GROUNDER: Mapping[str, Mapping[str, float]] = {
    "search": {"search": 6.0},
    "belief": {"belief": 7.0},
    "deep_research": {"research": 18.0},
}
OFFLINE_CALLS_PER_LEAF: Mapping[str, float] = {"step": 4.0, "debug": 0.0, "conclude": 1.0}
#: How far off the averages are, as standard deviations of a logarithm: a model's way of working, which all leaves of a run
#: share, and what differs from leaf to leaf. The range of a forecast covers nine runs in ten if that is right.
_SHARED_SPREAD, _LEAF_SPREAD = 0.45, 0.6
_TWO_SIDED = 1.645


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """Calls and tokens still to come, and their price; ``cost_usd`` is None if the price is unknown."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    spread: float = 1.0

    def range_of(self, value: float) -> tuple[float, float]:
        """Return the range around one of the averages: it is divided and multiplied by ``spread``."""
        return value / self.spread, value * self.spread


def forecast_cost(
    model: str,
    *,
    leaves: int,
    inner: int,
    trials: int = 1,
    prices: Mapping[str, Sequence[float]] | None = None,
    roles: Mapping[str, str] | None = None,
    grounder: str = "notebook",
) -> CostForecast:
    """Return what grounding and combining a planned tree will take; ``--plan-only`` prints it.

    Parameters
    ----------
    model : str
        As on the command line. Prices are LiteLLM's list prices.
    leaves, inner, trials : int
        Leaves to ground, inner nodes to combine, trials per leaf.
    prices : mapping
        A person's own, per million tokens, by model.
    roles : mapping
        Models of single roles: the grounder's and the synthesizer's count here, each with its own price.
    grounder : str
        Which kind grounds the leaves; one that is not known here is taken to ask as often as the notebook grounder.

    Examples
    --------
    >>> forecast_cost("offline/analyst", leaves=9, inner=3)
    CostForecast(model_calls=48, input_tokens=0, output_tokens=0, cost_usd=0.0, spread=1.0)
    """
    grounding, combining = ((roles or {}).get(role, model) for role in ("grounder", "synthesizer"))
    per_leaf = (
        OFFLINE_CALLS_PER_LEAF if _is_offline(grounding) else CALLS_BY_GROUNDER.get(grounder, CALLS_PER_LEAF)
    )
    calls = [(grounding, stage, count * leaves * trials) for stage, count in per_leaf.items()]
    calls.append((combining, "synthesis", float(inner)))
    total = round(sum(count for _, _, count in calls))
    # The offline analyst computes: it reads and writes no tokens, and its number of calls is known.
    billed = [(name, stage, count) for name, stage, count in calls if count and not _is_offline(name)]
    if not billed:
        return CostForecast(model_calls=total, input_tokens=0, output_tokens=0, cost_usd=0.0)
    from workbench.models.usage import price_of

    priced = {name: price_of(name, prices or {}) for name, _, _ in billed}
    cost: float | None = 0.0
    for name, stage, count in billed:
        price, (tokens_in, tokens_out) = priced[name], TOKENS[stage]
        if price is None or cost is None:
            cost = None
        else:
            cost += count * (tokens_in * price.input + tokens_out * price.output)
    groundings = max(1, leaves * trials)
    deviation = math.sqrt(_SHARED_SPREAD**2 + _LEAF_SPREAD**2 / groundings)
    return CostForecast(
        model_calls=total,
        input_tokens=round(sum(count * TOKENS[stage][0] for _, stage, count in billed)),
        output_tokens=round(sum(count * TOKENS[stage][1] for _, stage, count in billed)),
        cost_usd=cost,
        spread=math.exp(_TWO_SIDED * deviation),
    )


def _is_offline(model: str) -> bool:
    return model.startswith("offline/")
