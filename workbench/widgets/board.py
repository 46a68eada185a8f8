"""The dashboard of a run: headline, tree, what-if, sensitivities, and the proof of the selected proposition."""

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import ipywidgets

from workbench.engine.run.detached import resume_detached, stop_run
from workbench.engine.view import RunView
from workbench.engine.whatif.edits import edit_plan, parse_override
from workbench.engine.whatif.remarks import edit_remarks
from workbench.engine.whatif.saved import SavedScenarios
from workbench.engine.whatif.typed_values import market_of
from workbench.engine.wording import equation_with_values
from workbench.errors import UsageError, WorkbenchError
from workbench.propositions import ROOT, NodeId
from workbench.propositions.edits import AddChild, RemoveNode, Restate, SetValue
from workbench.propositions.values import Override
from workbench.store import Store, utc_now
from workbench.widgets import panels, proof
from workbench.widgets.approving import ApprovalPane
from workbench.widgets.assuming import AssumptionForm
from workbench.widgets.drivers import Drivers
from workbench.widgets.editing import EditingForm
from workbench.widgets.fields import action, box, field, fold, pane, style
from workbench.widgets.keeping import DRAFT, Keeper
from workbench.widgets.live import Follower, Poller
from workbench.widgets.notes import NotesForm
from workbench.widgets.panel import Panel
from workbench.widgets.refitting import RefittingForm
from workbench.widgets.regrounding import RegroundingForm
from workbench.widgets.review import ReviewPane
from workbench.widgets.scenario_pane import ScenarioPane
from workbench.widgets.session import WhatIfSession
from workbench.widgets.taking_out import TakingOut
from workbench.widgets.tree import TreeWidget

if TYPE_CHECKING:
    from workbench.engine.band import Band
    from workbench.engine.evidence.badges import Badge


