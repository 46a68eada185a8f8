"""The parts of the dashboard as widgets of their own, for notebook cells: tree, scenarios, a run in work, evidence.

Each shows itself as plain HTML, which the live widget replaces (``in_place``): a saved notebook reads well without a kernel.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import ipywidgets
import traitlets

from workbench.errors import UsageError, WorkbenchError
from workbench.propositions import NodeId
from workbench.terminal import printable
from workbench.views.run_view import RunView
from workbench.views.wording import run_lines
from workbench.widgets import panels
from workbench.widgets.drivers import Drivers
from workbench.widgets.edits.edit_log import Panels, shared_edits
from workbench.widgets.fields import action, box, choice, html, look, page_base, pane
from workbench.widgets.html_panel import in_place
from workbench.widgets.live_run import Follower, Poller, Working
from workbench.widgets.proofs import proof_view as proof
from workbench.widgets.run_forms import Desk, download_form
from workbench.widgets.side_panels import EditBar
from workbench.widgets.tree_widget import TreeWidget

#: Of a framed proof in a cell.
_FRAME = "width:100%;height:640px;border:1px solid #cfd7de;border-radius:4px;background:#fff"


def explorer(run: RunView) -> TreeWidget:
    """Return the tree of a run as a widget by itself, every probability editable.

    It opens with the edits of the run's draft, and keeps new ones there as they are made.
    """
    return shared_edits(run).tree


class _View(ipywidgets.VBox, Panels):  # type: ignore[misc]
    """A column of widgets with our style sheet, which shows itself in a cell in the place of plain HTML."""

    def __init__(self, run: RunView, children: list[ipywidgets.Widget]) -> None:
        self.run = run
        self.line = html()
        super().__init__([page_base(), *children, self.line], layout=look(ipywidgets.Layout))
        self.add_class("wb-app")
        self.add_class("wb-in-cell")

    def static_html(self) -> str:
        raise NotImplementedError

    def shown_again(self) -> None:
        """Look again: the cell was run another time."""

    def _tell(self, line: str, refused: bool) -> None:
        self.line.value = panels.told(line, refused)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return in_place(self, self.static_html(), printable("\n".join(run_lines(self.run))))


_SomeView = TypeVar("_SomeView", bound=_View)


def one_view(kind: Callable[[RunView], _SomeView], run: RunView) -> _SomeView:
    """Return this kernel's view of the run: a cell that is run again shows the one there is, not one more to keep in step."""
    views = shared_edits(run).views
    view: Any = views.get(kind)
    if view is None or view.comm is None:  # none yet, or somebody closed it
        view = views[kind] = kind(run)
    else:
        view.run = run
        view.shown_again()
    shown: _SomeView = view
    return shown


class ScenarioView(_View):
    """The edits of a run's tree, whose they are and why, and its scenarios: all that the page of ``workbench serve`` can do."""

    def __init__(self, run: RunView) -> None:
        self.shared = shared = shared_edits(run)
        self.bar = bar = EditBar(shared, Desk(edits=shared, reread=lambda: None))
        self.book = bar.book
        refresh = action("Refresh", self.book.look_up, tooltip="read the log again, whoever wrote in it")
        buttons = box(ipywidgets.HBox, [bar.undo, bar.redo, bar.reset, refresh], "wb-keeping")
        whose = box(ipywidgets.HBox, [*shared.signature], "wb-keeping")
        self._in_work = shared.keeper.name
        super().__init__(
            run,
            [
                pane("What if", [bar.table, whose, bar.resynthesis], "wb-what-if", beside=buttons),
                pane("Scenarios", [self.book], "wb-scenarios"),
            ],
        )
        self.book.look_up()
        self.edited()
        shared.join(self)

    def edited(self) -> None:
        """Bring the table and the comparison in step with the tree."""
        if self._in_work != self.shared.keeper.name:
            # What was said was of the scenario before.
            self._in_work = self.shared.keeper.name
            self._tell("", False)
        self.bar.show()

    def said(self, line: str, refused: bool) -> None:
        """Show what was kept, or why not."""
        self._tell(line, refused)

    def shown_again(self) -> None:
        """Read the scenarios afresh, whoever saved them."""
        self.book.look_up()

    def static_html(self) -> str:
        """Return the table of the scenarios."""
        return self.book.compared.value


