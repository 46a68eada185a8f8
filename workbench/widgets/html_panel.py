"""Plain HTML with a live widget in it: changes go to the browser piece by piece, and a saved notebook holds a page to read."""

import re
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import anywidget
import ipywidgets
import traitlets
from markupsafe import escape

from workbench.widgets.fields import look, static_text

_TAG = re.compile(r"(<[^>]*>)")

#: Replace ``drop`` pieces from place ``at`` on by these.
Splice = tuple[int, int, list[str]]


def splices(old: list[str], new: list[str]) -> list[Splice]:
    """Return what makes the new pieces of the old ones, to be done in this order.

    Lists of one length are compared place by place, others have their different middle replaced.

    >>> splices(["<b>", "1", "</b>"], ["<b>", "2", "</b>"])
    [(1, 1, ['2'])]
    >>> splices(["a", "z"], ["a", "b", "c", "z"])
    [(1, 0, ['b', 'c'])]
    """
    if len(old) == len(new):
        places = enumerate(zip(old, new, strict=True))
        return [(place, 1, [after]) for place, (before, after) in places if before != after]
    shorter = min(len(old), len(new))
    start = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    rest = shorter - start
    end = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    return [(start, len(old) - end - start, new[start : len(new) - end])]


class Panel(anywidget.AnyWidget):
    """HTML that Python rendered and escaped; assigning ``value`` sends only the pieces that differ."""

    _esm = static_text("panel.js")

    content = traitlets.Dict().tag(sync=True)

    def __init__(self, value: str = "", **kwargs: Any):
        kwargs.setdefault("layout", look(ipywidgets.Layout))
        super().__init__(content={"rev": 0, "pieces": _TAG.split(value)}, **kwargs)
        #: Called with the id of a proposition that was clicked (an element with ``data-select``).
        self.on_select: Callable[[str], None] = lambda node: None
        #: Called with the name of a fold that was opened or a button that was pressed (``details`` or ``button`` with ``data-ask``).
        self.on_open: Callable[[str], None] = lambda name: None
        self.on_msg(self._on_message)

    @property
    def value(self) -> str:
        """The HTML as it stands."""
        return "".join(self.content["pieces"])

    @value.setter
    def value(self, html: str) -> None:
        # Changed in place: traitlets would send the whole of what is assigned.
        state: dict[str, Any] = self.content
        pieces = _TAG.split(html)
        changes = splices(state["pieces"], pieces)
        if not changes:
            return
        state["pieces"] = pieces
        state["rev"] += 1
        self.send({"rev": state["rev"], "splices": changes})

    def offer(self, name: str, media: str, data: bytes) -> None:
        """Have the browser save a file under a name."""
        self.send({"file": name, "media": media}, buffers=[data])

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        message = content if isinstance(content, dict) else {}
        if message.get("type") == "select":
            self.on_select(str(message.get("id", "")))
        elif message.get("type") == "seen" and message.get("rev") != self.content["rev"]:
            # Splices that were sent before the page had a view of this panel were heard by nobody.
            self.send_state("content")
        elif message.get("type") == "open":
            self.on_open(str(message.get("name", "")))


class InPlace(anywidget.AnyWidget):
    """Has the front end put a widget where a cell's HTML stands; it has no view of its own."""

    _esm = static_text("in_place.js")

    child = traitlets.Unicode().tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)
    #: Whether the page that shows it is dark.
    dark = traitlets.Bool(False).tag(sync=True)

    def __init__(self, widget: ipywidgets.Widget):
        super().__init__(child=f"IPY_MODEL_{widget.model_id}", name=f"workbench-in-place-{widget.model_id}")
        if widget.has_trait("dark"):
            # A frame inside the widget takes no style of the page around it: the widget has to know.
            traitlets.dlink((self, "dark"), (widget, "dark"))


_places: "WeakKeyDictionary[ipywidgets.Widget, InPlace]" = WeakKeyDictionary()


def in_place(widget: ipywidgets.Widget, html: str, text: str) -> dict[str, str]:
    """Return the output of a cell that shows a widget: HTML alone, which the live widget replaces while a kernel answers.

    With the widget's own MIME type beside it JupyterLab would take that and, the kernel gone, say "model not found" where
    the HTML could be read.
    """
    place = _places.get(widget)
    if place is None:
        place = _places[widget] = InPlace(widget)
    return {
        "text/html": f'<div class="{escape(place.name)}">{html}</div>',
        "text/plain": text,
    }
