"""The scenarios of a run on its page: saved, opened, renamed, annotated, weighed, duplicated, closed; side by side and mixed."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from workbench.errors import UsageError, WorkbenchError
from workbench.propositions import Tree
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.whatif.typed_values import parse_probability
from workbench.widgets import panels
from workbench.widgets.edits.edit_log import DRAFT, Keeper
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.fields import action, box, choice, field, html, look, offer, show_if, tried
from workbench.widgets.html_panel import Panel


class ScenarioPane(ipywidgets.VBox):  # type: ignore[misc]
    """Everything about a run's scenarios below its tree."""

    def __init__(
        self,
        session: WhatIfSession,
        scenarios: SavedScenarios,
        keeper: Keeper,
        *,
        author: Callable[[], str],
        market: float | None,
    ) -> None:
        self.session, self.scenarios, self.keeper = session, scenarios, keeper
        self._author, self._market = author, market
        self._table: dict[str, Any] | None = None
        self.compared = Panel()
        self.said = html()
        self.name = field("name of a scenario", "wb-name", live=True)
        self.rationale = field("what it supposes, and why", "wb-rationale")
        self.save = action("Save scenario", self.keep, tooltip="keep this page's edits under the name")
        self.save.add_class("wb-save")
        self.save.disabled = True
        self.name.observe(lambda _change: self.allow_saving(), names=["value"])
        self.chosen = choice([DRAFT], "scenario")
        self.likely = field("how likely", "wb-likely")
        self.opening = action("Open", self._tried(self._open), tooltip="go on with this scenario's edits")
        self.closing = action("Close", self._tried(self._close), tooltip="its records stay in the log")
        self.rename = action("Rename", self._tried(self._rename), tooltip="to the name typed above")
        self.copy = action("Duplicate", self._tried(self._duplicate), tooltip="under the name typed above")
        self.annotate = action("Annotate", self._tried(self._annotate), tooltip="with what is typed above")
        self.weigh = action("Weigh", self._tried(self._weigh), tooltip="its share in the mix, from 0 to 1")
        acts = [self.opening, self.closing, self.rename, self.copy, self.annotate, self.likely, self.weigh]
        saving = box(ipywidgets.HBox, [self.name, self.rationale, self.save], "wb-keeping")
        #: What can be done with a scenario; there is none before the first edit.
        self.choosing = box(ipywidgets.HBox, [self.chosen, *acts], "wb-keeping")
        super().__init__([self.compared, self.choosing, saving, self.said], layout=look(ipywidgets.Layout))

    def look_up(self, tree: Tree | None = None) -> None:
        """Read the saved scenarios afresh, whoever saved them, and show them beside this page's edits.

        ``tree`` is the run's, where it was just read.
        """
        with self.session.lock:
            try:
                self._table = self.scenarios.table(tree)
            except WorkbenchError as error:
                self._table = None
                self.said.value = panels.refusal(error)
            self.show()

    def show(self) -> None:
        """Bring the comparison in step with the page's edits."""
        self.allow_saving()
        if self._table is None:
            return
        edits = len(self.session.edits)
        self.compared.value = panels.scenarios(
            self._table, self.session.now.after, edits, self._market, written=self.keeper.name
        )
        offer(self.chosen, self._names())
        show_if(bool(self._table["scenarios"]), self.choosing)

    def _names(self) -> list[str]:
        return [row["name"] for row in (self._table or {}).get("scenarios", [])] or [DRAFT]

    def ask_name(self) -> None:
        """Put the cursor where the name of the scenario is typed."""
        self.name.focus()

    def allow_saving(self) -> None:
        """Offer to save where there are edits and a name."""
        self.save.disabled = not (self.session.edits and self.name.value.strip())

    def keep(self) -> None:
        """Save this page's edits as a scenario of the name that was typed, and go on in it, or say in one line why not."""
        with self.session.lock:
            # Under the lock: an edit on another thread must not fall between what is saved and what is shown as saved.
            name = self.name.value.strip()
            try:
                self.keeper.flush()
                self.scenarios.save(
                    name, self.session.edits, author=self._author(), rationale=self.rationale.value.strip()
                )
                self.keeper.moved_to(name)
                self._table = self.scenarios.table()
            except UsageError as error:
                self.said.value = panels.refusal(str(error))
                return
            self._done(f"Saved as {name}. Further edits go to {name}.")

    def _tried(self, act: Callable[[], None]) -> Callable[[], None]:
        def locked() -> None:
            with self.session.lock:
                act()

        return tried(locked, self._refuse)

    def _refuse(self, why: str) -> None:
        self.said.value = panels.refusal(why)

    def _done(self, line: str) -> None:
        self.name.value = self.rationale.value = ""
        # Said last: who reads that it is done finds it done.
        self.show()
        self.said.value = panels.note(line)

    def _open(self) -> None:
        name = str(self.chosen.value)
        if not self.keeper.open(name):
            raise UsageError(f"no scenario {name!r} is open any more")
        self.look_up()
        self._done(f"{name} is open: further edits go to it.")

    def _close(self) -> None:
        name = str(self.chosen.value)
        if name == self.keeper.name:
            self.keeper.start_draft()
        self._table = self.scenarios.change("close", name, author=self._author())
        self._done(f"{name} is closed; its records stay in the log.")

    def _rename(self) -> None:
        old, new = str(self.chosen.value), self.name.value.strip()
        self.keeper.flush()
        in_work = old == self.keeper.name
        self._table = self.scenarios.rename(old, new, author=self._author())
        if in_work:
            self.keeper.open(new)
        offer(self.chosen, self._names(), new)
        self._done(f"{old} is called {new} now.")

    def _duplicate(self) -> None:
        old, new = str(self.chosen.value), self.name.value.strip()
        self.keeper.flush()
        self._table = self.scenarios.duplicate(old, new, author=self._author())
        self._done(f"{new} holds the edits of {old}.")

    def _annotate(self) -> None:
        name = str(self.chosen.value)
        self.keeper.flush()
        self._table = self.scenarios.annotate(name, self.rationale.value.strip(), author=self._author())
        self._follow(name)
        self._done(f"{name} says what it supposes.")

    def _weigh(self) -> None:
        name = str(self.chosen.value)
        self.keeper.flush()
        self._table = self.scenarios.weigh(name, parse_probability(self.likely.value), author=self._author())
        self._follow(name)
        self._done(f"{name} is held {self.likely.value.strip()} likely.")

    def _follow(self, name: str) -> None:
        """A record of the page's own making on the scenario in work is no conflict with its next edit."""
        if name == self.keeper.name:
            self.keeper.open(name)
