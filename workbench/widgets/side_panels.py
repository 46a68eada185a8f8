"""What stands on a run's page around the tree and its drivers: what-if, scenarios, notes, and the evidence of a proposition.

None of it is needed for the first screen, so a page makes it once that stands: its models would come before the first row.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import ipywidgets

from proxies.atomic import reads_only
from workbench.annotations.entries import add_note
from workbench.errors import WorkbenchError
from workbench.operations.drivers import Refit
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.views.claims_list import WATCH
from workbench.views.kept_changes import kept_changes
from workbench.views.run_changes import change_lines
from workbench.views.run_view import RunView
from workbench.views.transcript import transcript
from workbench.widgets import panels
from workbench.widgets.drivers import Drivers
from workbench.widgets.edits.edit_log import RunEdits
from workbench.widgets.edits.node_form import AssumptionForm, EditingForm
from workbench.widgets.edits.scenario_pane import ScenarioPane
from workbench.widgets.fields import Fold, action, box, html, pane
from workbench.widgets.html_panel import Panel
from workbench.widgets.operation_form import MoreForms
from workbench.widgets.proofs import proof_view as proof
from workbench.widgets.proofs.vintage_pane import VintagePane
from workbench.widgets.run_forms import (
    ApprovalPane,
    Desk,
    PeoplePane,
    RegroundingPane,
    asking_pane,
    download_form,
    estimates_pane,
    notes_pane,
    resynthesis_form,
    review_pane,
)

#: Operations on a run that have a form on its page and no place of their own.
MORE = {
    "audit the records": "workbench.operations.checks:Audit",
    "run the evidence again": "workbench.operations.checks:Verify",
    "add noise to the drivers": "workbench.operations.drivers:Noise",
    "report on the drivers": "workbench.operations.drivers:Sensitivity",
    "read the model calls": "workbench.operations.checks:Transcript",
    "trace a driver's numbers": "workbench.operations.evidence:Evidence",
    "record the outcome": "workbench.operations.people:Resolve",
}


class EditBar:
    """What steers the edits of a run: the table of what they moved, undo, redo, reset, and the synthesizer asked again."""

    def __init__(self, edits: RunEdits, desk: Desk) -> None:
        self._edits = edits
        session = edits.session
        self.table = Panel()
        self.table.on_select = edits.choose
        self.undo = action("Undo", session.undo, tooltip="Ctrl-Z")
        self.redo = action("Redo", session.redo, tooltip="Ctrl-Shift-Z")
        self.reset = action("Reset all", session.reset_all, tooltip="undo all edits")
        self.reset.add_class("wb-reset")
        self.resynthesis = resynthesis_form(desk)
        self.book = ScenarioPane(edits)

    def show(self) -> None:
        """Bring all of it in step with the edits."""
        session = self._edits.session
        self.table.value = panels.what_if(
            self._edits.run.run_id,
            session.now,
            session.edits,
            session.base,
            scenario=self._edits.keeper.name,
        )
        self.reset.disabled = not session.edits
        self.undo.disabled, self.redo.disabled = not session.can_undo, not session.can_redo
        # A price was for other edits.
        self.resynthesis.forget()
        self.resynthesis.offer_if(bool(session.edits))
        self.book.show()


class SurroundingPanes(EditBar):
    """The panes of a page by its tabs.

    `look`, `follow`, `reread`: Have the page read the log, go on reading it, and read it though nothing but people added to it.
    """

    def __init__(
        self,
        edits: RunEdits,
        drivers: Drivers,
        *,
        look: Callable[[], object],
        follow: Callable[[], None],
        reread: Callable[[bool], None],
        open_tab: Callable[[str], None],
    ) -> None:
        def read_anew(moves_band: bool) -> None:
            with edits.session.lock:  # on a thread of its own: the page goes on while a form is worked on
                reread(moves_band)

        desk = Desk(edits=edits, reread=lambda: read_anew(False))
        super().__init__(edits, desk)
        self._session, self._open_tab = edits.session, open_tab
        self._shown: tuple[NodeId, bool] | None = None
        self._spoken_of: tuple[RunView, NodeId] | None = None
        self._node: NodeId = ROOT
        self.author, self.reason, self.expires = edits.signature
        self.line = html()
        self.detail = Panel()
        self.detail.on_select = edits.choose
        self.proof = html()
        self.assuming = AssumptionForm(edits.session, edits.choose)
        self.change = Fold("Change this driver", self._make_form)
        self.regrounding = RegroundingPane(replace(desk, reread=follow))
        self.refitting = replace(desk, reread=lambda: read_anew(True)).form(
            Refit,
            "How sure are these weights? Ask again",
            given=lambda: {"node": [self._node]},
            fields=("k",),
            labels={"k": "times"},
            later=True,
            tooltip="says the price first",
        )
        self.notes = notes_pane(desk)
        self.review = review_pane(desk)
        self.estimates = estimates_pane(desk)
        self.asking = asking_pane(desk)
        self._look_desk = replace(desk, reread=look)
        self.spent = Panel(panels.unread_time_and_money())
        self.spent.on_open = self._read_time_and_money
        self.taking = download_form(desk)
        signing = Fold("Sign the next edits", lambda: box(ipywidgets.HBox, [*edits.signature], "wb-keeping"))
        self.state = html()
        self.keep = action("Save", self._save, tooltip="keep these edits under a name")
        self.keep.add_class("wb-save-edits")
        self.model_calls = Fold("Read the model calls", self._make_transcript)
        self.vintages = Fold("Values known on a day", self._make_vintages)
        #: The tree stands below the evidence: these lead through its drivers.
        self.walk = box(
            ipywidgets.HBox,
            [action("Previous driver", lambda: self._walk(-1)), action("Next driver", lambda: self._walk(1))],
            "wb-walk",
        )

        def forms(*widgets: ipywidgets.Widget) -> list[ipywidgets.Widget]:
            """On a page that is served to be read the fields are left out; edits move the numbers of that page alone."""
            return [] if reads_only() else [*widgets]

        def people(title: str, whole: PeoplePane, name: str) -> ipywidgets.Widget:
            return pane(title, forms(whole) or [whole.standing], name)

        #: The bar over a hypothetical state: what it is, and what can be done with it from every tab.
        self.hypothetical = (self.state, self.undo, self.redo, self.reset, *forms(self.keep))
        evidence = [
            self.walk,
            self.detail,
            *forms(self.regrounding, self.refitting),
            self.model_calls,
            self.vintages,
            self.proof,
        ]
        what_if = [self.table, *forms(self.change, signing, self.assuming, self.resynthesis)]
        #: The panes of each place of the page, in order.
        self.panes: dict[str, list[ipywidgets.Widget]] = {
            "after": [*self._changes(), pane("Ask about it", [self.asking], "wb-ask")],
            "evidence": [pane("Evidence", evidence, "wb-evidence")],
            "what-if": [
                pane("What if", what_if, "wb-what-if"),
                pane("What would it take", [drivers.questions], "wb-asked"),
                *forms(pane("Scenarios", [self.book], "wb-scenarios")),
            ],
            "review": [
                people("Comments and sign-off", self.review, "wb-review"),
                people("Colleagues' estimates", self.estimates, "wb-estimates"),
                people("Notes and tags", self.notes, "wb-notes"),
                *forms(pane("Take it with you", [self.taking], "wb-taking")),
                pane("Time and money", [self.spent], "wb-spent"),
                *forms(Fold("Ask more of this run", self._make_more)),
            ],
        }

    def _changes(self) -> list[ipywidgets.Widget]:
        """What a review found changed since the run before it, part by part; nothing for another run."""
        run = self._edits.run
        changes = kept_changes(run.folder) if run.state.follows is not None else None
        if changes is None:
            return []
        lines = html(panels.rendered("changes", lines=change_lines(changes)))
        return [pane("What changed since the run before", [lines], "wb-changes")]

    def _make_vintages(self) -> VintagePane:
        picker = VintagePane()
        picker.show(self._edits.run, self._node)
        return picker

    def _make_more(self) -> MoreForms:
        run = self._edits.run
        return MoreForms(run.home, MORE, given=lambda: {"run": run.run_id})

    def _make_transcript(self) -> Panel:
        panel = Panel()
        panel.value = self._transcript(self._node)
        return panel

    def _transcript(self, node: NodeId) -> str:
        """The calls of a proposition's models; of one that was added on the page there are none."""
        run = self._edits.run
        if node not in run.tree:
            return panels.note("You added this driver: no model was asked.")
        try:
            with Store(run.home) as store:
                return panels.model_calls(transcript(store, run.state, node))
        except WorkbenchError as error:  # a damaged database: the page shows the rest
            return panels.refusal(error)

    def _walk(self, step: int) -> None:
        """Select the next row of the tree, or the one before; after the last comes the first."""
        order = list(self._session.tree.ids())
        self._edits.choose(order[(order.index(self._node) + step) % len(order)])

    def _save(self) -> None:
        self._open_tab("what-if")
        self.book.ask_name()

    def watch(self) -> None:
        """Watch the claim of this run, or stop watching it."""
        run = self._edits.run
        watched = WATCH in run.state.annotations.tags
        with Store(run.home) as store:
            add_note(store, run.run_id, tags=[] if watched else [WATCH], untagged=[WATCH] if watched else [])
        self._look_desk.reread()

    @cached_property
    def approving(self) -> ApprovalPane:
        """The steps that wait for a person; made when the first does."""
        return ApprovalPane(self._look_desk)

    @property
    def form(self) -> EditingForm:
        """The form that changes the selected proposition; made when it is first unfolded, or asked for."""
        form: EditingForm = self.change.content
        return form

    def say(self, line: str, refused: bool) -> None:
        """Show one line on what was kept, or why not; an empty one takes the last away."""
        self.line.value = panels.told(line, refused)

    def show_edits(self, node: NodeId, dark: bool) -> None:
        """Bring every pane in step with the edits."""
        session = self._session
        self.show()
        self.state.value = panels.hypothetical(
            session.now, len(session.edits), scenario=self._edits.keeper.name
        )
        self.keep.disabled = not session.edits
        self.show_selected(node, dark)

    def show_selected(self, node: NodeId, dark: bool) -> None:
        """Show a proposition with its evidence: a leaf's notebook, an inner one's sum and synthesis."""
        run, tree = self._edits.run, self._session.tree
        refitted = run.state.refits.get(node)
        sums = panels.combination(node, tree, refitted) if tree[node].children else ""
        comments = [each.to_json() for each in run.state.annotations.comments if each.node == node]
        spent = run.spending.get(node)
        self.detail.value = (
            panels.selected(
                node, tree, self._session.base, spent, comments, without_data=run.without_data.get(node, "")
            )
            + sums
        )
        self._node = node
        if self.change.filled_with is not None:
            self.form.show(node)
        self.assuming.show(node)
        if self._spoken_of is None or self._spoken_of[0] is not run or self._spoken_of[1] != node:
            self._tell_of_run(run, node)
            self._spoken_of = (run, node)
        # Reading, sanitising and framing a notebook is the dear part; it is done for another proposition or theme, not for
        # every message.
        if self._shown != (node, dark):
            if (calls := self.model_calls.filled_with) is not None:
                calls.value = self._transcript(node)
            if (picker := self.vintages.filled_with) is not None:
                picker.show(run, node)
            document, title = self._document(node, dark)
            self.proof.value = proof.frame(document, title=title)
            self._shown = (node, dark)

    def _tell_of_run(self, run: RunView, node: NodeId) -> None:
        """Bring in step what no edit alters: what people said of the run, and what can be asked for again."""
        self.regrounding.show(run, node)
        self.refitting.forget()
        self.refitting.offer_if(
            node in run.tree and bool(run.tree[node].children) and run.tree.root.p is not None
        )
        self.notes.show(run, node)
        self.review.show(run, node)
        self.estimates.show(run, node)

    def run_went_on(self, done: bool) -> None:
        """Forget what was read of the run: another notebook may stand behind the proposition that is shown."""
        self._shown = None
        if done:
            self.spent.value = panels.unread_time_and_money()

    def _make_form(self) -> EditingForm:
        form = EditingForm(self._session, self._edits.choose)
        form.show(self._node)
        return form

    def _read_time_and_money(self, _name: str) -> None:
        """Show where time and money went. It reads every journal, so when it is unfolded and not when the page opens."""
        try:
            self.spent.value = panels.time_and_money(self._edits.run.time_and_money())
        except WorkbenchError as error:  # a damaged database: the page shows the rest
            self.spent.value = panels.refusal(error)

    def _document(self, node: NodeId, dark: bool) -> tuple[str, str]:
        run, proposition = self._edits.run, self._session.tree[node]
        if node not in self._session.base:
            words = "You added this driver: it has no notebook."
            return proof.message_document(words, dark=dark), f"proof of {node}"
        if proposition.children:
            text = panels.synthesis_text(proposition)
            document = (
                proof.markdown_document(text, dark=dark)
                if text
                else proof.message_document("No words on it.", dark=dark)
            )
            return document, f"synthesis of {node}"
        return proof.proof_of(run, node, dark=dark), f"proof notebook of {node}"
