"""The parts of the dashboard as widgets of their own, for notebook cells: tree, scenarios, a run in work, evidence.

Each shows itself as plain HTML, which the live widget replaces (``in_place``): a saved notebook reads well without a kernel.
"""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import ipywidgets

from workbench.engine.run.detached import resume_detached, stop_run
from workbench.engine.view import RunView
from workbench.engine.whatif.saved import SavedScenarios
from workbench.engine.whatif.typed_values import parse_probability
from workbench.engine.wording import run_lines
from workbench.errors import UsageError, WorkbenchError
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.terminal import printable
from workbench.widgets import panels, proof
from workbench.widgets.fields import action, box, field, html, look, made, offer, show_if, style
from workbench.widgets.in_place import in_place
from workbench.widgets.keeping import DRAFT, Keeper
from workbench.widgets.live import Follower, Poller
from workbench.widgets.session import WhatIfSession
from workbench.widgets.tree import TreeWidget

#: Who made an edit in a notebook's cell, where nobody has typed a name.
_AUTHOR = "notebook"
#: Of a framed proof in a cell.
_FRAME = "width:100%;height:640px;border:1px solid #cfd7de;border-radius:4px;background:#fff"


def explorer(run: RunView) -> TreeWidget:
    """Return the tree of a run as a widget by itself, every probability editable.

    It opens with the edits of the run's draft, and keeps new ones there as they are made.
    """
    session = WhatIfSession(run.tree)
    tree = TreeWidget(session, run=run.run_id)

    def say(line: str, refused: bool) -> None:
        if refused:
            tree.send({"type": "refused", "id": ROOT, "line": line})

    keeper = Keeper(session, _scenarios(run), author=lambda: _AUTHOR, say=say)
    keeper.open(DRAFT)
    return tree


def _scenarios(run: RunView) -> SavedScenarios:
    return SavedScenarios(run.folder.parent.parent, run.run_id)


class _View(ipywidgets.VBox):  # type: ignore[misc]
    """A column of widgets with our style sheet, which shows itself in a cell in the place of plain HTML."""

    def __init__(self, run: RunView, children: list[ipywidgets.Widget]) -> None:
        self.run = run
        self.line = html()
        super().__init__([style(), *children, self.line], layout=look(ipywidgets.Layout))
        self.add_class("wb-app")

    def static_html(self) -> str:
        """Return what a saved notebook shows."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return in_place(self, self.static_html(), printable("\n".join(run_lines(self.run))))

    def _tried(self, act: Callable[[], None]) -> Callable[[], None]:
        """Return the act with a refusal shown: an exception in a widget's callback is seen by nobody."""

        def act_or_say() -> None:
            try:
                act()
            except WorkbenchError as error:
                self.line.value = panels.refusal(str(error))
            else:
                self.line.value = ""

        return act_or_say


class ScenarioView(_View):
    """The saved what-ifs of a run side by side, to be weighed and closed.

    Parameters
    ----------
    run : RunView
    """

    def __init__(self, run: RunView) -> None:
        self.scenarios = _scenarios(run)
        self.table = html()
        self.chosen = made(ipywidgets.Dropdown, options=[DRAFT])
        self.likely = field("how likely")
        row = [
            self.chosen,
            self.likely,
            action("Weigh", self._tried(self._weigh), tooltip="its share in the mix, from 0 to 1"),
            action("Close", self._tried(self._close), tooltip="its records stay in the log"),
            action("Refresh", self._tried(self.look), tooltip="read the log again"),
        ]
        super().__init__(run, [self.table, box(ipywidgets.HBox, row, "wb-keeping")])
        self.look()

    def look(self) -> None:
        """Read the saved scenarios afresh, whoever saved them."""
        self._show(self.scenarios.table())

    def _show(self, table: dict[str, Any]) -> None:
        self.table.value = panels.scenarios(table, None, 0)
        names = [row["name"] for row in table["scenarios"]] or [DRAFT]
        offer(self.chosen, names)

    def _weigh(self) -> None:
        self._show(
            self.scenarios.weigh(str(self.chosen.value), parse_probability(self.likely.value), author=_AUTHOR)
        )

    def _close(self) -> None:
        self._show(self.scenarios.change("close", str(self.chosen.value), author=_AUTHOR))

    def static_html(self) -> str:
        """Return the table of the scenarios."""
        return str(self.table.value)


