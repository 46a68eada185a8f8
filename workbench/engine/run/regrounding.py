"""Grounding one leaf of a finished run again: what it will cost, and the event that has it done. The old stays on record."""

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
    forecast = forecast_cost(
        state.settings.model,
        leaves=1,
        inner=len(synthesized),
        trials=state.settings.trials,
        prices=state.settings.prices,
    )
    follow = (
        f"{', '.join(synthesized)} asked of the synthesizer again"
        if synthesized
        else f"{', '.join(above) or 'nothing above'} recomputed by the stored rules"
    )
    few, many = forecast.range_of(forecast.model_calls)
    calls = f"about {forecast.model_calls} calls" + (
        f" ({few:.0f} to {many:.0f})" if forecast.spread > 1 else ""
    )
    price = "price unknown" if forecast.cost_usd is None else f"about ${forecast.cost_usd:.2f}"
    return f"grounding {node} again: {calls} to {state.settings.model}, {price}; {follow}"


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


def _line(text: str) -> str:
    return printable(" ".join(text.split()), keep="")[:_LONGEST_LINE]
