"""Full resynthesis on the page: its price, then old and new rule side by side, then kept as an edit or dropped."""

from collections.abc import Callable

import ipywidgets

from workbench.engine.access.look_up_records import stored_look_ups
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.propositions import Tree
from workbench.propositions.edits import Edit
from workbench.store import Store
from workbench.views.run_view import RunView
from workbench.whatif.full_resynthesis import full_what_if, plan_full, price_line
from workbench.whatif.run_edits import WhatIfResult, require_grounded
from workbench.widgets import panels
from workbench.widgets.background import Background
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.fields import action, box, html, look, show_if, tried
from workbench.widgets.html_panel import Panel


class ResynthesisForm(ipywidgets.VBox):  # type: ignore[misc]
    """Asks the synthesizer again for the ancestors of what was edited, as ``workbench whatif --full`` does.

    Nothing of the answer counts before it is kept; kept it is one step of undo. What was paid for stays in the ledger, so an
    answer that was dropped comes again without a call as long as nothing else is edited.
    """

    def __init__(
        self,
        session: WhatIfSession,
        *,
        run: Callable[[], RunView],
        select: Callable[[str], None],
        answered: Callable[[], None],
    ) -> None:
        self._session, self._run, self._answered = session, run, answered
        #: Edits and base that the price or the answer on the screen is for.
        self._offered_for: tuple[tuple[Edit, ...], Tree] | None = None
        self._result: WhatIfResult | None = None
        self.work = Background(self._refuse)
        self.line = html()
        self.compared = Panel()
        self.compared.on_select = select
        self.ask = action(
            "Ask again how drivers combine",
            tried(self._show_price, self._refuse),
            tooltip="full resynthesis of what lies above your edits; says the price first",
        )
        self.confirm = action("Ask at this price", tried(self._begin, self._refuse))
        self.cancel = action("Not now", self._offer)
        self.keep = action(
            "Keep the new rules", tried(self._keep, self._refuse), tooltip="Undo takes them back"
        )
        self.drop = action("Drop them", self._drop, tooltip="nothing changes")
        self._all = (self.ask, self.confirm, self.cancel, self.keep, self.drop)
        row = box(ipywidgets.HBox, list(self._all), "wb-form-row")
        super().__init__([self.compared, self.line, row], layout=look(ipywidgets.Layout))
        self.add_class("wb-resynthesis")
        self._offer()

    def show(self) -> None:
        """Offer it for the edits in effect; a price or an answer for other edits goes away."""
        self.ask.disabled = not self._session.edits
        show_if(bool(self._session.edits), self)
        if self._offered_for is None or self.work.busy or self._is_current():
            return
        answered = self._result is not None
        self._offer()
        if answered:
            self._note("Your edits went on: the answer was for those before. Ask again.")

    def _is_current(self) -> bool:
        if self._offered_for is None:
            return False
        edits, base = self._offered_for
        return self._session.edits == edits and self._session.base is base

    def _offer(self) -> None:
        self._offered_for = self._result = None
        self.line.value = self.compared.value = ""
        self._show_only(self.ask)

    def _show_only(self, *shown: ipywidgets.Widget) -> None:
        for widget in self._all:
            show_if(widget in shown, widget)

    def _note(self, line: str) -> None:
        self.line.value = panels.note(line)

    def _refuse(self, why: str) -> None:
        self._offered_for = self._result = None
        self.compared.value = ""
        self.line.value = panels.refusal(why)
        self._show_only(self.ask)

    def _show_price(self) -> None:
        state = self._run().state
        require_grounded(state)
        # Both say plainly where there is no model to ask: a tree from a file, a run of somebody else's server.
        state.require_model()
        state.require_own_server()
        with self._session.lock:
            edits, base = self._session.edits, self._session.base
            plan, _ = plan_full(state, edits)
            if not plan.nodes:
                raise UsageError(
                    "nothing to ask: no rule stands above what you edited, or it was asked for these edits already"
                )
            self._offered_for = edits, base
        self._note(price_line(state, plan.nodes))
        self._show_only(self.confirm, self.cancel)

    def _begin(self) -> None:
        if not self._is_current():
            raise UsageError("the edits have changed since this price: ask for it again")
        assert self._offered_for is not None
        edits, run = self._offered_for[0], self._run()

        async def resynthesize(store: Store, state: RunState, gateway: ModelGateway) -> WhatIfResult:
            return await full_what_if(state, edits, gateway, looked_up=stored_look_ups(store, state))

        self._note("The synthesizer is being asked; the page goes on meanwhile.")
        self._show_only()
        self.work.ask(run, resynthesize, self._show_both)

    def _show_both(self, result: WhatIfResult) -> None:
        with self._session.lock:
            self._answered()
            if not self._is_current():
                raise UsageError("your edits went on while the model answered: ask again for those of now")
            self._result = result
            self.compared.value = panels.asked_again(result, self._session.now.after)
            calls = "1 model call" if result.model_calls == 1 else f"{result.model_calls} model calls"
            self._note(f"{calls}. Nothing is changed before you keep it.")
            self._show_only(self.keep, self.drop)

    def _keep(self) -> None:
        with self._session.lock:
            result = self._result
            if result is None or not self._is_current():
                raise UsageError("the edits have changed since this answer: ask again")
            self._offer()
            self._session.take_answer(result.answer_edits)
            self._note("The new rules are among your edits; Undo takes them back.")

    def _drop(self) -> None:
        self._offer()
        self._note("Dropped: the rules are as they were.")