class LiveView(_View):
    """A run in work as its log grows: state, cost, the last lines, and the tree that fills; stop and resume.

    Parameters
    ----------
    run : RunView
    """

    def __init__(self, run: RunView) -> None:
        self.follower = Follower(run)
        self.session = WhatIfSession(run.tree)
        self.tree = TreeWidget(self.session, run=run.run_id)
        self.state = html()
        self.go = action("Resume", self._tried(self._resume), tooltip="in a process of its own")
        self.end = action("Stop", self._tried(self._stop), tooltip="the run can be resumed")
        row = box(ipywidgets.HBox, [self.state, self.go, self.end], "wb-working")
        super().__init__(run, [row, self.tree])
        self.poller = Poller(self.look)
        self._show()
        if self.follower.phase != "done":
            self.poller.start()

    def look(self) -> bool:
        """Show what the run has got since the last look; False when nothing more is to come."""
        try:
            changed = self.follower.look()
        except WorkbenchError as error:
            self.line.value = panels.refusal(str(error))
            return True
        if changed:
            self._show()
        return self.follower.phase != "done"

    def _show(self) -> None:
        self.run = self.follower.view
        phase = self.follower.phase
        self.session.rebase(self.run.tree, self.follower.marks())
        self.state.value = panels.progress(phase, self.follower.state, self.run, list(self.follower.lines))
        show_if(phase in ("planned", "stopped", "failed"), self.go)
        show_if(phase in ("running", "waiting"), self.end)

    def _resume(self) -> None:
        with closing(Store(self.run.folder.parent.parent)) as store:
            process = resume_detached(store, self.run.run_id)
        if process.exit_code:
            raise UsageError(process.line.removeprefix("workbench: ") or "the run ended at once")
        self.look()
        self.poller.start()

    def _stop(self) -> None:
        with closing(Store(self.run.folder.parent.parent)) as store:
            stop_run(store, self.run.run_id)
        self.look()

    def static_html(self) -> str:
        """Return the state and the tree as they are now."""
        return f"{self.state.value}{self.tree.static_html()}"


class EvidenceView(_View):
    """The evidence of one leaf: its report, its proof notebook, its data calls; with a choice of the other leaves.

    Parameters
    ----------
    run : RunView
    node : str, optional
        The leaf to begin with; the first one that has a proof unless named.

    Raises
    ------
    UsageError
        No proposition of this run, or no leaf.
    """

    def __init__(self, run: RunView, node: NodeId | None = None) -> None:
        leaves = list(run.tree.leaves())
        begin = node or next((leaf for leaf in leaves if run.notebook(leaf) is not None), leaves[0])
        if run.tree[begin].children:
            raise UsageError(
                f"{begin} is combined from those below it; a proof belongs to a leaf: {', '.join(leaves)}"
            )
        self.chosen = made(
            ipywidgets.Dropdown,
            options=[(f"{leaf}  {run.tree[leaf].statement[:80]}", leaf) for leaf in leaves],
            value=begin,
        )
        self.head, self.proof = html(), html()
        super().__init__(run, [self.chosen, self.head, self.proof])
        self.chosen.observe(lambda _change: self._show(), names=["value"])
        self._show()

    def _show(self) -> None:
        leaf = str(self.chosen.value)
        self.head.value = panels.selected(leaf, self.run.tree, self.run.tree)
        self.proof.value = proof.frame(self._document(leaf), title=f"proof notebook of {leaf}", style=_FRAME)

    def _document(self, leaf: NodeId) -> str:
        path = self.run.notebook(leaf)
        if path is None:
            return proof.message_document(f"{leaf} has no proof notebook yet.")
        try:
            return proof.proof_document(path, trail=proof.trail_of(self.run, leaf))
        except UsageError as error:
            return proof.message_document(str(error))

    def static_html(self) -> str:
        """Return the head and the framed proof; GitHub drops the frame and keeps the head."""
        return f"{self.head.value}{self.proof.value}"
