"""Ask the synthesizer the same again, to see how far its rules can be trusted. The run's numbers are not changed."""

from dataclasses import asdict, dataclass
from typing import Any

from workbench.agents.errors import AgentGaveUp
from workbench.engine.access.look_up_records import node_look_up
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, command
from workbench.propositions import NodeId, Rule
from workbench.store import ModelLedger, Store
from workbench.store import events as ev
from workbench.synthesis.sensitivity.rule_refits import RefitSpread, Spread, refit_spread, spread_of
from workbench.whatif.full_resynthesis import synthesized_again
from workbench.whatif.run_edits import require_grounded


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRefits:
    """The refits of one node; ``spread`` is None where the rule has no function or none was usable."""

    node: NodeId
    statement: str
    failed: int
    values: tuple[float, ...]
    spread: RefitSpread | None

    @property
    def value(self) -> Spread | None:
        """Spread of the node's value; None when every refit failed."""
        return spread_of(self.values) if self.values else None

    def event(self, count: int) -> ev.NodeRefitted:
        """Return the event that keeps the outcome of ``count`` refits."""
        document = self.to_json()
        return ev.NodeRefitted(
            node=self.node,
            count=count,
            failed=self.failed,
            value=document["value"],
            coefficients=document["coefficients"] or {},
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        spread = self.spread and asdict(self.spread)
        return {
            "id": self.node,
            "statement": self.statement,
            "failed": self.failed,
            "values": list(self.values),
            "value": self.value and asdict(self.value),
            "coefficients": spread and spread["coefficients"],
            "formulas": spread and spread["formulas"],
            "warnings": spread["warnings"] if spread else [],
        }


def refit_nodes(state: RunState, chosen: tuple[NodeId, ...] = ()) -> tuple[NodeId, ...]:
    """Return the inner nodes to ask for, all unless some are chosen; raises ``UsageError`` for a leaf."""
    require_grounded(state)
    for node in chosen:
        if not state.tree[node].children:
            raise UsageError(f"{node} has no drivers below it, so no rule to refit")
    return tuple(node for node in state.tree.inner() if not chosen or node in chosen)


async def refit_run(
    store: Store, state: RunState, nodes: tuple[NodeId, ...], count: int, gateway: ModelGateway
) -> list[NodeRefits]:
    """Ask for every node ``count`` times at its children's stored values.

    Each ask is at an address of its own (trial 0, an attempt that no reply of the run has), so none is answered from the
    ledger. A reply that stays unusable counts as failed. The outcome of each node goes on record, where every screen finds it.

    Raises `UsageError`: Fewer than 2 refits, or a child without a value.
    """
    if count < 2:
        raise UsageError(f"a spread needs at least 2 refits, not {count}")
    # Above state.seq too: a full what-if of this state asks at trial 0, attempt = state.changed_seq (`full_what_if`).
    first = 1 + max(state.seq, ModelLedger(store).last_attempt(state.run_id))
    refits = []
    for node in nodes:
        children = state.tree.children(node)
        p = {child.id: child.p for child in children if child.p is not None}
        if len(p) != len(children):
            raise UsageError(
                f"{node} has a child without a value: ", command("resume", state.run_id), " first"
            )
        # Nothing is looked up again: the spread is that of the weights at the same material.
        stored = node_look_up(store, state, node)
        material = None if stored is None else stored.look_up
        rules: list[Rule] = []
        values: list[float] = []
        failed = 0
        for attempt in range(first, first + count):
            try:
                rule, belief = await synthesized_again(state, state.tree, node, gateway, attempt, material)
            except AgentGaveUp:
                failed += 1
                continue
            rules.append(rule)
            values.append(belief.p)
        numeric = bool(rules) and all(rule.numeric for rule in rules)
        refits.append(
            NodeRefits(
                node=node,
                statement=state.tree[node].statement,
                failed=failed,
                values=tuple(values),
                spread=refit_spread(rules, p) if numeric else None,
            )
        )
        store.append(state.run_id, refits[-1].event(count))
    return refits
