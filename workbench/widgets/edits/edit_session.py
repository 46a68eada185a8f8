"""One analyst's what-if on one tree: the edits so far, and what each row shows because of them. No widget in here."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.errors import UsageError
from workbench.propositions import NodeId, Tree
from workbench.propositions.values import Override
from workbench.synthesis import WhatIf, resynthesize
from workbench.synthesis.whatif.edits import Edit, Pin, RemoveNode, Restate, SetValue, Unpin, play
from workbench.whatif.typed_values import parse_value
from workbench.widgets.panels import is_shown
from workbench.widgets.tree_rows import Mark, Rows


@dataclass(frozen=True, slots=True)
class _Edits:
    """What one step of undo restores: edits of the tree's shape and rules in their order, and a value by proposition."""

    shape: tuple[Edit, ...] = ()
    values: Mapping[NodeId, SetValue] = field(default_factory=dict)

    @classmethod
    def of(cls, edits: Sequence[Edit]) -> "_Edits":
        """Return stored edits; values at their end can be changed one by one, what lies before is played as it stands."""
        last = max((place for place, edit in enumerate(edits) if not isinstance(edit, SetValue)), default=-1)
        values = [edit for edit in edits[last + 1 :] if isinstance(edit, SetValue)]
        return cls(tuple(edits[: last + 1]), {edit.node: edit for edit in values})

    def listed(self) -> tuple[Edit, ...]:
        return (*self.shape, *self.values.values())


