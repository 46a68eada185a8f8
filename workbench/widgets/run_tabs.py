"""The five tabs of a run's page: which panes stand in which, and the bar that opens them."""

from typing import Any

import anywidget
import ipywidgets
import traitlets

from workbench.widgets.fields import box, look, static_text

#: The tabs in order: the name in the page's address, and the word on the page.
TABS = (
    ("answer", "Answer"),
    ("drivers", "Drivers"),
    ("evidence", "Evidence"),
    ("what-if", "What-if"),
    ("review", "Review"),
)


class TabBar(anywidget.AnyWidget):
    """The bar of tabs with what a page can do as a whole: copy its address and citation, say its keys, list its commands.

    Which tab is open is the browser's affair; setting ``tab`` opens one from here.
    """

    _esm = static_text("page_tools.js", "tabs.js")

    tabs = traitlets.List(list(map(list, TABS))).tag(sync=True)
    tab = traitlets.Unicode("").tag(sync=True)
    citation = traitlets.Unicode("").tag(sync=True)
    owns_address = traitlets.Bool(False).tag(sync=True)

    def __init__(self, **kwargs: Any):
        kwargs.setdefault("layout", look(ipywidgets.Layout))
        super().__init__(**kwargs)


def tab_panel(name: str, panes: list[ipywidgets.Widget]) -> Any:
    """Return the panes of one tab, shown while that tab is open."""
    panel = box(ipywidgets.VBox, panes, f"wb-tab-{name}")
    panel.add_class("wb-tab-panel")
    return panel
