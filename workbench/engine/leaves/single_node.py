"""One proposition by itself: a leaf grounded again in a finished run, a failed node tried once more. What it costs, who wanted it."""

from collections.abc import Collection

from workbench.engine.expected_cost import price_line
from workbench.engine.new_run import Agents
from workbench.engine.ownership import own_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, command
from workbench.propositions import NodeId
from workbench.store import Store
from workbench.store import events as ev
from workbench.terminal import printable_line

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
    return f"evidence for {node} again: {price_line(state, leaves=[state.tree[node]], inner=len(synthesized))}; {follow}"


def trying_line(state: RunState, nodes: Collection[NodeId]) -> str:
    """Return what trying some nodes that have no value will take, as one line: calls, dollars, what follows, what is left.

    Raises ``UsageError`` for what is no such node.
    """
    for node in nodes:
        require_due(state, node)
    tree = state.tree
    reached = {*nodes, *(above for node in nodes for above in tree.ancestors(node))}
    # What stands above others only waits for them: it is not named.
    left = [
        node
        for node in tree.ids()
        if tree[node].belief is None and node not in reached and not _waits(state, node)
    ]
    blocked = {above for node in left for above in tree.ancestors(node)}
    ready = [node for node in tree.inner() if tree[node].belief is None and node in reached - blocked]
    synthesized = ready if Agents(state.settings).synthesizer.stages else []
    above = [node for node in ready if node not in nodes]
    follow = f"then {', '.join(above)} combined" if above else "nothing above can follow yet"
    rest = f"; {', '.join(left)} left as they are" if left else ""
    leaves = [tree[node] for node in nodes if not tree[node].children]
    price = price_line(state, leaves=leaves, inner=len(synthesized))
    return f"trying {', '.join(tree.in_order(nodes))}: {price}; {follow}{rest}"


def _waits(state: RunState, node: NodeId) -> bool:
    return any(child.belief is None for child in state.tree.children(node))


def reopen_leaf(
    store: Store, run_id: str, node: NodeId, *, full: bool = False, author: str = "", reason: str = ""
) -> RunState:
    """Put on record that a leaf is to be grounded again, and return the run's state; ``resume`` then does it.

    Until the new attempt concludes the leaf counts as before; if it comes to nothing it goes on to.

    Raises `UsageError`: No leaf with a value, or a run that no model made or that cannot be worked on here. Raises `RunInWork`: Another
    process works on the run.
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
                    author=printable_line(author, _LONGEST_LINE),
                    reason=printable_line(reason, _LONGEST_LINE),
                ),
            )
        return load_state(store, run_id)


def _require_leaf(state: RunState, node: NodeId) -> None:
    proposition = state.tree[node]  # raises for an unknown one
    if proposition.children:
        leaves = ", ".join(leaf for leaf in state.tree.leaves() if node in state.tree.ancestors(leaf))
        raise UsageError(f"{node} is combined from its drivers: name one of {leaves:.200}")
    if proposition.belief is None:
        raise UsageError(
            f"{node} has no value yet: ", command("resume", state.run_id), " collects its evidence"
        )


def require_due(state: RunState, node: NodeId) -> None:
    """Raise ``UsageError`` unless a node is a leaf that the next sitting would ground, or one that it would synthesize."""
    if state.tree[node].children:  # raises for an unknown one
        if state.tree[node].belief is not None:
            raise UsageError(
                f"{node} has its value: a full what-if asks for another rule: ",
                command("whatif", state.run_id, full=True),
            )
        if _waits(state, node):
            waiting = [child.id for child in state.tree.children(node) if child.belief is None]
            raise UsageError(f"{node} waits for {', '.join(waiting)}: try those first")
        return
    if not state.due(node):
        raise UsageError(
            f"{node} has its value: ", command("reground", state.run_id, node), " collects its evidence again"
        )
