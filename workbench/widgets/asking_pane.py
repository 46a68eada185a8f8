"""Asking a run on its page, as ``workbench ask`` does: what needs no model at once; a model says its price first."""

import asyncio
from collections.abc import Callable

import ipywidgets

from workbench.annotations.case_against import with_model
from workbench.conversation.cited_answer import CitedAnswer, checked, rule_answer
from workbench.conversation.model_answers import asked_model, model_answer, price_of_question
from workbench.conversation.run_look_ups import RunLookUps
from workbench.engine.assembly import open_gateway
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.models.model_options import OFFLINE
from workbench.store import Store
from workbench.views.run_view import RunView, view_of
from workbench.whatif.run_edits import require_grounded
from workbench.widgets import panels
from workbench.widgets.background import Background
from workbench.widgets.fields import action, box, field, html, look, show_if, tried
from workbench.widgets.html_panel import Panel


class AskingPane(ipywidgets.VBox):  # type: ignore[misc]
    """A question about the run, and its answer with the drivers that it cites; nothing of the run changes."""

    def __init__(
        self, *, run: Callable[[], RunView], select: Callable[[str], None], paid: Callable[[], None]
    ) -> None:
        self._run, self._paid = run, paid
        self.work = Background(self._refuse)
        self.question = field("a question for a model: what would make it 50%?", "wb-long")
        self.model = field("model, if not the run's", "wb-model")
        self.explain = action(
            "Explain answer",
            tried(self._explain, self._refuse),
            tooltip="why, what matters most, what changed; no model is asked",
        )
        self.priced = action("What would a model cost", tried(self._show_price, self._refuse))
        self.confirm = action("Ask at this price", tried(self._begin, self._refuse))
        self.answer, self.line = Panel(), html()
        self.answer.on_select = select
        self._offered: tuple[str, str] | None = None
        super().__init__(
            [
                self.explain,
                self.answer,
                self.line,
                box(ipywidgets.HBox, [self.question], "wb-form-row"),
                box(ipywidgets.HBox, [self.model, self.priced, self.confirm], "wb-form-row"),
            ],
            layout=look(ipywidgets.Layout),
        )
        self.add_class("wb-asking")
        show_if(False, self.confirm)

    def _explain(self) -> None:
        self._clear()
        run = self._run()
        require_grounded(run.state)
        with Store(run.home) as store:
            look_ups = RunLookUps(store, run)
            self._show(checked(look_ups, rule_answer(look_ups)))

    def _typed(self) -> str:
        question = str(self.question.value).strip()
        if not question:
            raise UsageError("type a question first")
        return question

    def _clear(self) -> None:
        self._offered = None
        self.line.value = self.answer.value = ""
        show_if(False, self.confirm)

    def _state_to_ask(self, name: str) -> RunState:
        run = self._run()
        require_grounded(run.state)
        state = with_model(run.state, name or None, None)
        if asked_model(state) == OFFLINE:
            raise UsageError("the key-free analyst reads no question: name a model")
        state.require_own_server()
        return state

    def _show_price(self) -> None:
        self._clear()
        name = str(self.model.value).strip()
        state, question = self._state_to_ask(name), self._typed()
        self._offered = question, name
        self.line.value = panels.note(price_of_question(state))
        show_if(True, self.confirm)

    def _begin(self) -> None:
        offered = self._offered
        if offered is None or offered != (self._typed(), str(self.model.value).strip()):
            raise UsageError("the question or the model has changed since this price: ask for it again")
        state, home = self._state_to_ask(offered[1]), self._run().home

        async def answered() -> CitedAnswer:
            with Store(home) as store:
                own = with_model(load_state(store, state.run_id), offered[1] or None, None)
                look_ups = RunLookUps(store, view_of(store, own))
                return await model_answer(store, own, open_gateway(store, own), look_ups, offered[0])

        self._clear()
        self.line.value = panels.note("The model is being asked; the page goes on meanwhile.")
        self.work.start(lambda: asyncio.run(answered()), self._show_paid)

    def _show_paid(self, answer: CitedAnswer) -> None:
        self.line.value = ""
        self._show(answer)
        self._paid()

    def _show(self, answer: CitedAnswer) -> None:
        cost = "price unknown" if answer.cost_usd is None else f"${answer.cost_usd:.4f}"
        self.answer.value = panels.rendered(
            "cited_answer",
            answer=answer,
            who=f"{answer.model}, {cost}" if answer.model else "no model was asked",
        )

    def _refuse(self, why: str) -> None:
        self._offered = None
        show_if(False, self.confirm)
        self.line.value = panels.refusal(why)
