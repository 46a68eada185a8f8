"""Edits of a run by a person: a changed plan, and what-ifs, numeric or with the synthesizer asked again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from proxies.asof.clock import Cutoff
from workbench.engine.run.asking import ModelGateway
from workbench.engine.run.opening import Agents
from workbench.engine.run.state import RunState, load_state, put_tree
from workbench.engine.tree_documents import override_rows
from workbench.errors import UsageError
from workbench.models.cost import forecast_cost
from workbench.propositions import EditConflict, NodeId, Polarity, Tree, TreeError
from workbench.propositions.edits import AddChild, Edit, Pin, RemoveNode, Restate, SetRule, SetValue, Unpin
from workbench.propositions.values import Override
from workbench.store import Store, StoredEvent
from workbench.store import events as ev
from workbench.synthesis import Change, RuleError, WhatIf, resynthesize, tree_from_json
from workbench.synthesis.whatif.apply_edits import FullPlan, full_plan, play, play_until


def adopt_tree_file(store: Store, run_id: str) -> bool:
    """Take over what a person changed in ``tree.json`` of a run that was only planned; True when something was.

    Raises ``UsageError`` when the file is no valid tree.
    """
    state = load_state(store, run_id)
    path = store.folder(run_id) / "tree.json"
    if not state.planned or state.stopped is None or state.stopped.why != "plan-only" or not path.is_file():
        return False
    try:
        tree = tree_from_json(orjson.loads(path.read_bytes()))
    except (orjson.JSONDecodeError, TreeError, RuleError) as error:
        raise UsageError(
            f"{path} is not a tree ({error}): mend it, or restore the plan with `workbench show {run_id}`"
        ) from None
    if tree.to_json() == state.tree.to_json():
        return False

    # Checked inside the append's transaction: another process may resume the run after it was read above.
    def unchanged(events: list[StoredEvent]) -> None:
        if events[-1].seq != state.seq:
            raise EditConflict(f"run {run_id} went on meanwhile: try again")

    store.append(run_id, ev.TreeEdited(tree=put_tree(store, tree), base_seq=state.seq), guard=unchanged)
    return True


def parse_settings(pairs: Sequence[str]) -> dict[NodeId, float]:
    """Return ``{"P2.1": 0.0}`` from ``["P2.1=0.0"]``; raises ``UsageError`` on anything else."""
    edits: dict[NodeId, float] = {}
    for pair in pairs:
        node, equals, text = pair.partition("=")
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        # NaN fails the range check, so text that is no number and a typed "nan" are refused by the same line.
        if not equals or not node.strip() or not 0.0 <= value <= 1.0:
            raise UsageError(
                f"--set {pair!r}: write NODE=P with a probability between 0 and 1, for example P2.1=0.25"
            )
        if node.strip() in edits:
            raise UsageError(f"--set names {node.strip()} twice")
        edits[node.strip()] = value
    return edits


@dataclass(frozen=True, slots=True, kw_only=True)
class EditTexts:
    """Edits as a person types them; :meth:`edits` reads them."""

    settings: Sequence[str] = ()
    adds: Sequence[str] = ()
    removes: Sequence[str] = ()
    pins: Sequence[str] = ()
    unpins: Sequence[str] = ()
    restatements: Sequence[str] = ()
    same_meaning: bool = False

    def edits(self, override: Override | None = None) -> tuple[Edit, ...]:
        """The edits in the order in which they are made: unpin, restate, add, remove, pin, set.

        So a pin holds the value of before the settings, an added proposition gets the number after the last of its
        siblings, removed or not, and can be given a value by a setting of the same call.

        Raises
        ------
        UsageError
            One that cannot be read.
        """
        return (
            *(Unpin(node=node.strip()) for node in self.unpins),
            *(
                Restate(node=node, statement=text, keep_belief=self.same_meaning)
                for node, text in (_named("--restate", pair, "NODE=TEXT") for pair in self.restatements)
            ),
            *(
                AddChild(node=node, statement=text, polarity=polarity)
                for node, polarity, text in (_added(pair) for pair in self.adds)
            ),
            *(RemoveNode(node=node.strip()) for node in self.removes),
            *(Pin(node=node.strip()) for node in self.pins),
            *(
                SetValue(node=node, p=p, override=override)
                for node, p in parse_settings(self.settings).items()
            ),
        )


def _named(option: str, pair: str, form: str) -> tuple[str, str]:
    node, _, text = pair.partition("=")
    if not node.strip() or not text.strip():
        raise UsageError(f"{option} {pair!r}: write {form}")
    return node.strip(), text.strip()


def _added(pair: str) -> tuple[NodeId, Polarity | None, str]:
    form = 'PARENT=STATEMENT, or "PARENT, Negative=STATEMENT" (or Positive) to say how it bears on the parent'
    parent, text = _named("--add", pair, form)
    node, comma, word = (part.strip() for part in parent.partition(","))
    if not comma:
        return node, None, text
    if not node or word.capitalize() not in set(Polarity):
        raise UsageError(f"--add {pair!r}: write {form}")
    return node, Polarity(word.capitalize()), text


def parse_override(author: str, reason: str, expires: str | None, *, now: str) -> Override | None:
    """Return author, reason and expiry of values set by hand, as of ``now`` (ISO 8601); None if none of them is given.

    ``expires`` is a date (start of that day in New York) or an instant. Raises ``UsageError`` when it is over already, or
    nobody answers for it.
    """
    if not (author or reason or expires):
        return None
    until = None
    if expires is not None:
        instant = Cutoff.parse(expires, now=datetime.fromisoformat(now)).instant
        if instant <= datetime.fromisoformat(now):
            raise UsageError(f"--expires {expires} is over already: name a time to come")
        until = instant.isoformat()
    if not author:
        raise UsageError("a value with a reason or an expiry needs somebody who answers for it: add --author")
    return Override(author=author, reason=reason, at=now, expires=until)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfResult:
    """What edits do to a run; ``after`` is None where a node on the path has no function to evaluate.

    ``rules`` are those that a full resynthesis brought, as edits, children before parents.
    """

    whatif: WhatIf
    model_calls: int
    rules: tuple[SetRule, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document of ``workbench whatif``."""
        return {
            **self.whatif.to_json(),
            "overrides": override_rows(self.whatif.tree),
            "model_calls": self.model_calls,
        }

    @property
    def valueless(self) -> tuple[NodeId, ...]:
        """Leaves of the edited tree without a value that still holds: added ones, and those with other words."""
        return without_value(self.whatif.tree)


