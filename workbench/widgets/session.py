"""One analyst's what-if on one tree: the edits so far, and what each row shows because of them. No widget in here."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from workbench.engine.wording import percent
from workbench.errors import UsageError
from workbench.propositions import ROOT, NodeId, Proposition, Tree, depth_of
from workbench.synthesis import WhatIf, resynthesize
from workbench.widgets.numbers import typed


class Mark(TypedDict):
    """A short word on a row, and the sentence behind it."""

    name: str
    why: str


class Row(TypedDict):
    """What the front end needs of one proposition; everything is ready to show, it formats nothing."""

    id: NodeId
    parent: NodeId | None
    level: int
    setsize: int
    posinset: int
    children: list[NodeId]
    kind: str
    statement: str
    polarity: str | None
    note: str
    key_factor: str
    p: float | None
    base: float | None
    text: str
    base_text: str
    value: str
    edited: bool
    moved: bool
    stale: bool
    inert: bool
    marks: list[Mark]


def parse_probability(text: object) -> float:
    """Return the probability that an analyst typed.

    Raises
    ------
    UsageError
        Not a number from 0 to 1; the message says what to type.

    Examples
    --------
    >>> parse_probability(" 0.25 "), parse_probability("1"), parse_probability("40%")
    (0.25, 1.0, 0.4)
    """
    written = str(text).strip()
    percentage = written.endswith("%")
    try:
        value = float(written[:-1] if percentage else written)
    except ValueError:
        value = float("nan")
    if percentage:
        value /= 100
    # float() reads "1_0" as 10. NaN fails every comparison, so the refusal below covers it too.
    if "_" in written or not 0.0 <= value <= 1.0:
        shown = written if len(written) <= 20 else written[:20] + "..."
        what = f"{shown!r} is not a probability" if shown else "an empty field is not a probability"
        raise UsageError(f"{what}: type a number from 0 to 1, such as 0.35")
    return value


class WhatIfSession:
    """Edits on a base tree that is never changed.

    Every answer is computed from the base with all edits at once, so it does not depend on their order and equals
    ``workbench whatif RUN --set ...``. Calls may come from several threads: in JupyterLab the first message of a widget
    arrives on the main thread and later ones on a subshell's.

    Parameters
    ----------
    base : Tree
        The tree as the run left it.
    """

    def __init__(self, base: Tree):
        # Re-entrant: listeners run with the lock held and read the session themselves.
        self.lock = threading.RLock()
        self.base = base
        self._edits: dict[NodeId, float] = {}
        self._now = resynthesize(base, {})
        self._rows = self._compute()
        self._listeners: list[Callable[[], None]] = []

    # -- reading

    @property
    def edits(self) -> dict[NodeId, float]:
        """The edits in effect, in the order they were first made."""
        with self.lock:
            return dict(self._edits)

    @property
    def now(self) -> WhatIf:
        """The base with all edits."""
        return self._now

    @property
    def tree(self) -> Tree:
        """The tree with all edits."""
        return self._now.tree

    @property
    def rows(self) -> Mapping[NodeId, Row]:
        """Every proposition as it is to be shown, in the tree's order."""
        return self._rows

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every change, on the thread that made it, while the lock is held."""
        self._listeners.append(listener)

    # -- editing; each returns the rows that look different now

    def edit(self, node: NodeId, text: object) -> list[Row]:
        """Give a proposition the probability typed; an inner one is pinned.

        Raises
        ------
        UsageError
            Not a probability, or no such proposition. Nothing has changed then.
        """
        with self.lock:
            self.base[node]  # an unknown node is refused before anything is parsed
            return self._become({**self._edits, node: parse_probability(text)})

    def reset(self, node: NodeId) -> list[Row]:
        """Take an edit back; an inner proposition follows its children again."""
        with self.lock:
            self.base[node]
            return self._become({key: p for key, p in self._edits.items() if key != node})

    def reset_all(self) -> list[Row]:
        """Take all edits back."""
        with self.lock:
            return self._become({})

    def _become(self, edits: dict[NodeId, float]) -> list[Row]:
        # First, because it may refuse the edits: then nothing has been replaced.
        self._now = resynthesize(self.base, edits)
        self._edits = edits
        old, self._rows = self._rows, self._compute()
        for listener in self._listeners:
            listener()
        return [row for node, row in self._rows.items() if row != old[node]]

    # -- rows

    def _compute(self) -> dict[NodeId, Row]:
        inert: set[NodeId] = set()
        rows: dict[NodeId, Row] = {}
        for node in self.tree.propositions():
            parent = self.tree.parent(node.id)
            # Propositions come parents first, so a pinned ancestor at any height has been seen by now.
            if parent is not None and (parent in inert or self.tree[parent].pinned):
                inert.add(node.id)
            rows[node.id] = self._row(node, parent, inert=node.id in inert)
        return rows

    def _row(self, node: Proposition, parent: NodeId | None, *, inert: bool) -> Row:
        base = self.base[node.id]
        siblings = (node.id,) if parent is None else self.base[parent].children
        polarity = None if parent is None else self.base[parent].polarities.get(node.id)
        edited = node.id in self._edits
        key_factor = node.belief.key_factor if node.belief is not None else ""
        rule = node.rule.equation() if node.rule is not None else ""
        return Row(
            id=node.id,
            parent=parent,
            level=depth_of(node.id),
            setsize=len(siblings),
            posinset=siblings.index(node.id) + 1,
            children=list(node.children),
            kind="root" if node.id == ROOT and node.children else "inner" if node.children else "leaf",
            statement=node.statement,
            polarity=None if polarity is None else str(polarity),
            note=rule or key_factor,
            key_factor=key_factor,
            p=node.p,
            base=base.p,
            text=percent(node.p),
            base_text=percent(base.p),
            value=typed(node.p),
            edited=edited,
            moved=node.p != base.p,
            stale=node.stale,
            inert=inert,
            marks=self._marks(node, edited=edited),
        )

    def _marks(self, node: Proposition, *, edited: bool) -> list[Mark]:
        marks: list[Mark] = []
        if node.pinned:
            marks.append(Mark(name="pinned", why="held at your value; the propositions below it have no say"))
        elif edited:
            marks.append(Mark(name="edited", why="your value in place of the grounded one"))
        if node.stale:
            marks.append(
                Mark(
                    name="stale",
                    why="a value below changed and this rule has no formula: needs a full resynthesis",
                )
            )
        if node.id in self._now.saturated:
            raw = self._now.raw[node.id]
            marks.append(Mark(name="saturated", why=f"the rule gives {raw:.3f}; it is held inside 0 to 1"))
        if node.p is None and not node.stale:
            marks.append(Mark(name="open", why="not grounded yet"))
        return marks

    def snapshot(self) -> dict[str, Any]:
        """Return the tree as the widget's state: ``{rev, edits, order, nodes}``; ``rev`` starts at 0."""
        with self.lock:
            return {"rev": 0, "edits": len(self._edits), "order": list(self._rows), "nodes": dict(self._rows)}
