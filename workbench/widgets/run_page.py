"""The dashboard of a run: headline, tree and drivers first, and once they stand the panes around them."""

from typing import TYPE_CHECKING, Any

import ipywidgets

from proxies.atomic import reads_only
from workbench.engine.detached import no_record
from workbench.errors import WorkbenchError
from workbench.formatting import counted
from workbench.propositions import ROOT, NodeId
from workbench.steps import Steps, at_once
from workbench.store import Store
from workbench.synthesis.whatif.edits import AddChild, RemoveNode, Restate, SetPolarity, SetValue
from workbench.views.answer import citation, one_step, sentence_of, waterfall
from workbench.views.claims_list import WATCH
from workbench.views.fan_chart import NO_SERIES
from workbench.views.run_view import RunView
from workbench.views.wording import equation_with_values, resolution_lines
from workbench.whatif.run_edits import edit_plan
from workbench.whatif.typed_values import market_of
from workbench.widgets import answer_panel, panels
from workbench.widgets.drivers import Drivers
from workbench.widgets.edits.edit_log import DRAFT, Panels, RunEdits, shared_edits
from workbench.widgets.fields import box, look, page_base, pane, show_if
from workbench.widgets.html_panel import Panel
from workbench.widgets.live_run import Follower, Poller, Working
from workbench.widgets.page_terms import line_on_page, on_page
from workbench.widgets.run_tabs import TabBar, tab_panel
from workbench.widgets.side_panels import SurroundingPanes

if TYPE_CHECKING:
    from workbench.audit.run_audit import Badge
    from workbench.whatif.band import Band


_PULSE_SECONDS = 3.0
_READ = object()


