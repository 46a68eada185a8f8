"""The scenarios of a run on its page: saved, opened, renamed, annotated, weighed, duplicated, closed; side by side and mixed."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets

from workbench.errors import UsageError, WorkbenchError
from workbench.operations.base import Home
from workbench.operations.scenarios import Scenarios
from workbench.propositions import Tree
from workbench.whatif.typed_values import market_of
from workbench.widgets import panels
from workbench.widgets.edits.edit_log import DRAFT, RunEdits
from workbench.widgets.fields import action, box, choice, field, html, look, offer, show_if, tried
from workbench.widgets.html_panel import Panel

#: What is done with the chosen scenario and the text of a field (none for Close): the button, its help, and what is said then.
_ACTS = (
    ("close", "Close", "", "its records stay in the log", "{0} is closed; its records stay in the log."),
    ("rename", "Rename", "name", "to the name typed above", "{0} is called {1} now."),
    ("duplicate", "Duplicate", "name", "under the name typed above", "{1} holds the edits of {0}."),
    ("annotate", "Annotate", "rationale", "with what is typed above", "{0} says what it supposes."),
    ("weigh", "Weigh", "likely", "its share in the mix, from 0 to 1", "{0} is held {1} likely."),
)


class ScenarioPane(ipywidgets.VBox):  # type: ignore[misc]
    """Everything about a run's scenarios below its tree."""

    def __init__(self, edits: RunEdits) -> None:
        self.session, self.scenarios, self.keeper = edits.session, edits.scenarios, edits.keeper
        self._edits = edits
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
        #: The buttons by option of ``workbench scenarios``.
        self.acts = {
            option: action(label, self._tried(partial(self._act, option, source, words)), tooltip=tooltip)
            for option, label, source, tooltip, words in _ACTS
        }
        *acts, weigh = self.acts.values()
        saving = box(ipywidgets.HBox, [self.name, self.rationale, self.save], "wb-keeping")
        #: What can be done with a scenario; there is none before the first edit.
        self.choosing = box(
            ipywidgets.HBox, [self.chosen, self.opening, *acts, self.likely, weigh], "wb-keeping"
        )
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
        market = market_of(self._edits.run.state)
        self.compared.value = panels.scenarios(
            self._table, self.session.now.after, edits, market, written=self.keeper.name
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
                    name, self.session.edits, author=self._edits.who(), rationale=self.rationale.value.strip()
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
            raise UsageError(f"no scenario {name!r} is open: choose another")
        self.look_up()
        self._done(f"{name} is open: further edits go to it.")

    def _act(self, option: str, source: str, words: str) -> None:
        name = str(self.chosen.value)
        typed = str(getattr(self, source).value).strip() if source else ""
        in_work = name == self.keeper.name
        if option == "close" and in_work:
            self.keeper.start_draft()
        self.keeper.flush()
        asked: Any = {option: {name: typed} if source else name}
        home = Home(environ=os.environ, folder=self.scenarios.home)
        try:
            request = Scenarios.read({"run": self.scenarios.run_id, "author": self._edits.who(), **asked})
            self._table = request.answer(home)
        finally:
            home.close()
        if in_work and option != "close":
            # A record of the page's own making on the scenario in work is no conflict with its next edit.
            self.keeper.open(typed if option == "rename" else name)
        if option == "rename":
            offer(self.chosen, self._names(), typed)
        self._done(words.format(name, typed))