class WhatIfSession:
    """Edits on a base tree that is never changed.

    Every answer is computed from the base with all edits at once: first those of the tree's shape and rules, in their order,
    then the values, whose order does not matter. It equals ``workbench whatif RUN`` with the same edits. Calls may come from
    several threads: in JupyterLab the first message of a widget arrives on the main thread and later ones on a subshell's.
    """

    def __init__(
        self, base: Tree, edits: Sequence[Edit] = (), *, without_data: Mapping[NodeId, str] | None = None
    ):
        # Re-entrant: listeners run with the lock held and read the session themselves.
        self.lock = threading.RLock()
        self.base = base
        self._edits = _Edits.of(edits)
        self._notes: dict[NodeId, list[Mark]] = {}
        self._without_data: Mapping[NodeId, str] = without_data or {}
        self._undone: list[_Edits] = []
        self._done: list[_Edits] = []
        #: The base with all edits.
        self.now = self._played(self._edits)
        #: Every proposition as it is to be shown, in the tree's order.
        self.rows = Rows(base, self.now, self._edits.values, self._notes, self._without_data)
        #: The propositions whose row the last change may have altered; those that are gone are not among them.
        self.changed: set[NodeId] = set()
        self._listeners: list[Callable[[], None]] = []
        #: Whose the values are that are set from now on, why and until when; called for each.
        self.override: Callable[[], Override | None] = lambda: None

    # -- reading

    @property
    def values(self) -> dict[NodeId, float]:
        """The values set by hand, in the order in which they were first set."""
        with self.lock:
            return {node: edit.p for node, edit in self._edits.values.items()}

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits in effect, in the order in which they are played."""
        with self.lock:
            return self._edits.listed()

    @property
    def tree(self) -> Tree:
        """The tree with all edits."""
        return self.now.tree

    @property
    def can_undo(self) -> bool:
        """Whether an edit of this session can be taken back."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether an edit that was taken back can be made again."""
        return bool(self._undone)

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every change, on the thread that made it, while the lock is held."""
        self._listeners.append(listener)

    # -- editing

    def edit(self, node: NodeId, text: object) -> None:
        """Give a proposition the probability typed; an inner one is pinned.

        The number that its row shows is no edit, since nobody judged the decimals that a screen leaves out; the number of
        before the edits is a reset, where that brings it back.

        Raises `UsageError`: Not a probability, or no such proposition. Nothing has changed then.
        """
        with self.lock:
            shown = self.tree[node].p  # an unknown node is refused before anything is parsed
            value = parse_value(text)
            p = value.p
            current = self._edits.values.get(node)
            is_range = current is not None and current.low is not None
            if value.low is None and not is_range and is_shown(shown, p, text):
                self._become(self._edits)
                return
            before = self.base[node].p if node in self.base else None
            if value.low is None and is_shown(before, p, text):
                back = self._without(node)
                if self._played(back).tree[node].p == before:
                    self._become(back)
                    return
            edit = SetValue(node=node, p=p, low=value.low, high=value.high, override=self.override())
            self._become(_Edits(self._edits.shape, {**self._edits.values, node: edit}))

    def reset(self, node: NodeId) -> None:
        """Take a value back; an inner proposition follows its children again."""
        with self.lock:
            self.tree[node]
            self._become(self._without(node))

    def _without(self, node: NodeId) -> _Edits:
        left = {key: edit for key, edit in self._edits.values.items() if key != node}
        shape = self._edits.shape
        if any(isinstance(edit, SetValue | Pin) and edit.node == node for edit in shape):
            shape = (*shape, Unpin(node=node))
        return _Edits(shape, left)

    def reset_all(self) -> None:
        """Take all edits back."""
        with self.lock:
            self._become(_Edits())

    def change(self, edits: Sequence[Edit]) -> None:
        """Make edits of any kind together; one step of undo takes them back.

        Values set by hand are kept, but those of a removed branch, and of a proposition whose words say something else now.

        Raises `TreeError, RuleError`: An edit does not fit the tree. Nothing has changed then.
        """
        with self.lock:
            shape, values = list(self._edits.shape), dict(self._edits.values)
            for edit in edits:
                if isinstance(edit, SetValue):
                    values[edit.node] = edit
                elif isinstance(edit, Pin):
                    # A pin holds the value of now, and shape is played before the values: so it is stored as a value.
                    p = self.tree[edit.node].p
                    if p is None:
                        raise UsageError(f"{edit.node} has no value to hold")
                    values[edit.node] = SetValue(node=edit.node, p=p)
                else:
                    shape.append(edit)
                    if isinstance(edit, RemoveNode):
                        below = f"{edit.node}."
                        values = {
                            node: value
                            for node, value in values.items()
                            if node != edit.node and not node.startswith(below)
                        }
                    elif isinstance(edit, Unpin) or (isinstance(edit, Restate) and not edit.keep_belief):
                        values.pop(edit.node, None)
            self._become(_Edits(tuple(shape), values))

    def open(self, edits: Sequence[Edit]) -> None:
        """Put these edits in place of all that are in effect; undo brings the former ones back."""
        with self.lock:
            self._become(_Edits.of(edits))

    def undo(self) -> None:
        """Take the last change back; nothing happens where there is none."""
        with self.lock:
            self._step(self._done, self._undone)

    def redo(self) -> None:
        """Make the change again that was last taken back; nothing happens where there is none."""
        with self.lock:
            self._step(self._undone, self._done)

    def _step(self, source: list[_Edits], into: list[_Edits]) -> None:
        if not source:
            self._show(self._edits, self.now)
            return
        into.append(self._edits)
        edits = source.pop()
        self._show(edits, self._played(edits))

    def _become(self, edits: _Edits) -> None:
        if edits == self._edits:  # nothing to undo later, but whoever asked gets an answer
            self._show(edits, self.now)
            return
        # First, because it may refuse the edits: then nothing has been replaced.
        now = self._played(edits)
        self._done.append(self._edits)
        self._undone.clear()
        self._show(edits, now)

    def _show(self, edits: _Edits, now: WhatIf, *, whole: bool = False) -> None:
        before, former, old = self._edits, self.now, self.rows
        self._edits, self.now = edits, now
        if whole or before.shape != edits.shape:
            self.rows = Rows(self.base, now, edits.values, self._notes, self._without_data)
            self.changed = {node for node, row in self.rows.items() if row != old.get(node)}
        else:
            touched = self._touched(before, former)
            self.rows = old.with_values(now, edits.values, touched)
            self.changed = {node for node in touched if self.rows[node] != old[node]}
        for listener in self._listeners:
            listener()

    def _touched(self, before: _Edits, former: WhatIf) -> set[NodeId]:
        """The rows that a change of values alone can alter: what either tree moved, and what hangs below a hold that came or
        went. The others are not made again: at 10,000 rows that took 180 ms an edit.
        """
        now = self.now
        touched = {*before.values, *self._edits.values, *former.stale, *now.stale}
        touched.update(change.id for change in (*former.changed, *now.changed))
        # A removed proposition is a change too, and has no row.
        touched &= self.rows.keys()
        for node in tuple(touched):
            if former.tree[node].pinned != now.tree[node].pinned:
                touched.update(now.tree.below(node))
        return touched

    def matching(self, text: str, kind: str = "") -> list[NodeId]:
        """Return the propositions that a search finds, as ``Rows.matching`` says."""
        with self.lock:
            return self.rows.matching(text, kind)

    def _played(self, edits: _Edits) -> WhatIf:
        # Values alone, the usual case and each step of a drag, need no second look at the whole tree.
        if not edits.shape and all(edit.low is None for edit in edits.values.values()):
            return resynthesize(self.base, {node: edit.p for node, edit in edits.values.items()})
        return play(self.base, edits.listed())

    def rebase(
        self,
        base: Tree,
        notes: Mapping[NodeId, list[Mark]],
        without_data: Mapping[NodeId, str] | None = None,
    ) -> None:
        """Put another base under the edits: the run went on. ``notes`` are marks of propositions that are in work.

        Edits that no longer fit (a branch is not there any more) end, all of them: none of half a list.
        """
        with self.lock:
            self.base, self._notes, self._without_data = base, dict(notes), without_data or {}
            try:
                now = self._played(self._edits)
            except UsageError:
                self._edits, now = _Edits(), self._played(_Edits())
            self._show(self._edits, now, whole=True)
