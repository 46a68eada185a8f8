"""The dashboard of a run: headline, tree, what-if, sensitivities, and the proof of the selected proposition."""

from importlib.resources import files
from typing import Any

import ipywidgets

from workbench.engine.view import RunView
from workbench.engine.whatif.saved import SavedScenarios
from workbench.errors import UsageError, WorkbenchError
from workbench.propositions import NodeId
from workbench.propositions.edits import SetValue
from workbench.synthesis import SensitivityError, reachable_ranges, tornado
from workbench.widgets import panels, proof
from workbench.widgets.session import WhatIfSession
from workbench.widgets.tree import TreeWidget


class Dashboard(ipywidgets.VBox):  # type: ignore[misc]
    """Everything about one run on one page; edits live in its session and change nothing stored until they are saved.

    Parameters
    ----------
    run : RunView
        What ``workbench.engine.load_run`` returns; its scenarios are those of the data folder it lies in.
    """

    def __init__(self, run: RunView, **kwargs: Any):
        self.run = run
        self.document = run.document()
        self.session = WhatIfSession(run.tree)
        self.scenarios = SavedScenarios(run.folder.parent.parent, str(self.document["run_id"]))
        self.tree = TreeWidget(self.session)
        self.header = ipywidgets.HTML()
        self.table = ipywidgets.HTML()
        self.swings = ipywidgets.HTML()
        self.detail = ipywidgets.HTML()
        self.proof = ipywidgets.HTML()
        self.compared = ipywidgets.HTML()
        self.saved = ipywidgets.HTML()
        self.name = ipywidgets.Text(placeholder="name of a new scenario", continuous_update=True)
        self.name.add_class("wb-name")
        self.save = ipywidgets.Button(
            description="Save scenario", tooltip="keep this page's edits under the name", disabled=True
        )
        self.save.add_class("wb-save")
        self.save.on_click(lambda _button: self.keep())
        self.name.observe(lambda _change: self._allow_saving(), names=["value"])
        self.reset = ipywidgets.Button(description="Reset all", tooltip="take all edits back", disabled=True)
        self.reset.add_class("wb-reset")
        self.reset.on_click(lambda _button: self.session.reset_all())
        super().__init__([_style(), self.header, self._main(), self._foot()], **kwargs)
        self.add_class("wb-app")
        self.session.subscribe(self.refresh)
        self.tree.observe(lambda _change: self.show_proof(), names=["selected", "dark"])
        self._shown: tuple[NodeId, bool] | None = None
        self._table: dict[str, Any] | None = None
        self.refresh()
        self.look_up()
        self.show_proof()

    def _main(self) -> ipywidgets.Widget:
        left = _pane("Propositions", [self.tree], "wb-left")
        right = _pane("Evidence", [self.detail, self.proof], "wb-right")
        return _box(ipywidgets.HBox, [left, right], "wb-main")

    def _foot(self) -> ipywidgets.Widget:
        what_if = _pane("What if", [self.table], "wb-what-if", beside=self.reset)
        swings = _pane("Sensitivity", [self.swings], "wb-sensitivity")
        keeping = _box(ipywidgets.HBox, [self.name, self.save], "wb-keeping")
        compared = _pane("Scenarios", [self.saved, self.compared], "wb-scenarios", beside=keeping)
        left = _box(ipywidgets.VBox, [what_if, compared], "wb-foot-left")
        return _box(ipywidgets.HBox, [left, swings], "wb-foot")

    def refresh(self) -> None:
        """Bring every panel in step with the session."""
        with self.session.lock:
            now, edits, tree = self.session.now, self.session.edits, self.session.tree
            self.header.value = panels.header(self.document, now, len(edits), self.run.base_rate)
            self.table.value = panels.what_if(str(self.document["run_id"]), now, edits, tree)
            try:
                rows = tornado(tree)
            # A rule without a formula, whose children were edited, has no value to swing.
            except SensitivityError:
                rows = []
            reach = reachable_ranges(tree)[tree.root.id] if rows else None
            self.swings.value = panels.sensitivity(rows, tree, now.after, reach)
            self.reset.disabled = not edits
            self._allow_saving()
            self._show_detail()
            self._show_scenarios()

    def look_up(self) -> None:
        """Read the saved scenarios afresh, whoever saved them, and show them beside this page's edits."""
        with self.session.lock:
            try:
                self._table = self.scenarios.table()
            except WorkbenchError as error:
                self._table = None
                self.saved.value = panels.refusal(str(error))
            self._show_scenarios()

    def _show_scenarios(self) -> None:
        if self._table is not None:
            edits = len(self.session.edits)
            self.compared.value = panels.scenarios(self._table, self.session.now.after, edits)

    def keep(self) -> None:
        """Save this page's edits as a scenario of the name that was typed, or say in one line why not."""
        with self.session.lock:
            # Under the lock: an edit on another thread must not fall between what is saved and what is shown as saved.
            edits = [SetValue(node=node, p=p) for node, p in self.session.edits.items()]
            name = self.name.value.strip()
            try:
                self._table = self.scenarios.save(name, edits, author="dashboard")
            except UsageError as error:
                self.saved.value = panels.refusal(str(error))
                return
            self.name.value = ""
            self.saved.value = panels.note(f"Saved as {name}.")
            self._show_scenarios()

    def _allow_saving(self) -> None:
        self.save.disabled = not (self.session.edits and self.name.value.strip())

    def _show_detail(self) -> None:
        node, tree = self.tree.selected, self.session.tree
        sums = panels.combination(node, tree) if tree[node].children else ""
        self.detail.value = panels.selected(node, tree, self.session.base) + sums

    def show_proof(self) -> None:
        """Show the evidence of the selected proposition: a leaf's notebook, an inner one's sum and synthesis."""
        with self.session.lock:
            self._show_detail()
            shown = (self.tree.selected, self.tree.dark)
            # Reading, sanitising and framing a notebook is the dear part; it is done for another proposition or theme, not
            # for every message.
            if self._shown != shown:
                document, title = self._document(*shown)
                self.proof.value = proof.frame(document, title=title)
                self._shown = shown

    def _document(self, node: NodeId, dark: bool) -> tuple[str, str]:
        proposition = self.session.base[node]
        if proposition.children:
            text = panels.synthesis_text(proposition)
            document = (
                proof.markdown_document(text, dark=dark)
                if text
                else proof.message_document("No words on it.", dark=dark)
            )
            return document, f"synthesis of {node}"
        title = f"proof notebook of {node}"
        path = self.run.notebook(node)
        if path is None:
            return proof.message_document(f"{node} has no proof notebook yet.", dark=dark), title
        try:
            return proof.proof_document(path, dark=dark), title
        except UsageError as error:
            return proof.message_document(str(error), dark=dark), title


