"""The first page: all runs with search and state, the form that states a new claim, and what a claim can be about."""

import gc
import os
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import ipywidgets
from ipywidgets import Widget

from proxies.asof.clock import Cutoff
from proxies.atomic import reads_only
from proxies.catalogue.loader import load_catalogue
from proxies.errors import CutoffRefused, ProxyError
from workbench.annotations.entries import add_note
from workbench.audit.home_scores import own_runs
from workbench.audit.track_record import record_card
from workbench.blocking import run_blocking
from workbench.engine.detached import plan_elsewhere, resume_detached, start_elsewhere
from workbench.engine.named_settings import read_settings, settings_by_name
from workbench.environment import home_from
from workbench.errors import UsageError, WorkbenchError, sentence
from workbench.formatting import NO_VALUE
from workbench.models.model_list import KEYS
from workbench.models.model_options import OFFLINE
from workbench.offline.examples import EXAMPLE_CUTOFF, EXAMPLES, claim_templates, data_reach
from workbench.operations.base import Home as OperationHome
from workbench.operations.blocks import columns, html_of
from workbench.operations.claim_reading import for_a_model, read_by_model
from workbench.operations.endpoints import Apis
from workbench.operations.quantity import Quantity
from workbench.operations.sources import AddSource
from workbench.plug_points import GROUNDERS, plugin_names
from workbench.propositions import ROOT
from workbench.questions.errors import ANOTHER_MODEL
from workbench.questions.grammar import read_claim
from workbench.questions.readings.choice import AS_TYPED, choice_of, day_of
from workbench.questions.readings.read import read
from workbench.questions.readings.slots import Readings
from workbench.questions.series.embedded_series import SERIES
from workbench.store import Store
from workbench.views.claims_list import MOST_COMPARED, WATCH, claims_of, compared, to_do
from workbench.views.question_documents import set_document, sets_document
from workbench.views.reading_documents import reading_lines
from workbench.views.run_overview import listed_runs
from workbench.views.run_view import load_run
from workbench.widgets import panels
from workbench.widgets.claims_table import ClaimsTable
from workbench.widgets.edits.edit_log import DRAFT
from workbench.widgets.fields import (
    Fold,
    action,
    box,
    choice,
    field,
    html,
    look,
    offer,
    page_base,
    pane,
    plain_widget,
    sent_at_rest,
    show_if,
)
from workbench.widgets.html_panel import Panel
from workbench.widgets.live_run import Poller
from workbench.widgets.operation_form import MoreForms, OperationForm
from workbench.widgets.page_terms import on_page, page_terms
from workbench.widgets.panels import rendered
from workbench.widgets.run_page import Dashboard, dashboard


def own_sources_html(home: Path | None, environ: Mapping[str, str]) -> str:
    """Return what a claim can be about and what cells can ask with these keys, as a fold; without a home what is read when it opens.

    Raises ``CatalogueError`` where an own file does not load: one bad file refuses all, as for a run.
    """
    rows = [] if home is None else Apis().answer(OperationHome(environ=environ, folder=home))
    shipped = load_catalogue()
    own = [row for row in rows if row["path"] not in shipped]
    return rendered(
        "own_sources",
        series=list(SERIES.values()),
        folder=home and home / "catalogue",
        own=own
        and html_of([columns(own, endpoint="path", has="description", as_of="policy", obstacle="obstacle")]),
        shipped=len(rows) - len(own),
        usable=sum(not row["obstacle"] for row in rows if row not in own),
    )


#: Above a page that is served to be read.
READING = "This page is read-only."
REVIEW_DUE = "review due"
STATES = ("all states", "proposed", "planned", "running", "waiting", "stopped", "done", "failed", REVIEW_DUE)
_APPROVALS = {
    "no approval": "none",
    "asks before each data call": "calls",
    "asks before each page": "pages",
}
#: The head of the choice of templates.
_NO_TEMPLATE = ("choose one to fill in", "")
#: Operations that have a form on this page and no place of their own.
MORE = {
    "add documents": "workbench.operations.sources:AddDocuments",
    "check a source": "workbench.operations.sources:CheckSource",
    "attack a source": "workbench.operations.sources:AttackSource",
    "remove a source": "workbench.operations.sources:RemoveSource",
    "search the web as of a day": "workbench.operations.web:Search",
    "read a page as of a day": "workbench.operations.web:Page",
    "list endpoints": "workbench.operations.endpoints:Apis",
    "describe an endpoint": "workbench.operations.endpoints:ApiDoc",
    "call an endpoint": "workbench.operations.endpoints:Call",
    "compare runs of many claims": "workbench.operations.several_runs:Coherence",
    "show what changed between two runs": "workbench.operations.several_runs:Diff",
    "check this installation": "workbench.operations.doctor:Doctor",
}
#: Runs in the list at once; the search reaches the others.
SHOWN = 100


