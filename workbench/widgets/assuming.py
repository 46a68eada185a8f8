"""Below a proposition whose logic rule rests on an assumption: how probable that assumption (PA) is taken to be."""

import ipywidgets

from workbench.engine.whatif.edits import EditRequest
from workbench.engine.whatif.typed_values import parse_probability
from workbench.errors import UsageError
from workbench.propositions import ROOT, NodeId
from workbench.synthesis.sensitivity.assumptions import assumption_detail, assumption_id, assumption_of
from workbench.widgets import panels
from workbench.widgets.editing import refuse_unchanged
from workbench.widgets.fields import action, box, field, html, look, show_if
from workbench.widgets.numbers import is_shown, typed
from workbench.widgets.session import WhatIfSession


class AssumptionForm(ipywidgets.VBox):  # type: ignore[misc]
    """What is assumed, and a field for its probability: an edit like any other, so it is undone and kept as they are.

    Parameters
    ----------
    session : WhatIfSession
    """

    def __init__(self, session: WhatIfSession) -> None:
        self._session = session
        self.node: NodeId = ROOT
        self._shown: tuple[NodeId, float] | None = None
        self.detail = html()
        self.line = html()
        self.probability = field("probability of the assumption", "wb-short")
        self.assume = action(
            "Set assumption", self._assume, tooltip="recomputes this proposition and those above"
        )
        super().__init__(
            [self.detail, box(ipywidgets.HBox, [self.probability, self.assume], "wb-form-row"), self.line],
            layout=look(ipywidgets.Layout),
        )
        self.add_class("wb-assuming")

    def show(self, node: NodeId) -> None:
        """Fill it in for a proposition of the edited tree; it is away where nothing is assumed."""
        if node != self.node:
            self.line.value = ""
        self.node = node
        tree = self._session.tree
        p = assumption_of(tree, node)
        show_if(p is not None, self)
        if p is None or (node, p) == self._shown:
            return  # what a person is typing stays
        self._shown = (node, p)
        name = assumption_id(node)
        self.detail.value = panels.rendered(
            "assumption", name=name, detail=assumption_detail(tree, name), p=p
        )
        self.probability.value = typed(p)

    def _assume(self) -> None:
        self.line.value = ""
        try:
            p = parse_probability(self.probability.value)
            with self._session.lock:
                shown = assumption_of(self._session.tree, self.node)
                refuse_unchanged(is_shown(shown, p, self.probability.value))
                request = EditRequest(values={assumption_id(self.node): p})
                self._session.change(request.edits(self._session.tree, self._session.override()))
        # An exception in a widget's callback is seen by nobody.
        except UsageError as error:
            self.line.value = panels.refusal(str(error))
