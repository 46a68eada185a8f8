"""Behaviours of servers and models that an engineer's review tried and no persona plays, each with what must come of it.

Beside ``personas``: there each row is a whole tree and a row of personas.md; here most are one leaf. ``behaviours.json`` has what is
answered as it stands, this file what is made of the good answer; ``real_cells`` has those of kernels.
"""

import email.utils
import gzip
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fakes.model_policy import cells, fenced
from tests.fakes.openai_server import RawAnswer
from tests.fakes.personas import (
    FIRST,
    GOOD,
    SCRIPTS,
    Script,
    Turn,
    Wire,
    answer_of,
    completion,
    concludes,
    fails_first,
    first_step,
    only,
    replaces,
    report,
    says,
    step,
)

READ = '{"full_paths": ["embedded/series/observations"]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One way to answer, and what it ends in: ``right``, ``leaf error`` or ``stop``, with words of the cause.

    A run that did not end right is resumed with a server that behaves, and must end right then. ``p`` is what the leaves count as,
    ``root`` what the claim does, ``findings`` the checks that mark a leaf, a statement or a rule. A row with ``tree`` is a run of a whole
    tree, one without a leaf alone.
    """

    script: Script
    end: str = "right"
    cause: str = ""
    p: float = 0.62
    root: float | None = None
    findings: Sequence[str] = ()
    tree: bool = False


def raw(text: str | bytes, turn: Turn, **how: Any) -> Wire:
    """A good answer as bytes, changed on the way."""
    body = text if isinstance(text, bytes) else json.dumps(completion(says(text), turn.asked)).encode()
    return Wire(raw=RawAnswer(body=body, **how))


def once(wire: Callable[[Turn, str], Wire | str]) -> Script:
    """The run's second request is answered so, all others well."""
    return lambda turn, good: wire(turn, good) if turn.total == 1 else good


def later(wire: Wire) -> Script:
    """From the second request on nothing else comes."""
    return lambda turn, good: wire if turn.total >= 1 else good


def state(p: str) -> Script:
    """A conclusion whose probability is written so."""
    return concludes(f'Report.\n\n```json\n{{"p_true": {p}, "key_factor": "x"}}\n```')


def in_cell(source: str) -> Script:
    """A first step of this cell and an ordinary one."""
    return first_step(lambda turn, good: step(source, FIRST))


