"""Input tokens of one leaf of twelve steps, what of them a provider may serve from its cache, and what they cost.

Run: ``python -m benchmarks.tokens``. A scripted server takes the requests of the real notebook grounder through LiteLLM in
Anthropic's and in OpenAI's form; no network but loopback, nothing is written. Each request is then read as the provider's
documentation says that its cache does: Anthropic serves what stands before a mark and was written before, byte for byte, as long
as tools and tool choice are the same; OpenAI serves the longest beginning that an earlier request had, tools and schema included,
in steps of 128 tokens from 1,024 on. Tokens are counted as ``benchmarks.prompts`` counts them.

The leaf: a search and two documents, twelve steps of 600 tokens with outputs of 1,500, one figure, a conclusion.

``--trees`` runs whole trees through the real engine instead (only kernels and model are scripted): twelve leaves in three families, and
60 nodes with 47 leaves in twelve, six steps a leaf, each leaf looking for the series of its family unless it is told where another has
found it (``share_calls``). Printed: model calls, input tokens, what a cache of OpenAI's kind serves of them, and dollars at $3, $0.30 and
$15 for a million tokens of input, cached input and output.
"""

import argparse
import asyncio
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.arguments import parse
from benchmarks.prompts import READ, SOUGHT, counter
from proxies.asof.clock import Cutoff
from proxies.catalogue import api_doc, api_map, api_search, load_catalogue
from sandbox.types import SessionSpec
from tests.fakes.leaf import make_leaf_task
from tests.fakes.loopback import serving_json
from tests.fakes.sandbox import FakeSession, printed
from tests.fakes.sharing_run import sharing_run
from workbench.agents.base import Grounding
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.models.base import ModelReply, ModelRequest, NodeRef
from workbench.models.providers.listed import load_litellm
from workbench.models.providers.litellm_client import LiteLLMModel

