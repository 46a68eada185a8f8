"""Below an inner proposition: ask the synthesizer again, its price first, to see how far the weights can be trusted."""

from collections.abc import Callable

import ipywidgets

from workbench.engine import documents
from workbench.engine.run.asking import ModelGateway
from workbench.engine.run.state import RunState
from workbench.engine.view import RunView
from workbench.engine.whatif.asking_again import price_line
from workbench.engine.whatif.refits import refit_nodes
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.widgets import panels
from workbench.widgets.background import Background
from workbench.widgets.fields import action, box, html, look, show_if, tried

#: How often the synthesizer is asked; `workbench refit --k` takes any number.
_TIMES = 5


class RefittingForm(ipywidgets.VBox):  # type: ignore[misc]
    """A button that says what it costs, and a second one that does it.

    Parameters
    ----------
    refitted : callable
        Called when the outcome is on record, on the thread that asked.
    """

    def __init__(self, refitted: Callable[[], None]) -> None:
        self._refitted = refitted
        self._run: RunView | None = None
        self.node: NodeId = ROOT
        self.work = Background(self._refuse)
        self.line = html()
        self.ask = action(
            f"How sure are these weights? Ask {_TIMES} times",
            tried(self._show_price, self._refuse),
            tooltip="says the price first",
        )
        self.confirm = action("Ask at this price", tried(self._refit, self._refuse))
        self.cancel = action("Not now", lambda: self._offer())
        super().__init__(
            [box(ipywidgets.HBox, [self.ask, self.confirm, self.cancel], "wb-form-row"), self.line],
            layout=look(ipywidgets.Layout),
        )
        self._offer()

    def show(self, run: RunView, node: NodeId) -> None:
        """Offer it for a proposition whose rule a synthesizer gave."""
        moved = node != self.node
        self._run, self.node = run, node
        fit = node in run.tree and bool(run.tree[node].children) and run.tree.root.p is not None
        show_if(fit, self)
        if moved and not self.work.busy:  # what is being asked for goes on, and its line stays
            self._offer()

    def _offer(self) -> None:
        self.line.value = ""
        show_if(True, self.ask)
        show_if(False, self.confirm, self.cancel)

    def _show_price(self) -> None:
        assert self._run is not None
        nodes = refit_nodes(self._run.state, (self.node,))
        self.line.value = panels.note(price_line(self._run.state, nodes, times=_TIMES))
        show_if(False, self.ask)
        show_if(True, self.confirm, self.cancel)

    def _refit(self) -> None:
        run, node = self._run, self.node
        assert run is not None

        async def refit(store: Store, state: RunState, gateway: ModelGateway) -> None:
            await documents.refits(store, state, refit_nodes(state, (node,)), _TIMES, gateway)

        self.line.value = panels.note("The synthesizer is being asked; the page goes on meanwhile.")
        show_if(False, self.ask, self.confirm, self.cancel)
        self.work.ask(run, refit, lambda _: self._show_answer())

    def _show_answer(self) -> None:
        self._offer()
        self._refitted()

    def _refuse(self, why: str) -> None:
        self._offer()
        self.line.value = panels.refusal(why)
