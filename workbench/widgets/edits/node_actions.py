"""Below a proposition: ground a leaf again, or try a failed one once more, each at its price."""

from collections.abc import Callable
from pathlib import Path

import ipywidgets

from workbench.engine.detached import resume_detached
from workbench.engine.leaves.single_node import regrounding_line, reopen_leaf, trying_line
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.views.run_view import RunView
from workbench.widgets import panels
from workbench.widgets.fields import action, box, field, html, look, show_if, tried


class RegroundingForm(ipywidgets.VBox):  # type: ignore[misc]
    """A button that says what it costs, and a second one that does it, in a process of its own."""

    def __init__(self, author: Callable[[], str], begun: Callable[[], None]) -> None:
        self._author, self._begun = author, begun
        self._run: RunView | None = None
        self.node: NodeId = ROOT
        self._status = ""
        self.earlier = html()
        self.line = html()
        self.why = field("why again (goes on record)")
        self.ask = action(
            "Collect evidence again", tried(self._show_price, self._refuse), tooltip="says the price first"
        )
        self.confirm = action("Collect it at this price", tried(self._reopen, self._refuse))
        self.cancel = action("Not now", lambda: self._offer())
        self.retry = action(
            "Try again",
            tried(self._show_price_of_a_try, self._refuse),
            tooltip="this one alone, and what follows above; says the price first",
        )
        self.try_now = action("Try it at this price", tried(self._resume, self._refuse))
        self._all = (self.ask, self.retry, self.why, self.confirm, self.try_now, self.cancel)
        row = box(ipywidgets.HBox, list(self._all), "wb-form-row")
        super().__init__([self.earlier, row, self.line], layout=look(ipywidgets.Layout))
        self.add_class("wb-regrounding")

    def show(self, run: RunView, node: NodeId) -> None:
        """Offer what can be done with a proposition as the log has it now."""
        moved = node != self.node
        self._run, self.node = run, node
        known = node in run.tree
        self.earlier.value = panels.earlier(run.state.earlier.get(node, [])) if known else ""
        status = run.state.node_status(node) if known else ""
        show_if(known and (not run.tree[node].children or status == "failed"), self)
        if moved or status != self._status:
            # A try has ended or begun since, here or elsewhere.
            self._status = status
            self.line.value = ""
            self._offer()

    def _offer(self) -> None:
        run = self._run
        if run is None or self.node not in run.tree:
            return
        status = run.state.node_status(self.node)
        self.line.value = ""
        self._show_only(self.retry if status == "failed" else self.ask if status == "grounded" else None)

    def _show_only(self, *shown: ipywidgets.Widget | None) -> None:
        for widget in self._all:
            show_if(widget in shown, widget)

    def _show_price(self) -> None:
        assert self._run is not None
        self.line.value = panels.note(regrounding_line(self._run.state, self.node))
        self._show_only(self.why, self.confirm, self.cancel)

    def _show_price_of_a_try(self) -> None:
        assert self._run is not None
        self.line.value = panels.note(trying_line(self._run.state, [self.node]))
        self._show_only(self.try_now, self.cancel)

    def _reopen(self) -> None:
        with Store(self._home()) as store:
            reopen_leaf(store, self._id(), self.node, author=self._author(), reason=self.why.value.strip())
        self.why.value = ""
        self._resume()

    def _resume(self) -> None:
        with Store(self._home()) as store:
            process = resume_detached(store, self._id(), leaves=[self.node])
        process.require_running()
        self._show_only(None)
        assert self._run is not None
        known = self._run.tree[self.node].belief is not None
        stands = "; the old value stands until the new is in" if known else ""
        doing = "is combined again" if self._run.tree[self.node].children else "gets its evidence"
        self.line.value = panels.note(f"{self.node} {doing}{stands}.")
        self._begun()

    def _home(self) -> Path:
        assert self._run is not None
        return self._run.home

    def _id(self) -> str:
        assert self._run is not None
        return self._run.run_id

    def _refuse(self, why: str) -> None:
        self.line.value = panels.refusal(why)
