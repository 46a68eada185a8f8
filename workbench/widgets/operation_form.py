"""A form out of an operation: a control for each field of the request, the answer as a person reads it below."""

import inspect
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, get_args, get_origin

import ipywidgets
from markupsafe import escape

from proxies.errors import ProxyError
from proxies.input_files import InputRefused
from proxies.remedies import Command, Option, Remedied
from sandbox.errors import SandboxError
from workbench.errors import UsageError, WorkbenchError
from workbench.operations.base import Home, Operation, answered
from workbench.operations.blocks import html_of, words_of
from workbench.plug_points import OPERATIONS, load_plugin, plugin_names
from workbench.requests import RequestField, fields_of
from workbench.store.home_folder import require_writable
from workbench.widgets.background import Background
from workbench.widgets.fields import (
    Fold,
    action,
    box,
    choice,
    field,
    html,
    look,
    offer,
    plain_widget,
    show_if,
)
from workbench.widgets.html_panel import Panel
from workbench.widgets.page_terms import page_terms
from workbench.widgets.panels import note, refusal


class _Asks(Exception):
    """A person has to agree to what was said, or to choose, before the answer is worked out."""

    def __init__(self, lines: Iterable[str], choices: Mapping[str, str] | None = None) -> None:
        super().__init__(*lines)
        self.choices = choices


class OperationForm(ipywidgets.VBox):  # type: ignore[misc]
    """A form of an operation; what a person types stays at a refusal.

    What has to be confirmed (a preview, a price) is shown first. The second click does it, unless a field was changed, or
    what is to be confirmed is something else by then.

    `fields`: those in sight, by default those of short lists; with ``more`` the others stand in a fold.

    `given`: what the page itself knows: the run, the selected driver, who sits here.

    `labels`: by field, where the page has other words than the request.

    `done`: called with the document, on the thread of the work.

    `quiet`: the document is shown elsewhere on the page.
    """

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
        labels: Mapping[str, str] | None = None,
        done: Callable[[Any], None] = lambda document: None,
        quiet: bool = False,
        tooltip: str = "",
    ) -> None:
        self._operation, self._folder, self._environ = operation, folder, environ
        self._given, self._done, self._quiet = given, done, quiet
        self._agreed: set[str] = set()
        self._chosen: dict[str, str] = {}
        self._asked: _Asks | None = None
        known = given()
        self.fields = {each.name: each for each in fields_of(operation) if each.name not in known}
        self.labels = {name: words_of(name) for name in self.fields} | dict(labels or {})
        self.inputs = {name: control(each, self.labels[name]) for name, each in self.fields.items()}
        self.about = inspect.cleandoc(operation.__doc__ or "").partition("\n\n")[0]
        self.ask = action(button, self._ask, tooltip=tooltip)
        self.choice = choice([""], "which holds")
        self.go_on = action("Go on", self._agree)
        self.cancel = action("Not now", self._forget)
        self.answer = Panel()
        self.work = Background(self._refuse)
        if fields is None:
            fields = [name for name, each in self.fields.items() if each.says.place or not each.says.more]
        shown = [name for name in fields if name in self.inputs]
        rest = [widget for name, widget in self.inputs.items() if name not in shown] if more else []
        for widget in self.inputs.values():
            widget.observe(lambda _change: self._forget(), names=["value"])
        row = box(ipywidgets.HBox, [*(self.inputs[name] for name in shown), self.ask], "wb-form-row")
        row.add_class("wb-labelled")
        self._question = box(ipywidgets.HBox, [self.choice, self.go_on, self.cancel], "wb-form-row")
        parts = [row, *([_labelled_fold("More options", rest)] if rest else []), self.answer, self._question]
        super().__init__(parts, layout=look(ipywidgets.Layout))
        self.add_class("wb-operation")
        self._offer(None)

    def _values(self) -> dict[str, Any]:
        """What was typed; a field that says what its default says is left to it."""
        typed = {
            name: _typed(each, self.inputs[name].value, self.labels[name])
            for name, each in self.fields.items()
        }
        values = {name: value for name, value in typed.items() if value != _default(self.fields[name])}
        return values | {
            name: value for name, value in self._given().items() if name in self._operation.model_fields
        }

    def _ask(self) -> None:
        self._agreed, self._chosen = set(), {}
        self._start()

    def _agree(self) -> None:
        if self._asked is None:
            return
        text = "\n".join(self._asked.args)
        if self._asked.choices is None:
            self._agreed.add(text)
        else:
            self._chosen[text] = self.choice.value
        self._start()

    def _start(self) -> None:
        if self.work.busy:
            return
        self._offer(None)
        try:
            require_writable(self._folder)  # else whoever sees the page could read any file of this machine
            request = self._operation.read(self._values())
        except WorkbenchError as error:
            self._refuse(self._in_terms(error))
            return
        self.answer.value = note("Working ...")
        self.work.start(lambda: self._answered(request), self._show)

    def _answered(self, request: Operation) -> "tuple[Any, str] | _Asks":
        said: list[str] = []

        def confirm(question: str) -> None:
            if "\n".join([*said, question]) not in self._agreed:
                raise _Asks([*said, question])

        def choose(question: str, choices: Mapping[str, str]) -> str:
            if question not in self._chosen:
                raise _Asks([question], choices)
            return self._chosen[question]

        home = Home(
            environ=self._environ, folder=self._folder, say=said.append, confirm=confirm, choose=choose
        )
        try:
            document = answered(request, home)
            return document, "" if self._quiet else html_of(request.show(document), pictures=True)
        except _Asks as asks:
            return asks
        except (WorkbenchError, ProxyError, SandboxError, InputRefused) as error:
            raise UsageError(self._in_terms(error)) from None
        finally:
            home.close()

    def _show(self, came: "tuple[Any, str] | _Asks") -> None:
        if isinstance(came, _Asks):
            *lines, question = came.args
            self.answer.value = _blocks(html_of(lines)) + note(question)
            self._offer(came)
            return
        document, html = came
        self.answer.value = _blocks(html)
        self._done(document)

    def _offer(self, asked: _Asks | None) -> None:
        self._asked = asked
        show_if(asked is not None, self._question)
        show_if(asked is not None and asked.choices is not None, self.choice)
        if asked is not None and asked.choices is not None:
            offer(self.choice, [(meaning, value) for value, meaning in asked.choices.items()])

    def _forget(self) -> None:
        if self._asked is not None:
            self._offer(None)
            self.answer.value = ""

    def _refuse(self, line: str) -> None:
        self.answer.value = refusal(line)

    def _in_terms(self, error: Exception) -> str:
        if isinstance(error, Remedied):
            error.terms = self._terms
        return str(error)

    def _terms(self, remedy: Command | Option) -> str:
        if isinstance(remedy, Command) or remedy.name not in self.labels:
            return page_terms(remedy)
        value = str(remedy.value) if isinstance(remedy.value, str) and not remedy.value.isupper() else ""
        return f'the field "{self.labels[remedy.name]}"{value and f" ({value})"}'


