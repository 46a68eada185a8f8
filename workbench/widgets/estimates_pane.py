"""What people hold the claim and its drivers to be, beside the model's answer: a table and a row to add one, as ``workbench estimate`` does."""

from collections.abc import Callable

import ipywidgets

from workbench.annotations.estimates import estimate_rows, give_estimate
from workbench.errors import UsageError
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.views.run_view import RunView
from workbench.widgets import panels
from workbench.widgets.fields import action, box, choice, field, html, look, offer, tried
from workbench.widgets.html_panel import Panel


class EstimatesPane(ipywidgets.VBox):  # type: ignore[misc]
    """Several people's estimates; none of them changes a number of the run."""

    def __init__(
        self, author: ipywidgets.Text, estimated: Callable[[], None], select: Callable[[str], None]
    ) -> None:
        self._estimated = estimated
        self._run: RunView | None = None
        self._node: NodeId = ROOT
        self.standing = Panel()
        self.standing.on_select = select
        self.name = field("your name", "wb-author")
        ipywidgets.link((author, "value"), (self.name, "value"))
        self.about = choice([ROOT], "what the estimate is of")
        self.p = field("0.4 or 40%")
        self.why = field("why", "wb-long")
        self.give = action(
            "Estimate",
            tried(lambda: self._put(str(self.p.value)), self._refuse),
            tooltip="beside the model's",
        )
        self.withdraw = action("Take mine back", tried(lambda: self._put(None), self._refuse))
        self.line = html()
        row = [self.about, self.p, self.why, self.name, self.give, self.withdraw]
        super().__init__(
            [self.standing, box(ipywidgets.HBox, row, "wb-form-row"), self.line],
            layout=look(ipywidgets.Layout),
        )
        self.add_class("wb-estimating")

    def show(self, run: RunView, node: NodeId) -> None:
        """Show the estimates of a run; a new one may be of ``node`` or of the claim."""
        moved = node != self._node
        self._run, self._node = run, node
        self.standing.value = panels.rendered("estimates", rows=estimate_rows(run.state))
        places = list(dict.fromkeys([ROOT, node])) if node in run.tree else [ROOT]
        offer(self.about, places, node if moved else None)

    def _put(self, p: str | None) -> None:
        self.line.value = ""
        run = self._run
        assert run is not None
        if not self.name.value.strip():
            raise UsageError("type your name first: an estimate is scored under it (typed, not proved)")
        with Store(run.home) as store:
            give_estimate(
                store,
                run.run_id,
                str(self.about.value),
                p,
                author=self.name.value,
                why="" if p is None else str(self.why.value),
            )
        self.p.value = self.why.value = ""
        self._estimated()

    def _refuse(self, why: str) -> None:
        self.line.value = panels.refusal(why)
