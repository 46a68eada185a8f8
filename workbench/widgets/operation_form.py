"""A form out of an operation: a control for each field of the request, the answer as a person reads it below."""

import csv
import os
import shlex
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, get_origin

import ipywidgets

from proxies.remedies import Command, Option, Remedied, reworded
from workbench.errors import UsageError, WorkbenchError
from workbench.expected_errors import EXPECTED
from workbench.operations.base import Home, Operation, answered
from workbench.operations.blocks import html_of, words_of
from workbench.plug_points import OPERATIONS, load_plugin, plugin_names
from workbench.requests import RequestField, fields_of
from workbench.store.home_folder import require_writable
from workbench.widgets.fields import Fold, action, box, choice, field, look, plain_widget, show_if
from workbench.widgets.html_panel import Panel
from workbench.widgets.page_terms import on_page, page_terms
from workbench.widgets.panels import note, refusal

#: Letters of a label that fit above a field of common width.
_SHORT = 28
_NOTHING: Mapping[str, Any] = MappingProxyType({})


T = TypeVar("T")


class _Asks(Exception):
    """A person has to agree to these lines before the answer is worked out; ``shown`` is the answer as far as it is there."""

    shown = ""


class Background:
    """One piece of work at a time on a thread of its own: the page goes on answering, and what it came to is handed over there."""

    def __init__(self, refuse: Callable[[str], None]) -> None:
        self._refuse = refuse
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether the last piece of work is still going on."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Do the work and then call ``done`` with what it returned; nothing is begun while another piece is going on."""
        if self.busy:
            return

        def work_and_tell() -> None:
            try:
                done(work())
            except WorkbenchError as error:
                self._refuse(on_page(error))
            except Exception as error:  # else the page would wait for ever; raised again for the server's log
                self._refuse(f"it ended in an error of the workbench ({type(error).__name__})")
                raise

        # A page that is closed does not wait for it: what was paid for is in the ledger by then.
        self._thread = threading.Thread(target=work_and_tell, name="page-work", daemon=True)
        self._thread.start()

    def wait(self, seconds: float = 60.0) -> None:
        """Return when the work is done, or after this time."""
        if self._thread is not None:
            self._thread.join(seconds)


