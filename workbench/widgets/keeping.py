"""Keeping the edits of a page in the log while they are made, so that a closed, reloaded or lost page loses none."""

import threading
from collections.abc import Callable
from contextlib import suppress

from workbench.engine.whatif.saved import SavedScenarios, check_name
from workbench.errors import WorkbenchError
from workbench.propositions import EditConflict
from workbench.widgets.session import WhatIfSession

#: The scenario that a page works on until its edits are saved under a name.
DRAFT = "draft"
#: Edits of a drag come many a second; one record of where it ended is enough.
_PAUSE_SECONDS = 0.4


class Keeper:
    """Writes a session's edits to a scenario of the run, a moment after the last of them.

    Parameters
    ----------
    session : WhatIfSession
    scenarios : SavedScenarios
    author : callable
        Who edits, asked for at each record.
    say : callable
        Shows one line of what was kept, or why not; its second argument is True for a refusal.
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
        scenario = self._scenarios.scenario(name)
        if scenario is None:
            with self._session.lock:
                self.name, self._seq, self._stored = name, None, ()
                self._session.open(())
            return False
        with self._session.lock:
            self.name, self._seq, self._stored = name, scenario.seq, scenario.edits
            self._session.open(scenario.edits)
        return True

    def start_draft(self) -> None:
        """Leave the scenario in work as it is; the page is without edits, and further ones are a new draft."""
        self.flush()
        draft = self._scenarios.scenario(DRAFT)
        with self._session.lock:
            self.name, self._seq = DRAFT, None if draft is None else draft.seq
            self._stored = () if draft is None else draft.edits
            self._session.open(())

    def moved_to(self, name: str) -> None:
        """Go on in a scenario that was just made of this page's edits; the draft that they came from is closed."""
        self._cancel()
        if self.name == DRAFT and self._scenarios.scenario(DRAFT) is not None:
            # Somebody else may have closed the draft meanwhile: then there is none, as wanted.
            with suppress(EditConflict):
                self._scenarios.change("close", DRAFT, author=self._author())
        scenario = self._scenarios.scenario(name)
        assert scenario is not None
        self.name, self._seq, self._stored = name, scenario.seq, scenario.edits

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
                        f"{contested} was edited in another window too: your edits are kept as {self.name}",
                        True,
                    )
                else:
                    self._say(f"kept as {self.name}" if edits else "", False)
            except WorkbenchError as error:
                self._say(f"not kept: {error}", True)
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
