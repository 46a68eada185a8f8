"""Edits of a run by a person: a changed plan, and what-ifs, numeric or with the synthesizer asked again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proxies.input_files import InputRefused, parse_json, read_bytes
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import put_tree, write_atomically
from workbench.engine.record.state import RunState
from workbench.engine.run_texts import tree_as_asked
from workbench.errors import UsageError, command
from workbench.propositions import EditConflict, NodeId, Tree, TreeError
from workbench.propositions.values import Override
from workbench.store import Store, StoredEvent
from workbench.store import events as ev
from workbench.synthesis import RuleError, WhatIf, tree_from_json
from workbench.synthesis.whatif.edits import Edit, play
from workbench.whatif.edit_request import EditRequest
from workbench.whatif.rule_changes import RuleChange, kept_edits
from workbench.whatif.tree_documents import band_of_ranges, override_rows


def adopt_tree_file(store: Store, run_id: str) -> bool:
    """Adopt a person's changes to ``tree.json`` of a run that was only planned; True when there were any.

    Raises ``UsageError`` when the file is no valid tree.
    """
    state = load_state(store, run_id)
    path = store.folder(run_id) / "tree.json"
    if not state.planned or state.stopped is None or state.stopped.why != "plan-only" or not path.is_file():
        return False
    try:
        tree = tree_as_asked(tree_from_json(parse_json(read_bytes(path), str(path))), state.parsed_cutoff())
    except (InputRefused, TreeError, RuleError) as error:
        raise UsageError(
            f"{path} is not a tree ({error}): mend it, or restore the plan with ", command("show", run_id)
        ) from None
    if tree.to_json() == state.tree.to_json():
        return False

    # Checked inside the append's transaction: another process may resume the run after it was read above.
    def unchanged(events: list[StoredEvent]) -> None:
        if events[-1].seq != state.seq:
            raise EditConflict(f"run {run_id} continued meanwhile: try again")

    store.append(run_id, ev.TreeEdited(tree=put_tree(store, tree), base_seq=state.seq), guard=unchanged)
    return True


def edit_plan(store: Store, run_id: str, edits: Sequence[Edit]) -> None:
    """Make edits of the shape and the words of a planned tree part of the plan, so that they are what is grounded.

    Raises `UsageError`: The run is past its plan, or an edit does not fit the tree.
    """
    with store.transaction():
        state = load_state(store, run_id)
        if state.phase != "planned":
            raise UsageError(
                f"run {run_id} is {state.phase}: only a plan that nothing was done on can be changed"
            )
        tree = tree_as_asked(play(state.tree, edits).tree, state.parsed_cutoff())
        store.append(run_id, ev.TreeEdited(tree=put_tree(store, tree), base_seq=state.seq))
        # Else `resume` would take the file of the plan as it was for a person's change of this one.
        write_atomically(store.folder(run_id) / "tree.json", tree.to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfResult:
    """The effect of edits on a run; ``after`` is None where a node on the path has no function to evaluate.

    ``asked_again`` is what a full resynthesis brought, children before parents; None for a what-if that asks no model.
    """

    whatif: WhatIf
    model_calls: int
    asked_again: tuple[RuleChange, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document of ``workbench whatif``."""
        document = {
            **self.whatif.to_json(),
            "overrides": override_rows(self.whatif.tree),
            **({"band": band} if (band := band_of_ranges(self.whatif.tree)) else {}),
            "model_calls": self.model_calls,
        }
        if self.asked_again is not None:
            document["asked_again"] = [change.to_json() for change in self.asked_again]
        return document

    @property
    def answer_edits(self) -> tuple[Edit, ...]:
        """The edits that keep the synthesizer's words and rules; none where it was not asked."""
        return kept_edits(self.asked_again or ())

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
        state.require_model()  # of a tree file, `resume` would be the wrong advice
        raise UsageError(
            f"run {state.run_id} has no probability of its claim yet: ",
            command("resume", state.run_id),
            " first",
        )


def what_if(state: RunState, edits: Sequence[Edit], *, now: str | None = None) -> WhatIfResult:
    """Recompute the ancestors of the edited nodes with the stored rules; no model is asked.

    With ``now`` (ISO 8601 with an offset) overrides that have expired by then are undone.
    """
    require_grounded(state)
    return WhatIfResult(whatif=play(state.tree, edits, now), model_calls=0)


def edits_on(
    state: RunState, request: EditRequest, scenario: str | None = None, override: Override | None = None
) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """Return all edits to play and the new ones among them: the call's, on top of those its scenario holds already.

    Raises ``UsageError`` if nothing is edited, or an edit does not fit.
    """
    require_grounded(state)
    saved = state.scenarios.scenarios.get(scenario) if scenario is not None else None
    earlier = tuple(saved.edits) if saved is not None else ()
    fresh = request.edits(play(state.tree, earlier).tree if earlier else state.tree, override)
    if not fresh and saved is None:
        raise UsageError(
            "no change was given: set, add, remove, pin, unpin, restate, turn or weigh a driver, or give a driver another rule"
        )
    return (*earlier, *fresh), fresh
