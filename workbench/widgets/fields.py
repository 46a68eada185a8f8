"""Fields, buttons and boxes as every page of ours has them."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import ipywidgets


def field(label: str, name: str = "") -> ipywidgets.Text:
    """Return a field for one line of text, its label shown inside while it is empty."""
    text = ipywidgets.Text(placeholder=label, continuous_update=True)
    # A placeholder is no label: a screen reader needs a real one, which the style sheet hides.
    text.description, text.description_allow_html = label, False
    text.add_class("wb-field")
    if name:
        text.add_class(name)
    return text


def choice(options: list[Any], label: str, name: str = "wb-chosen") -> ipywidgets.Dropdown:
    """Return a choice of one of several; its label is there for a screen reader, and hidden by the style sheet."""
    dropdown = ipywidgets.Dropdown(options=options, description=label)
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
    button = ipywidgets.Button(description=label, tooltip=tooltip)
    button.add_class("wb-action")
    button.on_click(lambda _button: act())
    return button


def fold(title: str, content: ipywidgets.Widget) -> ipywidgets.Widget:
    """Return a closed fold that opens on a click."""
    accordion = ipywidgets.Accordion([content], titles=(title,))
    accordion.add_class("wb-fold")
    return accordion


def pane(
    title: str, children: list[ipywidgets.Widget], name: str, *, beside: ipywidgets.Widget | None = None
) -> ipywidgets.Widget:
    """Return a part of a page under a heading, with something to do beside the heading."""
    head = ipywidgets.HTML(f"<h2>{title}</h2>")
    top = box(ipywidgets.HBox, [head, beside] if beside is not None else [head], "wb-pane-head")
    whole = box(ipywidgets.VBox, [top, *children], "wb-pane")
    whole.add_class(name)
    return whole


def box(kind: Any, children: list[ipywidgets.Widget], name: str) -> Any:
    """Return a box of ipywidgets' ``kind`` with a class of our style sheet."""
    filled = kind(children)
    filled.add_class(name)
    return filled


def style() -> ipywidgets.Widget:
    """Return the style sheets of a page as a widget."""
    # tree.css carries the tokens; the tree itself brings it too, and twice is harmless
    folder = files("workbench.widgets") / "static"
    css = "".join((folder / name).read_text(encoding="utf-8") for name in ("tree.css", "dashboard.css"))
    sheet = ipywidgets.HTML(f"<style>{css}</style>")
    sheet.add_class("wb-style")
    return sheet