class DriverView(_View):
    """What drives the root, with the edits of the tree: the tornado, and what it would take to be elsewhere."""

    def __init__(self, run: RunView) -> None:
        self.shared = shared_edits(run)
        self.drivers = Drivers(run, self.shared.choose)
        parts = [self.drivers.chart, self.drivers.questions]
        super().__init__(run, [pane("What it hinges on", parts, "wb-sensitivity")])
        self.drivers.show(self.shared.session.tree)
        self.shared.join(self)

    def edited(self) -> None:
        """Draw it for the tree as it is edited, the answers that were asked for too."""
        self.shared.tree.at_rest.do(
            self, lambda: self.drivers.show_in_steps(lambda: self.shared.session.tree)
        )

    def shown_again(self) -> None:
        """Draw at once: what the cell's plain HTML shows is in step too."""
        self.drivers.show(self.shared.session.tree)

    def static_html(self) -> str:
        """Return the tornado and the last answer."""
        return f"{self.drivers.chart.value}{self.drivers.questions.answer.value}"


class ExportView(_View):
    """The note in four forms, the package for a reviewer and the tree, each a file that the browser saves."""

    def __init__(self, run: RunView) -> None:
        self.shared = shared_edits(run)
        self.taking = download_form(Desk(edits=self.shared, reread=lambda: None))
        super().__init__(run, [pane("Take it with you", [self.taking], "wb-taking")])

    def static_html(self) -> str:
        """Return the command that writes the same files."""
        return panels.note(f"workbench export {self.run.run_id} -o note.html (.pdf, .docx, .md, .zip)")


class LiveView(_View):
    """A run in work as its log grows: state, cost, the last lines, and the tree that fills; stop and resume."""

    def __init__(self, run: RunView) -> None:
        self.follower = Follower(run)
        self.shared = shared_edits(run)
        self.working = Working(self.follower, lambda store: None, self._follow, self._tell)
        super().__init__(run, [self.working, self.shared.tree])
        self.poller = Poller(self.look)
        self._show()
        if self.follower.phase != "done":
            self.poller.start()

    def shown_again(self) -> None:
        """Follow the log again, should somebody have taken the run up since it ended."""
        if self.look():
            self.poller.start()

    def look(self) -> bool:
        """Show what the run has got since the last look; False when nothing more is to come."""
        try:
            changed = self.follower.look()
        except WorkbenchError as error:
            self.line.value = panels.refusal(error)
            return True
        if changed:
            self._show()
        return self.follower.phase != "done"

    def _show(self) -> None:
        self.run = self.follower.view
        self.shared.go_on(self.run, self.follower.marks())
        self.working.show(self.run, always=True)

    def _follow(self) -> None:
        self.look()
        self.poller.start()
        self._tell("", False)

    def static_html(self) -> str:
        """Return the state and the tree as they are now."""
        return f"{self.working.state.value}{self.shared.tree.static_html()}"


class EvidenceView(_View):
    """The evidence of one leaf: its report, its proof notebook, its data calls; with a choice of the other leaves.

    Raises `UsageError`: No proposition of this run, or no leaf.
    """

    dark = traitlets.Bool(False)

    def __init__(self, run: RunView, node: NodeId | None = None) -> None:
        leaves = list(run.tree.leaves())
        begin = node or next((leaf for leaf in leaves if run.notebook(leaf) is not None), leaves[0])
        if run.tree[begin].children:
            raise UsageError(f"{begin} is combined from its drivers; choose one of them: {', '.join(leaves)}")
        self.shared = shared_edits(run)
        self.chosen = choice(
            [(f"{leaf}  {run.tree[leaf].statement[:80]}", leaf) for leaf in leaves], "driver"
        )
        self.chosen.value = begin
        self.head, self.proof = html(), html()
        super().__init__(run, [self.chosen, self.head, self.proof])
        self.chosen.observe(lambda _change: self._show(), names=["value"])
        self.observe(lambda _change: self._show(), names=["dark"])
        self._show()
        self.shared.join(self)

    def edited(self) -> None:
        """Show the leaf's value as it is edited, beside the grounded one."""
        leaf, tree = str(self.chosen.value), self.shared.session.tree
        self.head.value = panels.selected(
            leaf,
            tree if leaf in tree else self.run.tree,
            self.run.tree,
            without_data=self.run.without_data.get(leaf, ""),
        )

    def selected(self, node: NodeId) -> None:
        """Go along with the tree where a leaf is selected in it."""
        if node in self.run.tree and not self.run.tree[node].children:
            self.chosen.value = node

    def _show(self) -> None:
        leaf = str(self.chosen.value)
        self.edited()
        document = proof.proof_of(self.run, leaf, dark=self.dark)
        self.proof.value = proof.frame(document, title=f"proof notebook of {leaf}", style=_FRAME)

    def static_html(self) -> str:
        """Return the head and the framed proof; GitHub drops the frame and keeps the head."""
        return f"{self.head.value}{self.proof.value}"