class Dashboard(ipywidgets.VBox):  # type: ignore[misc]
    """Everything about one run on one page. Edits go to a scenario of the run, in the log, as they are made.

    Parameters
    ----------
    run : RunView
        What ``workbench.engine.load_run`` returns; its scenarios are those of the data folder it lies in.
    scenario : str
        The scenario to work on: the draft, where the page's address names none.
    node : str
        The proposition to select.
    owns_address : bool
        Whether it is the whole page of a server of ours: it then changes the page's address and leads back to the runs.
    """

    def __init__(
        self,
        run: RunView,
        *,
        scenario: str = DRAFT,
        node: NodeId = ROOT,
        owns_address: bool = False,
        **kwargs: Any,
    ):
        self.run = run
        self.document = run.document()
        self.session = WhatIfSession(run.tree)
        self.scenarios = SavedScenarios(run.folder.parent.parent, str(self.document["run_id"]))
        self.tree = TreeWidget(self.session, run=str(self.document["run_id"]), owns_address=owns_address)
        self.header = Panel()
        self.table = Panel()
        self.detail = Panel()
        self.proof = ipywidgets.HTML()
        self.line = ipywidgets.HTML()
        self.spent = Panel(panels.unread_time_and_money())
        self.spent.on_open = self._read_time_and_money
        self.market = market_of(run.state)
        references = {"zero": 0.0, "0.5": 0.5, "base rate": run.base_rate, "market": self.market}
        self.drivers = Drivers(references, self._choose)
        self.table.on_select = self.detail.on_select = self._choose
        self._badges: list[Badge] = []
        self._band: Band | None = None
        self._make_fields()
        self.form = EditingForm(self.session, self._select)
        self.assuming = AssumptionForm(self.session)
        self.change = fold("Change this proposition", self.form)
        self.regrounding = RegroundingForm(self._author, self._follow)
        self.refitting = RefittingForm(self._show_refits)
        self.notes = NotesForm(self._author, self._reread)
        self.review = ReviewPane(self.author, self._reread, self._choose)
        self.approving = ApprovalPane(self.scenarios.home, self.scenarios.run_id, self.author, self.look)
        self.work = ipywidgets.HTML()
        self.ground = action("Ground it", self._tried(self._ground), tooltip="write and run the notebooks")
        self.end = action("Stop", self._tried(self._end), tooltip="the run can be resumed")
        self.working = box(ipywidgets.HBox, [self.work, self.ground, self.end], "wb-working")
        self.keeper = Keeper(self.session, self.scenarios, author=self._author, say=self._say)
        self.book = ScenarioPane(
            self.session, self.scenarios, self.keeper, author=self._author, market=self.market
        )
        self.taking = TakingOut(self.scenarios.home, self.scenarios.run_id, self.keeper.flush)
        super().__init__([style(), self.header, self.working, self.approving, self._main()], **kwargs)
        self.add_class("wb-app")
        self.follower = Follower(run)
        self.poller = Poller(self.look)
        self.session.override = self._override
        self.session.subscribe(self._edited)
        self.tree.on_rest = self._catch_up
        self.tree.observe(lambda _change: self.show_proof(), names=["selected", "dark"])
        self._shown: tuple[NodeId, bool] | None = None
        self._behind = False
        self._read_band()
        self.refresh()
        self.book.look_up()
        self._begin(scenario, node)
        self.show_proof()
        self._show_work()
        if self._looks_again:
            self.poller.start()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the live view for a page of our server; in a notebook the tree as HTML, which the live view replaces."""
        if self.tree.owns_address:
            return super()._repr_mimebundle_(**kwargs)
        return self.tree.shown_as(self)

    def look(self) -> bool:
        """Show what the run has got since the last look; False when nothing more is to come."""
        try:
            if not self.follower.look():
                return self._looks_again
        except WorkbenchError as error:
            self.work.value = panels.refusal(str(error))
            return True
        if not self.follower.worked:
            with self.session.lock:
                self._take_over()
            return self._looks_again
        with self.session.lock:
            self.run = self.follower.view
            self.document = self.run.document()
            # Another notebook may stand behind the proposition that is shown.
            self._shown = None
            self.session.rebase(self.run.tree, self.follower.marks())
            if self.follower.phase == "done":
                self.spent.value = panels.unread_time_and_money()
                self._read_band()
                self._read_badges()
            self._show_work()
            self.show_proof()
        return self._looks_again

    @property
    def _looks_again(self) -> bool:
        """Whether more is to come: work on the run, or, on a page of our server, what others say of a finished one."""
        return self.follower.phase != "done" or self.tree.owns_address

    def _show_work(self) -> None:
        phase = self.follower.phase
        self.working.layout.display = "none" if phase == "done" else ""
        self.work.value = panels.progress(phase, self.follower.state, self.run, list(self.follower.lines))
        self.ground.layout.display = "" if phase in ("planned", "stopped", "failed") else "none"
        self.ground.description = "Ground it" if phase == "planned" else "Resume"
        self.end.layout.display = "" if phase in ("running", "waiting") else "none"
        self.approving.show(self.follower.state)

    def _ground(self) -> None:
        """Go on with the run in a process of its own: it outlives this page."""
        with closing(Store(self.scenarios.home)) as store:
            if self.follower.phase == "planned":
                self._take_edits_into_plan(store)
            process = resume_detached(store, str(self.document["run_id"]))
        if process.exit_code:
            raise UsageError(process.line.removeprefix("workbench: ") or "the run ended at once")
        self._follow()

    def _follow(self) -> None:
        """Look at the log again and again: a process has taken the run up."""
        self.look()
        self._show_work()
        self.poller.start()

    def _take_edits_into_plan(self, store: Store) -> None:
        """What was added, removed and reworded is grounded; values set by hand stay edits."""
        with self.session.lock:
            shape = [edit for edit in self.session.edits if isinstance(edit, AddChild | RemoveNode | Restate)]
            if not shape:
                return
            edit_plan(store, str(self.document["run_id"]), shape)
            values = [edit for edit in self.session.edits if isinstance(edit, SetValue)]
            self.session.open(())
            self.look()
            self.session.open(values)
            self.keeper.flush()

    def _reread(self) -> None:
        """Show what was just put on record about the run: its numbers stay as they are."""
        self.follower.look()
        self._take_over()

    def _take_over(self) -> None:
        self.run = self.follower.view
        self.document = self.run.document()
        self._show_detail()
        self._show_headline()

    def _show_refits(self) -> None:
        self._reread()
        self._read_band()
        self._show_headline()

    def _end(self) -> None:
        with closing(Store(self.scenarios.home)) as store:
            stop_run(store, str(self.document["run_id"]))
        self.look()

    def _make_fields(self) -> None:
        self.undo = action("Undo", lambda: self.session.undo(), tooltip="Ctrl-Z in the tree")
        self.redo = action("Redo", lambda: self.session.redo(), tooltip="Ctrl-Shift-Z in the tree")
        self.reset = action("Reset all", lambda: self.session.reset_all(), tooltip="take all edits back")
        self.reset.add_class("wb-reset")
        self.author = field("your name", "wb-author")
        self.author.tooltip = "stands beside your edits; nothing proves it"
        self.reason = field("reason for the next edits", "wb-reason")
        self.expires = field("holds until (date)", "wb-expires")

    def _main(self) -> ipywidgets.Widget:
        buttons = box(ipywidgets.HBox, [self.undo, self.redo, self.reset], "wb-keeping")
        whose = box(ipywidgets.HBox, [self.author, self.reason, self.expires], "wb-keeping")
        questions = [self.drivers.questions, self.drivers.answer]
        left = [
            pane("Propositions", [self.tree], "wb-left"),
            pane("What if", [self.line, self.table, whose], "wb-what-if", beside=buttons),
            pane("What would it take", questions, "wb-asked"),
            pane("Scenarios", [self.book], "wb-scenarios"),
            pane("Notes and tags", [self.notes], "wb-notes"),
            pane("Review", [self.review], "wb-review"),
        ]
        right = [
            pane("What drives it", [self.drivers.chart], "wb-sensitivity"),
            pane(
                "Evidence",
                [self.detail, self.assuming, self.change, self.regrounding, self.refitting, self.proof],
                "wb-evidence",
            ),
            pane("Take it with you", [self.taking], "wb-taking"),
            pane("Time and money", [self.spent], "wb-spent"),
        ]
        columns = [
            box(ipywidgets.VBox, left, "wb-column-left"),
            box(ipywidgets.VBox, right, "wb-column-right"),
        ]
        return box(ipywidgets.HBox, columns, "wb-main")

    def _read_time_and_money(self, _name: str) -> None:
        """Show where time and money went. It reads every journal, so when it is unfolded and not when the page opens."""
        try:
            self.spent.value = panels.time_and_money(self.run.time_and_money())
        except WorkbenchError as error:  # a damaged database: the page shows the rest
            self.spent.value = panels.refusal(str(error))

    def _begin(self, scenario: str, node: NodeId) -> None:
        """Open the scenario of the address, or the draft that an earlier page left."""
        try:
            there = self.keeper.open(scenario)
        except WorkbenchError as error:
            self._say(f"{scenario} cannot be opened: {error}", True)
            return
        if there and scenario == DRAFT and self.session.edits:
            count = len(self.session.edits)
            edits = "1 edit" if count == 1 else f"{count} edits"
            self._say(f"{edits} of an earlier visit, kept as {DRAFT}. Reset all takes them back", False)
        elif not there and scenario != DRAFT:
            self._say(f"no scenario {scenario!r} is open in this run: the first edit opens it", False)
        self._select(node if node in self.session.tree else ROOT)
        self._tell_address()

    def _edited(self) -> None:
        """After an edit of a row the panels wait until the page rests: the steps of a drag must not queue behind them."""
        if self.tree.moving:
            self._behind = True
        else:
            self.refresh()

    def _catch_up(self) -> None:
        if self._behind:
            self.refresh()
        elif not self._badges and self.follower.phase == "done":
            # What the audit reads takes its time, so the page stands before it begins.
            self._read_badges()

    def _read_badges(self) -> None:
        try:
            self._badges = self.run.badges()
        except WorkbenchError as error:  # a damaged database: the page shows the rest
            self._say(str(error), True)
        self._show_headline()

    def _read_band(self) -> None:
        try:
            self._band = self.run.band()
        except WorkbenchError as error:
            self._say(str(error), True)

    def _show_headline(self) -> None:
        edits = len(self.session.edits)
        self.header.value = panels.header(
            self.document,
            self.session.now,
            edits,
            self.run.base_rate,
            listed=self.tree.owns_address,
            band=self._band,
            market=self.market,
            why=equation_with_values(self.session.tree, ROOT),
            badges=self._badges,
        )

    def refresh(self) -> None:
        """Bring every panel in step with the session."""
        with self.session.lock:
            self._behind = False
            now, edits, tree = self.session.now, self.session.edits, self.session.tree
            self._show_headline()
            remarks = [remark.line for remark in edit_remarks(self.session.base, edits)]
            self.table.value = panels.what_if(
                self.run.run_id, now, edits, self.session.base, scenario=self.keeper.name, remarks=remarks
            )
            self.drivers.show(tree)
            self.reset.disabled = not edits
            self.undo.disabled, self.redo.disabled = not self.session.can_undo, not self.session.can_redo
            self._show_detail()
            self.book.show()
            self._tell_address()

    def _tried(self, act: Callable[[], None]) -> Callable[[], None]:
        """Return the act with a refusal shown: an exception in a widget's callback is seen by nobody."""

        def run() -> None:
            try:
                act()
            except WorkbenchError as error:
                self._say(str(error), True)

        return run

    def _tell_address(self) -> None:
        """Let the page's address name the scenario in work, so that it shows the same to whoever opens it."""
        self.tree.scenario = self.keeper.name

    def _author(self) -> str:
        return self.author.value.strip() or "dashboard"

    def _override(self) -> Override | None:
        """Whose the next values are; None as long as no name, reason or time is typed."""
        author, reason, expires = (entry.value.strip() for entry in (self.author, self.reason, self.expires))
        return parse_override(
            author or ("dashboard" if reason or expires else ""), reason, expires or None, now=utc_now()
        )

    def _say(self, line: str, refused: bool) -> None:
        self.line.value = (panels.refusal(line) if refused else panels.note(line)) if line else ""

    def _choose(self, node: str) -> None:
        if node in self.session.tree:
            self._select(node)

    def _select(self, node: NodeId) -> None:
        self.tree.selected = node

    def _show_detail(self) -> None:
        node, tree = self.tree.selected, self.session.tree
        refitted = self.run.state.refits.get(node)
        sums = panels.combination(node, tree, refitted) if tree[node].children else ""
        comments = [each for each in self.document["comments"] if each["node"] == node]
        self.detail.value = (
            panels.selected(node, tree, self.session.base, self.run.spending.get(node), comments) + sums
        )
        self.form.show(node)
        self.assuming.show(node)
        self.regrounding.show(self.run, node)
        self.refitting.show(self.run, node)
        self.notes.show(self.run, node)
        self.review.show(self.run, node)

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
        proposition = self.session.tree[node]
        if node not in self.session.base:
            return proof.message_document(
                f"{node} is yours: no proof stands behind it.", dark=dark
            ), f"proof of {node}"
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
            return proof.proof_document(path, trail=proof.trail_of(self.run, node), dark=dark), title
        except UsageError as error:
            return proof.message_document(str(error), dark=dark), title


def dashboard(
    run: RunView, *, scenario: str = DRAFT, node: NodeId = ROOT, owns_address: bool = False
) -> Dashboard:
    """Return the dashboard of a run, to be displayed in JupyterLab, Voila or any front end with widgets.

    It opens with the edits of a scenario (by default the draft that an earlier page left) and a selected proposition.
    """
    return Dashboard(run, scenario=scenario, node=node, owns_address=owns_address)