class Home(ipywidgets.VBox):  # type: ignore[misc]
    """All runs of a data folder, and a form for a new one: it plans first, and grounds on a click on the run's page.

    `note`: A line to show above: why the page of a run could not be shown.

    `environ`: Where providers' keys are looked for, by default the process's environment; only which are set counts.
    """

    def __init__(
        self,
        home: Path,
        *,
        note: str = "",
        environ: Mapping[str, str] | None = None,
        model_id: str | None = None,
    ) -> None:
        self._home = home
        self._environ = os.environ if environ is None else environ
        self._rows: list[dict[str, Any]] = []
        self._seen: tuple[int, ...] = ()
        self.search = field("search claims and run ids", "wb-find", live=True)
        self.state = choice(list(STATES), "state")
        self.table = html()
        self.claims = ClaimsTable(watch=self._watch, retry=self._retry, compare=self._show_compared)
        self.compared, self.record = Panel(), Panel()
        self.claim = sent_at_rest(plain_widget(ipywidgets.Textarea, placeholder=EXAMPLES[0]))
        self.claim.description = "claim"
        self.claim.add_class("wb-field")
        self.claim.add_class("wb-claim")
        self.examples = box(
            ipywidgets.HBox, [action(text, partial(self._take, text)) for text in EXAMPLES], "wb-examples"
        )
        reached = providers(self._environ)
        without_key = (
            ""
            if reached
            else f"Without a model key you can ask about {data_reach()}, or about newer data from public sites. With a key you can ask anything."
        )
        self.cutoff = field("cutoff: a date, or now", "wb-cutoff", live=True)
        self.cutoff.value = "now" if reached else EXAMPLE_CUTOFF
        self.model = sent_at_rest(
            plain_widget(ipywidgets.Combobox, options=[OFFLINE, *reached], ensure_option=False)
        )
        self.model.value = reached[0] if reached else OFFLINE
        self.model.description = "model"
        self.model.add_class("wb-field")
        said = settings_by_name()
        self.grounder = choice(["default grounder", *plugin_names(GROUNDERS)], "grounder")
        self.approve = choice(list(_APPROVALS), "approvals")
        self.depth = field("depth, 1 if empty", "wb-short")
        self.budget = field("budget in dollars", "wb-short")
        self.settings = field("settings, such as trials=3", "wb-pair")
        for name, widget in self._settings().items():
            widget.tooltip = said[name].says.text
        self.settings.tooltip = f"NAME=VALUE, blanks between several: {', '.join(said)}"
        self.sources = Panel(own_sources_html(None, {}))
        self.sources.on_open = self._read_sources
        self.question_sets = Panel(rendered("question_sets", sets=None))
        self.question_sets.on_open = self._read_question_sets
        self.question_sets.on_select = partial(setattr, self.claim, "value")
        #: How the claim is read: a line, and a button for each reading or remedy there is.
        self.readings = box(ipywidgets.VBox, [], "wb-readings")
        self._reading: tuple[str, int] | None = None
        #: What models filled, by claim, cutoff and model; one that fits no series has no choices.
        self._filled: dict[tuple[str, str, str], Readings] = {}
        self.more = Fold("More commands", lambda: MoreForms(home, MORE, environ=self._environ))
        self.note = html(panels.refusal(note) if note else "")
        self.line, self.reach = (
            html(),
            html(f"<p class='wb-reach-line'>{without_key}</p>" if without_key else ""),
        )
        self.answer = action(
            "Analyze claim",
            partial(self._plan, go_on=True),
            tooltip="Break the claim into drivers, collect evidence for each driver, and combine the evidence.",
        )
        self.answer.add_class("wb-main-action")
        self.plan = action(
            "Plan drivers",
            self._plan,
            tooltip="Break the claim into drivers and stop before any evidence is collected.",
        )
        self._allow(False)
        self.template = choice([_NO_TEMPLATE], "template")
        self.template.observe(lambda change: self._fill(change["new"]), names=["value"])
        for checked in (self.claim, self.cutoff, self.model):
            checked.observe(lambda _change: self._check(), names=["value"])
        self.cutoff.observe(lambda _change: self._offer_templates(), names=["value"])
        self._offer_templates()
        for filtering in (self.search, self.state):
            filtering.observe(lambda _change: self._show(), names=["value"])
        planning = box(ipywidgets.HBox, [self.cutoff, self.template, self.answer, self.plan], "wb-keeping")
        planning.add_class("wb-labelled")
        self.options = box(
            ipywidgets.HBox,
            [self.model, self.grounder, self.approve, self.depth, self.budget, self.settings],
            "wb-keeping",
        )
        self.options.add_class("wb-labelled")
        begins = [
            pane(
                "New claim",
                [
                    self.claim,
                    self.readings,
                    planning,
                    self.line,
                    self.examples,
                    self.reach,
                    Fold("Options", lambda: self.options),
                ],
                "wb-new",
            )
        ]
        asks = [
            Fold("Forecast a series", lambda: self.quantity),
            pane(
                "Own series and sources",
                [self.sources, Fold("Add a source", lambda: self.new_source)],
                "wb-own-sources",
            ),
            self.more,
        ]
        shows = [
            self.claims,
            self.compared,
            pane("Track record", [self.record], "wb-track-record"),
            Fold("All runs", self._all_runs),
            pane("Question sets", [self.question_sets], "wb-question-sets"),
        ]
        super().__init__(
            [
                page_base(),
                html("<header class='wb-header'><h1>Analyst Workbench</h1></header>"),
                self.note,
                *([html(panels.note(READING))] if reads_only() else begins),
                *shows,
                *([] if reads_only() else asks),
            ],
            layout=look(ipywidgets.Layout),
            model_id=model_id,
        )
        self.add_class("wb-app")
        self.poller = Poller(self.look, seconds=3.0)
        self.look()
        self.poller.start()

    @cached_property
    def quantity(self) -> OperationForm:
        """The form for a series; made when its fold is opened."""
        form = OperationForm(Quantity, self._home, "Forecast", environ=self._environ)
        form.inputs["cutoff"].value = self.cutoff.value
        return form

    @cached_property
    def new_source(self) -> OperationForm:
        """The form for data of one's own; made when its fold is opened."""
        return OperationForm(
            AddSource,
            self._home,
            "Show what cutoffs see",
            # no address of a database: its password's variable would be the server's
            environ={},
            fields=("name", "where", "date", "value", "lag", "known", "unit"),
            labels={
                "where": "file on this machine",
                "date": "date column",
                "value": "value column",
                "lag": "known after, as 10d",
                "known": "or column of when it was known",
            },
            done=lambda _document: self._read_sources(""),
        )

    def look(self) -> bool:
        """Read the list anew if the log has grown; always True, so that it is looked at again."""
        try:
            with Store(self._home) as store:
                seen = (store.last_seq(), len(store.run_ids()))
                if seen != self._seen:
                    self._rows, self._seen = list_runs(self._home), seen
                    runs, _left_out = own_runs(store)
                    now = datetime.now(UTC)
                    self.claims.show(claims_of(self._rows, now), to_do(self._rows, now))
                    # They teach on an empty page; later the templates do.
                    show_if(not self._rows, self.examples)
                    self.record.value = rendered(
                        "track_record", record=record_card(runs), resolved=runs[: -SHOWN - 1 : -1]
                    )
                    self._show()
        except WorkbenchError as error:
            self.table.value = panels.refusal(error)
        return True

    def _show(self) -> None:
        words = self.search.value.casefold().split()
        rows = [
            row
            for row in self._rows
            if _is_in(row, str(self.state.value))
            # Propositions, notes, comments and tags too, as `workbench runs --search` does.
            and all(
                word in row.get("text", f"{row['run_id']} {row['statement']}".casefold()) for word in words
            )
        ]
        self.table.value = panels.runs_table(
            rows[:SHOWN], hidden=max(0, len(rows) - SHOWN), filtered=bool(words)
        )

    def _all_runs(self) -> Any:
        filters = box(ipywidgets.HBox, [self.search, self.state], "wb-keeping")
        return box(ipywidgets.VBox, [filters, self.table], "wb-all-runs")

    def _watch(self, run_id: str, on: bool) -> None:
        runs: list[str] = next(
            (each["runs"] for each in claims_of(self._rows, datetime.now(UTC)) if run_id in each["runs"]), []
        )
        tagged = [row["run_id"] for row in self._rows if WATCH in row["tags"] and row["run_id"] in runs]
        with Store(self._home) as store:
            if on:
                add_note(store, run_id, tags=[WATCH])
            else:
                for each in tagged:
                    add_note(store, each, untagged=[WATCH])
        self.look()

    def _retry(self, run_id: str) -> None:
        with Store(self._home) as store:
            process = resume_detached(store, run_id)
        process.require_running()
        self.look()

    def _show_compared(self, run_ids: list[str]) -> None:
        runs = [load_run(self._home, run_id) for run_id in run_ids[:MOST_COMPARED]]
        self.compared.value = rendered("compared", compared=compared(runs))

    def _read_sources(self, _name: str) -> None:
        """Show them when the fold is opened: the catalogue is read for that, which the page need not wait for."""
        try:
            self.sources.value = own_sources_html(self._home, self._environ)
        except (WorkbenchError, ProxyError) as error:
            self.sources.value = panels.refusal(error)

    def _read_question_sets(self, _name: str) -> None:
        try:
            with Store(self._home) as store:
                names = [each["set"] for each in sets_document(store)["sets"]]
                sets = [set_document(store, name) for name in names]
        except WorkbenchError as error:
            self.question_sets.value = panels.refusal(error)
        else:
            self.question_sets.value = rendered("question_sets", sets=sets)

    def _check(self) -> None:
        """Say while a claim is typed what would be refused: claim and cutoff by the key-free analyst, the form of the rest."""
        claim = self.claim.value.strip()
        self._allow(bool(claim))
        self.line.value, self.readings.children = "", []
        if not claim:
            return
        model, cutoff = self.model.value.strip() or OFFLINE, self.cutoff.value.strip() or "now"
        try:
            instant = Cutoff.parse(cutoff)
            if model.endswith("/"):
                raise UsageError(
                    f"write which model of {model.removesuffix('/')} is to be asked, after {model}"
                )
            self._show_readings(claim, instant, model)
        except (UsageError, CutoffRefused) as error:
            self._allow(False)
            self._refuse(error)

    def _show_readings(self, claim: str, cutoff: Cutoff, model: str) -> None:
        # numpy and pandas come with it: 0.5 s that the list need not wait
        from workbench.offline.claim_coverage import reading_document

        filled = self._filled.get((claim, cutoff.text, model))
        readings = filled or read(claim, day_of(cutoff))
        number = self._number(claim)
        chosen = readings.best if number is None else choice_of(readings, number) if number else None
        document = reading_document(readings, cutoff, model, number or None)
        covered = document["coverage"]
        by = f"by {model} " if readings.of_model else ""
        said = (
            [f"Read {by}as: {chosen.statement}"]
            if chosen
            # what would help is a button, and the reason a refusal
            else reading_lines({**document, "others": [], "coverage": {"treatable": True}}, page_terms)
        )
        if chosen and covered["treatable"] and covered["reason"]:
            said.append(covered["reason"])
        if number == AS_TYPED:
            said = [f"{model} takes the words as they are."]
        elif chosen is None and readings.choices:
            said = [
                f"Read by {model}. Take this reading?" if by else "Choose the one that is meant:"
            ] + said * (not by)
        buttons = [
            action(each.statement, partial(self._choose, claim, position))
            for position, each in enumerate(readings.choices, start=1)
            if each is not chosen
        ]
        if by and number != AS_TYPED:
            buttons.append(action("Keep my words", partial(self._choose, claim, AS_TYPED)))
        if for_a_model(readings, model):
            if filled:
                said.append(
                    f"{model} finds none of the known series in it, and treats the words as they are."
                )
            else:
                buttons.append(
                    action(f"Ask {model} to read it", partial(self._ask_model, claim, cutoff, model))
                )
        if readings.form and not covered["treatable"]:
            filled_in = readings.form.sentence
            buttons.append(action(f"Fill in: {filled_in}", partial(setattr, self.claim, "value", filled_in)))
        if not covered["treatable"]:
            self._allow(False)
            if chosen or not readings.choices:
                self._refuse(
                    UsageError(covered["reason"] if chosen or readings.refusal else _why_unread(claim))
                )
            day = covered["fix"].get("cutoff")
            buttons += [action(f"Use {day}", partial(setattr, self.cutoff, "value", day))] if day else []
        self.readings.children = [html(panels.note(line)) for line in said] + buttons

    def _ask_model(self, claim: str, cutoff: Cutoff, model: str) -> bool:
        """Let a model fill a claim that cannot be read, and show it for a yes; whether it has a reading."""
        self.readings.children = [html(panels.note(f"Asking {model} what the claim says."))]
        place = OperationHome(environ=self._environ, folder=self._home)
        try:
            typed = read_settings(shlex.split(self.settings.value))
            filled = run_blocking(
                read_by_model(
                    place,
                    read(claim, day_of(cutoff)),
                    cutoff,
                    model,
                    typed.get("api_base"),
                    prices=typed.get("prices"),
                )
            )
        except (WorkbenchError, ValueError) as error:
            self._refuse(error)
            return False
        finally:
            place.close()
        self._filled[claim, cutoff.text, model] = filled
        self._check()
        return filled.of_model

    def _number(self, claim: str) -> int | None:
        """The reading that was chosen for this text; another text has none yet."""
        return self._reading[1] if self._reading is not None and self._reading[0] == claim else None

    def _choose(self, claim: str, number: int) -> None:
        self._reading = (claim, number)
        self._check()

    def _refuse(self, error: Exception) -> None:
        """Show a refusal in the words of this page, where a model is chosen in a field and not by an option."""
        self.line.value = panels.refusal(str(error).replace(sentence(*ANOTHER_MODEL), "choose another model"))

    def _allow(self, startable: bool) -> None:
        self.answer.disabled = self.plan.disabled = not startable

    def _offer_templates(self) -> None:
        """Offer claims with the dates of the cutoff that is typed; one that is no date yet changes nothing."""
        try:
            day = day_of(Cutoff.parse(self.cutoff.value.strip() or "now"))
        except CutoffRefused:
            return
        offer(self.template, [_NO_TEMPLATE, *claim_templates(day).items()], _NO_TEMPLATE[1])

    def _fill(self, claim: str) -> None:
        """Put a template into the field, to be changed there; the choice stands at its head again for the next."""
        if claim:
            self.claim.value = claim
            self.template.value = _NO_TEMPLATE[1]

    def _take(self, example: str) -> None:
        self.cutoff.value, self.model.value, self.claim.value = EXAMPLE_CUTOFF, OFFLINE, example

    def _settings(self) -> dict[str, Any]:
        """The settings that have a control of their own; all others are typed as NAME=VALUE."""
        return {
            "model": self.model,
            "grounder": self.grounder,
            "approve": self.approve,
            "depth": self.depth,
            "budget_usd": self.budget,
        }

    def _plan(self, *, go_on: bool = False) -> None:
        values = {name: str(widget.value).strip() for name, widget in self._settings().items()}
        values["model"] = values["model"] or OFFLINE
        values["grounder"] = values["grounder"].removeprefix(self.grounder.options[0])
        values["approve"] = _APPROVALS[values["approve"]].removeprefix("none")
        typed = [f"{name}={value}" for name, value in values.items() if value]
        try:
            words = [word for pair in [*typed, *shlex.split(self.settings.value)] for word in ("--set", pair)]
        except ValueError as error:
            self._refuse(UsageError(f"settings: {error}"))
            return
        claim, number = self.claim.value.strip(), self._number(self.claim.value.strip())
        words += [] if number is None else ["--reading", str(number)]
        cutoff = Cutoff.parse(self.cutoff.value.strip() or "now")  # `_check` lets nothing else start
        unread = (claim, cutoff.text, values["model"]) not in self._filled and for_a_model(
            read(claim, day_of(cutoff)), values["model"]
        )
        if number is None and unread and self._ask_model(claim, cutoff, values["model"]):
            return  # it is shown, and started once it is taken
        self._allow(False)
        self.line.value = panels.note("Opening the run." if go_on else "Breaking the claim into drivers.")
        begin = start_elsewhere if go_on else plan_elsewhere
        try:
            run_id = begin(self._home, self.claim.value.strip(), self.cutoff.value.strip() or "now", words)
        except UsageError as error:
            self._refuse(error)
        else:
            self.line.value = panels.planned(run_id)
            self.look()
            self.claims.go(run_id)
        finally:
            self._allow(True)


