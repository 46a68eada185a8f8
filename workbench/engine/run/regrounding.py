"""Grounding one leaf by itself: again in a finished run, or once more where it failed. What it will cost, and who wanted it."""

from collections.abc import Collection

from workbench.engine.run.opening import Agents
from workbench.engine.run.ownership import own_run
from workbench.engine.run.state import RunState, load_state
from workbench.errors import UsageError
from workbench.models.cost import forecast_cost
from workbench.propositions import NodeId
from workbench.store import Store
from workbench.store import events as ev
from workbench.terminal import printable

_LONGEST_LINE = 500  # characters of an author or a reason


def regrounding_line(state: RunState, node: NodeId, *, full: bool = False) -> str:
    """Return what grounding a leaf again will take, as one line: calls, and US dollars where known.

    Raises ``UsageError`` for what cannot be grounded again.
    """
    _require_leaf(state, node)
    above = state.tree.ancestors(node)
    synthesized = [
        place for place in above if full or (rule := state.tree[place].rule) is None or not rule.numeric
    ]
    if not Agents(state.settings).synthesizer.stages:
        synthesized = []
    follow = (
        f"{', '.join(synthesized)} asked of the synthesizer again"
        if synthesized
        else f"{', '.join(above) or 'nothing above'} recomputed by the stored rules"
    )
    return f"grounding {node} again: {_price(state, leaves=1, inner=len(synthesized))}; {follow}"


def trying_line(state: RunState, leaves: Collection[NodeId]) -> str:
    """Return what grounding some leaves that have no value will take, as one line: calls, dollars, what follows, what is left.

    Raises ``UsageError`` for what is no such leaf.
    """
    for leaf in leaves:
        require_due_leaf(state, leaf)
    without = [leaf for leaf in state.tree.leaves() if state.tree[leaf].belief is None]
    left = [leaf for leaf in without if leaf not in leaves]
    ready = [
        node
        for node in state.tree.inner()
        if state.tree[node].belief is None and not any(node in state.tree.ancestors(leaf) for leaf in left)
    ]
    synthesized = ready if Agents(state.settings).synthesizer.stages else []
    follow = f"then {', '.join(ready)} synthesized" if ready else "nothing above can follow yet"
    rest = f"; {', '.join(left)} left as they are" if left else ""
    price = _price(state, leaves=len(leaves), inner=len(synthesized))
    return f"trying {', '.join(state.tree.in_order(leaves))}: {price}; {follow}{rest}"


def _price(state: RunState, *, leaves: int, inner: int) -> str:
    forecast = forecast_cost(
        state.settings.model,
        leaves=leaves,
        inner=inner,
        trials=state.settings.trials,
        prices=state.settings.prices,
    )
    few, many = forecast.range_of(forecast.model_calls)
    calls = f"about {forecast.model_calls} calls" + (
        f" ({few:.0f} to {many:.0f})" if forecast.spread > 1 else ""
    )
    price = "price unknown" if forecast.cost_usd is None else f"about ${forecast.cost_usd:.2f}"
    return f"{calls} to {state.settings.model}, {price}"


def reopen_leaf(
    store: Store, run_id: str, node: NodeId, *, full: bool = False, author: str = "", reason: str = ""
) -> RunState:
    """Put on record that a leaf is to be grounded again, and return the run's state; ``resume`` then does it.

    Until the new attempt concludes the leaf counts as before; if it comes to nothing it goes on to.

    Parameters
    ----------
    full : bool
        Ask the synthesizer again for all nodes above; by default those with a formula are recomputed by it.

    Raises
    ------
    UsageError
        No leaf with a value, or a run that no model made or that cannot be worked on here.
    RunInWork
        Another process works on the run.
    """
    with own_run(store.folder(run_id)):
        state = load_state(store, run_id)
        _require_leaf(state, node)
        state.require_model()
        state.require_installed()
        state.require_sources()
        state.require_own_server()
        if node not in state.reopened or not state.due(node):
            store.append(
                run_id,
                ev.LeafReopened(
                    node=node,
                    resynthesis="full" if full else "numeric",
                    author=_line(author),
                    reason=_line(reason),
                ),
            )
        return load_state(store, run_id)


def _require_leaf(state: RunState, node: NodeId) -> None:
    proposition = state.tree[node]  # raises for an unknown one
    if proposition.children:
        leaves = ", ".join(leaf for leaf in state.tree.leaves() if node in state.tree.ancestors(leaf))
        raise UsageError(f"{node} has propositions below it; only a leaf is grounded: one of {leaves:.200}")
    if proposition.belief is None:
        raise UsageError(f"{node} has no value yet: `workbench resume {state.run_id}` grounds it")


def require_due_leaf(state: RunState, node: NodeId) -> None:
    """Raise ``UsageError`` unless a node is a leaf that the next sitting would ground."""
    if state.tree[node].children:  # raises for an unknown one
        raise UsageError(f"{node} has propositions below it; only a leaf is grounded by itself")
    if not state.due(node):
        raise UsageError(f"{node} has its value: `workbench reground {state.run_id} {node}` grounds it again")


def _line(text: str) -> str:
    return printable(" ".join(text.split()), keep="")[:_LONGEST_LINE]
