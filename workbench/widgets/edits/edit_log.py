"""The edits of a run: shared by the widgets that show them, and kept in the log while they are made."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from ipywidgets import Text

from workbench.errors import WorkbenchError
from workbench.propositions import ROOT, EditConflict, NodeId
from workbench.propositions.values import Override
from workbench.store import Store, utc_now
from workbench.views.run_view import RunView
from workbench.whatif.edit_request import parse_override
from workbench.whatif.saved_scenarios import SavedScenarios, change_scenario, check_name
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.fields import field
from workbench.widgets.page_terms import on_page
from workbench.widgets.tree_rows import Mark
from workbench.widgets.tree_widget import TreeWidget

#: The scenario that a page works on until its edits are saved under a name.
DRAFT = "draft"
#: Edits of a drag come many a second; one record of where it ended is enough.
_PAUSE_SECONDS = 0.4


class Keeper:
    """Writes a session's edits to a scenario of the run, a moment after the last of them.

    `say`: Shows one line of what was kept, or why not; its second argument is True for a refusal.
    """

    def __init__(
        self,
        session: WhatIfSession,
        scenarios: SavedScenarios,
        *,
        author: Callable[[], str],
        say: Callable[[str, bool], None],
    ) -> None:
        self._session, self._scenarios = session, scenarios
        self._author, self._say = author, say
        self._timer: threading.Timer | None = None
        self._seq: int | None = None
        self._stored = session.edits
        self.name = DRAFT
        session.subscribe(self._changed)

    def open(self, name: str) -> bool:
        """Work on the scenario of this name from now on: its edits replace the page's. False if there is none yet.

        What was edited before is kept where it was made. Raises ``UsageError`` for a name that no scenario may have.
        """
        check_name(name)
        self.flush()
        with self._session.lock:
            self._take(name)
            self._session.open(self._stored)
            return self._seq is not None

    def start_draft(self) -> None:
        """Leave the scenario in work as it is; the page is without edits, and further ones are a new draft."""
        self.flush()
        with self._session.lock:
            self._take(DRAFT)
            self._session.open(())

    def _take(self, name: str) -> None:
        scenario = self._scenarios.scenario(name)
        self.name = name
        self._seq, self._stored = (None, ()) if scenario is None else (scenario.seq, scenario.edits)

    def moved_to(self, name: str) -> None:
        """Go on in a scenario that was just made of this page's edits; the draft that they came from is closed."""
        self._cancel()
        if self.name == DRAFT and self._scenarios.scenario(DRAFT) is not None:
            # Somebody else may have closed the draft meanwhile: then there is none, as wanted.
            with suppress(EditConflict), Store(self._scenarios.home) as store:
                change_scenario(store, self._scenarios.run_id, "close", DRAFT, author=self._author())
        self._take(name)

    def flush(self) -> None:
        """Write what is not written yet, now."""
        self._cancel()
        with self._session.lock:
            edits = self._session.edits
            if edits == self._stored:
                return
            try:
                try:
                    self._seq = self._scenarios.hold(
                        self.name, edits, author=self._author(), base_seq=self._seq
                    )
                except EditConflict:
                    contested = self.name
                    self.name = self._free_name()
                    self._seq = self._scenarios.hold(self.name, edits, author=self._author(), base_seq=None)
                    self._say(
                        f"{contested} was edited in another window too: your edits are saved as {self.name}",
                        True,
                    )
                else:
                    self._say(f"saved as {self.name}" if edits else "", False)
            except WorkbenchError as error:
                self._say(f"not kept: {on_page(error)}", True)
                return
            self._stored = edits

    def _free_name(self) -> str:
        number = 2
        while self._scenarios.scenario(f"{self.name} {number}") is not None:
            number += 1
        return f"{self.name} {number}"

    def _changed(self) -> None:
        self._cancel()
        if self._session.edits != self._stored:
            self._timer = threading.Timer(_PAUSE_SECONDS, self.flush)
            self._timer.daemon = True
            self._timer.start()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class RunEdits:
    """Session, scenario in work, tree and selection of one run, for the widgets that show them.

    `nobody`: Who edits where nobody has typed a name.
    """

    def __init__(self, run: RunView, *, nobody: str, owns_address: bool = False) -> None:
        self.run, self._nobody, self._owns_address = run, nobody, owns_address
        self.session = WhatIfSession(run.tree, without_data=run.without_data)
        self.scenarios = SavedScenarios(run.home, run.run_id)
        self.keeper = Keeper(self.session, self.scenarios, author=self.who, say=self.say)
        #: One view of each kind, for cells that are run again.
        self.views: dict[object, Any] = {}
        self._panels: WeakSet[Panels] = WeakSet()
        self._behind = False
        self.session.override = self._override
        # Before the views: the tree selects another proposition where the selected one was removed.
        self.tree = self._new_tree()
        self.session.subscribe(self._edited)

    def _new_tree(self) -> TreeWidget:
        tree = TreeWidget(
            self.session, run=self.run.run_id, scenario=self.keeper.name, owns_address=self._owns_address
        )
        tree.on_rest = self._catch_up
        tree.observe(lambda _change: self._selected(), names=["selected", "dark"])
        return tree

    @cached_property
    def signature(self) -> tuple[Text, Text, Text]:
        """The fields for who holds the next values, why, and until when; made with what stands around the tree."""
        author = field("your name", "wb-author")
        author.tooltip = "Shown next to your edits. The name is not verified."
        return (
            author,
            field("reason for the next edits", "wb-reason"),
            field("holds until (date)", "wb-expires"),
        )

    def _signed(self) -> list[str]:
        return [entry.value.strip() for entry in self.__dict__.get("signature", ())] or [""] * 3

    def who(self) -> str:
        """Return who edits."""
        return self._signed()[0] or self._nobody

    def _override(self) -> Override | None:
        author, reason, expires = self._signed()
        return parse_override(
            author or (self._nobody if reason or expires else ""), reason, expires or None, now=utc_now()
        )

    def join(self, panels: "Panels") -> None:
        """Tell a view of what happens from now on, as long as somebody holds it."""
        self._panels.add(panels)

    def choose(self, node: str) -> None:
        """Select a proposition in the tree, whoever asks; one that is not there is left alone."""
        if node in self.session.tree:
            self.tree.selected = node

    def saw(self, run: RunView) -> bool:
        """Take in a look at the run, unless a later one came before it."""
        if run.state.seq < self.run.state.seq:
            return False
        self.run = run
        return True

    def go_on(self, run: RunView, notes: Mapping[NodeId, list[Mark]]) -> None:
        """Put a later look at the run under the edits; ``notes`` are marks of propositions that are in work."""
        with self.session.lock:
            if self.saw(run):
                self.session.rebase(run.tree, notes, run.without_data)

    def renew(self, run: RunView) -> None:
        """Take in a later look at the run, and make a new tree in the place of one that was closed."""
        if run.state.seq > self.run.state.seq:
            self.go_on(run, {})
        if self.tree.comm is None:
            self.tree = self._new_tree()

    def say(self, line: str, refused: bool) -> None:
        """Show one line of what was kept, or why not, in every view."""
        if refused and not self._owns_address:  # a cell may have no other place for it
            self.tree.send({"type": "refused", "id": ROOT, "line": line})
        for panels in self._all():
            panels.said(line, refused)

    def _edited(self) -> None:
        # The steps of a drag must not queue behind the panels.
        if self.tree.moving:
            self._behind = True
        else:
            self._refresh()

    def _catch_up(self) -> None:
        if self._behind:
            self._refresh()
        for panels in self._all():
            panels.rested()

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

    def rested(self) -> None:
        """The page has come to rest, with edits before it or without."""

    def selected(self, node: NodeId) -> None:
        """Another proposition was selected in the tree, or another theme in the page."""

    def said(self, line: str, refused: bool) -> None:
        """One line of what was kept, or why not."""


_shared: "WeakValueDictionary[tuple[Path, str], RunEdits]" = WeakValueDictionary()


def shared_edits(run: RunView) -> RunEdits:
    """Return what this kernel's cells of a run share, with the edits of its draft; made when the first of them asks."""
    key = (run.home.resolve(), run.run_id)
    shared = _shared.get(key)
    if shared is None:
        shared = _shared[key] = RunEdits(run, nobody="notebook")
        shared.keeper.open(DRAFT)
    else:
        shared.renew(run)
    return shared