def without_value(tree: Tree) -> tuple[NodeId, ...]:
    """Return the leaves without a value, or with one that belongs to an earlier wording."""
    return tuple(leaf for leaf in tree.leaves() if tree[leaf].p is None)


def require_grounded(state: RunState) -> None:
    """Raise ``UsageError`` unless the run's root has a probability and all that it needs is installed."""
    state.require_installed()
    if state.tree.root.belief is None:
        raise UsageError(
            f"run {state.run_id} has no root probability yet: `workbench resume {state.run_id}` first"
        )


def numeric_what_if(state: RunState, edits: Mapping[NodeId, float]) -> WhatIfResult:
    """Recompute the ancestors of the edited nodes with the stored rules; no model is asked."""
    require_grounded(state)
    return WhatIfResult(whatif=resynthesize(state.tree, edits), model_calls=0)


def what_if(state: RunState, edits: Sequence[Edit], *, now: str | None = None) -> WhatIfResult:
    """Like :func:`numeric_what_if` for edits of any kind; with ``now``, expired overrides are undone."""
    require_grounded(state)
    return WhatIfResult(whatif=play_until(state.tree, edits, now), model_calls=0)


async def full_what_if(state: RunState, edits: Sequence[Edit], gateway: ModelGateway) -> WhatIfResult:
    """Ask the synthesizer again for the ancestors of the edited nodes, bottom up, and for them only.

    The replies are filed at addresses of their own (trial 0, attempt = the run's last event), so they are not mistaken for
    the base run's; the same edits asked again before anything else happened are answered from the ledger.

    Raises
    ------
    UsageError
        A child of a proposition to be asked for has no value.
    """
    require_grounded(state)
    base = state.tree
    plan, tree = plan_full(state, edits)
    asked_for = set(plan.nodes)
    waiting = [
        child.id
        for node in plan.nodes
        for child in tree.children(node)
        if child.p is None and child.id not in asked_for
    ]
    if waiting:
        raise UsageError(
            f"{', '.join(waiting)} has no value to synthesize from: give it one, --set {waiting[0]}=P"
        )
    synthesizer = Agents(state.settings).synthesizer
    cutoff = Cutoff.parse(state.cutoff)
    calls_before = gateway.calls
    rules = []
    for node in plan.nodes:
        ask = gateway.asker(run=state.run_id, node=node, trial=0, attempt=state.seq)
        rule, belief = await synthesizer.synthesize(tree[node], tree.children(node), cutoff=cutoff, ask=ask)
        tree = tree.with_rule(node, rule, belief)
        # A rule with a function gives its value again from the children; only one without needs the value beside it.
        rules.append(SetRule(node=node, rule=rule.to_json(), p=None if rule.numeric else belief.p))
    named = {edit.node for edit in edits if not isinstance(edit, AddChild)}
    moved = tuple(
        Change(id=node, before=before, after=after)
        for node in [*tree.ids(), *(old for old in base.ids() if old not in tree)]
        for before in [base[node].p if node in base else None]
        for after in [tree[node].p if node in tree else None]
        if node in named or before != after
    )
    whatif = WhatIf(
        before=base.root.p,
        after=tree.root.p,
        changed=moved,
        stale=tuple(node for node in tree.ids() if tree[node].stale),
        saturated=(),
        raw={},
        tree=tree,
    )
    return WhatIfResult(whatif=whatif, model_calls=gateway.calls - calls_before, rules=tuple(rules))


def plan_full(state: RunState, edits: Sequence[Edit]) -> tuple[FullPlan, Tree]:
    """Return which nodes a full what-if asks the model for, and the tree with the edits in it; nothing is asked yet.

    What was edited before the last full resynthesis (its rules stand among the edits) is not asked for again.
    """
    tree = play(state.tree, edits).tree
    last = max((place for place, edit in enumerate(edits) if isinstance(edit, SetRule)), default=-1)
    return full_plan(tree, edits[last + 1 :]), tree


def price_line(state: RunState, nodes: Sequence[NodeId], *, times: int = 1) -> str:
    """Return what asking the synthesizer for these nodes will take, as one line: calls, tokens, US dollars where known."""
    named = ", ".join(nodes) or "none"
    if not Agents(state.settings).synthesizer.stages:
        return (
            f"the {state.settings.rule} rule asks no model: {len(nodes)} nodes are combined again ({named})"
        )
    forecast = forecast_cost(state.settings.model, leaves=0, inner=len(nodes) * times)
    price = "price unknown" if forecast.cost_usd is None else f"about ${forecast.cost_usd:.4f}"
    tokens = forecast.input_tokens + forecast.output_tokens
    size = f"about {tokens:,} tokens, " if tokens else ""
    often = f" {times} times each" if times > 1 else ""
    return f"asking {state.settings.model} for {len(nodes)} nodes{often} ({named}): {forecast.model_calls} calls, {size}{price}"
