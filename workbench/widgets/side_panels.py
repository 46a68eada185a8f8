"""What stands on a run's page around the tree and its drivers: what-if, scenarios, notes, and the evidence of a proposition.

None of it is needed for the first screen, so a page makes it once that stands: its 70 models would come before the first row.
"""

from collections.abc import Callable

import ipywidgets

from proxies.atomic import reads_only
from workbench.errors import UsageError, WorkbenchError
from workbench.operations.drivers import Refit
from workbench.propositions import ROOT, NodeId
from workbench.propositions.values import Override
from workbench.store import Store, utc_now
from workbench.views.kept_changes import kept_changes
from workbench.views.run_changes import change_lines
from workbench.views.run_view import RunView
from workbench.views.transcript import transcript
from workbench.whatif.edit_remarks import edit_remarks
from workbench.whatif.edit_request import parse_override
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.widgets import panels
from workbench.widgets.annotation_forms import (
    Desk,
    DownloadForm,
    asking_pane,
    estimates_pane,
    notes_pane,
    review_pane,
)
from workbench.widgets.approval_form import ApprovalPane
from workbench.widgets.drivers import Drivers
from workbench.widgets.edits.edit_log import Keeper, SharedEdits
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.edits.node_actions import RegroundingForm
from workbench.widgets.edits.node_form import AssumptionForm, EditingForm
from workbench.widgets.edits.resynthesis_form import ResynthesisForm
from workbench.widgets.edits.scenario_pane import ScenarioPane
from workbench.widgets.fields import Fold, action, box, html, pane, show_if, whose_fields
from workbench.widgets.html_panel import Panel
from workbench.widgets.operation_form import MoreForms
from workbench.widgets.proofs import proof_view as proof
from workbench.widgets.proofs.vintage_pane import VintagePane

#: Operations on a run that have a form on its page and no place of their own.
MORE = {
    "check its records": "workbench.operations.checks:Audit",
    "run its proofs again": "workbench.operations.checks:Verify",
    "disturb its drivers": "workbench.operations.drivers:Noise",
    "report on its drivers": "workbench.operations.drivers:Sensitivity",
    "read its model calls": "workbench.operations.checks:Transcript",
    "follow a driver's numbers": "workbench.operations.evidence:Evidence",
    "say how it turned out": "workbench.operations.people:Resolve",
}


