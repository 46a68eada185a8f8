"""The rules that scripted models are held to, and what of them our requests would break without care."""

from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.provider_rules import body_of, fault
from tests.fakes.provider_shapes import TOOL, TURNS, request
from workbench.agents.replies import reply_schemas
from workbench.models.base import Message, ModelRequest, ToolCall, ToolSpec
from workbench.models.providers.abilities import Abilities
from workbench.models.providers.litellm_messages import wire_messages, wire_schema
from workbench.prompts import TODAY, load

BODY: dict[str, Any] = {"model": "x", **body_of(request())}


@pytest.mark.parametrize(
    "schema",
    [reply_schemas.ANALYSIS, reply_schemas.CONCLUSION, reply_schemas.LOGIC, reply_schemas.linear(["P1"]),
     reply_schemas.noisy_or(["P1"], ["P2"]), reply_schemas.noisy_or(["P1"], [])],
    ids=lambda schema: schema.name,
)  # fmt: skip
def test_our_own_schemas_are_strict(schema: Any) -> None:
    assert fault({**BODY, "response_format": wire_schema(schema)}) is None


FORMS = {
    "analyze_reply": reply_schemas.ANALYSIS,
    "conclusion_reply": reply_schemas.CONCLUSION,
    "prior_reply": reply_schemas.CONCLUSION,
    "logic_reply": reply_schemas.LOGIC,
    "linear_reply": reply_schemas.linear(["P1"]),
    "noisy_or_reply": reply_schemas.noisy_or(["P1"], ["P2"]),
}


@pytest.mark.parametrize("takes", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_one_format_is_asked_for(name: str, takes: bool) -> None:
    form = TODAY.render(name, **dict.fromkeys(load(name).inputs, '"P1": w'))
    schema = replace(FORMS[name], text_form=form)
    asked = replace(
        request(reply_schema=schema),
        messages=(*TURNS[:1], Message(role="user", content=f"P1: It holds.\n\n{form}\n\nAs of now.")),
    )
    sent = wire_messages(asked, Abilities(schema=takes))[-1]["content"]
    assert "P1: It holds." in sent and "As of now." in sent
    assert ("one JSON object" in sent) == takes
    for words in ("```", "block", "prose."):
        assert (words in sent) == (words in form and not takes), sent
    # What the fields mean is said in both.
    assert ('"base_rate" is how often' in sent) == ('"base_rate" is how often' in form)


def dialogue(name: str, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    """A dialogue in which a model called something of its own making."""
    said = replace(request().messages[2], tool_calls=(ToolCall(id="c1", name=name, arguments={"q": "x"}),))
    messages = (*request().messages[:2], said, *request().messages[3:])
    return replace(request(), messages=messages, tools=tools)


@pytest.mark.parametrize("name", ["functions.search", "web search", "", "x" * 70, "look_up"])
def test_a_call_of_a_name_that_no_tool_has_goes_back_as_providers_take_it(name: str) -> None:
    assert fault({"model": "x", **body_of(dialogue(name, (TOOL,)))}) is None


def test_a_call_where_no_tool_is_on_offer_goes_back_in_words() -> None:
    body = body_of(dialogue("look_up", ()))
    assert fault(body) is None
    assert "```tool_call" in body["messages"][2]["content"]
    assert body["messages"][3]["role"] == "user" and "the answer" in body["messages"][3]["content"]
