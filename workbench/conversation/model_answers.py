"""Let a model answer a question about a run: it looks things up, changes nothing, is priced and recorded."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from proxies.asof.asof_text import as_of
from workbench.agents.conversation import Conversation
from workbench.agents.errors import AgentGaveUp, MalformedReply
from workbench.agents.replies.json_reply import read_json
from workbench.agents.replies.lenient_json import number_of
from workbench.conversation.cited_answer import CitedAnswer, answer_faults
from workbench.conversation.run_look_ups import Cite, RunLookUps
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.state import RunState
from workbench.engine.run_texts import tree_as_asked
from workbench.errors import ProviderError
from workbench.models.base import NodeRef
from workbench.models.costs import forecast_cost
from workbench.models.thoughts import without_thoughts
from workbench.prompts import prompts_of
from workbench.quoting import quote
from workbench.store import ModelLedger, Store

STAGE = "ask"
#: Look-ups of one question.
MOST_LOOK_UPS = 8
_LONGEST_QUESTION, _LONGEST_RESULT = 2_000, 6_500

Move = tuple[str, Mapping[str, Any]] | CitedAnswer


async def model_answer(
    store: Store, state: RunState, gateway: ModelGateway, look_ups: RunLookUps, question: str
) -> CitedAnswer:
    """Ask a model a question about a run.

    Each question is at an address of its own (trial 0, an attempt that no reply of the run has).

    Raises `ProviderError`: The model gave no answer whose cites exist.
    """
    attempt = 1 + max(state.seq, ModelLedger(store).last_attempt(state.run_id))
    ask = gateway.asker(run=state.run_id, node="P0", trial=0, attempt=attempt, role="judge")
    before, cutoff = ModelLedger(store).cost(state.run_id), state.parsed_cutoff()
    root = tree_as_asked(state.tree, cutoff).root
    render = prompts_of(ask).render
    reply_format = render("ask_reply")
    claim = f"{root.id}: {root.statement}"
    conversation = Conversation(
        ask,
        render("ask_system", most=str(MOST_LOOK_UPS)),
        about=claim,
        nodes=[NodeRef(id=root.id, statement=root.statement)],
        cutoff=cutoff,
        settings=state.settings.agent,
    )
    prompt = conversation.render(
        "ask_first",
        claim=claim,
        question=as_of(question[:_LONGEST_QUESTION], cutoff).framed(""),
        tree=quote(look_ups.look_up("tree", {}), _LONGEST_RESULT * 4).text,
        reply_format=reply_format,
    )
    try:
        for number in range(MOST_LOOK_UPS + 1):
            last = number == MOST_LOOK_UPS
            move = await conversation.exchange(
                STAGE,
                prompt,
                lambda text, last=last: parse_move(text, look_ups, must_answer=last),  # type: ignore[misc]
                reply_format=reply_format,
                choice="none",
            )
            if isinstance(move, CitedAnswer):
                after = ModelLedger(store).cost(state.run_id)
                cost = None if after is None or before is None else after - before
                return replace(move, cost_usd=cost, model=asked_model(state))
            result = quote(look_ups.look_up(*move), _LONGEST_RESULT).text
            prompt = render(
                "ask_next",
                look_up=move[0],
                result=result,
                left=str(MOST_LOOK_UPS - number - 1),
                reply_format=reply_format,
            )
    except AgentGaveUp as error:
        raise ProviderError(f"no answer whose cites exist: {error}") from None
    raise AssertionError("the last move is an answer")


def parse_move(text: str, look_ups: RunLookUps, *, must_answer: bool = False) -> Move:
    """Parse a model's reply: a look-up, or an answer whose cites exist.

    Raises `MalformedReply`: Neither, or an answer that cites nothing that exists; the reason goes back to the model.
    """

    def read(data: Any) -> Move:
        if not isinstance(data, dict):
            raise MalformedReply("the JSON must be an object with look_up, or with answer and cites")
        if "look_up" in data and not must_answer:
            arguments = data.get("arguments", {})
            if not isinstance(data["look_up"], str) or not isinstance(arguments, dict):
                raise MalformedReply('"look_up" is a name and "arguments" an object')
            return data["look_up"], arguments
        words, listed, proposal = data.get("answer"), data.get("cites"), data.get("proposal") or {}
        if not isinstance(words, str) or not words.strip():
            raise MalformedReply(
                '"answer" must be a text: no look-ups are left' if must_answer else '"answer" must be a text'
            )
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise MalformedReply(
                '"cites" must be a list of objects, each with the id of a driver, a cell and a row'
            )
        cites = tuple(
            Cite(
                node=str(item.get("node")),
                cell=_text_or_none(item.get("cell")),
                row=_text_or_none(item.get("row")),
            )
            for item in listed
        )
        values = proposal.get("set", proposal) if isinstance(proposal, dict) else None
        if not isinstance(values, dict):
            raise MalformedReply('"proposal" is {"P1": 0.4} or null')
        numbers = {str(node): number_of(p) for node, p in values.items()}
        if not all(isinstance(p, int | float) and 0 <= p <= 1 for p in numbers.values()):
            raise MalformedReply("the proposal's values are probabilities")
        answer = CitedAnswer(
            text=words.strip(), cites=cites, proposal={node: float(p) for node, p in numbers.items()}
        )
        if faults := answer_faults(look_ups, answer):
            raise MalformedReply("; ".join(faults)[:400])
        return answer

    move, _ = read_json(without_thoughts(text), read, what="```json block")
    return move


def _text_or_none(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def asked_model(state: RunState) -> str:
    """Return the name of the model that answers: the judge's, else the run's."""
    return state.settings.models.get("judge", state.settings.model)


def price_of_question(state: RunState) -> str:
    """Forecast the price of a question, as one line."""
    model = asked_model(state)
    forecast = forecast_cost(model, leaves=0, inner=3)
    price = "price unknown" if forecast.cost_usd is None else f"about ${forecast.cost_usd:.4f}"
    return f"asking {model}: a few calls, at most {MOST_LOOK_UPS + 1} and repeats, {price}"