def streamed(
    good: str,
    *,
    newline: str = "\n",
    done: bool = True,
    mark: bytes = b"",
    fails: bool = False,
    drip: float = 0.0,
) -> Wire:
    """The good answer as server-sent events, in one of the dialects of servers."""
    events: list[dict[str, Any]] = []
    for start in range(0, len(good), 5):
        event: dict[str, Any] = {
            "id": "x", "choices": [{"index": 0, "delta": {"content": good[start : start + 5]}, "finish_reason": None}]
        }  # fmt: skip
        events.append(event)
        if fails and start > len(good) // 2:
            events.append({"error": {"message": "Provider returned error", "code": 502}})
            break
    if not fails:
        events.append({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events.append({"id": "x", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}})  # fmt: skip
    lines = [f"data: {json.dumps(event, ensure_ascii=False)}" for event in events]
    lines = [": OPENROUTER PROCESSING", *lines, *(["data: [DONE]"] if done and not fails else [])]
    text = "".join(f"{line}\n\n" for line in lines).replace("\n", newline)
    return Wire(raw=RawAnswer(body=mark + text.encode(), kind="text/event-stream", drip=drip))


def says_odd_letters(good: str) -> str:
    return good.replace("Plan", "Plän 🎯 日本").replace("The report", "Bericht über 🎉")


def interleaved(turn: Turn, good: str) -> Wire | str:
    """Two tool calls whose pieces come between those of the text."""
    if not needs_documents(turn):
        return good

    def event(delta: dict[str, Any], finish: str | None = None) -> str:
        return f"data: {json.dumps({'id': 'x', 'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n"

    def piece(index: int, **function: str) -> dict[str, Any]:
        return {"index": index, "function": function}

    body = event({"role": "assistant", "content": "Let me "})
    body += event(
        {"tool_calls": [{**piece(0, name="retrieve_api_doc", arguments=""), "id": "a", "type": "function"}]}
    )
    for start in range(0, len(READ), 7):
        body += event({"content": "read "}) + event(
            {"tool_calls": [piece(0, arguments=READ[start : start + 7])]}
        )
    body += event({"tool_calls": [{**piece(1, name="retrieve_api_doc", arguments='{"search": "vix"}'), "id": "b", "type": "function"}]})  # fmt: skip
    body += event({}, "tool_calls") + "data: [DONE]\n\n"
    return Wire(raw=RawAnswer(body=body.encode(), kind="text/event-stream"))


def needs_documents(turn: Turn) -> bool:
    return (
        turn.stage == "step" and turn.steps == 0 and not any(m["role"] == "tool" for m in turn.asked.messages)
    )


def tool(*entries: Mapping[str, Any], text: str | None = None) -> Script:
    """Before its first step the model calls tools as written here."""

    def script(turn: Turn, good: str) -> Wire | str:
        if not needs_documents(turn):
            return good
        content = None if text is None else f"{text}\n{good}"
        return says(content, "tool_calls", tool_calls=list(entries))

    return script


def entry(
    arguments: Any = READ, name: str | None = "retrieve_api_doc", identity: str | None = "c1"
) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def waits(value: str) -> Script:
    busy = RawAnswer(body=b'{"error": {"message": "rate"}}', headers={"Retry-After": value})
    return fails_first(Wire(status=429, raw=busy), Wire(status=429, raw=busy))


def answers_the_question_before() -> Script:
    """Each reply of a leaf is the good one to its request before."""
    last: dict[str, str] = {}

    def script(turn: Turn, good: str) -> str:
        reply, last[turn.asked.node] = last.get(turn.asked.node, good), good
        return reply

    return script


def goes_on_as_user(turn: Turn, good: str) -> str:
    if turn.stage != "step" or turn.steps >= 2:
        return good
    return (
        f"{good}\n\nUser: Your cells have run. Their outputs:\nshare 0.99\n\nAssistant: <TERMINATE_NOTEBOOK>"
    )


def group(statements: Sequence[str], parent: str = "P0", sign: str = "Positive") -> dict[str, Any]:
    """A group of children as a model writes it."""
    prefix = "P" if parent == "P0" else f"{parent}."
    ids = [f"{prefix}{n}" for n in range(1, len(statements) + 1)]
    return {
        "parent": parent,
        "children": dict(zip(ids, statements, strict=True)),
        "causality": " ".join(f"({node}, {sign})." for node in ids),
    }


def grows(*groups: Mapping[str, Any]) -> Script:
    """The analyzer's first block is this one, always."""
    return lambda turn, good: fenced(list(groups)) if turn.stage == "analyze" and "```json" in good else good


def above(level: int, day: str = "2018-09-28") -> str:
    return f"The S&P 500 closes above {level} on {day}"


def weights(beta: Any, p: float = 0.5) -> Script:
    return only("linear", lambda turn, good: report({"beta": beta, "p_true": p, "key_factor": "x"}))


def two_choices(turn: Turn, good: str) -> Wire:
    body = completion(says(good), turn.asked)
    other = {
        "index": 1,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": good.replace("0.62", "0.11")},
    }
    return Wire(body={**body, "choices": [other, *body["choices"]]})


def no_role(turn: Turn, good: str) -> Wire:
    body = completion(says(good), turn.asked)
    body["choices"][0]["message"].pop("role")
    return Wire(body=body)


def contradicted_by_its_notebook(turn: Turn, good: str) -> str:
    if turn.stage == "step" and turn.steps == 0:
        return step("print('share of windows', 0.093, 'n', 214)")
    if turn.stage == "conclude":
        data = {"base_rate": 0.93, "n": 214, "p_true": 0.93, "key_factor": "x"}
        return report(data, "The share of comparable windows was 0.93 with n = 214, so it is likely.")
    return good


DEEP = [group([above(2600), above(2610)])] + [
    group(
        [above(2620 + 10 * depth, "2018-08-31"), above(2621 + 10 * depth, "2018-08-31")],
        parent="P1" + ".1" * depth,
    )
    for depth in range(12)
]
LONG = [above(2600) + " and so on" * 20_000, above(2601)]

#: What changes the good answer, or is too large for a line.
_COMPUTED: dict[str, Behaviour] = {
    # -- streams
    "odd pieces": Behaviour(script=lambda turn, good: streamed(says_odd_letters(good), drip=0.0001)),
    "lines end in CR and LF": Behaviour(script=lambda turn, good: streamed(says_odd_letters(good), newline="\r\n")),
    "lines end in CR": Behaviour(script=lambda turn, good: streamed(good, newline="\r")),
    "no mark of the end": Behaviour(script=lambda turn, good: streamed(good, done=False)),
    "an error inside a stream, once": Behaviour(script=once(lambda turn, good: streamed(good, fails=True))),
    "an error inside a stream, always": Behaviour(script=only("conclude", lambda turn, good: streamed(good, fails=True)), end="stop", cause="Provider returned error"),
    "a byte order mark": Behaviour(script=lambda turn, good: streamed(good, mark=b"\xef\xbb\xbf")),
    "tool calls between the text": Behaviour(script=interleaved),
    # -- bodies
    "zipped": Behaviour(script=lambda turn, good: raw(gzip.compress(json.dumps(completion(says(good), turn.asked)).encode()), turn, headers={"Content-Encoding": "gzip"})),
    "UTF-16, once": Behaviour(script=once(lambda turn, good: raw(json.dumps(completion(says(good), turn.asked)).encode("utf-16"), turn, kind="application/json; charset=utf-16"))),
    "latin-1": Behaviour(script=only("conclude", lambda turn, good: raw(json.dumps(completion(says("Größe. " + good), turn.asked), ensure_ascii=False).encode("latin-1"), turn, kind="application/json; charset=iso-8859-1"))),
    "half a body, once": Behaviour(script=once(lambda turn, good: raw(good, turn, cut=True))),
    "two megabytes": Behaviour(script=concludes("word " * 400_000 + report())),
    "two choices, the second first": Behaviour(script=two_choices),
    "a message without a role": Behaviour(script=no_role),
    # -- statuses
    "429 until a date": Behaviour(script=waits(email.utils.formatdate(time.time() + 4, usegmt=True))),
    # -- tools
    "tools and cells in one reply": Behaviour(script=tool(entry(), text="First the documents, and these cells.")),
    "an empty list of calls": Behaviour(script=lambda turn, good: says(good, "tool_calls", tool_calls=[])),
    "a call of the old form": Behaviour(script=lambda turn, good: says(None, "function_call", function_call={"name": "retrieve_api_doc", "arguments": READ}) if needs_documents(turn) and turn.n == 0 else good),
    # -- texts
    "goes on as the user": Behaviour(script=goes_on_as_user),
    "French polarities": Behaviour(script=only("analyze", replaces({"Positive": "Positif", "Negative": "Négatif"})), end="stop", cause="gives no polarity", tree=True),
    "tags in capitals": Behaviour(script=(lambda turn, good: re.sub(r"</?(python|markdown)_cell>", lambda tag: tag[0].upper(), good))),
    "indented tags": Behaviour(script=only("step", lambda turn, good: "\n".join(f"  {line}" for line in good.splitlines()) if turn.steps < 2 else good)),
    "all in an XML fence": Behaviour(script=only("step", lambda turn, good: f"```xml\n{good}\n```" if turn.steps < 2 else good)),
    "answers the question before": Behaviour(script=answers_the_question_before()),
    "Markdown alone, three times": Behaviour(script=first_step(lambda turn, good: cells(("markdown", "Only words.")) if turn.n < 3 else good)),
    "a key factor of 100,000 letters": Behaviour(script=concludes(report({**GOOD, "key_factor": "k " * 50_000}))),
    "the notebook says otherwise": Behaviour(script=contradicted_by_its_notebook, p=0.93, findings=["figures from no cell"]),
    # -- trees
    "a block and the end": Behaviour(tree=True, script=only("analyze", lambda turn, good: f"{good}\n<END_OF_ANALYSIS>" if "```json" in good else good), root=0.348),
    "two hundred children": Behaviour(script=grows(group([above(2500 + n) for n in range(200)])), end="stop", cause="20 are the most there can be", tree=True),
    "statements of 200,000 letters": Behaviour(script=grows(group(LONG)), end="stop", cause="400 at most", tree=True),
    "twenty-six deep": Behaviour(tree=True, script=grows(*DEEP), root=0.689),
}  # fmt: skip

_SCRIPTS = SCRIPTS | {maker.__name__: maker for maker in (state, grows, weights, in_cell, later, tool, waits)}


def _recorded() -> dict[str, Behaviour]:
    rows = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return {
        name: Behaviour(**row | {"script": _SCRIPTS[kind](*map(answer_of, arguments))})
        for name, row in rows.items()
        for kind, *arguments in [row["script"]]
    }


RECORDED = _recorded()
assert not RECORDED.keys() & _COMPUTED.keys(), "a behaviour stands twice"
BEHAVIOURS = {**RECORDED, **_COMPUTED}
