"""Ways in which real providers and models answer, as scripts over the smooth server; one persona is one way.

The smooth run is two leaves, two steps each, an end and a conclusion of 0.62; a persona spoils it in its own way. What
each must end in stands in personas.md, which tests/agents/test_personas.py holds to what happens.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
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


def at(stage: str, answer: Wire | str) -> Script:
    return only(stage, lambda turn, good: answer)


def concludes(text: str | Wire) -> Script:
    return at("conclude", text)


def first_try(stage: str, answer: Wire | str) -> Script:
    """The first request of a stage is answered so."""
    return only(stage, lambda turn, good: answer if turn.n == 0 else good)


def after_analysis(answer: Wire | str) -> Script:
    return lambda turn, good: good if turn.stage == "analyze" else answer


def wraps(before: str, after: str, stage: str | None = None) -> Script:
    return lambda turn, good: before + good + after if stage in (None, turn.stage) else good


def replaces(changes: Mapping[str, str], before: str = "") -> Script:
    def script(turn: Turn, good: str) -> str:
        for old, new in changes.items():
            good = good.replace(old, new)
        return before + good

    return script


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


def expands(data: Any) -> Script:
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


_handle = httpx.AsyncHTTPTransport.handle_async_request


async def silent_wire(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
    """In place of httpx's own, with a clock that is ahead: an answer that is marked as never coming is a timeout."""
    response = await _handle(transport, request)
    if "x-silent" in response.headers:
        await response.aclose()
        raise httpx.ReadTimeout("silent", request=request)
    return response


#: Scripts that are made of the good answer or of the request.
_COMPUTED: dict[str, Script] = {
    "good": lambda turn, good: good,
    "barejson": json_form(lambda t: t.split("```json\n")[1].removesuffix("\n```")),
    "quotedfence": json_form(lambda t: re.sub(r"^(?=```|[\[{])", "> ", t, flags=re.M)),
    "changingnonsense": _changing_nonsense,
    "earlyconclude": only("step", lambda turn, good: report() if turn.steps == 2 else good),
    "polarity": _polarity,
    "allneg": _allneg,
    "negsum": _negsum,
    "twofences": _two_python_fences,
    "unclosedcell": lambda turn, good: good.removesuffix("</python_cell>") if turn.stage == "step" else good,
    "pytool": _pytool,
    "paralleltools": _paralleltools,
    "qwentools": first_step(lambda turn, good: good if any(m["role"] == "tool" for m in turn.asked.messages) else '<tool_call>\n{"name": "retrieve_api_doc", "arguments": {"search": "stock"}}\n</tool_call>'),
    "manycells": first_step(lambda turn, good: "\n".join(step(f"print({n})") for n in range(60))),
    "bigcells": first_step(lambda turn, good: "\n".join(step(f"print('x' * 6000)  # {n}") for n in range(60))),
    "bigoutput": first_step(lambda turn, good: step("print('x' * 2000000)")),
    "plots": first_step(lambda turn, good: step(*(f"{SECOND}  # {n}" for n in range(12)))),
    "multiend": only("step", lambda turn, good: step(SECOND) + "\n<TERMINATE_NOTEBOOK>" if turn.steps else good),
    "wrongapi": _wrongapi,
    "nokey": _nokey,
    "nokeystubborn": only("step", lambda turn, good: step(f'CALL_API("fred/{turn.n}")')),
    "reasoning": lambda turn, good: says(good, reasoning_content="```json\n{}\n```\n<python_cell>\nthought\n</python_cell>"),
    "inreasoning": lambda turn, good: says("", reasoning_content=good),
    "lengthcut": _lengthcut,
    "fallback": _fallback_only,
    "emptyoften": _empty_often,
    "nullfinish": lambda turn, good: says(good, None),
    "oddfinish": lambda turn, good: says(good, "eos_token"),
    "surrarguments": first_step(lambda turn, good: good if any(m["role"] == "tool" for m in turn.asked.messages) else calls(("retrieve_api_doc", '{"search":"\\ud83d stock"}'))),
    "contentlist": lambda turn, good: Wire(message={"content": [{"type": "text", "text": good}]}),
    "usageonce": lambda turn, good: says(good, usage=None) if turn.total % 3 == 2 else good,
    "notools": _notools,
    "noimages": lambda turn, good: refuses(400, "Invalid content type. image_url is only supported by certain models.") if turn.images else good,
    "notemperature": _temperature_refused,
    "noschema": _schema_refused,
    "schema": _in_schema,
    "ctx": lambda turn, good: CONTEXT if turn.stage in ("step", "conclude") and turn.steps else good,
    "ctx2": _ctx2,
    "ctx4k": small_context(4500),
    "tpm": lambda turn, good: _busy(Retry_After="20") if turn.total % 3 == 2 else good,
    "slow": lambda turn, good: _sent(turn, good, drip=0.002),
    "slowbody": only("conclude", lambda turn, good: _sent(turn, good, drip=0.01)),
    "streams": lambda turn, good: _streamed(good),
    "streamcut": lambda turn, good: _streamed(good, broken=turn.total == 1),
}  # fmt: skip


def answer_of(value: Any) -> Any:
    """A recorded answer: a text, or a wire whose body of bytes is written in Latin-1."""
    if not isinstance(value, dict) or "wire" not in value:
        return value
    wire = dict(value["wire"])
    if "raw" in wire:
        wire["raw"] = RawAnswer(**wire["raw"] | {"body": wire["raw"].get("body", "").encode("latin-1")})
    return Wire(**wire)


#: How a recorded script answers, by the word before its arguments.
SCRIPTS: dict[str, Callable[..., Script]] = {
    maker.__name__: maker
    for maker in (at, first_try, fails_first, after_analysis, wraps, replaces, expands, usage)
}
#: What a persona does, in words and as a script; ``personas.json`` has those that answer as it stands there.
PERSONAS: dict[str, tuple[str, Script]] = {
    name: (about, SCRIPTS[script[0]](*map(answer_of, script[1:])) if script else _COMPUTED[name])
    for name, (about, *script) in json.loads(
        Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    ).items()
}


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
