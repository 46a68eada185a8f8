"""What a planned run will cost, said before it is paid for."""

from workbench.engine.state import RunState
from workbench.models.registry import OFFLINE


def expected_calls(state: RunState) -> tuple[int, int]:
    """Return (low, high) of the model calls still to come.

    A leaf takes at least two steps and a conclusion, and at most its step limit and a conclusion when no cell fails; every
    inner node takes one synthesis.
    """
    leaves = sum(1 for leaf in state.tree.leaves() if state.tree[leaf].belief is None) * state.settings.trials
    inner = sum(1 for node in state.tree.inner() if state.tree[node].belief is None)
    return 3 * leaves + inner, (state.settings.agent.max_proof_steps + 1) * leaves + inner


def cost_line(state: RunState) -> str:
    """Return the cost forecast as one line: calls, and US dollars where the price of a token is known."""
    low, high = expected_calls(state)
    line = f"grounding will take between {low} and {high} calls to {state.settings.model}"
    if state.settings.model == OFFLINE:
        return line + ", which cost nothing"
    from workbench.models.cost import price_of_call

    price = price_of_call(state.settings.model)
    if price is None:
        return line + ", whose price is unknown"
    return line + f": about ${low * price:.2f} to ${high * price:.2f} at some 6,000 tokens a call"
