"""Ask the synthesizer again after edits: for which propositions, at what price, with which answers."""

from collections.abc import Mapping, Sequence

from proxies.asof.clock import Cutoff
from workbench.agents.evidence.look_up import LookUp
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.new_run import Agents
from workbench.engine.record.state import RunState
from workbench.engine.run_texts import as_asked
from workbench.errors import Option, UsageError
from workbench.formatting import counted, counted_drivers
from workbench.models.costs import forecast_cost
from workbench.propositions import Belief, NodeId, Rule, Tree
from workbench.synthesis import WhatIf
from workbench.synthesis.rules.pooled import pooled_again
from workbench.synthesis.whatif.edits import AddChild, Edit, SetRule, full_plan, play
from workbench.whatif.rule_changes import RuleChange
from workbench.whatif.run_edits import WhatIfResult, require_grounded


async def full_what_if(
    state: RunState,
    edits: Sequence[Edit],
    gateway: ModelGateway,
    *,
    looked_up: Mapping[NodeId, LookUp] | None = None,
) -> WhatIfResult:
    """Ask the synthesizer again for the ancestors of the edited nodes, bottom up, and for them only.

    ``looked_up`` holds its look-ups from when they were first weighed: nothing is looked up again, and the same notes are shown, except
    where the proposition itself was put into other words.

    The replies are filed at addresses of their own (trial 0, attempt = the run's last event that changed it), so they are not mistaken for
    the base run's; the same edits asked again before anything else happened are answered from the ledger.

    Raises `UsageError`: A child of a proposition to be asked for has no value.
    """
    require_grounded(state)
    base = state.tree
    nodes, edited = plan_full(state, edits)
    tree = edited
    waiting = [
        child.id
        for node in nodes
        for child in tree.children(node)
        if child.p is None and child.id not in nodes
    ]
    if waiting:
        raise UsageError(
            f"{', '.join(waiting)} has no value to synthesize from: give it one, ",
            Option("set", f"{waiting[0]}=P"),
        )
    calls_before = gateway.calls
    for node in nodes:
        same = node in base and base[node].statement == tree[node].statement
        material = looked_up.get(node) if same and looked_up else None
        answer = await synthesized_again(state, tree, node, gateway, state.changed_seq, material)
        tree = tree.with_rule(node, *answer)
    whatif = WhatIf.between(
        base,
        tree,
        edited={edit.node for edit in edits if not isinstance(edit, AddChild)},
        candidates=(*base.ids(), *tree.ids()),
    )
    changes = tuple(RuleChange.between(edited, tree, node) for node in nodes)
    return WhatIfResult(whatif=whatif, model_calls=gateway.calls - calls_before, asked_again=changes)


async def synthesized_again(
    state: RunState, tree: Tree, node: NodeId, gateway: ModelGateway, attempt: int, looked_up: LookUp | None
) -> tuple[Rule, Belief]:
    """Ask the synthesizer for one node as it stands in a tree, at trial 0; a direct forecast in its rule stays pooled.

    Nothing is looked up anew where there are notes from when the node was first weighed.
    """
    cutoff = Cutoff.parse(state.cutoff)
    material = {} if looked_up is None else {"looked_up": looked_up}
    rule, belief = await Agents(state.settings).synthesizer.synthesize(
        as_asked(tree[node], cutoff),
        [as_asked(child, cutoff) for child in tree.children(node)],
        cutoff=cutoff,
        ask=gateway.asker(run=state.run_id, node=node, trial=0, attempt=attempt, role="synthesizer"),
        **material,
    )
    return pooled_again(tree[node].rule, rule, belief)


def plan_full(state: RunState, edits: Sequence[Edit]) -> tuple[tuple[NodeId, ...], Tree]:
    """Return the nodes that a full what-if asks the model for, and the tree with the edits in it; nothing is asked yet.

    What was edited before the last full resynthesis (its rules stand among the edits) is not asked for again.
    """
    tree = play(state.tree, edits).tree
    last = max((place for place, edit in enumerate(edits) if isinstance(edit, SetRule)), default=-1)
    return full_plan(tree, edits[last + 1 :]), tree


def price_line(state: RunState, nodes: Sequence[NodeId], *, times: int = 1) -> str:
    """Estimate a synthesizer's answers for these nodes, as one line: calls, tokens, US dollars where known."""
    named = counted_drivers(nodes) or "no driver"
    if not Agents(state.settings).synthesizer.stages:
        return f"the {state.settings.rule} rule asks no model; to combine again: {named}"
    settings = state.settings
    forecast = forecast_cost(
        settings.model, leaves=0, inner=len(nodes) * times, prices=settings.prices, roles=settings.models
    )
    model = settings.models.get("synthesizer", settings.model)
    price = "price unknown" if forecast.cost_usd is None else f"about ${forecast.cost_usd:.4f}"
    tokens = forecast.input_tokens + forecast.output_tokens
    size = f"about {tokens:,} tokens, " if tokens else ""
    repeats = f", {times} times each" if times > 1 else ""
    return f"asking {model} for {named}{repeats}: {counted(forecast.model_calls, 'call')}, {size}{price}"