class SurroundingPanes:
    """The panes of a page, ``left`` below the tree and ``right`` below what drives the claim."""

    def __init__(
        self,
        session: WhatIfSession,
        scenarios: SavedScenarios,
        keeper: Keeper,
        drivers: Drivers,
        market: float | None,
        *,
        run: Callable[[], RunView],
        select: Callable[[NodeId], None],
        follow: Callable[[], None],
        reread: Callable[[bool], None],
        look: Callable[[], object],
        open_tab: Callable[[str], None],
        whose: SharedEdits | None = None,
    ) -> None:
        self._session, self._scenarios, self._keeper = session, scenarios, keeper
        self._run, self._select, self._reread, self._open_tab = run, select, reread, open_tab
        self._shown: tuple[NodeId, bool] | None = None
        self._spoken_of: tuple[RunView, NodeId] | None = None
        self._node: NodeId = ROOT
        self.undo = action("Undo", lambda: session.undo(), tooltip="Ctrl-Z")
        self.redo = action("Redo", lambda: session.redo(), tooltip="Ctrl-Shift-Z")
        self.reset = action("Reset all", lambda: session.reset_all(), tooltip="take all edits back")
        self.reset.add_class("wb-reset")
        self.author, self.reason, self.expires = (
            whose_fields() if whose is None else (whose.author, whose.reason, whose.expires)
        )
        self.line = html()
        self.table, self.detail = Panel(), Panel()
        self.table.on_select = self.detail.on_select = select
        self.proof = html()
        self.assuming = AssumptionForm(session)
        self.change = Fold("Change this driver", self._make_form)
        self.regrounding = RegroundingForm(self.by, follow)
        self.resynthesis = ResynthesisForm(session, run=run, select=select, answered=lambda: reread(False))
        self.refitting = Desk(run=run, author=self.author, reread=lambda: self._read_anew(True)).form(
            Refit,
            "How sure are these weights? Ask again",
            given=lambda: {"node": [self._node]},
            fields=("k",),
            labels={"k": "times"},
            tooltip="says the price first",
        )
        desk = Desk(run=run, author=self.author, reread=lambda: self._read_anew(False))
        self.notes = notes_pane(desk, select)
        self.review = review_pane(desk, select)
        self.estimates = estimates_pane(desk, select)
        self.asking = asking_pane(desk, select)
        self.approving = ApprovalPane(
            scenarios.home, scenarios.run_id, lambda: str(self.author.value).strip(), look
        )
        self.spent = Panel(panels.unread_time_and_money())
        self.spent.on_open = self._read_time_and_money
        self.book = ScenarioPane(session, scenarios, keeper, author=self.by, market=market)
        self.taking = DownloadForm(scenarios.home, scenarios.run_id, keeper.flush)
        fields = [self.author, self.reason, self.expires]
        signing = Fold("Sign the next edits", lambda: box(ipywidgets.HBox, fields, "wb-keeping"))
        self.state = html()
        self.keep = action("Save", self._save, tooltip="keep these edits under a name")
        self.keep.add_class("wb-save-edits")
        #: The bar over a hypothetical state: what it is, and what can be done with it from every tab.
        self.hypothetical: tuple[ipywidgets.Widget, ...] = (
            self.state,
            self.undo,
            self.redo,
            self.reset,
            self.keep,
        )
        self.model_calls = Fold("What its model was asked, and answered", self._make_transcript)
        self.vintages = Fold("Values as they were known on a day", self._make_vintages)
        #: Where the tree does not stand beside the evidence, on a narrow page, these lead through its drivers.
        self.walk = box(
            ipywidgets.HBox,
            [action("Previous driver", lambda: self._walk(-1)), action("Next driver", lambda: self._walk(1))],
            "wb-walk",
        )
        evidence = [
            self.walk,
            self.detail,
            self.regrounding,
            self.refitting,
            self.model_calls,
            self.vintages,
            self.proof,
        ]
        #: The panes of each tab, in order.
        self.panes: dict[str, list[ipywidgets.Widget]] = {
            "answer": [
                *self._changes(),
                pane("Ask about it", [self.asking], "wb-ask"),
            ],
            "evidence": [pane("Evidence", evidence, "wb-evidence")],
            "what-if": [
                pane(
                    "What if",
                    [self.table, self.change, signing, self.assuming, self.resynthesis],
                    "wb-what-if",
                ),
                pane("What would it take", [drivers.questions], "wb-asked"),
                pane("Scenarios", [self.book], "wb-scenarios"),
            ],
            "review": [
                pane("Comments and sign-off", [self.review], "wb-review"),
                pane("Colleagues' estimates", [self.estimates], "wb-estimates"),
                pane("Notes and tags", [self.notes], "wb-notes"),
                pane("Take it with you", [self.taking], "wb-taking"),
                pane("Time and money", [self.spent], "wb-spent"),
                Fold("Ask more of this run", self._make_more),
            ],
        }

        if reads_only():
            self._leave_out_forms(drivers)

    def _changes(self) -> list[ipywidgets.Widget]:
        """What a review found changed since the run before it, part by part; nothing for another run."""
        run = self._run()
        changes = kept_changes(run.folder) if run.state.follows is not None else None
        if changes is None:
            return []
        lines = html(panels.rendered("changes", lines=change_lines(changes)))
        return [pane("What changed since the run before", [lines], "wb-changes")]

    def _leave_out_forms(self, drivers: Drivers) -> None:
        """On a page that is served to be read: what was said and found stays, the fields do not; edits move the numbers of this page alone."""
        self.hypothetical = (self.state, self.undo, self.redo, self.reset)
        self.panes = {
            "answer": self.panes["answer"],
            "evidence": [
                pane(
                    "Evidence",
                    [self.walk, self.detail, self.model_calls, self.vintages, self.proof],
                    "wb-evidence",
                )
            ],
            "what-if": [
                pane("What if", [self.table], "wb-what-if"),
                pane("What would it take", [drivers.questions], "wb-asked"),
            ],
            "review": [
                pane("Comments and sign-off", [self.review.standing], "wb-review"),
                pane("Colleagues' estimates", [self.estimates.standing], "wb-estimates"),
                pane("Notes and tags", [self.notes.standing], "wb-notes"),
                pane("Time and money", [self.spent], "wb-spent"),
            ],
        }

    def _make_vintages(self) -> VintagePane:
        picker = VintagePane()
        picker.show(self._run(), self._node)
        return picker

    def _make_more(self) -> MoreForms:
        run = self._run()
        return MoreForms(run.home, MORE, given=lambda: {"run": run.run_id})

    def _make_transcript(self) -> Panel:
        panel = Panel()
        panel.value = self._transcript(self._node)
        return panel

    def _transcript(self, node: NodeId) -> str:
        """The calls of a proposition's models; of one that was added on the page there are none."""
        run = self._run()
        if node not in run.tree:
            return panels.note(f"{node} is yours: no model was asked.")
        try:
            with Store(run.home) as store:
                return panels.model_calls(transcript(store, run.state, node))
        except WorkbenchError as error:  # a damaged database: the page shows the rest
            return panels.refusal(error)

    def _walk(self, step: int) -> None:
        """Select the next row of the tree, or the one before; after the last comes the first."""
        order = list(self._session.tree.ids())
        self._select(order[(order.index(self._node) + step) % len(order)])

    def _save(self) -> None:
        self._open_tab("what-if")
        self.book.ask_name()

    def _read_anew(self, moves_band: bool) -> None:
        with self._session.lock:  # on a thread of its own: the page goes on while a form is worked on
            self._reread(moves_band)

    @property
    def form(self) -> EditingForm:
        """The form that changes the selected proposition; made when it is first unfolded, or asked for."""
        form: EditingForm = self.change.content
        return form

    def by(self) -> str:
        """Return who sits here, as typed."""
        return self.author.value.strip() or "dashboard"

    def override(self) -> Override | None:
        """Whose the next values are; None as long as no name, reason or time is typed."""
        author, reason, expires = (entry.value.strip() for entry in (self.author, self.reason, self.expires))
        return parse_override(
            author or ("dashboard" if reason or expires else ""), reason, expires or None, now=utc_now()
        )

    def say(self, line: str, refused: bool) -> None:
        """Show one line on what was kept, or why not; an empty one takes the last away."""
        self.line.value = (panels.refusal(line) if refused else panels.note(line)) if line else ""

    def show(self, node: NodeId, dark: bool) -> None:
        """Bring every pane in step with the session."""
        session = self._session
        now, edits = session.now, session.edits
        remarks = [remark.line for remark in edit_remarks(session.base, edits)]
        self.table.value = panels.what_if(
            self._scenarios.run_id, now, edits, session.base, scenario=self._keeper.name, remarks=remarks
        )
        self.state.value = panels.hypothetical(now, len(edits), scenario=self._keeper.name)
        self.reset.disabled = self.keep.disabled = not edits
        self.undo.disabled, self.redo.disabled = not session.can_undo, not session.can_redo
        self.resynthesis.show()
        self.book.show()
        self.show_selected(node, dark)

    def show_selected(self, node: NodeId, dark: bool) -> None:
        """Show a proposition with its evidence: a leaf's notebook, an inner one's sum and synthesis."""
        run, tree = self._run(), self._session.tree
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
        show_if(
            node in run.tree and bool(run.tree[node].children) and run.tree.root.p is not None, self.refitting
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
        form = EditingForm(self._session, self._select)
        form.show(self._node)
        return form

    def _read_time_and_money(self, _name: str) -> None:
        """Show where time and money went. It reads every journal, so when it is unfolded and not when the page opens."""
        try:
            self.spent.value = panels.time_and_money(self._run().time_and_money())
        except WorkbenchError as error:  # a damaged database: the page shows the rest
            self.spent.value = panels.refusal(error)

    def _document(self, node: NodeId, dark: bool) -> tuple[str, str]:
        run, proposition = self._run(), self._session.tree[node]
        if node not in self._session.base:
            words = f"{node} is yours: no proof stands behind it."
            return proof.message_document(words, dark=dark), f"proof of {node}"
        if proposition.children:
            text = panels.synthesis_text(proposition)
            document = (
                proof.markdown_document(text, dark=dark)
                if text
                else proof.message_document("No words on it.", dark=dark)
            )
            return document, f"synthesis of {node}"
        title = f"proof notebook of {node}"
        path = run.notebook(node)
        if path is None:
            return proof.message_document(f"{node} has no proof notebook yet.", dark=dark), title
        try:
            return proof.proof_document(path, trail=proof.trail_of(run, node), dark=dark), title
        except UsageError as error:
            return proof.message_document(str(error), dark=dark), title
