"""Replies that no honest model writes: each is read or refused, within seconds, and none ends a run with an error of Python's."""

import inspect
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from workbench.agents.errors import MalformedReply
from workbench.agents.judges import Judgement, Recall
from workbench.agents.replies import stage_replies
from workbench.agents.replies.cell_reply import find_cells
from workbench.agents.replies.stage_replies import parse_conclusion
from workbench.models.providers.litellm_reply import tool_calls_of

N = 190_000
PARSERS: dict[str, Callable[..., Any]] = {
    **{name: parse for name, parse in vars(stage_replies).items() if name.startswith("parse_")},
    "parse_recall": Recall.read,
    "parse_judgement": Judgement.read,
    "tool_calls_of": lambda text: tool_calls_of(None, text),
}
OPEN, CLOSE = "<python_cell>", "</python_cell>"
CALL = "<tool_call>"


def fenced(block: str) -> str:
    return f"```json\n{block}\n```"


def stated(more: str, p: str = "0.6") -> str:
    return fenced(f'{{"p_true": {p}, "key_factor": "x", {more}}}')


HUGE = "1" + "0" * 400
SLOW = {
    "quotes that are escaped": fenced("{" + '\\"' * (N // 2)),
    "the same, and half an escape": fenced("{" + '\\"' * (N // 2) + "\\"),
    "comments without an end": fenced("{" + "/* " * (N // 3)),
    "a fence of blanks": "```" + " " * 60_000 + "!\n",
    "many such": ("```" + " " * 3_000 + "!\n") * 60,
    "fences without an end": "```py\nx\n" * 100_000,
    "the same, one closed": "```py\nx\n```\n" + "```py\nx\n" * 100_000,
    "cells": f"{OPEN}a{CLOSE}\n" * 20_000,
    "cells without an end": f"x {OPEN} " * 20_000,
    "a cell of blank lines": OPEN + "\n" * 1_000_000 + "x" + CLOSE,
    "ends of thoughts in a cell": f'{OPEN}"""' + "</think>\n" * 30_000 + f'"""{CLOSE}',
    "ends of thoughts on a line": "```\n" + "</think>" * 100_000,
    "channels": "<|channel|>final" * 60_000,
    "messages of channels": "<|channel|>final<|message|>" * 20_000,
    "a channel of blanks": "<|channel|>" + " " * 200_000,
    "channels of blanks": "<|channel|>final  <|constrain|> " * 20_000,
    "calls without an end": (CALL + "{") * 60_000,
    "calls of ends": (CALL + "{}") * 60_000,
    "calls of blanks": CALL + "{" + "} " * 100_000,
    "blanks behind a call": CALL + " " * 200_000,
    "blocks of calls": "```tool_call\n{\n" * 60_000,
    "keys": fenced("{" + ",".join(f'"k{n}":{n}' for n in range(15_000)) + "}"),
    "brackets": "[" * N,
    "brackets of texts": "[']" * 50_000,
    "a million words": "word " * 1_000_000,
}
ODD = {
    "a deep list where a text is read": stated('"adjustments": ' + "[" * 600 + "]" * 600),
    "a deep object": stated('"n": ' + '{"a":' * 600 + "1" + "}" * 600),
    "the same twice": "\n".join([stated('"x": ' + "[" * 600 + "]" * 600)] * 2),
    "a number of 400 digits in a note": stated(f'"adjustments": {{"a": {HUGE}}}'),
    "the same as a note": stated(f'"adjustments": {HUGE}'),
    "two that differ by it": stated(f'"x": {HUGE}') + "\n" + stated('"x": 0.5'),
    "it as p": stated('"x": 1', HUGE),
    "1e400 as a note": stated('"adjustments": 1e400'),
    "1e400 as p": stated('"x": 1', "1e400"),
    "nan": stated('"x": 1', "NaN"),
    "a deep call": CALL + '{"name": "x", "arguments": ' + "[" * 900 + "]" * 900 + "}</tool_call>",
    "a deeper call": CALL + '{"name": "x", "arguments": ' + "[" * 90_000 + "]" * 90_000 + "}</tool_call>",
    "half a letter": stated('"report": "\\ud800"'),
}


#: Read all the same: of two blocks the one that can be; the log writes half a letter out as text.
READ = {"two that differ by it", "half a letter"}


#: What is large is long: half a minute of the processor, all together.
REPLIES = [
    *(pytest.param(text, id=name, marks=pytest.mark.long) for name, text in SLOW.items()),
    *(pytest.param(text, id=name) for name, text in ODD.items()),
]


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_costs_seconds_at_most_and_a_reason(reply: str) -> None:
    for name, parse in PARSERS.items():
        more = {
            word: ("x",)
            for word, each in inspect.signature(parse).parameters.items()
            if word != "text" and each.default is inspect.Parameter.empty
        }
        begun = time.process_time()
        with suppress(MalformedReply):  # its reason goes back to the model
            repr(parse(reply, **more))
        assert time.process_time() - begun < 8, name


@pytest.mark.parametrize("name", [name for name in ODD if name not in READ])
def test_odd_figures_are_no_answer(name: str) -> None:
    with pytest.raises(MalformedReply):
        parse_conclusion(ODD[name])


def test_what_honest_models_write_is_read_as_before() -> None:
    reply = 'So.\n\n```json\n{"p_true": 62%, // by 5" of rain\n "key_factor": "a /* b", "adjustments": {"rate": +0.1,}, /* so */ "n": 40,}\n```'
    conclusion = parse_conclusion(reply)
    assert (conclusion.p, conclusion.key_factor) == (0.62, "a /* b")
    assert conclusion.report.startswith("So.") and "rate: +0.1" in conclusion.report
    assert str(parse_conclusion(stated('"x": 1', "-0.0")).p) == "0.0"
    cells = find_cells(f"{OPEN}\n\n\nx = 1\n\n{CLOSE}\n<markdown_cell>so</markdown_cell>").cells
    assert [cell.source for cell in cells] == ["x = 1", "so"]
    assert [cell.source for cell in find_cells("```python\nx = 1\n```\n```py\ny").cells] == ["x = 1"]
    calls, text = tool_calls_of(
        None, f'So.\n{CALL}{{"name": "look", "arguments": {{"a": 1}}}}</tool_call>\n{CALL}{{'
    )
    assert [call.name for call in calls] == ["look"] and re.fullmatch(r"So\.\s*<tool_call>\{", text)
