"""The rows of the tree as a page shows them: each made when it is first looked at, since of thousands a page shows dozens."""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TypedDict

from workbench.formatting import percent
from workbench.propositions import ROOT, NodeId, Polarity, Proposition, Tree, UnknownNode, depth_of, parent_of
from workbench.synthesis import WhatIf
from workbench.synthesis.whatif.edits import SetValue
from workbench.templates import brief
from workbench.whatif.typed_values import TypedValue
from workbench.widgets.panels import typed


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


class Rows(Mapping[NodeId, Row]):
    """Every proposition of an edited tree as it is to be shown, in the tree's order."""

    def __init__(
        self,
        base: Tree,
        now: WhatIf,
        edited: Mapping[NodeId, SetValue],
        notes: Mapping[NodeId, list[Mark]],
        without_data: Mapping[NodeId, str],
    ) -> None:
        self._base, self._now, self._edited, self._notes = base, now, edited, notes
        self._without_data = without_data
        self._rows_by_id: dict[NodeId, Row] = {}

    def with_values(self, now: WhatIf, edited: Mapping[NodeId, SetValue], touched: Set[NodeId]) -> "Rows":
        """Return the rows after a change of values alone; those made so far are kept, but for the touched ones."""
        rows = Rows(self._base, now, edited, self._notes, self._without_data)
        rows._rows_by_id = {node: row for node, row in self._rows_by_id.items() if node not in touched}
        return rows

    def __getitem__(self, node: NodeId) -> Row:
        row = self._rows_by_id.get(node)
        if row is None:
            row = self._rows_by_id[node] = self._row(self._now.tree[node])
        return row

    def __contains__(self, node: object) -> bool:
        return node in self._now.tree

    def __iter__(self) -> Iterator[NodeId]:
        return iter(self._now.tree.ids())

    def __len__(self) -> int:
        return len(self._now.tree)

    def _row(self, node: Proposition) -> Row:
        tree = self._now.tree
        try:
            base: Proposition | None = self._base[node.id]
        except UnknownNode:
            base = None
        parent = parent_of(node.id)
        siblings = (node.id,) if parent is None else tree[parent].children
        polarity = None if parent is None else tree[parent].polarities.get(node.id)
        edited = node.id in self._edited or (_by_hand(node) and not (base is not None and _by_hand(base)))
        before = None if base is None else base.p
        set_by_hand = self._edited.get(node.id)
        typed_range = (
            None
            if set_by_hand is None or set_by_hand.low is None or set_by_hand.p != node.p
            else TypedValue(set_by_hand.p, set_by_hand.low, set_by_hand.high)
        )
        key_factor = node.belief.key_factor if node.belief is not None else ""
        if node.children and base is not None and node.p != before:
            # What the run said of the drivers' shares is of the values before the edits.
            key_factor = "Set by hand." if edited else "Changed by the edits below."
        rule = node.rule.equation() if node.rule is not None else ""
        work = self._notes.get(node.id) if node.p is None else None
        return Row(
            id=node.id,
            parent=parent,
            level=depth_of(node.id),
            setsize=len(siblings),
            posinset=siblings.index(node.id) + 1,
            children=list(node.children),
            kind="root" if node.id == ROOT and node.children else "inner" if node.children else "leaf",
            statement=brief(node.statement),
            polarity=None if polarity is None else str(polarity),
            # Of a driver in work what it is at: that is what its reader waits for.
            note=brief(work[0]["why"] if work else rule or key_factor),
            key_factor=brief(key_factor),
            p=node.p,
            base=before,
            text=percent(node.p) if typed_range is None else typed_range.short(),
            base_text=percent(before),
            value=typed(node.p)
            if typed_range is None
            else f"{typed(typed_range.low)}-{typed(typed_range.high)}",
            edited=edited,
            moved=node.p != before,
            stale=node.stale,
            inert=any(tree[above].pinned for above in tree.ancestors(node.id)),
            marks=self._marks(node, base, edited=edited),
        )

    def _marks(self, node: Proposition, base: Proposition | None, *, edited: bool) -> list[Mark]:
        marks: list[Mark] = []
        if base is None:
            marks.append(Mark(name="added", why="yours: no model proposed it or collected evidence"))
        elif node.statement != base.statement:
            marks.append(Mark(name="reworded", why=f"before your edits: {brief(base.statement)}"))
        side, was = _side(self._now.tree, node.id), _side(self._base, node.id) if base is not None else None
        if base is not None and side != was:
            words = {"Positive": "spoke for it", "Negative": "spoke against it"}.get(
                str(was), "no polarity was stated"
            )
            marks.append(Mark(name="turned", why=f"before your edits: {words}"))
        if base is not None and node.rule != base.rule:
            marks.append(
                Mark(name="rule", why="another rule than the run's: yours, or one that was asked for anew")
            )
        if node.pinned:
            marks.append(Mark(name="pinned", why="held at your value; the drivers below it have no say"))
        elif edited:
            marks.append(Mark(name="edited", why="your value in place of the evidence's"))
        elif node.p is not None and node.id in self._without_data:
            marks.append(Mark(name="no data", why=f"read no data: {self._without_data[node.id]}"))
        if node.stale:
            marks.append(
                Mark(
                    name="stale",
                    why="a value below changed and this rule has no formula: needs a full resynthesis",
                )
            )
        if (raw := self._now.saturated.get(node.id)) is not None:
            marks.append(Mark(name="saturated", why=f"the rule gives {raw:.3f}; it is held inside 0 to 1"))
        if node.p is None and not node.stale:
            marks += self._notes.get(node.id) or [Mark(name="open", why="no evidence yet")]
        return marks

    def matching(self, text: str, kind: str = "") -> list[NodeId]:
        """Return the propositions whose id, statement, key factor, rule or marks hold these words, in the tree's order.

        Every word must be there, wherever; case does not count. An id finds itself and what hangs below it. ``kind`` keeps
        only those that are ``changed`` by an edit, ``leaf``, or ``open`` (without a value that holds); empty keeps all.
        """
        wanted = text.casefold().split()
        return [
            node
            for node, row in self.items()
            if _is_kind(row, kind) and all(_holds(row, word) for word in wanted)
        ]


def _side(tree: Tree, node: NodeId) -> Polarity | None:
    parent = parent_of(node)
    return None if parent is None else tree[parent].polarities.get(node)


def _by_hand(node: Proposition) -> bool:
    """Whether a person's value is in effect, also one that was set before a rule was and is not in the page's list of values."""
    return node.pinned or (node.belief is not None and node.belief.source == "analyst")


def _holds(row: Row, word: str) -> bool:
    node = row["id"].casefold()
    if node == word or node.startswith(f"{word}."):
        return True
    marks = (mark["name"] for mark in row["marks"])
    texts: Iterable[str] = (row["statement"], row["note"], row["key_factor"], *marks)
    return any(word in text.casefold() for text in texts)


def _is_kind(row: Row, kind: str) -> bool:
    if kind == "changed":
        return row["edited"] or row["moved"]
    if kind == "open":
        return row["p"] is None or row["stale"]
    return kind != "leaf" or not row["children"]
