"""Ways in which real providers and models answer, as scripts over the smooth server; one persona is one way.

The smooth run is two leaves, two steps each, an end and a conclusion of 0.62; a persona spoils it in its own way. What
each must end in stands in docs/models.md, which tests/agents/test_personas.py holds to what happens.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.fakes.model_policy import Asked, Policy, cells, fenced, text_of, understand
from tests.fakes.openai_server import OpenAIServer, RawAnswer

P = 0.62
PLAN = {
    "P0": {
        "P1": ("The S&P 500 closes above 2700 on 2018-09-28", "Positive"),
        "P2": ("The VIX closes above 20 on 2018-12-31", "Negative"),
    }
}
#: The p of the leaves and of the root that a persona's script holds; for all others what the smooth linear rule makes of
#: two leaves at 0.62. `allneg` is the authors' example: 0.9 - 0.2 p1 - 0.7 p2 for two threats at 5 %.
ANSWERS = {"good": (P, 0.1 + 0.45 * P - 0.05 * P), "allneg": (0.05, 0.9 - 0.2 * 0.05 - 0.7 * 0.05)}

GOOD = {"p_true": P, "key_factor": "the base rate"}
FIRST = "print('rows', 250)"
SECOND = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.set_title('close')\nplt.show()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One answer: a message and how it ended, or a status with an error, or raw bytes."""

    message: Mapping[str, Any] = field(default_factory=dict)
    finish: str | None = "stop"
    usage: Any = "counted"
    status: int = 200
    error: Mapping[str, Any] | None = None
    raw: RawAnswer | None = None
    body: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Turn:
    """What a script sees of a request."""

    asked: Asked
    n: int  # requests of this leaf and stage before this one
    total: int  # requests of the whole run before this one

    @property
    def stage(self) -> str:
        return self.asked.stage

    @property
    def steps(self) -> int:
        """Cells that the model has sent in this dialogue."""
        return sum(
            "<python_cell>" in text_of(turn) or "```python" in text_of(turn) or bool(turn.get("tool_calls"))
            for turn in self.asked.messages
            if turn["role"] == "assistant"
        )

    @property
    def again(self) -> bool:
        return "could not be used" in self.asked.last or "cannot be used" in self.asked.last

    @property
    def images(self) -> int:
        contents = [turn["content"] for turn in self.asked.messages if isinstance(turn.get("content"), list)]
        return sum(part.get("type") == "image_url" for parts in contents for part in parts)


Script = Callable[[Turn, str], Wire | str]


def says(text: str | None, finish: str | None = "stop", usage: Any = "counted", **message: Any) -> Wire:
    return Wire(message={"content": text, **message}, finish=finish, usage=usage)


def refuses(status: int, words: str, **more: Any) -> Wire:
    return Wire(
        status=status, error={"message": words, "type": "invalid_request_error", "code": None, **more}
    )


def step(*sources: str, note: str = "## Plan") -> str:
    return cells(("markdown", note), *(("python", source) for source in sources))


def calls(*named: tuple[str, str]) -> Wire:
    return says(
        None,
        finish="tool_calls",
        tool_calls=[
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(named)
        ],
    )


def report(data: Any = GOOD, text: str = "The report.") -> str:
    return f"{text}\n\n{fenced(data)}"


def smooth(turn: Turn) -> str:
    """The well-behaved answer to a request."""
    match turn.stage:
        case "step":
            return (step(FIRST), step(SECOND, note="A figure."), "<TERMINATE_NOTEBOOK>")[min(turn.steps, 2)]
        case "debug":
            return "A slip.\n" + cells(("python", FIRST))
        case "conclude":
            return report()
        case _:
            return text_of(Policy(plan=PLAN).answer(turn.asked))


def only(stage: str, spoil: Callable[[Turn, str], Wire | str]) -> Script:
    return lambda turn, good: spoil(turn, good) if turn.stage == stage else good


def concludes(text: str | Wire) -> Script:
    return only("conclude", lambda turn, good: text)


