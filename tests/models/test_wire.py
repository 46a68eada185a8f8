"""What is read on the line of a provider's own words is the same however its bytes are cut, and counts for no other text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.streamed_shapes import SHAPES, Said
from workbench.models.providers.failures import asked_pause, failed_generation
from workbench.models.providers.wire import Exchange

KEYS = ("error", "finish_reason", "stop_reason", "finishReason", "usage", "model", "[DONE]", "data: {}\n")
_WORDS = st.lists(st.sampled_from(KEYS) | st.text(max_size=8), max_size=8).map(" ".join)
_SAID = st.builds(
    Said,
    text=_WORDS,
    thoughts=_WORDS,
    calls=st.lists(
        st.tuples(st.just("look_up"), st.dictionaries(st.sampled_from(KEYS), _WORDS, max_size=3)), max_size=2
    ).map(tuple),
    cut=st.booleans(),
).filter(lambda said: bool(said.text or said.calls))
END = {
    "openai-chat": ("stop", "length", "tool_calls"),
    "openai-responses": ("completed", "max_output_tokens", "completed"),
    "anthropic": ("end_turn", "max_tokens", "tool_use"),
    "gemini": ("STOP", "MAX_TOKENS", "STOP"),
    "ollama": ("stop", "length", "stop"),
}


def heard(wire: bytes, sizes: list[int]) -> Exchange:
    exchange = Exchange(silence=1, first=1)
    place, turn = 0, 0
    while place < len(wire):
        size = sizes[turn % len(sizes)]
        exchange.hear(wire[place : place + size])
        place, turn = place + size, turn + 1
    return exchange


@pytest.mark.parametrize("name", END)
@given(said=_SAID, sizes=st.lists(st.integers(1, 400), min_size=1, max_size=6))
def test_ends_and_counts_are_read_in_any_cut_and_never_out_of_what_the_model_says(
    name: str, said: Said, sizes: list[int]
) -> None:
    shape = SHAPES[name]
    exchange = heard(b"".join(shape.wire(shape.whole(said), [7, 3])), sizes)
    complete, cut, calls = END[name]
    assert exchange.ends == [cut if said.cut else calls if said.calls else complete]
    assert exchange.whole and exchange.error is None and exchange.usage
    assert exchange.refusal == ""


@pytest.mark.parametrize("name", END)
@given(said=_SAID, data=st.data())
def test_a_stream_that_breaks_off_before_its_end_is_not_whole(name: str, said: Said, data: Any) -> None:
    shape = SHAPES[name]
    pieces = shape.wire(shape.whole(said), [7, 3])
    ends = next(n for n in range(len(pieces)) if heard(b"".join(pieces[: n + 1]), [1 << 20]).whole)
    kept = b"".join(pieces[:ends])
    assert not heard(kept[: data.draw(st.integers(0, len(kept)))], [64]).whole


ERRORS = [
    {"error": {"message": "no", "code": "tool_use_failed"}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
    {"type": "error", "code": "server_error", "message": "no"},
    {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "no"}}},
    {
        "choices": [{"delta": {"content": ""}, "finish_reason": "error"}],
        "error": {"code": 502, "message": "no"},
    },
    {"error": "no"},
]


@pytest.mark.parametrize("piece", ERRORS)
def test_an_error_in_the_middle_ends_a_stream_in_its_own_form(piece: dict[str, Any]) -> None:
    exchange = heard(b"data: " + json.dumps(piece).encode() + b"\n\n", [5])
    assert exchange.over and "no" in json.dumps(exchange.error)


@given(seconds=st.integers(1, 59), lines=st.integers(0, 40), milli=st.booleans())
def test_a_delay_is_read_behind_any_number_of_lines(seconds: int, lines: int, milli: bool) -> None:
    quota = "* Quota exceeded for metric: some.long/metric_name, limit: 250000, model: m\n" * lines
    asked = f"{seconds * 1000}ms" if milli else f"{seconds}s"
    for words in (
        f"{quota}Please retry in {asked}.",
        f"{quota}Please try again in {asked}",
        json.dumps({"a": quota, "retryDelay": f"{seconds}s"}),
    ):
        assert asked_pause(words, {}) == seconds
    assert asked_pause(quota, {}) is None


@given(written=st.text(max_size=40))
def test_what_a_model_wrote_in_place_of_a_call_is_found_also_where_it_is_handed_on(written: str) -> None:
    error = {
        "error": {
            "message": "Failed to call a function.",
            "code": "tool_use_failed",
            "failed_generation": written,
        }
    }
    passed_on = {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps(error)}}
    for body in (error, error["error"], passed_on):
        assert failed_generation(json.dumps(body)) == written
    assert failed_generation(json.dumps({"message": written.replace("tool", ""), "code": 400})) is None
