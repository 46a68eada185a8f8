"""The edits of one run that all its widgets in one kernel share: what is typed into the tree stands in the scenarios' cell too.

With a session for each cell the second tree of a run would take the first one's edits for those of another window.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from workbench.engine.view import RunView
from workbench.engine.whatif.edits import parse_override
from workbench.engine.whatif.saved import SavedScenarios
from workbench.propositions import ROOT, NodeId
from workbench.propositions.values import Override
from workbench.store import utc_now
from workbench.widgets.fields import whose_fields
from workbench.widgets.keeping import DRAFT, Keeper
from workbench.widgets.rows import Mark
from workbench.widgets.session import WhatIfSession
from workbench.widgets.tree import TreeWidget

#: Who made an edit in a notebook's cell, where nobody has typed a name.
NOBODY = "notebook"


class SharedEdits:
    """Session, scenario in work, tree and selection of one run, for the widgets that show them.

    Parameters
    ----------
    run : RunView
    """

    def __init__(self, run: RunView) -> None:
        self.run = run
        self.session = WhatIfSession(run.tree, without_data=run.without_data)
        self.scenarios = SavedScenarios(run.home, run.run_id)
        self.author, self.reason, self.expires = whose_fields()
        self.keeper = Keeper(self.session, self.scenarios, author=self.who, say=self._say)
        self.keeper.open(DRAFT)
        #: One view of each kind, for cells that are run again.
        self.views: dict[object, Any] = {}
        self._panels: WeakSet[Panels] = WeakSet()
        self._behind = False
        self.session.override = self._override
        self.session.subscribe(self._edited)
        self.tree = self._new_tree()

    def _new_tree(self) -> TreeWidget:
        tree = TreeWidget(self.session, run=self.run.run_id, scenario=self.keeper.name)
        tree.on_rest = self._catch_up
        tree.observe(lambda _change: self._selected(), names=["selected"])
        return tree

    def who(self) -> str:
        """Return who edits."""
        return self.author.value.strip() or NOBODY

    def join(self, panels: "Panels") -> None:
        """Tell a view of what happens from now on, as long as somebody holds it."""
        self._panels.add(panels)

    def choose(self, node: str) -> None:
        """Select a proposition in the tree, whoever asks; one that is not there is left alone."""
        if node in self.session.tree:
            self.tree.selected = node

    def go_on(self, run: RunView, notes: Mapping[NodeId, list[Mark]]) -> None:
        """Put a later look at the run under the edits; ``notes`` are marks of propositions that are in work."""
        with self.session.lock:
            if run.state.seq >= self.run.state.seq:
                self.run = run
                self.session.rebase(run.tree, notes, run.without_data)

    def renew(self, run: RunView) -> None:
        """Take in a later look at the run, and make a new tree in the place of one that was closed."""
        if run.state.seq > self.run.state.seq:
            self.go_on(run, {})
        if self.tree.comm is None:
            self.tree = self._new_tree()

    def _override(self) -> Override | None:
        author, reason, expires = (entry.value.strip() for entry in (self.author, self.reason, self.expires))
        return parse_override(
            author or (NOBODY if reason or expires else ""), reason, expires or None, now=utc_now()
        )

    def _say(self, line: str, refused: bool) -> None:
        if refused:
            self.tree.send({"type": "refused", "id": ROOT, "line": line})
        for panels in self._all():
            panels.said(line, refused)

    def _edited(self) -> None:
        # As on the page of `workbench serve`: the steps of a drag must not queue behind the panels.
        if self.tree.moving:
            self._behind = True
        else:
            self._refresh()

    def _catch_up(self) -> None:
        if self._behind:
            self._refresh()

    def _refresh(self) -> None:
        with self.session.lock:
            self._behind = False
            self.tree.scenario = self.keeper.name
            for panels in self._all():
                panels.edited()

    def _selected(self) -> None:
        for panels in self._all():
            panels.selected(self.tree.selected)

    def _all(self) -> "list[Panels]":
        return list(self._panels)


class Panels:
    """What a view is told; each does nothing unless the view says otherwise."""

    def edited(self) -> None:
        """The edits have changed and the page has come to rest."""

    def selected(self, node: NodeId) -> None:
        """Another proposition was selected in the tree."""

    def said(self, line: str, refused: bool) -> None:
        """One line of what was kept, or why not."""


_shared: "WeakValueDictionary[tuple[Path, str], SharedEdits]" = WeakValueDictionary()


def shared_edits(run: RunView) -> SharedEdits:
    """Return what this kernel's widgets of a run share, made when the first of them asks."""
    key = (run.home.resolve(), run.run_id)
    shared = _shared.get(key)
    if shared is None:
        shared = _shared[key] = SharedEdits(run)
    else:
        shared.renew(run)
    return shared