def dashboard(run: RunView) -> Dashboard:
    """Return the dashboard of a run, to be displayed in JupyterLab, Voila or any front end with widgets."""
    return Dashboard(run)


def explorer(run: RunView) -> TreeWidget:
    """Return the tree of a run as a widget by itself, every probability editable."""
    return TreeWidget(run.tree)


def page(html: str) -> ipywidgets.Widget:
    """Return a page of plain HTML of our own in the dashboard's style."""
    return _box(ipywidgets.VBox, [_style(), ipywidgets.HTML(html)], "wb-app")


def _style() -> ipywidgets.Widget:
    # tree.css carries the tokens; the tree itself brings it too, and twice is harmless
    folder = files("workbench.widgets") / "static"
    css = "".join((folder / name).read_text(encoding="utf-8") for name in ("tree.css", "dashboard.css"))
    style = ipywidgets.HTML(f"<style>{css}</style>")
    style.add_class("wb-style")
    return style


def _pane(
    title: str, children: list[ipywidgets.Widget], name: str, *, beside: Any = None
) -> ipywidgets.Widget:
    head = ipywidgets.HTML(f"<h2>{title}</h2>")
    top = _box(ipywidgets.HBox, [head, beside] if beside is not None else [head], "wb-pane-head")
    pane = _box(ipywidgets.VBox, [top, *children], "wb-pane")
    pane.add_class(name)
    return pane


def _box(kind: Any, children: list[ipywidgets.Widget], name: str) -> Any:
    box = kind(children)
    box.add_class(name)
    return box
