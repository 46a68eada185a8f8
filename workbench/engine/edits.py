"""Edits of a run by a person: a changed plan, and what-ifs, numeric or with the synthesizer asked again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from proxies.clock import Cutoff
from workbench.agents.registry import open_synthesizer
from workbench.engine.asking import ModelDesk
from workbench.engine.state import RunState, fold, load_state, put_tree
from workbench.errors import UsageError
from workbench.propositions import EditConflict, NodeId, Tree, TreeError
from workbench.propositions.edits import Edit, SetValue
from workbench.propositions.scenarios import Action, ScenarioRecord
from workbench.store import Store, StoredEvent, utc_now
from workbench.store import events as ev
from workbench.synthesis import Change, RuleError, WhatIf, resynthesize, tree_from_json
from workbench.synthesis.scenarios import FullPlan, full_plan


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

    def unchanged(events: list[StoredEvent]) -> None:
        if events[-1].seq != state.seq:
            raise EditConflict(f"run {run_id} went on meanwhile: try again")

    store.append(run_id, ev.TreeEdited(tree=put_tree(store, tree), base_seq=state.seq), guard=unchanged)
    return True


def parse_settings(pairs: list[str]) -> dict[NodeId, float]:
    """Return ``{"P2.1": 0.0}`` from ``["P2.1=0.0"]``; raises ``UsageError`` on anything else."""
    edits: dict[NodeId, float] = {}
    for pair in pairs:
        node, equals, text = pair.partition("=")
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not equals or not node.strip() or not 0.0 <= value <= 1.0:
            raise UsageError(
                f"--set {pair!r}: write NODE=P with a probability between 0 and 1, for example P2.1=0.25"
            )
        if node.strip() in edits:
            raise UsageError(f"--set names {node.strip()} twice")
        edits[node.strip()] = value
    if not edits:
        raise UsageError("nothing is set: give --set NODE=P at least once")
    return edits


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfResult:
    """What an edit does to a run; ``after`` is None where a node on the path has no function to evaluate."""

    whatif: WhatIf
    model_calls: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document of ``workbench whatif``."""
        return {**self.whatif.to_json(), "model_calls": self.model_calls}


def require_grounded(state: RunState) -> None:
    """Raise ``UsageError`` unless the run's root has a probability."""
    if state.tree.root.belief is None:
        raise UsageError(
            f"run {state.run_id} has no root probability yet: `workbench resume {state.run_id}` first"
        )


def numeric_what_if(state: RunState, edits: Mapping[NodeId, float]) -> WhatIfResult:
    """Recompute the ancestors of the edited nodes with the stored rules; no model is asked."""
    require_grounded(state)
    return WhatIfResult(whatif=resynthesize(state.tree, edits), model_calls=0)


async def full_what_if(state: RunState, edits: Mapping[NodeId, float], desk: ModelDesk) -> WhatIfResult:
    """Ask the synthesizer again for the ancestors of the edited nodes, bottom up, and for them only.

    The replies are filed at addresses of their own (trial 0, attempt = the run's last event), so a base run's replies and an
    earlier what-if's are never mistaken for these.
    """
    require_grounded(state)
    base = state.tree
    plan, tree = plan_full(state, edits)
    synthesizer = open_synthesizer(state.settings.rule, state.settings.agent)
    cutoff = Cutoff.parse(state.cutoff)
    asked = desk.asked
    for node in plan.nodes:
        ask = desk.at(run=state.run_id, node=node, trial=0, attempt=state.seq)
        rule, belief = await synthesizer.synthesize(tree[node], tree.children(node), cutoff=cutoff, ask=ask)
        tree = tree.with_rule(node, rule, belief)
    moved = tuple(
        Change(id=node, before=base[node].p, after=tree[node].p)
        for node in base.ids()
        if node in edits or base[node].p != tree[node].p
    )
    whatif = WhatIf(
        before=base.root.p, after=tree.root.p, changed=moved, stale=(), saturated=(), raw={}, tree=tree
    )
    return WhatIfResult(whatif=whatif, model_calls=desk.asked - asked)


def plan_full(state: RunState, edits: Mapping[NodeId, float]) -> tuple[FullPlan, Tree]:
    """Return which nodes a full what-if asks the model for, and the tree with the edits in it; nothing is asked yet."""
    wanted = [SetValue(node=node, p=p) for node, p in edits.items()]
    tree = resynthesize(state.tree, edits).tree
    return full_plan(tree, wanted), tree


def record_scenario(store: Store, run_id: str, record: ScenarioRecord) -> None:
    """Keep what happened to a scenario; raises ``EditConflict`` where it was made on an older state of it."""

    def fits(events: list[StoredEvent]) -> None:
        fold(store, events).scenarios.apply(record, events[-1].seq + 1)

    store.append(run_id, ev.ScenarioRecorded(record=record.to_json()), guard=fits)


def save_scenario(
    store: Store,
    run_id: str,
    name: str,
    edits: Mapping[NodeId, float],
    *,
    author: str = "",
    rationale: str = "",
    probability: float | None = None,
) -> None:
    """Put edits into a scenario, opening it where there is none of that name."""
    book = load_state(store, run_id).scenarios
    if name not in book.scenarios:
        opened = ScenarioRecord(
            action="open",
            scenario=name,
            author=author,
            at=utc_now(),
            rationale=rationale,
            probability=probability,
        )
        record_scenario(store, run_id, opened)
    elif probability is not None:
        change_scenario(store, run_id, "weigh", name, author=author, probability=probability)
    for node, p in edits.items():
        change_scenario(store, run_id, "edit", name, author=author, edit=SetValue(node=node, p=p))


def change_scenario(
    store: Store,
    run_id: str,
    action: Action,
    name: str,
    *,
    author: str = "",
    edit: Edit | None = None,
    probability: float | None = None,
) -> None:
    """Edit, undo, redo, weigh or close a scenario as it now stands."""
    scenario = load_state(store, run_id).scenarios[name]
    record = ScenarioRecord(
        action=action,
        scenario=name,
        author=author,
        at=utc_now(),
        base_seq=scenario.seq,
        edit=edit,
        probability=probability,
    )
    record_scenario(store, run_id, record)