def first_step(answer: Callable[[Turn, str], Wire | str]) -> Script:
    return lambda turn, good: answer(turn, good) if turn.stage == "step" and turn.steps == 0 else good


def json_form(change: Callable[[str], str]) -> Script:
    return lambda turn, good: change(good) if "```json" in good else good


def usage(value: Any) -> Script:
    return lambda turn, good: says(good, usage=value)


def fails_first(*answers: Wire) -> Script:
    """Answers of the run's first requests after the first; then all is well."""

    def script(turn: Turn, good: str) -> Wire | str:
        return answers[turn.total - 1] if 1 <= turn.total <= len(answers) else good

    return script


def small_context(tokens: int) -> Script:
    """A model whose context is full at so many tokens, counted as four characters each."""

    def script(turn: Turn, good: str) -> Wire | str:
        size = sum(len(text_of(message)) for message in turn.asked.messages) // 4
        if size > tokens:
            words = f"This model's maximum context length is {tokens} tokens. However, your messages resulted in {size} tokens."
            return refuses(400, words, code="context_length_exceeded")
        if turn.stage == "step" and turn.steps == 0:
            return step("print('x' * 5000)")
        if turn.stage == "step" and turn.steps < 3:
            return step(f"print('x' * 5000)  # {turn.steps}")
        return good

    return script