class _Controls(dict[str, Any]):
    """The controls of a form by field; one out of sight is made when it is asked for."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self._make = make

    def __missing__(self, name: str) -> Any:
        self[name] = widget = self._make(name)
        return widget


class OperationForm(ipywidgets.VBox):  # type: ignore[misc]
    """A form of an operation; what a person types stays at a refusal.

    What has to be confirmed (a preview, a price) is shown first. The second click does it, unless a field was changed, or
    what is to be confirmed is something else by then.

    `fields`: those in sight, by default those of short lists; with ``more`` the others stand in a fold.

    `given`: what the page itself knows: the run, the selected driver.

    `labels`: by field, where the page has other words than the request.

    `choices`: by field, what can be chosen of it; of a list each is a box to tick.

    `needed`, `blank`, `clears`: fields that have to be filled in here, that are sent empty too, and that are empty again afterwards.

    `done`: called with the document, on the thread of the work.

    `draw`: writes the document as HTML, where the page has more to it than its blocks.

    `later`: it is hidden until `offer_if` says otherwise.

    `priced`: the first line that is said is a price, and has to be agreed to.
    """

    children: tuple[Any, ...]

    def __init__(
        self,
        operation: type[Operation],
        folder: Path,
        button: str,
        *,
        environ: Mapping[str, str] = os.environ,
        fields: Iterable[str] | None = None,
        more: bool = True,
        given: Callable[[], Mapping[str, Any]] = dict,
        labels: Mapping[str, str] = _NOTHING,
        choices: Mapping[str, list[Any]] = _NOTHING,
        needed: Iterable[str] = (),
        blank: Iterable[str] = (),
        clears: Iterable[str] = (),
        done: Callable[[Any], None] = lambda document: None,
        draw: Callable[[Any], str] | None = None,
        later: bool = False,
        priced: bool = False,
        tooltip: str = "",
    ) -> None:
        self._operation, self._folder, self._environ = operation, folder, environ
        self.given, self._done, self._draw, self._priced = given, done, draw, priced
        self._needed, self._blank, self._clears = needed, blank, clears
        known = given()
        every = {each.name: each for each in fields_of(operation)}
        self._fields = {name: each for name, each in every.items() if name not in known}
        self.labels = {name: labels.get(name, words_of(name)) for name in every}
        self._choices, self._more = choices, more
        self._asked: _Asks | None = None
        #: Called with the id of a proposition that was clicked in the answer.
        self.on_select: Callable[[str], None] = lambda node: None
        self.inputs = _Controls(self._control)
        self._button, self._tooltip = button, tooltip
        self.work = Background(self._refuse)
        if fields is None:
            fields = [name for name, each in self._fields.items() if each.says.place or not each.says.more]
        self._in_sight = [name for name in fields if name in self._fields]
        super().__init__([], layout=look(ipywidgets.Layout))
        self.add_class("wb-operation")
        self.offer_if(not later)

    def offer_if(self, condition: bool) -> None:
        """Show it or hide it; its controls are made when it is first shown."""
        if condition and not self.children:
            rest = [name for name in self._fields if name not in self._in_sight] if self._more else []
            fold = [Fold("More options", lambda: self._row(rest))] if rest else []
            self.children = (self._row(self._in_sight, self.ask), *fold)
        show_if(condition, self)

    def _control(self, name: str) -> Any:
        widget = control(self._fields[name], self.labels[name], self._choices.get(name))
        widget.observe(lambda _change: self.forget(), names=["value"])
        return widget

    def _row(self, names: list[str], *more: Any) -> Any:
        row = box(ipywidgets.HBox, [*(self.inputs[name] for name in names), *more], "wb-form-row")
        row.add_class("wb-labelled")
        return row

    # What a form shows of its answer is made with the first answer: each is a model more that a page waits for.

    @cached_property
    def ask(self) -> Any:
        """The button."""
        return action(self._button, self.press, tooltip=self._tooltip)

    def press(self) -> None:
        """Do what the button does."""
        self._start(None)

    @cached_property
    def answer(self) -> Panel:
        """What came of it."""
        panel = Panel()
        panel.on_select = self.on_select
        self.children = (*self.children, panel)
        return panel

    @cached_property
    def go_on(self) -> Any:
        """The second click."""
        return action("Go on", lambda: self._start(self._asked))

    @cached_property
    def question(self) -> Any:
        """The buttons below what has to be agreed to."""
        row = box(ipywidgets.HBox, [self.go_on, action("Not now", self.forget)], "wb-form-row")
        show_if(False, row)
        self.children = (*self.children, row)
        return row

    def clear(self) -> None:
        """Take away what came of it: the form is about something else now."""
        self._wait_for(None)
        if "answer" in self.__dict__:
            self.answer.value = ""

    def forget(self) -> None:
        """Take back what waits for a second click: it was asked of something else."""
        if self._asked is not None:
            self.clear()

    def _wait_for(self, asked: _Asks | None) -> None:
        if asked is not None or self._asked is not None:
            show_if(asked is not None, self.question)
        self._asked = asked

    def _request(self) -> Operation:
        require_writable(self._folder)  # else whoever sees the page could read any file of this machine
        typed = {name: self._typed(self._fields[name]) for name in self.inputs}
        given = self.given()
        if missing := [self.labels[name] for name in self._needed if not {**typed, **given}.get(name)]:
            raise UsageError(f'fill in the field "{missing[0]}" first')
        # What says what the default says is left to it: of some requests it counts what was said at all.
        said = {
            name: value
            for name, value in typed.items()
            if value not in ("", None, self._fields[name].default)
        }
        known = {name: value for name, value in given.items() if name in self._operation.model_fields}
        return self._operation.read(dict.fromkeys(self._blank, "") | said | known)

    def _typed(self, each: RequestField) -> Any:
        value = self.inputs[each.name].value
        text = value.strip() if isinstance(value, str) else ""
        if text == str(each.default):
            return each.default
        if not text or each.shape in ("value", "flag"):
            return text or value
        if each.shape == "list":
            return [word.strip() for word in next(csv.reader([text], skipinitialspace=True))]
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"{self.labels[each.name]}: {error}") from None
        return {name: said for name, _, said in (word.partition("=") for word in words)}

    def _start(self, agreed: _Asks | None) -> None:
        if self.work.busy:
            return
        self._wait_for(None)
        try:
            request = self._request()
        except WorkbenchError as error:
            self._refuse(self._in_terms(error))
            return
        self.answer.value = note("Working ...")
        self.work.start(lambda: self._answered(request, agreed), self._show)

    def _answered(self, request: Operation, agreed: _Asks | None) -> "tuple[Any, str] | _Asks":
        said: list[str] = []

        def confirm(question: str) -> None:
            said.append(question)
            if agreed is None or agreed.args[: len(said)] != tuple(said):
                raise _Asks(*said)

        def say(line: str) -> None:
            (confirm if self._priced and not said else said.append)(line)

        home = Home(environ=self._environ, folder=self._folder, say=say, confirm=confirm)
        try:
            document = answered(request, home)
            if self._draw is not None:
                return document, self._draw(document)
            return document, _in_reach(html_of(request.show(document), pictures=True))
        except _Asks as asks:
            if home.so_far is not None:
                asks.shown = _in_reach(html_of(request.show(home.so_far), pictures=True))
            return asks
        except EXPECTED as error:
            raise UsageError(self._in_terms(error)) from None
        finally:
            home.close()

    def _show(self, came: "tuple[Any, str] | _Asks") -> None:
        if isinstance(came, _Asks):
            *lines, question = came.args
            lines = [reworded(line, self._terms) for line in lines]
            self.answer.value = (came.shown or _in_reach(html_of(lines))) + note(question)
            self._wait_for(came)
            return
        document, html = came
        for name in self._clears:
            self.inputs[name].value = type(self.inputs[name].value)()
        self._done(document)
        # Said last: who reads that it is done finds it done.
        self.answer.value = html

    def _refuse(self, line: str) -> None:
        self.answer.value = refusal(line)

    def _in_terms(self, error: Exception) -> str:
        if isinstance(error, Remedied):
            error.terms = self._terms
        return str(error)

    def _terms(self, remedy: Command | Option) -> str:
        if isinstance(remedy, Command) or remedy.name not in (self._fields if self._more else self.inputs):
            return page_terms(remedy)
        return f'the field "{self.labels[remedy.name]}"'


def _in_reach(html: str) -> str:
    """In reach of the keyboard, which scrolls what is wider than the page."""
    return html and f'<div class="wb-blocks" tabindex="0" role="group" aria-label="answer">{html}</div>'


class Ticks(ipywidgets.VBox):  # type: ignore[misc]
    """Boxes to tick, each with its words; ``value`` has the keys of those that are ticked."""

    def __init__(self, options: Iterable[tuple[str, str]]) -> None:
        self.boxes = {key: tick(words) for words, key in options}
        super().__init__([*self.boxes.values()], layout=look(ipywidgets.Layout))
        self.add_class("wb-checklist")

    @property
    def value(self) -> list[str]:
        """The keys."""
        return [key for key, each in self.boxes.items() if each.value]

    @value.setter
    def value(self, keys: list[str]) -> None:
        for key, each in self.boxes.items():
            each.value = key in keys


def tick(label: str, *, ticked: bool = False) -> Any:
    """Return a box to tick."""
    widget = plain_widget(ipywidgets.Checkbox, description=label, value=ticked, indent=False)
    widget.description_allow_html = False
    widget.add_class("wb-tick")
    return widget


def control(each: RequestField, label: str, options: list[Any] | None = None) -> Any:
    """Return the control of a field: a box to tick, a choice, or a line of text."""
    if options is None and get_origin(each.bare) is Literal:
        options = [*get_args(each.bare)]
        options = options if each.default in options else ["", *options]
    if options is not None and each.shape == "list":
        return Ticks(options)
    if options is not None:
        widget = choice(options, label)
    elif each.shape == "flag":
        widget = tick(label, ticked=bool(each.default))
    else:
        form = "YYYY-MM-DD" if each.bare is date else each.says.form.partition(" ")[0]
        form = "by commas" if each.shape == "list" else form.lower() if form.isalpha() else form
        widget = field(f"{label}, {form}" if form else label, "wb-long" if len(label) > _SHORT else "")
    if isinstance(widget, ipywidgets.Text) and isinstance(each.default, str | int | float | date):
        widget.value = str(each.default)
    elif options and each.default in options:
        widget.value = each.default
    widget.tooltip = each.says.text
    return widget


class MoreForms(ipywidgets.VBox):  # type: ignore[misc]
    """A choice among operations (name -> ``module:Class``) and those of installed packages, and the form of the chosen one."""

    def __init__(self, folder: Path, own: Mapping[str, str], **options: Any) -> None:
        self._folder, self._own, self._options = folder, own, options
        self._forms: dict[str, OperationForm] = {}
        names = [*own, *(name for name in plugin_names(OPERATIONS) if name not in own)]
        self.which = choice(
            [("choose one", ""), *((name.replace("-", " "), name) for name in names)], "what to ask"
        )
        self.which.observe(lambda change: self._show(change["new"]), names=["value"])
        super().__init__([self.which], layout=look(ipywidgets.Layout))

    def form(self, name: str) -> OperationForm:
        """Return the form of an operation, made when it is first asked for."""
        if name not in self._forms:
            operation = resolve_name(self._own[name]) if name in self._own else load_plugin(OPERATIONS, name)
            form = OperationForm(operation, self._folder, "Ask", **self._options)
            form.ask.tooltip = operation.__doc__ or ""
            self._forms[name] = form
        return self._forms[name]

    def _show(self, name: str) -> None:
        self.children = (self.which, self.form(name)) if name else (self.which,)