STEPS = 12
#: Sizes of the families of a tree, by its name.
TREES = {"12 leaves": (4, 4, 4), "60 nodes, 47 leaves": (*[4] * 11, 3)}
IMAGE_TOKENS = 1_000
LOOK_BACK = 20  # parts before a mark in which Anthropic looks for what was written
SMALLEST = 1_024  # tokens that either provider caches at least
GRAIN = 128  # OpenAI's
#: US dollars per million input tokens: plain, written to the cache, read from it. anthropic.com/pricing and
#: openai.com/api/pricing as LiteLLM 1.106 lists them.
PRICES = {"anthropic": (3.0, 3.75, 0.3), "openai": (1.25, 1.25, 0.125)}
MODELS = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-5"}
#: The same leaf at commit 1e537a8, measured with this script on that checkout: total, cacheable, dollars of input.
BEFORE = {"anthropic": (241_121, 0, 0.7234), "openai": (239_758, 208_896, 0.0647)}

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a request in the order in which a provider reads it; ``key`` is equal for equal pieces."""

    key: str
    tokens: int
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """Input tokens of a dialogue: plain, written to the cache and read from it."""

    plain: int
    written: int
    read: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.plain + self.written + self.read

    @property
    def share(self) -> float:
        """What comes from the cache."""
        return self.read / self.total

    def dollars(self, prices: tuple[float, float, float]) -> float:
        """What the input costs."""
        counts = (self.plain, self.written, self.read)
        return sum(count * price for count, price in zip(counts, prices, strict=True)) / 1e6


class Script:
    """Answers the twelve-step leaf in the form of either provider, and keeps what was asked."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.asked: list[dict[str, Any]] = []

    def reply(
        self, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any, dict[str, str]]:
        """The next reply of the script."""
        self.asked.append(body)
        return 200, self.answer(len(self.asked)), {}

    def answer(self, number: int) -> dict[str, Any]:
        """The reply to the request of this number, from 1."""
        calls: list[dict[str, Any]] = [{"search": SOUGHT[0]}, {"full_paths": list(READ)}]
        if number <= len(calls):
            return self._form("", calls[number - 1], number)
        step = number - len(calls)
        if step <= STEPS:
            reason = " ".join(f"thought {step}.{n} on the series" for n in range(60))
            code = "\n".join(f"print('value {step}', {n}, series[{n}])" for n in range(16))
            text = f"<markdown_cell>\n{reason}\n</markdown_cell>\n<python_cell>\n{code}\n</python_cell>"
        elif step == STEPS + 1:
            text = "<TERMINATE_NOTEBOOK>"
        else:
            text = 'As the cells say.\n\n```json\n{"p_true": 0.6, "key_factor": "the trend"}\n```'
        return self._form(text, None, number)

    def _form(self, text: str, call: dict[str, Any] | None, number: int) -> dict[str, Any]:
        if self.family == "anthropic":
            use = {"type": "tool_use", "id": f"t{number}", "name": "retrieve_api_doc", "input": call}
            return {
                "id": str(number),
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": [{"type": "text", "text": text}] if call is None else [use],
                "stop_reason": "end_turn" if call is None else "tool_use",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if call is not None:
            function = {"name": "retrieve_api_doc", "arguments": json.dumps(call)}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"t{number}", "type": "function", "function": function}],
            }
        return {
            "id": str(number),
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-5",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }


def requests_of_a_leaf(family: str) -> list[dict[str, Any]]:
    """The bodies that a leaf of twelve steps sends to a provider of this family."""
    catalogue = load_catalogue()
    guide = SimpleNamespace(
        overview=api_map(catalogue),
        document=lambda paths: api_doc(catalogue, paths),
        search=lambda words: api_search(catalogue, words),
    )
    rows = [
        "\n".join(f"2018-{step:02d}-{n:02d}  {1000 * step + n * 7.31:.2f}" for n in range(94))
        for step in range(1, STEPS + 1)
    ]
    outputs = [printed(text, image=step == 10) for step, text in enumerate(rows, 1)]

    async def no_api(path: str, params: Any, *, cell: int, nth: int) -> Any:
        raise AssertionError("no cell runs for real here")

    script = Script(family)
    with serving_json(script.reply) as address:
        # The client of a server of one's own is not the provider's: the address goes in by LiteLLM's own setting.
        model = LiteLLMModel(MODELS[family], api_key="none-needed")
        load_litellm().api_base = address

        async def ask(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
            return await model.complete(request)

        session = FakeSession(SessionSpec(name="t", journal=None, notebook=None), no_api, list(outputs))  # type: ignore[arg-type]
        leaf = NodeRef(id="P1.2", statement="The S&P 500 closes above 2700 on 2018-12-31")
        task = make_leaf_task(leaf, cutoff=Cutoff.parse("2018-06-30"), ask=ask, session=session, data=guide)
        try:
            grounding = asyncio.run(NotebookGrounder().ground(task))
        finally:
            load_litellm().api_base = None
        assert isinstance(grounding, Grounding), grounding
        return script.asked


def parts_of(body: dict[str, Any], family: str, count: Count) -> list[Part]:
    """A request as the parts that its provider reads, in order: tools, schema, system, messages."""
    parts = [_part("tool", tool, count) for tool in body.get("tools") or ()]
    if family == "openai" and body.get("response_format"):
        parts.insert(0, _part("schema", body["response_format"], count))
    system = body.get("system") or []
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    parts += [_part("system", block, count) for block in blocks]
    # Another tool choice leaves tools and system message in the cache, and nothing behind them.
    choice = json.dumps(body.get("tool_choice") if family == "anthropic" else None)
    for message in body["messages"]:
        content = message.get("content") or ""
        pieces = [{"type": "text", "text": content}] if isinstance(content, str) else content
        pieces = [*pieces, *({"type": "tool_call", "call": call} for call in message.get("tool_calls") or ())]
        parts += [_part(message["role"] + choice, piece, count) for piece in pieces]
    return parts


def _part(place: str, piece: dict[str, Any], count: Count) -> Part:
    plain = {key: value for key, value in piece.items() if key != "cache_control"}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False)
    key = hashlib.sha256(f"{place}\0{text}".encode()).hexdigest()
    if plain.get("type") in ("image", "image_url"):
        return Part(key, IMAGE_TOKENS, "cache_control" in piece)
    return Part(key, count(plain.get("text", text)), "cache_control" in piece)


def anthropic(dialogue: Sequence[Sequence[Part]]) -> Tally:
    """What Anthropic's cache makes of a dialogue, request by request."""
    stored: set[str] = set()
    plain = written = read = 0
    for parts in dialogue:
        keys, sizes = _prefixes(parts)
        marks = [place for place, part in enumerate(parts) if part.marked]
        assert len(marks) <= 4, "a request has at most four marks"
        found = [
            place
            for mark in marks
            for place in range(max(0, mark - LOOK_BACK), mark + 1)
            if keys[place] in stored
        ]
        served = sizes[max(found)] if found else 0
        fresh = max([sizes[mark] for mark in marks if sizes[mark] >= SMALLEST], default=0)
        stored |= {keys[mark] for mark in marks if sizes[mark] >= SMALLEST}
        read, written = read + served, written + max(0, fresh - served)
        plain += sizes[-1] - max(served, fresh)
    return Tally(plain, written, read)


def openai(dialogue: Sequence[Sequence[Part]]) -> Tally:
    """What OpenAI's cache makes of a dialogue: the longest beginning that was seen, without any mark."""
    seen: set[str] = set()
    plain = read = 0
    for parts in dialogue:
        keys, sizes = _prefixes(parts)
        served = max((size for key, size in zip(keys, sizes, strict=True) if key in seen), default=0)
        served = served // GRAIN * GRAIN if served >= SMALLEST else 0
        seen |= set(keys)
        read, plain = read + served, plain + sizes[-1] - served
    return Tally(plain, 0, read)


def _prefixes(parts: Sequence[Part]) -> tuple[list[str], list[int]]:
    """For each part, a key of everything up to it, and its tokens."""
    keys: list[str] = []
    sizes: list[int] = []
    for part in parts:
        before = keys[-1] if keys else ""
        keys.append(hashlib.sha256(f"{before}{part.key}".encode()).hexdigest())
        sizes.append((sizes[-1] if sizes else 0) + part.tokens)
    return keys, sizes


def measure(family: str) -> Tally:
    """Tokens of the leaf at a provider of this family."""
    count, _ = counter()
    dialogue = [parts_of(body, family, count) for body in requests_of_a_leaf(family)]
    return anthropic(dialogue) if family == "anthropic" else openai(dialogue)


def measure_tree(sizes: Sequence[int], *, share: bool) -> tuple[int, Tally, int]:
    """Calls, input tokens and output tokens of a run of families of these sizes, as the leaves' dialogues send them."""
    size = lru_cache(maxsize=None)(counter()[0])  # a dialogue sends its earlier messages again
    with tempfile.TemporaryDirectory(prefix="tokens-") as home:
        _, model = sharing_run(Path(home), *sizes, share_calls=share)
    plain = read = written = 0
    dialogues: dict[str, list[list[Part]]] = {}
    for request, reply in zip(model.requests, model.replies, strict=True):
        tools = [
            Part(f"tool {tool.name}", size(tool.description + str(tool.parameters))) for tool in request.tools
        ]
        turns = [
            Part(
                f"{turn.role} {turn.content} {turn.tool_calls}",
                size(turn.content + str(turn.tool_calls or "")),
            )
            for turn in request.messages
        ]
        dialogues.setdefault(request.nodes[0].id, []).append([*tools, *turns])
        written += size(reply.text + str(reply.tool_calls or ""))
    for dialogue in dialogues.values():
        tally = openai(dialogue)
        plain, read = plain + tally.plain, read + tally.read
    return len(model.requests), Tally(plain, 0, read), written


def print_trees() -> None:
    """Print a row for each tree, with calls shared and not."""
    print(
        f"{'tree':<22} {'share_calls':<12} {'calls':>6} {'input tokens':>13} {'cached':>7} {'written':>8} {'$, no cache':>12} {'$, cached':>10}"
    )
    for name, sizes in TREES.items():
        for share in (False, True):
            calls, tally, written = measure_tree(sizes, share=share)
            out = written * 15 / 1e6
            whole, cached = tally.dollars((3.0, 0.0, 3.0)) + out, tally.dollars((3.0, 0.0, 0.3)) + out
            print(
                f"{name:<22} {share!s:<12} {calls:>6,} {tally.total:>13,} {tally.share:>7.1%} {written:>8,} {whole:>12.2f} {cached:>10.2f}"
            )


def main() -> None:
    """Print one line per provider, beside what it was before; or the trees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", action="store_true", help="whole trees, with data calls shared and not")
    arguments = parse(parser)
    _, how = counter()
    if arguments.trees:
        print(f"tokens by {how}")
        return print_trees()
    print(f"one leaf of {STEPS} steps; tokens by {how}")
    for family, prices in PRICES.items():
        tally = measure(family)
        total, cacheable, dollars = BEFORE[family]
        now = tally.dollars(prices)
        print(
            f"{MODELS[family]:<30} before: {total:>8,} tokens, {cacheable / max(total, 1):>6.1%} cacheable, ${dollars:.4f}"
            f"   now: {tally.total:>8,} tokens, {tally.share:>6.1%} cacheable, ${now:.4f}   {dollars / now:.2f}x"
        )


if __name__ == "__main__":
    main()
