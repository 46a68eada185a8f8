from dataclasses import replace

from workbench.models.base import (
    Message,
    ModelReply,
    ModelRequest,
    NodeRef,
    ToolCall,
    ToolSpec,
    Usage,
    reply_from_json,
    reply_to_json,
)

REQUEST = ModelRequest(
    messages=(
        Message(role="system", content="be brief"),
        Message(role="user", content="é", images=(b"\x89PNG",)),
        Message(
            role="assistant",
            content="",
            tool_calls=(ToolCall(id="c1", name="look", arguments={"b": 1, "a": 2}),),
        ),
        Message(role="tool", content="seen", tool_call_id="c1"),
    ),
    stage="step",
    cutoff="2018-06-30",
    nodes=(NodeRef(id="P1", statement="It rains"),),
    tools=(ToolSpec(name="look", description="looks", parameters={"type": "object"}),),
)


def test_equal_requests_have_equal_hashes_and_argument_order_does_not_matter() -> None:
    swapped = ToolCall(id="c1", name="look", arguments={"a": 2, "b": 1})
    same = replace(
        REQUEST,
        messages=(
            *REQUEST.messages[:2],
            replace(REQUEST.messages[2], tool_calls=(swapped,)),
            REQUEST.messages[3],
        ),
    )
    assert same.canonical_hash("m") == REQUEST.canonical_hash("m")
    assert REQUEST.canonical_hash("m").startswith("sha256:")


def test_everything_that_changes_a_request_changes_its_hash() -> None:
    first = REQUEST.messages[1]
    changed = [
        replace(REQUEST, stage="debug"),
        replace(REQUEST, cutoff="2018-07-01"),
        replace(REQUEST, temperature=0.0),
        replace(REQUEST, max_tokens=5),
        replace(REQUEST, nodes=()),
        replace(REQUEST, tools=()),
        replace(
            REQUEST,
            messages=(REQUEST.messages[0], replace(first, images=(b"\x89PNH",)), *REQUEST.messages[2:]),
        ),
    ]
    hashes = {request.canonical_hash("m") for request in changed}
    assert len(hashes) == len(changed)
    assert REQUEST.canonical_hash("m") not in hashes
    assert REQUEST.canonical_hash("other") != REQUEST.canonical_hash("m")


def test_a_reply_survives_the_ledger_with_unknown_cost_and_usage() -> None:
    reply = ModelReply(
        text="hi",
        model="x/y",
        tool_calls=(ToolCall(id="c", name="n", arguments={"k": [1]}),),
        usage=Usage(input_tokens=3),
        seconds=0.25,
        notes=("cut",),
    )
    assert reply_from_json(reply_to_json(reply)) == reply
    assert reply_from_json(reply_to_json(reply)).cost_usd is None