class Dashboard(ipywidgets.VBox, Panels):  # type: ignore[misc]
    """Everything about one run on one page. Edits go to a scenario of the run, in the log, as they are made.

    `shared`: the edits of this kernel's cells, where the page is one of them; a page by itself has its own.
    """

    def __init__(
        self,
        run: RunView,
        *,
        scenario: str = DRAFT,
        node: NodeId = ROOT,
        owns_address: bool = False,
        shared: RunEdits | None = None,
        **kwargs: Any,
    ):
        self.document = run.document(nodes=False, findings=False)
        self.edits = edits = shared or RunEdits(run, nobody="dashboard", owns_address=owns_address)
        self.session, self.keeper, self.scenarios = edits.session, edits.keeper, edits.scenarios
        # One tree of a run and kernel: a second one would answer every edit too, and know of none that is under way in the first.
        self.tree = edits.tree
        self.header = Panel()
        self.market = market_of(run.state)
        self.drivers = Drivers(run, edits.choose)
        self.follower = Follower(run)
        self.poller = Poller(self.look)
        self.working = Working(self.follower, self._take_edits_into_plan, self._follow, self.said)
        self._side_panels: SurroundingPanes | None = None
        self._said: tuple[str, bool] | None = None
        self._badges: list[Badge] = []
        self._band: Band | None = None
        self._no_band = ""
        self._no_series = ""
        self._behind = self._rested = self._fan_read = False
        self.answer, self.verbs, self.checks = Panel(), Panel(), Panel()
        self.answer.on_select = self.checks.on_select = edits.choose
        self.verbs.on_open = self._do
        self.fan = Panel(panels.unread_fan())
        self._series = pane("Series", [self.fan], "wb-series")
        self.tabs = TabBar(owns_address=owns_address)
        way = pane("What makes the number", [self.answer], "wb-way")
        side_by_side = box(ipywidgets.HBox, [self._series, way], "wb-chart-and-bars")
        self._panels = {
            "answer": tab_panel("answer", [side_by_side, self.verbs, self.checks]),
            "drivers": tab_panel(
                "drivers", [pane("What the claim hinges on", [self.drivers.chart], "wb-sensitivity")]
            ),
            **{name: tab_panel(name, []) for name in ("evidence", "what-if", "review")},
            # What else stands on the tab of the answer, below the tree.
            "after": box(ipywidgets.VBox, [], "wb-after"),
        }
        # Filled with what steers a hypothetical state once the side panels are made.
        self._hypothetical = box(ipywidgets.HBox, [], "wb-hypothetical")
        show_if(False, self._hypothetical)
        # What was kept, or why not: in sight on every tab.
        self._saved_line = box(ipywidgets.VBox, [], "wb-kept")
        # Filled later: a page makes all views anew that come after one that is put between them.
        self._waiting = box(ipywidgets.VBox, [], "wb-waiting-steps")
        # One view of the tree, at full width below what each tab has first: CSS orders them.
        answer, *others = self._panels.values()
        tree = pane("Drivers", [self.tree], "wb-drivers")
        main = box(ipywidgets.VBox, [answer, tree, *others], "wb-main")
        kwargs.setdefault("layout", look(ipywidgets.Layout))
        parts = [
            self.header,
            self._hypothetical,
            self._saved_line,
            self.working,
            self._waiting,
            self.tabs,
            main,
        ]
        super().__init__([page_base(), *parts], **kwargs)
        self.add_class("wb-app")
        edits.join(self)
        if self.follower.phase != "done":
            self.session.rebase(run.tree, self.follower.marks(), run.without_data)
        self._read_band()
        if shared is None:
            self._begin(scenario, node)
        self._show_headline()
        self.working.show(run)
        if not owns_address:
            assert self.side_panels  # asking for it makes it
        if self._looks_again:
            self.poller.start()
        #: Tells the page every few seconds that this process lives, on a thread of its own: while the kernel's own thread
        #: works, it answers no question of the page, and a page must tell busy from dead.
        self.pulse = Poller(self.tree.say_alive, seconds=_PULSE_SECONDS)
        if owns_address:
            self.pulse.start()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the live view for a page of our server; in a notebook the tree as HTML, which the live view replaces."""
        if self.tree.owns_address:
            return super()._repr_mimebundle_(**kwargs)
        return self.tree.shown_as(self)

    @property
    def run(self) -> RunView:
        """The run as it was seen last."""
        return self.edits.run

    @property
    def side_panels(self) -> SurroundingPanes:
        """What stands around the tree; made when it is first asked for."""
        with self.session.lock:
            if self._side_panels is None:
                self._behind = False
                self._show_headline()
                self.drivers.show(self.session.tree)
                return at_once(self._make_side_panels())
            return self._side_panels

    def _make_side_panels(self) -> Steps[SurroundingPanes]:
        side = self._side_panels = SurroundingPanes(
            self.edits,
            self.drivers,
            look=self.look,
            follow=self._follow,
            reread=self._reread,
            open_tab=self._open_tab,
        )
        if self._said is not None:
            side.say(*self._said)
        yield
        side.book.look_up(self.run.tree)
        yield
        side.show_edits(self.tree.selected, self.tree.dark)
        for name, panes in side.panes.items():
            self._panels[name].children = (*self._panels[name].children, *panes)
        self._hypothetical.children = side.hypothetical
        self._saved_line.children = (side.line,)
        self._show_waiting(side)
        return side

    def _show_waiting(self, side: SurroundingPanes) -> None:
        if self.follower.state.undecided or self._waiting.children:
            side.approving.show(self.follower.state)
            self._waiting.children = (side.approving,)

    def look(self) -> bool:
        """Show what the run has got since the last look; False when nothing more is to come."""
        try:
            if not self.follower.look():
                self._look_for_record()
                return self._looks_again
        except WorkbenchError as error:
            self.working.refuse(on_page(error))
            return True
        if not self.follower.worked:
            with self.session.lock:
                self._take_over()
            return self._looks_again
        with self.session.lock:
            done = self.follower.phase == "done"
            self._take_view()
            if self._side_panels is not None:
                self._side_panels.run_went_on(done)
            self.edits.go_on(self.run, self.follower.marks())
            if done:
                self._read_band()
                self._read_badges()
                self.read_fan()
            self._show_work()
            self._show_headline()
            self.selected(self.tree.selected)
        return self._looks_again

    def _look_for_record(self) -> None:
        if self._waits_for_record and self._side_panels is not None and self.run.record() is not None:
            with self.session.lock:
                self._take_over()

    @property
    def _waits_for_record(self) -> bool:
        state = self.follower.state
        return state.finished and not self.document.get("record") and not no_record(state)

    @property
    def _looks_again(self) -> bool:
        """Whether more is to come: work on the run, or, on a page of our server, what others say of a finished one."""
        return self.follower.phase != "done" or self.tree.owns_address

    def _take_view(self) -> None:
        self.edits.saw(self.follower.view)
        self.document = self.run.document(nodes=False, findings="findings" in self.document)

    def _take_over(self) -> None:
        self._take_view()
        self.selected(self.tree.selected)
        self._show_headline()

    def _show_work(self) -> None:
        self.working.show(self.run)
        if self._side_panels is not None:
            self._show_waiting(self._side_panels)

    def _follow(self) -> None:
        self.look()
        self._show_work()
        self.poller.start()

    def _take_edits_into_plan(self, store: Store) -> None:
        """What was added, removed and reworded is grounded; values set by hand stay edits."""
        with self.session.lock:
            shape = [
                edit
                for edit in self.session.edits
                if isinstance(edit, AddChild | RemoveNode | Restate | SetPolarity)
            ]
            if not shape:
                return
            edit_plan(store, self.run.run_id, shape)
            values = [edit for edit in self.session.edits if isinstance(edit, SetValue)]
            self.session.open(())
            self.look()
            self.session.open(values)
            self.keeper.flush()

    def _reread(self, moves_band: bool) -> None:
        self.follower.look()
        if moves_band:
            self._read_band()
        self._take_over()

    def _begin(self, scenario: str, node: NodeId) -> None:
        try:
            there = self.keeper.open(scenario)
        except WorkbenchError as error:
            self.said(f"{scenario} cannot be opened: {on_page(error)}", True)
            return
        if there and scenario == DRAFT and self.session.edits:
            count = len(self.session.edits)
            edits = counted(count, "edit")
            self.said(f"{edits} of an earlier visit, saved as {DRAFT}. Reset all takes them back", False)
        elif not there and scenario != DRAFT:
            self.said(f"no scenario {scenario!r} is open in this run: the first edit opens it", False)
        self.tree.selected = node if node in self.session.tree else ROOT
        self._tell_address()

    def edited(self) -> None:
        """Draw what the edits moved, once the page rests."""
        self._behind = True
        if self._side_panels is not None:
            self.tree.at_rest.do(self, self._in_step)

    def rested(self) -> None:
        """Bring the page in step: a tree that shows these edits has come to rest."""
        self._rested = True
        self.tree.at_rest.do(self, self._in_step)

    def selected(self, node: NodeId) -> None:
        """Show the evidence of the selected proposition, where the side panels are made already."""
        with self.session.lock:
            if self._side_panels is not None:
                self._side_panels.show_selected(node, self.tree.dark)

    def said(self, line: str, refused: bool) -> None:
        """Show one line of what was kept, or why not."""
        self._said = (line, refused)
        if self._side_panels is not None:
            self._side_panels.say(line, refused)

    def _in_step(self) -> Steps[None]:
        """Do what the page is behind with: what edits moved before what is read once, whenever they come."""
        reading = self._read_once()
        while self.comm is not None:
            if self._behind or (self._rested and self._side_panels is None):
                yield from self._show_edits()
            elif not self._rested or next(reading, _READ) is _READ:
                return
            yield

    def _show_edits(self) -> Steps[None]:
        self._behind = False
        self._show_headline()
        yield
        # Before the drivers: the whole page stands the sooner.
        side = self._side_panels or (yield from self._make_side_panels())
        yield from self.drivers.show_in_steps(lambda: self.session.tree)
        side.show_edits(self.tree.selected, self.tree.dark)
        self._tell_address()

    def _read_once(self) -> Steps[None]:
        while "findings" not in self.document:
            run = self.run
            findings = yield from run.findings_in_steps()
            if run is self.run:  # else it went on meanwhile
                self.document["findings"] = findings
                self._show_headline()
            yield
        if not self._fan_read:
            self.read_fan()
            yield
        if not self._badges and self.follower.phase == "done":
            try:
                badges = yield from self.run.badges_in_steps()
                self._badges = self._badges or badges
            except WorkbenchError as error:  # a damaged database: the page shows the rest
                self.said(on_page(error), True)
            self._show_headline()
            yield

    def read_fan(self) -> None:
        """Show the claim's series, with its fan once there is one; of a run in work too, as it needs no evidence."""
        self._fan_read = True
        try:
            fan = self.run.series()
            self.fan.value = panels.series_fan(fan)
        except WorkbenchError as error:
            self.fan.value = panels.refusal(error)
        else:
            show_if(fan is not None, self._series)
            self._no_series = "" if fan is not None else NO_SERIES
            self._show_headline()

    def _read_badges(self) -> None:
        try:
            self._badges = self.run.badges()
        except WorkbenchError as error:  # a damaged database: the page shows the rest
            self.said(on_page(error), True)
        self._show_headline()

    def _read_band(self) -> None:
        try:
            self._band = self.run.band()
            self._no_band = line_on_page(self.run.no_band()) if self._band is None else ""
        except WorkbenchError as error:
            self.said(on_page(error), True)

    def _show_headline(self) -> None:
        steps = waterfall(self.session.tree)
        state, edited = self.run.state, len(self.session.edits)
        answered, history = self.session.tree.root.p is not None, state.history
        if not answered and history is not None and history.forecast is not None:
            steps = one_step(history.share, history.forecast)
        self.header.value = panels.header(
            self.document,
            self.session.now,
            edited,
            self.run.base_rate,
            listed=self.tree.owns_address,
            band=self._band,
            market=self.market,
            sentence=sentence_of(self.session.tree.root.p, self.run.base_rate, steps),
            rule=resolution_lines(state),
            history=history,
            work=self.working.words() if state.tree.root.p is None else "",
        )
        self.answer.value = answer_panel.way(
            steps,
            arithmetic=equation_with_values(self.session.tree, ROOT),
            mark=self.run.mark,
            answered=answered,
        )
        self.checks.value = answer_panel.checks(
            self.document, badges=self._badges, caveats=self._caveats(), edited=bool(edited)
        )
        self.verbs.value = panels.rendered(
            "verbs", read_only=reads_only(), watched=WATCH in state.annotations.tags
        )
        self.tabs.citation = citation(self.document)
        side = self._side_panels
        show_if(bool(edited) or (side is not None and self.session.can_redo), self._hypothetical)

    def _do(self, verb: str) -> None:
        side = self.side_panels
        if verb == "50%":
            self.drivers.questions.ask_for("50%")
        elif verb == "note":
            side.taking.press()
        elif verb == "watch":
            side.watch()

    def _caveats(self) -> list[answer_panel.Caveat]:
        document = self.document
        since = [f"Since: {document['since']}."] if document.get("since") else []
        caveats = [answer_panel.Caveat(line=line) for line in since]
        if "findings" in document:
            caveats += answer_panel.finding_caveats(document["findings"], self.run.tree)
        else:
            caveats.append(answer_panel.Caveat(line="The checks are being read."))
        if self._band is None and self.run.tree.root.p is not None:
            why = self._no_band or "one forecast per driver"
            caveats.append(answer_panel.Caveat(line=f"No band: {why}."))
        if self._no_series:
            caveats.append(answer_panel.Caveat(line=self._no_series))
        return caveats

    def _tell_address(self) -> None:
        """Let the page's address name the scenario in work, so that it shows the same to whoever opens it."""
        self.tree.scenario = self.keeper.name

    def _open_tab(self, name: str) -> None:
        self.tabs.tab = ""  # the same tab may be asked for again after the reader opened another
        self.tabs.tab = name


def whole_page(run: RunView) -> Dashboard:
    """Return this kernel's whole page of a run for a cell, with the edits that all cells of the run share."""
    shared = shared_edits(run)
    page = shared.views.get(Dashboard)
    if isinstance(page, Dashboard) and page.comm is not None and page.tree is shared.tree:
        page.look()
    else:
        page = shared.views[Dashboard] = Dashboard(run, shared=shared)
    return page


def dashboard(
    run: RunView,
    *,
    scenario: str = DRAFT,
    node: NodeId = ROOT,
    owns_address: bool = False,
    model_id: str | None = None,
) -> Dashboard:
    """Return the dashboard of a run, to be displayed in JupyterLab, Voila or any front end with widgets.

    It opens with the edits of a scenario (by default the draft that an earlier page left) and a selected proposition.
    ``model_id`` is the widget's id, where a page names it ahead.
    """
    return Dashboard(run, scenario=scenario, node=node, owns_address=owns_address, model_id=model_id)
