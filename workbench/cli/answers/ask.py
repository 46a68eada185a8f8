"""``ask``: what a finished run says of itself, or a question that a model answers, which may look and never touch."""

import asyncio
from typing import Annotated

import typer

from workbench.annotations.case_against import with_model
from workbench.cli.common import (
    ApiBase,
    AsJson,
    RunId,
    command,
    confirm,
    echo,
    emit_json,
    open_store,
    say,
    unlisted,
)
from workbench.conversation.cited_answer import checked
from workbench.conversation.model_answers import model_answer, price_of_question
from workbench.conversation.rule_answers import rule_answer
from workbench.conversation.run_look_ups import RunLookUps
from workbench.engine.assembly import open_gateway
from workbench.engine.record.fold import load_state
from workbench.errors import Command, Option, UsageError, sentence
from workbench.views.run_view import view_of
from workbench.whatif.run_edits import require_grounded


@command
def ask(
    run: RunId,
    question: Annotated[str, typer.Argument(help='The question for --model, in quotes: "why so low?"')] = "",
    model: Annotated[str | None, typer.Option(help="A model that answers the question.")] = None,
    api_base: ApiBase = None,
    yes: Annotated[bool, unlisted("--yes", help="Do not ask before paying.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question about a run out of its own records, with the cells and rows that the answer rests on.

    Without a model it prints why, what matters most and what changed, whatever the question; --model answers any. Nothing is changed.
    """
    store = open_store()
    state = load_state(store, store.resolve_run(run))
    require_grounded(state)
    look_ups = RunLookUps(store, view_of(store, state))
    if model is None:
        answer = checked(look_ups, rule_answer(look_ups))
        if question:
            say(sentence("only a model reads the question: ", Option("model", "PROVIDER/NAME")))
    else:
        if not question.strip():
            raise UsageError("type a question for the model, in quotes")
        state = with_model(state, model, api_base)
        say(price_of_question(state))
        confirm("go on?", yes=yes)
        answer = asyncio.run(model_answer(store, state, open_gateway(store, state), look_ups, question))
    if as_json:
        emit_json(answer.to_json())
        return
    echo(answer.text)
    for cite in answer.cites:
        place = ", ".join(part for part in (cite.cell, f"row {cite.row}" if cite.row else None) if part)
        echo(f"  {cite.node}{f': {place}' if place else ': its rule'}")
    if answer.proposal:
        values = [("set", f"{node}={p:g}") for node, p in answer.proposal.items()]
        echo(sentence("Try it, nothing is changed: ", Command("whatif", (state.run_id,), tuple(values))))
