"""Notes and tags of a run on its page: what stands, and a form for more; both are found by the search of the first page."""

from collections.abc import Callable
from contextlib import closing

import ipywidgets

from workbench.engine.annotating import add_note
from workbench.engine.view import RunView
from workbench.errors import UsageError, WorkbenchError
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.widgets import panels
from workbench.widgets.fields import action, box, choice, field, html, look, offer


class NotesForm(ipywidgets.VBox):  # type: ignore[misc]
    """What was noted, and a row to note more: on the run, or on the selected proposition.

    Parameters
    ----------
    author : callable
        Who sits here, as typed.
    noted : callable
        Called when a note is on record.
    """

    def __init__(self, author: Callable[[], str], noted: Callable[[], None]) -> None:
        self._author, self._noted = author, noted
        self._run: RunView | None = None
        self.node: NodeId = ROOT
        self.standing = html()
        self.line = html()
        self.text = field("note")
        self.tags = field("tags, with commas; -tag takes one off")
        self.about = choice(["the run"], "what the note is about")
        self.keep = action("Keep note", self._keep)
        row = box(ipywidgets.HBox, [self.text, self.about, self.tags, self.keep], "wb-form-row")
        super().__init__([self.standing, row, self.line], layout=look(ipywidgets.Layout))

    def show(self, run: RunView, node: NodeId) -> None:
        """Show the notes of a run; a new one may be about it or about ``node``."""
        self._run, self.node = run, node
        said = run.state.annotations
        self.standing.value = panels.notes(said.notes, said.tags)
        options = ["the run", *([node] if node in run.tree else [])]
        offer(self.about, options)

    def _keep(self) -> None:
        run = self._run
        assert run is not None
        words = [word.strip() for word in self.tags.value.split(",") if word.strip()]
        node = None if self.about.value == "the run" else str(self.about.value)
        try:
            with closing(Store(run.home)) as store:
                if not (self.text.value.strip() or words):
                    raise UsageError("nothing to note: write a text or a tag")
                add_note(
                    store,
                    run.run_id,
                    self.text.value,
                    node=node,
                    tags=[word for word in words if not word.startswith("-")],
                    untagged=[word[1:] for word in words if word.startswith("-")],
                    author=self._author(),
                )
        # An exception in a widget's callback is seen by nobody.
        except WorkbenchError as error:
            self.line.value = panels.refusal(str(error))
            return
        self.line.value = self.text.value = self.tags.value = ""
        self._noted()
