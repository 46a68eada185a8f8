"""Fields, buttons and boxes as every page of ours has them."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import ipywidgets

from workbench.errors import WorkbenchError
from workbench.widgets.page_terms import on_page

_STATIC = files("workbench.widgets") / "static"
_HIDDEN = "wb-hidden"
_looks: dict[type, ipywidgets.Widget] = {}


def look(kind: type) -> Any:
    """Return the one layout, or style, of its kind in this process: ours say nothing, what a page looks like is in CSS.

    ipywidgets makes one for every widget: of 345 models of a dashboard 212 were that, each to be sent and made by the page.
    """
    known = _looks.get(kind)
    if known is None or known.comm is None:  # closed with the widgets of an earlier page
        known = _looks[kind] = kind()
    return known


@cache
def _style_of(kind: Any) -> Any:
    trait = kind.class_traits().get("style")
    return None if trait is None else trait.klass


def plain_widget(kind: Any, *arguments: Any, **options: Any) -> Any:
    """Return a widget of ipywidgets' ``kind`` that shares its layout and style with the others of a page."""
    options.setdefault("layout", look(ipywidgets.Layout))
    if (style := _style_of(kind)) is not None:
        options.setdefault("style", look(style))
    return kind(*arguments, **options)


def html(value: str = "") -> Any:
    """Return a place for HTML that is set as a whole; a ``Panel`` sends what differs."""
    return plain_widget(ipywidgets.HTML, value)


def show_if(condition: bool, *widgets: ipywidgets.Widget) -> None:
    """Show or hide widgets; by a class, as their layout is everyone's."""
    for widget in widgets:
        if condition:
            widget.remove_class(_HIDDEN)
        else:
            widget.add_class(_HIDDEN)


def field(label: str, name: str = "", *, live: bool = False) -> ipywidgets.Text:
    """Return a field for one line of text, its label shown inside while it is empty; it sends its text when it is left.

    A ``live`` one sends it whenever the typing rests too, for what is checked while it is typed.
    """
    text = plain_widget(ipywidgets.Text, placeholder=label, continuous_update=False)
    # A placeholder is no label: a screen reader needs a real one, which the style sheet hides.
    text.description, text.description_allow_html = label, False
    text.add_class("wb-field")
    if name:
        text.add_class(name)
    return sent_at_rest(text) if live else text


def sent_at_rest(text: Any) -> Any:
    """Have a field send its text when the typing rests and when it is left, in place of every letter; returns the field."""
    text.continuous_update = False
    text.add_class("wb-live")
    return text


def choice(options: list[Any], label: str, name: str = "wb-chosen") -> ipywidgets.Dropdown:
    """Return a choice of one of several; its label is there for a screen reader, and hidden by the style sheet."""
    dropdown = plain_widget(ipywidgets.Dropdown, options=options, description=label)
    dropdown.add_class("wb-field")
    dropdown.add_class(name)
    return dropdown


def offer(dropdown: ipywidgets.Dropdown, options: list[Any], chosen: Any = None) -> None:
    """Change what a choice offers and keep what is chosen, or choose ``chosen`` where that is named and offered.

    ipywidgets goes to the first option at every change of the list, and says so to the page in a message of its own: what
    a user chose meanwhile would be lost.
    """
    wanted = dropdown.value if chosen is None else chosen
    values = [option[1] if isinstance(option, tuple) else option for option in options]
    with dropdown.hold_sync():
        if list(dropdown.options) != options:
            dropdown.options = options
        if wanted in values and dropdown.value != wanted:
            dropdown.value = wanted


def action(label: str, act: Callable[[], Any], *, tooltip: str = "") -> ipywidgets.Button:
    """Return a button that calls ``act``."""
    button = plain_widget(ipywidgets.Button, description=label, tooltip=tooltip)
    button.add_class("wb-action")
    button.on_click(lambda _button: act())
    return button


def tried(act: Callable[[], Any], refuse: Callable[[str], None]) -> Callable[[], None]:
    """Return ``act`` for a button, with a refusal of the workbench handed to ``refuse`` as one line.

    An exception in a widget's callback is seen by nobody.
    """

    def act_or_refuse() -> None:
        try:
            act()
        except WorkbenchError as error:
            refuse(on_page(error))

    return act_or_refuse


class Fold(ipywidgets.Accordion):  # type: ignore[misc]
    """A closed fold that opens on a click; what is in it is made when it is first opened, or asked for."""

    def __init__(self, title: str, make: Callable[[], ipywidgets.Widget]) -> None:
        self._make = make
        self.filled_with: ipywidgets.Widget | None = None
        super().__init__(
            [plain_widget(ipywidgets.Box)],
            titles=(title,),
            layout=look(ipywidgets.Layout),
            selected_index=None,
        )
        self.add_class("wb-fold")
        self.observe(lambda _change: self.content, names=["selected_index"])

    @property
    def content(self) -> Any:
        """What is in it, made now if it was not."""
        if self.filled_with is None:
            self.filled_with = self._make()
            self.children = (self.filled_with,)
        return self.filled_with


def pane(
    title: str, children: list[ipywidgets.Widget], name: str, *, beside: ipywidgets.Widget | None = None
) -> ipywidgets.Widget:
    """Return a part of a page under a heading, with something to do beside the heading."""
    top = html(f"<h2>{title}</h2>")
    if beside is None:
        top.add_class("wb-pane-head")
    else:
        top = box(ipywidgets.HBox, [top, beside], "wb-pane-head")
    whole = box(ipywidgets.VBox, [top, *children], "wb-pane")
    whole.add_class(name)
    return whole


def box(kind: Any, children: list[ipywidgets.Widget], name: str) -> Any:
    """Return a box of ipywidgets' ``kind`` with a class of our style sheet."""
    filled = plain_widget(kind, children)
    filled.add_class(name)
    return filled


def static_text(*names: str) -> str:
    """Return files of ``static`` as one text: a widget's module after those that it uses, or style sheets."""
    return "".join((_STATIC / name).read_text(encoding="utf-8") for name in names)


class Typing(anywidget.AnyWidget):
    """Has the page around it send a text when the typing rests, and the click of a button after all that was entered before it."""

    _esm = static_text("typing.js")

    def __init__(self) -> None:
        super().__init__(layout=look(ipywidgets.Layout))
        self.on_msg(lambda *_message: self.send({"type": "pong"}))


def page_base() -> ipywidgets.Widget:
    """Return what each page and cell of ours begins with, out of sight: the style sheets, and how its fields send their texts."""
    # tree.css carries the tokens; the tree itself brings it too, and twice is harmless
    css = static_text("tree.css", "dashboard.css")
    return box(ipywidgets.Box, [html(f"<style>{css}</style>"), Typing()], "wb-style")
