"""The claims of a home as a table that is sorted, searched and walked in the browser; what changes a run goes to Python."""

from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import ipywidgets
import traitlets

from workbench.errors import WorkbenchError
from workbench.views.claims_list import MOST_COMPARED
from workbench.widgets.fields import look, static_text
from workbench.widgets.page_terms import on_page

#: Claims in the page at once; the list of all runs reaches the others.
MOST_CLAIMS = 500


class ClaimsTable(anywidget.AnyWidget):
    """Two zones of the home page: what there is to do, and the claims."""

    _esm = static_text("kernel_state.js", "page_tools.js", "claims.js")
    _css = static_text("claims.css")

    claims: Any = traitlets.List().tag(sync=True)
    acts: Any = traitlets.List().tag(sync=True)
    most_compared = traitlets.Int(MOST_COMPARED).tag(sync=True)
    line = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        *,
        watch: Callable[[str, bool], None],
        retry: Callable[[str], None],
        compare: Callable[[list[str]], None],
    ) -> None:
        # Not _compare: ipywidgets has a method of that name.
        self._on_watch, self._on_retry, self._on_compare = watch, retry, compare
        super().__init__(layout=look(ipywidgets.Layout))
        self.on_msg(self._on_message)

    def show(self, claims: Sequence[dict[str, Any]], acts: Sequence[dict[str, Any]]) -> None:
        """Show claims and what there is to do; what is the same is not sent again."""
        self.claims, self.acts = list(claims[:MOST_CLAIMS]), list(acts)

    def go(self, run_id: str) -> None:
        """Have the page open a run."""
        self.send({"go": run_id})

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        message = content if isinstance(content, dict) else {}
        run_id = str(message.get("run", ""))
        try:
            match message.get("type"):
                case "watch":
                    self._on_watch(run_id, message.get("on") is True)
                case "retry":
                    self._on_retry(run_id)
                case "compare":
                    runs = message.get("runs")
                    self._on_compare([str(each) for each in runs] if isinstance(runs, list) else [])
        # An exception in a widget's callback is seen by nobody; the page shows this line.
        except WorkbenchError as error:
            self.line = on_page(error)
        else:
            self.line = ""