def _blocks(html: str) -> str:
    # In reach of the keyboard, which scrolls what is wider than the page.
    return html and f'<div class="wb-blocks" tabindex="0" role="group" aria-label="answer">{html}</div>'


def control(each: RequestField, label: str) -> Any:
    """Return the control of a field: a box to tick, a choice, or a line of text."""
    default = _default(each)
    if each.shape == "flag":
        widget = plain_widget(ipywidgets.Checkbox, description=label, value=bool(default), indent=False)
        widget.description_allow_html = False
        widget.add_class("wb-tick")
    elif get_origin(each.bare) is Literal:
        options = [*get_args(each.bare)]
        widget = choice(options if default in options else ["", *options], label)
        widget.value = default if default in options else ""
    else:
        form = "YYYY-MM-DD" if each.bare is date else each.says.form.partition(" ")[0]
        form = form.lower() if form.isalpha() else form
        widget = field(f"{label}, {form}" if form else label)
        widget.value = str(default) if isinstance(default, str | int | float | date) else ""
    widget.tooltip = each.says.text
    return widget


def _default(each: RequestField) -> Any:
    return None if each.required else each.default


def _typed(each: RequestField, value: Any, label: str) -> Any:
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text or text == str(_default(each)):
        return _default(each)
    if each.shape not in ("list", "mapping"):
        return text
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{label}: {error}") from None
    if each.shape == "list":
        return words
    return {name: said for name, _, said in (word.partition("=") for word in words)}


def _labelled_fold(title: str, widgets: list[Any]) -> Fold:
    def filled() -> Any:
        row = box(ipywidgets.HBox, widgets, "wb-form-row")
        row.add_class("wb-labelled")
        return row

    return Fold(title, filled)


class MoreForms(ipywidgets.VBox):  # type: ignore[misc]
    """A choice among operations (name -> ``module:Class``) and those of installed packages, and the form of the chosen one."""

    def __init__(
        self,
        folder: Path,
        own: Mapping[str, str],
        *,
        environ: Mapping[str, str] = os.environ,
        given: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self._folder, self._environ, self._given = folder, environ, given
        self._places = own
        self._forms: dict[str, OperationForm] = {}
        names = [*own, *(name for name in plugin_names(OPERATIONS) if name not in own)]
        self.which = choice(
            [("choose one", ""), *((words_of(name).replace("-", " "), name) for name in names)], "what to ask"
        )
        self.which.observe(lambda change: self._show(change["new"]), names=["value"])
        self._place = box(ipywidgets.VBox, [], "wb-chosen-form")
        super().__init__([self.which, self._place], layout=look(ipywidgets.Layout))

    def form(self, name: str) -> OperationForm:
        """Return the form of an operation, made when it is first asked for."""
        if name not in self._forms:
            place = self._places.get(name)
            operation = resolve_name(place) if place else load_plugin(OPERATIONS, name)
            self._forms[name] = OperationForm(
                operation, self._folder, "Ask", environ=self._environ, given=self._given
            )
        return self._forms[name]

    def _show(self, name: str) -> None:
        try:
            form = self.form(name) if name else None
        except WorkbenchError as error:
            self._place.children = (html(refusal(error)),)
            return
        self._place.children = (
            () if form is None else (html(f"<p class='wb-key'>{escape(form.about)}</p>"), form)
        )
