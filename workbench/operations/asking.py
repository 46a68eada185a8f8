"""What a finished run says of itself, or a question that a model answers, which may look and never touch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.errors import Command, Option, UsageError, sentence
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark
from workbench.operations.fields import ApiBase, RunName


class Ask(Operation):
    """Answer a question about a run from its own records, with the cells and rows behind the answer.

    Without a model it prints why, what matters most and what changed, whatever the question; --model answers any. Nothing is changed.
    """

    places = ("run", "question")
    short = ("model",)

    run: RunName
    question: str = ""
    """The question for --model, in quotes: "why so low?"."""
    model: str | None = None
    """A model that answers the question."""
    api_base: ApiBase = None

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the answer with its cites, what it cost, and a what-if that it proposes."""
        from workbench.annotations.case_against import with_model
        from workbench.conversation.cited_answer import checked, rule_answer
        from workbench.conversation.model_answers import asked_model, model_answer, price_of_question
        from workbench.conversation.run_look_ups import RunLookUps
        from workbench.engine.assembly import open_gateway
        from workbench.models.model_options import OFFLINE
        from workbench.views.run_view import view_of
        from workbench.whatif.run_edits import require_grounded

        store, state = home.store, home.state(self.run)
        require_grounded(state)
        look_ups = RunLookUps(store, view_of(store, state))
        if self.model is None:
            answer = checked(look_ups, rule_answer(look_ups))
        elif not self.question.strip():
            raise UsageError("type a question for the model, in quotes")
        else:
            state = with_model(state, self.model, self.api_base)
            if asked_model(state) == OFFLINE:
                raise UsageError("the key-free analyst cannot read a question: name a model")
            home.say(price_of_question(state))
            home.confirm("go on?")
            answer = await model_answer(store, state, open_gateway(store, state), look_ups, self.question)
        return {"run_id": state.run_id, **answer.to_json()}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the answer, its cites, and the command that tries what it proposes."""
        if self.question and self.model is None:
            yield Remark(
                sentence(
                    "Without a model, every question gets this answer: why, what matters most, what changed. For more, add ",
                    Option("model", "PROVIDER/NAME"),
                )
            )
        yield document["answer"]
        for cite in document["cites"]:
            row = f"row {cite['row']}" if cite["row"] else None
            yield f"  {cite['node']}: {', '.join(filter(None, (cite['cell'], row))) or 'its rule'}"
        if document["proposal"]:
            values = [("set", f"{node}={p:g}") for node, p in document["proposal"]["set"].items()]
            yield sentence(
                "Try it, nothing is changed: ", Command("whatif", (document["run_id"],), tuple(values))
            )
