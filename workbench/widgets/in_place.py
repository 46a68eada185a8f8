"""A live widget in the place of plain HTML: what a saved notebook holds is a page to read, never a model that is gone."""

from importlib.resources import files
from weakref import WeakKeyDictionary

import anywidget
import ipywidgets
import traitlets
from markupsafe import escape


class InPlace(anywidget.AnyWidget):
    """Has the front end put a widget where a cell's HTML stands; it has no view of its own.

    Parameters
    ----------
    widget : ipywidgets.Widget
        What is to be shown, in every place whose class is ``name``.
    """

    _esm = (files("workbench.widgets") / "static" / "in_place.js").read_text(encoding="utf-8")

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

    Parameters
    ----------
    html : str
        What is shown without a kernel; safe to show as it is.
    text : str
        The same for a terminal.
    """
    place = _places.get(widget)
    if place is None:
        place = _places[widget] = InPlace(widget)
    return {
        "text/html": f'<div class="{escape(place.name)}">{html}</div>',
        "text/plain": text,
    }