CONTEXT = refuses(
    400,
    "This model's maximum context length is 512 tokens. However, your messages resulted in 1012 tokens.",
    code="context_length_exceeded",
)
FILTER = refuses(
    400,
    "The response was filtered due to the prompt triggering content management policy.",
    code="content_filter",
)
BUSY = Wire(
    status=429, error={"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}
)


def _lengthcut(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "step" and turn.steps == 0 and turn.n == 0:
        return says("<markdown_cell>\nPlan\n</markdown_cell>\n<python_cell>\nprint('ro", "length")
    if turn.stage == "step" and "was cut off" in turn.asked.last:
        return "ws', 250)\n</python_cell>"
    if turn.stage == "conclude" and turn.n == 0:
        return says("A long report that never ends. " * 20, "length")
    return good


def _paralleltools(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "step" and not any(message["role"] == "tool" for message in turn.asked.messages):
        arguments = (
            '{"search":"stock index history"}', '{"full_paths":["embedded/series/observations"]}',
            '{"full_paths":["fred/nope"]}', "{bad json", "", '{"search":""}',
        )  # fmt: skip
        return calls(*(("retrieve_api_doc", one) for one in arguments))
    return good


def _wrongapi(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "step" and turn.steps == 0:
        return step('rows = CALL_API("no/such/path")')
    if turn.stage == "debug" and turn.n == 0:
        return cells(("python", 'rows = CALL_API("no/such/path", {})'))
    return good


def _nokey(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "step" and turn.steps == 0:
        return step('rows = CALL_API("fred/series/observations", {"series_id": "UNRATE"})')
    return good


def _notools(turn: Turn, good: str) -> Wire | str:
    if turn.asked.body.get("tools"):
        return refuses(
            400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        )
    if turn.stage == "step" and turn.steps == 0 and "The tool answers:" not in turn.asked.everything:
        return '```tool_call\n{"name": "retrieve_api_doc", "arguments": {"search": "stock index"}}\n```'
    return good


def _polarity(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "analyze" and "```json" in good:
        note = "P1 is a positive driver: the parent gets likelier. P2 pushes negatively."
        children = {child: statement for child, (statement, _) in PLAN["P0"].items()}
        return fenced([{"parent": "P0", "children": children, "causality": note}])
    return good


def _expansion(data: Any) -> Script:
    return lambda turn, good: fenced(data) if turn.stage == "analyze" and "```json" in good else good


def _empty_often(turn: Turn, good: str) -> Wire | str:
    return "" if turn.stage == "step" and turn.n % 2 == 0 else good


def _changing_nonsense(turn: Turn, good: str) -> Wire | str:
    return f"I think so, version {turn.n}." if turn.stage == "conclude" else good


def _schema_refused(turn: Turn, good: str) -> Wire | str:
    if "response_format" in turn.asked.body:
        return refuses(400, "response_format.type json_schema is not supported by this model")
    return good


def _in_schema(turn: Turn, good: str) -> Wire | str:
    """A model that takes a JSON schema: what is asked for with one is answered by an object alone."""
    if "response_format" not in turn.asked.body or turn.stage not in ("analyze", "conclude", "linear"):
        return good
    if turn.stage == "analyze":
        if "```json" not in good:
            return json.dumps({"expansions": [], "end": True})
        children = [{"statement": text, "polarity": sign} for text, sign in PLAN["P0"].values()]
        return json.dumps(
            {"expansions": [{"parent": "P0", "children": children, "causality": "c"}], "end": False}
        )
    prose, _, rest = good.partition("```json\n")
    return json.dumps({"report": prose.strip(), **json.loads(rest.removesuffix("\n```"))})


def _temperature_refused(turn: Turn, good: str) -> Wire | str:
    if "temperature" in turn.asked.body:
        return refuses(400, "Unsupported value: 'temperature' does not support 0.1 with this model.")
    return good


def _pytool(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "step" and turn.steps == 0:
        return calls(("python", json.dumps({"code": FIRST})))
    return good


def _fallback_only(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "conclude" and turn.asked.body["model"] == "p":
        return says(None, refusal="I cannot help with that.")
    return good


def _two_python_fences(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "step" and turn.steps == 0:
        return f"First.\n```python\n{FIRST}\n```\nThen.\n```python\n{SECOND}\n```"
    return good


def _allneg(turn: Turn, good: str) -> Wire | str:
    if turn.stage == "analyze" and "```json" in good:
        return good.replace("P1, Positive", "P1, Negative")
    if turn.stage == "conclude":
        return report({"p_true": 0.05, "key_factor": "rare"})
    if turn.stage == "linear":
        beta = {"beta_0": 0.9, "P1": -0.2, "P2": -0.7}
        return report({"beta": beta, "p_true": 0.855, "key_factor": "both threats are unlikely"})
    return good


def _negsum(turn: Turn, good: str) -> Wire | str:
    """States a probability that its weights do not give, also when it is shown the sum."""
    if turn.stage != "linear":
        return good
    return re.sub(r'"p_true": [\d.]+', '"p_true": 0.648', good)


def _sent(turn: Turn, good: str, **how: Any) -> Wire:
    """The well-behaved answer as bytes, for a wire that is slow or cut."""
    return Wire(raw=RawAnswer(body=json.dumps(completion(says(good), turn.asked)).encode(), **how))


def _streamed(good: str, *, broken: bool = False) -> Wire:
    """The well-behaved answer in pieces, as servers stream them, with the comments that keep a line alive."""
    pieces = [good[start : start + 7] for start in range(0, len(good), 7)]
    lines = [": still at work"]
    for number, piece in enumerate(pieces[: len(pieces) // 2] if broken else pieces):
        delta = {"content": piece, **({"role": "assistant"} if number == 0 else {})}
        lines.append(
            f"data: {json.dumps({'id': 'x', 'choices': [{'index': 0, 'delta': delta, 'finish_reason': None}]})}"
        )
    if not broken:
        end = {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        usage = {"prompt_tokens": 900, "completion_tokens": 50, "total_tokens": 950}
        lines += [
            f"data: {json.dumps(end)}",
            f"data: {json.dumps({'choices': [], 'usage': usage})}",
            "data: [DONE]",
        ]
    return Wire(raw=RawAnswer(body=("\n\n".join(lines) + "\n\n").encode(), kind="text/event-stream"))


def _busy(**headers: str) -> Wire:
    """Too many requests, and how long to wait."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Wire(
        status=429, raw=RawAnswer(body=json.dumps({"error": dict(BUSY.error or {})}).encode(), headers=named)
    )


def _ctx2(turn: Turn, good: str) -> Wire | str:
    return CONTEXT if turn.stage == "step" and turn.steps >= 2 and turn.total < 14 else good


#: A server that never answers; `silent_wire` has the client's patience end at once.
SILENCE = Wire(raw=RawAnswer(headers={"x-silent": "yes"}))


_handle = httpx.AsyncHTTPTransport.handle_async_request


async def silent_wire(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
    """In place of httpx's own, with a clock that is ahead: an answer that is marked as never coming is a timeout."""
    response = await _handle(transport, request)
    if "x-silent" in response.headers:
        await response.aclose()
        raise httpx.ReadTimeout("silent", request=request)
    return response


BLOCK = '{"p_true": 0.62, "key_factor": "the base rate"}'

PERSONAS: dict[str, tuple[str, Script]] = {
    "good": ("answers as it is asked to", lambda turn, good: good),
    # -- JSON
    "barejson": ("sends JSON without a fence", json_form(lambda t: t.split("```json\n")[1].removesuffix("\n```"))),
    "plainfence": ("leaves the label of the fence out", json_form(lambda t: t.replace("```json", "```"))),
    "proseJSON": ("puts bare JSON behind its prose", json_form(lambda t: t.replace("```json\n", "").replace("\n```", ""))),
    "quotedfence": ("quotes its fence", json_form(lambda t: re.sub(r"^(?=```|[\[{])", "> ", t, flags=re.M))),
    "twojson": ("drafts 0.5, then says 0.62, in two blocks, always", concludes(f"Draft:\n{fenced({**GOOD, 'p_true': 0.5})}\nBetter:\n{fenced(GOOD)}")),
    "twicejson": ("sends the same block twice", concludes(f"{fenced(GOOD)}\nAgain:\n{fenced(GOOD)}")),
    "neardraft": ("drafts 0.61, then says 0.62", concludes(f"{fenced({**GOOD, 'p_true': 0.61})}\nFinal:\n{fenced(GOOD)}")),
    "pstring": ("writes p as a text", concludes('R\n```json\n{"p_true": "0.62", "key_factor": "x"}\n```')),
    "percent": ("writes 62 without a mark", concludes('R\n```json\n{"p_true": 62, "key_factor": "x"}\n```')),
    "markedpercent": ("writes 62%", concludes('R\n```json\n{"p_true": 62%, "key_factor": "x"}\n```')),
    "extrakeys": ("adds a key", concludes(report({**GOOD, "confidence": "high"}))),
    "jsoncomment": ("comments its JSON, with a trailing comma", concludes('R\n```json\n{\n "p_true": 0.62, // about\n "key_factor": "x",\n}\n```')),
    "pythondict": ("sends a Python dict", concludes("R\n```python\n{'p_true': 0.62, 'key_factor': 'x'}\n```")),
    "noleadingzero": ("writes .62", concludes('R\n```json\n{"p_true": .62, "key_factor": "x"}\n```')),
    "rawnewline": ("breaks a line inside a text", concludes('R\n```json\n{"p_true": 0.62, "key_factor": "a\nb"}\n```')),
    "refusetext": ("refuses in words, always the same", concludes("I'm sorry, but I can't give a probability about financial markets.")),
    "changingnonsense": ("never concludes, each time in other words", _changing_nonsense),
    "earlyconclude": ("concludes where a step is asked for", only("step", lambda turn, good: report() if turn.steps == 2 else good)),
    "polarity": ("says polarities in sentences", _polarity),
    "nestedtree": ("sends one group in place of a list", _expansion({"parent": "P0", "children": {c: s for c, (s, _) in PLAN["P0"].items()}, "causality": "P1 (Positive), P2 (Negative)"})),
    "polarityfields": ("gives polarities as fields, without ids", _expansion([{"parent": "P0", "children": [{"statement": s, "polarity": p} for s, p in PLAN["P0"].values()]}])),
    "ownids": ("calls the children A and B", _expansion([{"parent": "P0", "children": {"A": PLAN["P0"]["P1"][0], "B": PLAN["P0"]["P2"][0]}, "causality": "A — Positive, B — Negative"}])),
    "allneg": ("has threats alone for children", _allneg),
    "negsum": ("states a p that its weights do not give, and stands by it", _negsum),
    # -- cells
    "fencedcode": ("sends code in python fences", lambda turn, good: re.sub(r"</?markdown_cell>", "", good).replace("<python_cell>", "```python").replace("</python_cell>", "```")),
    "fenceincell": ("puts a fence inside the cell", lambda turn, good: good.replace("<python_cell>", "<python_cell>\n```python").replace("</python_cell>", "```\n</python_cell>")),
    "twofences": ("sends two python fences in a step", _two_python_fences),
    "unclosedcell": ("forgets the last closing tag", lambda turn, good: good.removesuffix("</python_cell>") if turn.stage == "step" else good),
    "pytool": ("calls a tool named python", _pytool),
    "paralleltools": ("calls six tools at once, some broken", _paralleltools),
    "toolspam": ("asks for the same documentation for ever", only("step", lambda turn, good: calls(("retrieve_api_doc", '{"search":"stock"}')))),
    "qwentools": ("calls tools in its text", first_step(lambda turn, good: good if any(m["role"] == "tool" for m in turn.asked.messages) else '<tool_call>\n{"name": "retrieve_api_doc", "arguments": {"search": "stock"}}\n</tool_call>')),
    "manycells": ("sends 60 cells at once", first_step(lambda turn, good: "\n".join(step(f"print({n})") for n in range(60)))),
    "bigcells": ("sends 60 cells of long output", first_step(lambda turn, good: "\n".join(step(f"print('x' * 6000)  # {n}") for n in range(60)))),
    "bigoutput": ("prints two megabytes", first_step(lambda turn, good: step("print('x' * 2000000)"))),
    "plots": ("draws in every cell of its first step", first_step(lambda turn, good: step(*(f"{SECOND}  # {n}" for n in range(12))))),
    "hedge": ("sends the same cell for ever", only("step", lambda turn, good: step("print('step')"))),
    "multiend": ("ends the notebook beside its cells, for ever", only("step", lambda turn, good: step(SECOND) + "\n<TERMINATE_NOTEBOOK>" if turn.steps else good)),
    "wrongapi": ("spells a path wrong, twice", _wrongapi),
    "nokey": ("asks a source without a key, then another", _nokey),
    "nokeystubborn": ("asks a source without a key, for ever", only("step", lambda turn, good: step(f'CALL_API("fred/{turn.n}")'))),
    # -- thoughts
    "reasoning": ("sends thoughts beside the reply", lambda turn, good: says(good, reasoning_content="```json\n{}\n```\n<python_cell>\nthought\n</python_cell>")),
    "think": ("thinks in <think>", lambda turn, good: "<think>\nHmm ```json {}``` <python_cell>thought</python_cell>\n</think>\n" + good),
    "thinking": ("thinks in <thinking>", lambda turn, good: "<thinking>\n```json\n{\"p_true\": 0.1, \"key_factor\": \"t\"}\n```\n<python_cell>\nthought\n</python_cell>\n</thinking>\n" + good),
    "unclosedthink": ("closes thoughts that it never opened", lambda turn, good: "first I try\n```json\n{\"p_true\": 0.9, \"key_factor\": \"t\"}\n```\n<python_cell>\nthought\n</python_cell>\n</think>\n" + good),
    "inreasoning": ("sends its answer as thoughts only", lambda turn, good: says("", reasoning_content=good)),
    # -- how replies end
    "lengthcut": ("is cut off in a cell and in the conclusion, once each", _lengthcut),
    "lengthalways": ("thinks until it is cut off, always", concludes(says("<think> thinking for ever" * 50, "length"))),
    "reasonlength": ("spends its whole length on thoughts, always", concludes(says("", "length", reasoning_content="x" * 5000))),
    "reasonlengthonce": ("spends its length on thoughts, once", only("conclude", lambda turn, good: says("", "length", reasoning_content="x") if turn.n == 0 else good)),
    "filter": ("has its steps filtered, always", only("step", lambda turn, good: says(None, "content_filter"))),
    "filteronce": ("has its first step filtered", only("step", lambda turn, good: says(None, "content_filter") if turn.n == 0 else good)),
    "filter400": ("has its conclusion refused by the filter", concludes(FILTER)),
    "filter400b": ("has its conclusion refused by the filter, once", only("conclude", lambda turn, good: FILTER if turn.n == 0 else good)),
    "refusal": ("refuses its steps, always", only("step", lambda turn, good: says(None, refusal="I'm sorry, but I can't help with that."))),
    "refusalonce": ("refuses its first step", only("step", lambda turn, good: says(None, refusal="I can't.") if turn.n == 0 else good)),
    "fallback": ("refuses to conclude; a second model is named", _fallback_only),
    "empty": ("answers its first step with nothing", only("step", lambda turn, good: "" if turn.n == 0 else good)),
    "emptyoften": ("answers every second step with nothing", _empty_often),
    "nullfinish": ("says no reason for its end", lambda turn, good: says(good, None)),
    "oddfinish": ("ends for a reason of its own", lambda turn, good: says(good, "eos_token")),
    # -- letters
    "unicode": ("writes odd letters, NUL and half a pair", lambda turn, good: good.replace("Plan", "Plan 🎯 – „Zitat“ \u0000 \ud800 x").replace("The report", "Bericht \u0000 🎉 \ud83d")),
    "surr": ("cuts an emoji in half", only("conclude", lambda turn, good: "Cut emoji \ud83d end.\n\n" + good)),
    "nul": ("writes NUL", only("conclude", lambda turn, good: "Bericht \u0000.\n\n" + good)),
    "surrarguments": ("cuts an emoji in a tool call", first_step(lambda turn, good: good if any(m["role"] == "tool" for m in turn.asked.messages) else calls(("retrieve_api_doc", '{"search":"\\ud83d stock"}')))),
    "contentlist": ("sends its content as parts", lambda turn, good: Wire(message={"content": [{"type": "text", "text": good}]})),
    # -- counts
    "usagenull": ("sends null for its counts", usage(None)),
    "usageabsent": ("sends no counts", usage("absent")),
    "usageneg": ("counts below zero", usage({"prompt_tokens": -5, "completion_tokens": -7, "total_tokens": -12})),
    "usagestr": ("counts in texts", usage({"prompt_tokens": "12", "completion_tokens": "7", "total_tokens": "19"})),
    "usagehuge": ("counts a billion tokens", usage({"prompt_tokens": 10**12, "completion_tokens": 10**12, "total_tokens": 2 * 10**12})),
    "usageonce": ("leaves its counts out now and then", lambda turn, good: says(good, usage=None) if turn.total % 3 == 2 else good),
    "usagefloat": ("counts in fractions", usage({"prompt_tokens": 12.5, "completion_tokens": 7.5, "total_tokens": 20})),
    # -- what a model does not take
    "notools": ("takes no tools", _notools),
    "noimages": ("takes no pictures", lambda turn, good: refuses(400, "Invalid content type. image_url is only supported by certain models.") if turn.images else good),
    "notemperature": ("takes no temperature", _temperature_refused),
    "noschema": ("takes no JSON schema", _schema_refused),
    "schema": ("answers in a JSON schema", _in_schema),
    "ctxall": ("has a context too small for the question", lambda turn, good: good if turn.stage == "analyze" else CONTEXT),
    "ctx": ("has no room for a conclusion, whatever is left out", lambda turn, good: CONTEXT if turn.stage in ("step", "conclude") and turn.steps else good),
    "ctx2": ("has no room for a third step at first", _ctx2),
    "ctx4k": ("has a context of 4,500 tokens, and prints 5,000 letters a step", small_context(4500)),
    # -- outages and odd bodies
    "429short": ("is busy at first", fails_first(BUSY, BUSY)),
    "5xx": ("fails twice", fails_first(Wire(status=500, error={"message": "overloaded"}), Wire(status=529, error={"message": "overloaded"}))),
    "html502": ("sends a page in place of an answer, once", fails_first(Wire(status=502, raw=RawAnswer(body=b"<html>502 Bad Gateway</html>", kind="text/html")))),
    "reset": ("drops the connection, once", fails_first(Wire(raw=RawAnswer(reset=True)))),
    "halfbody": ("sends half an answer, once", fails_first(Wire(raw=RawAnswer(body=b'{"id": "x", "object": "chat', cut=True)))),
    "nochoices": ("sends an answer without a reply, once", fails_first(Wire(body={"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [], "usage": {}}))),
    "err200": ("sends an error as a success, once", fails_first(Wire(body={"error": {"message": "Internal upstream provider error", "code": 502}}))),
    "429ms": ("is busy, and says so in milliseconds", fails_first(_busy(retry_after_ms="1500"), _busy(retry_after_ms="1500"))),
    "429long": ("is busy for a minute, twice", fails_first(_busy(Retry_After="60"), _busy(Retry_After="60"))),
    "tpm": ("lets every third request wait", lambda turn, good: _busy(Retry_After="20") if turn.total % 3 == 2 else good),
    "slow": ("thinks for long", lambda turn, good: _sent(turn, good, drip=0.002)),
    "slowbody": ("sends its conclusion drop by drop", only("conclude", lambda turn, good: _sent(turn, good, drip=0.01))),
    "streams": ("streams, with signs of life in between", lambda turn, good: _streamed(good)),
    "streamcut": ("breaks off in the middle of a stream, once", lambda turn, good: _streamed(good, broken=turn.total == 1)),
    "hangonce": ("does not answer the first conclusion", only("conclude", lambda turn, good: SILENCE if turn.n == 0 else good)),
    "hang": ("never answers a conclusion", concludes(SILENCE)),
    "quota": ("has no quota left after the analysis", lambda turn, good: good if turn.stage == "analyze" else Wire(status=429, error={"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"})),
    "outage": ("is down after the analysis", lambda turn, good: good if turn.stage == "analyze" else Wire(status=503, error={"message": "Service temporarily unavailable"})),
}  # fmt: skip


class PersonaServer(OpenAIServer):
    """A server that answers as one persona; ``count`` holds its answered requests by leaf."""

    def __init__(self, name: str, script: Script | None = None) -> None:
        super().__init__()
        self._script = script or PERSONAS[name][1]
        self._seen: Counter[tuple[str, str]] = Counter()
        self.count: Counter[str] = Counter()
        self.well = False
        self.before = 0  # requests until it began to behave

    def behave(self) -> None:
        """Answer well from now on, for runs that are resumed."""
        self.well, self.before = True, len(self.asked)

    def reply(
        self, body: dict[str, Any], authorization: str | None
    ) -> tuple[int, dict[str, Any] | RawAnswer, Asked | None]:
        if wrong := self.refusal(body):
            return 400, {"error": {"message": wrong, "type": "invalid_request_error"}}, None
        asked = understand(body, authorization)
        with self.lock:
            turn = Turn(asked, self._seen[asked.node, asked.stage], len(self.asked))
            self._seen[asked.node, asked.stage] += 1
            self.asked.append(asked)
            if asked.stage in ("step", "debug", "conclude"):
                self.count[asked.node] += 1
        good = smooth(turn)
        answer = good if self.well else self._script(turn, good)
        wire = says(answer) if isinstance(answer, str) else answer
        if wire.raw is not None:
            return wire.status, wire.raw, asked
        if wire.error is not None:
            return wire.status, {"error": dict(wire.error)}, asked
        if wire.body is not None:
            return wire.status, dict(wire.body), asked
        return 200, completion(wire, asked), asked


def completion(wire: Wire, asked: Asked) -> dict[str, Any]:
    """The body of a chat answer."""
    sent = len(json.dumps(asked.body)) // 4
    counted = {"prompt_tokens": sent, "completion_tokens": 50, "total_tokens": sent + 50}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": asked.body["model"],
        "choices": [
            {"index": 0, "finish_reason": wire.finish, "message": {"role": "assistant", **wire.message}}
        ],
    }
    if wire.usage != "absent":
        body["usage"] = counted if wire.usage == "counted" else wire.usage
    return body