def _why_unread(claim: str) -> str:
    try:
        read_claim(claim)
    except UsageError as error:
        return str(error)
    return "the claim cannot be read"


def _is_in(row: Mapping[str, Any], state: str) -> bool:
    if state == REVIEW_DUE:
        return row["next_review"] is not None and row["next_review"] <= datetime.now(UTC)
    return state == STATES[0] or row.get("state") == state


def providers(environ: Mapping[str, str]) -> list[str]:
    """Return beginnings of model names whose providers have a key in an environment; no key is read.

    >>> providers({"ANTHROPIC_API_KEY": "k"})
    ['anthropic/']
    """
    return [f"{name}/" for name, keys in KEYS.items() if any(environ.get(key) for key in keys)]


def list_runs(home: Path) -> list[dict[str, Any]]:
    """Return the runs of a data folder, newest first: run_id, statement, cutoff, p in [0, 1] or None, state, imported, and
    each one's course (``overview.listed_runs``).

    A run that cannot be read has the reason in place of its statement.
    """
    with Store(home) as store:
        rows = listed_runs(store, datetime.now(UTC), texts=True)
    return [
        {**row, "statement": row["unreadable"], "cutoff": NO_VALUE} if "unreadable" in row else row
        for row in reversed(rows)
    ]


def open_dashboard(environ: Mapping[str, str]) -> Any:
    """Return the widget of the page.

    The run is ``?run=...`` of the page's address (Voila passes it as ``QUERY_STRING``), else ``WORKBENCH_RUN``; its home is
    ``WORKBENCH_HOME``; an empty one asks for the list. ``&scenario=NAME`` opens a scenario, ``&node=P2`` selects a proposition. Without a run, or if the run does not exist, the page lists the runs.
    ``WORKBENCH_WIDGET`` is the id of the widget, where the page has named it ahead.
    """
    home = home_from(environ)
    address = {
        name: values[0]
        for name, values in parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True).items()
    }
    run_id = address.get("run", environ.get("WORKBENCH_RUN", ""))
    model_id = environ.get("WORKBENCH_WIDGET")
    if run_id:
        try:
            return dashboard(
                load_run(home, run_id),
                scenario=address.get("scenario") or DRAFT,
                node=address.get("node") or ROOT,
                owns_address=True,
                model_id=model_id,
            )
        except WorkbenchError as error:
            return Home(home, note=on_page(error), model_id=model_id)
    return Home(home, model_id=model_id)


def rehearse(environ: Mapping[str, str] = os.environ) -> None:
    """Draw pages that nobody sees, so that the next one in this process waits for no import, no template and no database.

    A kernel that is made ahead does it: the page that the server was started for, and the newest run where that was the list.
    """
    pages = [open_dashboard(environ)]
    if not isinstance(pages[0], Dashboard):
        pages.append(open_dashboard({**environ, "WORKBENCH_RUN": "last"}))
    for page in pages:
        page.poller.stop()
        if isinstance(page, Dashboard):
            page.pulse.stop()
            assert page.side_panels  # asking for it makes it
            page.read_fan()
    del page, pages
    Widget.close_all()
    # What was imported lives as long as the process: looked through for garbage anew while a page of 11,111 propositions is
    # drawn, it takes a fifth of the time.
    gc.collect()
    gc.freeze()
