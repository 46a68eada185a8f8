"""A whole run over the native wire of each family, one slip in its middle: the same root, and nothing bought twice."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.settings import ProxySettings
from tests.fakes.loopback import serving_json
from tests.fakes.model_policy import understand
from tests.fakes.persona_run import CLAIM, Hurry, proofs_count_as_verified, require_right
from tests.fakes.personas import Turn, smooth
from tests.fakes.pretend_sandbox import PretendSandbox
from tests.fakes.provider_shapes import KEY
from tests.fakes.streamed_shapes import SHAPES, Said
from workbench.engine.access.outage import Timing
from workbench.engine.flow import Engine
from workbench.engine.new_run import new_run
from workbench.engine.run_settings import with_preset
from workbench.models.model_options import ONE_TRY
from workbench.models.providers.litellm_client import LiteLLMModel
from workbench.reports.note_page import write_report
from workbench.store import Store

pytestmark = pytest.mark.long

Answer = tuple[int, Any, Mapping[str, str]]
#: Model, path behind the server's address, shape of its replies, the setting that names the address.
FAMILIES = {
    "anthropic": ("anthropic/claude-sonnet-4-5", "", "anthropic", "ANTHROPIC"),
    "gemini": ("gemini/gemini-2.5-pro", "", "gemini", "GEMINI"),
    "groq": ("groq/openai/gpt-oss-120b", "/v1", "openai-chat", "GROQ"),
    "openrouter": ("openrouter/anthropic/claude-sonnet-4.5", "/v1", "openai-chat", "OPENROUTER"),
    "openai": ("openai/gpt-4.1", "/v1", "openai-chat", "OPENAI"),
    "responses": ("openai/responses/gpt-4.1", "/v1", "openai-responses", "OPENAI"),
}


def error(status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> Answer:
    return status, {"error": {"message": message, "code": status, **more}}, headers or {}


QUOTA = "* Quota exceeded for metric: some.long.domain/free_tier_input_tokens, limit: 2500, model: m\n"
#: One slip each of what goes wrong on the way of a request that is good; the same bodies for all families that can send them.
SLIPS: dict[str, Answer] = {
    "a minute's limit behind ten lines of quota": error(429, f"You exceeded your current quota, check your plan and billing details.\n{QUOTA * 10}Please retry in 20.04s."),
    "a delay in a field": error(429, "You exceeded your current quota.", details=[{"@type": "RetryInfo", "retryDelay": "7s"}]),
    "a tool call that cannot be read": error(400, "Failed to call a function.", code="tool_use_failed", failed_generation="<function=look>{"),
    "overloaded": error(529, "Overloaded", type="overloaded_error"),
    "a broken line": (200, b'data: {"id": "1"', {"Content-Type": "text/event-stream"}),
    "an error in the stream": (200, b'data: {"error": {"message": "Provider disconnected", "code": "server_error"}}\n\n', {"Content-Type": "text/event-stream"}),
    "a plain error": (200, {"error": {"message": "Internal Server Error", "code": 500}}, {}),
}  # fmt: skip
#: Ends by which a server says that it failed, or that it cut a reply, on the wires that have them.
ENDS = {
    ("openrouter", "error"): (200, b'data: {"id": "1", "created": 1, "choices": [{"index": 0, "delta": {"content": "Half"}, "finish_reason": "error"}]}\n\n'),
    ("openai", "insufficient_system_resource"): (200, b'data: {"id": "1", "choices": [{"index": 0, "delta": {"content": "Half"}, "finish_reason": "insufficient_system_resource"}]}\n\n'),
    ("gemini", "MODEL_ARMOR"): (200, b'data: {"candidates": [{"index": 0, "finishReason": "MODEL_ARMOR"}]}\n\n'),
}  # fmt: skip


def text(content: Any) -> str:
    """The text of a message or its parts, in any family's form."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    return "\n".join(text(part.get("text", part.get("content", part.get("output", "")))) for part in parts)


def as_chat(body: dict[str, Any]) -> dict[str, Any]:
    """A native request as the chat request that the scripts read."""
    if "contents" in body:
        roles = {"model": "assistant", "user": "user"}
        turns = [{"role": roles[turn["role"]], "content": text(turn["parts"])} for turn in body["contents"]]
        system = text((body.get("system_instruction") or body.get("systemInstruction"))["parts"])
    else:
        items = body.get("messages") or [item for item in body["input"] if item.get("role")]
        turns = [{"role": turn["role"], "content": text(turn.get("content"))} for turn in items]
        system = text(body.get("system") or body.get("instructions") or "")
    return {
        "messages": [
            {"role": "system", "content": system},
            *(turn for turn in turns if turn["role"] != "system"),
        ]
    }


class Provider:
    """The smooth script behind a native wire, with a slip in place of its fifth answer, and a call with thoughts as the first step."""

    def __init__(self, family: str, slip: Answer | None) -> None:
        self.family, self.slip = family, slip
        self.answered: Counter[str] = Counter()
        self.slipped = False
        self.thoughtful = 0
        self.faults: list[str] = []
        self.n: Counter[tuple[str, str]] = Counter()

    def answer(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        if sum(self.answered.values()) == 4 and self.slip is not None and not self.slipped:
            self.slipped = True
            return self.slip
        shape = SHAPES[FAMILIES[self.family][2]]
        self._require_thoughts(body)
        asked = understand(as_chat(body))
        place = (asked.stage, asked.node)
        turn = Turn(asked, self.n[place], sum(self.n.values()))
        said = Said(smooth(turn), thoughts="First the base rate.")
        if self.family == "anthropic" and asked.stage == "step" and body.get("tools") and self.n[place] == 0:
            said = Said(
                thoughts="Which series?", calls=(("retrieve_api_doc", {"full_paths": ["fred.get_series"]}),)
            )
        self.n[place] += 1
        self.answered[json.dumps(body, sort_keys=True)] += 1
        lines = shape.wire(shape.whole(said), [40, 7])
        return 200, b"".join(lines), {"Content-Type": shape.kind}

    def _require_thoughts(self, body: dict[str, Any]) -> None:
        """Anthropic's rule: with thinking on, a turn that calls a tool begins with its thoughts."""
        for turn in body.get("messages") or ():
            parts = turn["content"] if isinstance(turn.get("content"), list) else []
            if any(part.get("type") == "tool_use" for part in parts):
                self.thoughtful += 1
                if parts[0] != {"type": "thinking", "thinking": "Which series?", "signature": "sig"}:
                    self.faults.append(f"Expected `thinking`, but found `{parts[0].get('type')}`")


async def ran(family: str, slip: Answer | None, home: Path, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """Run the claim to its end over this wire and hold its root; the provider that answered."""
    name, base, _, setting = FAMILIES[family]
    home.mkdir()
    provider, time = Provider(family, slip), Hurry()
    store = Store(home / "home")
    broker = open_broker(ProxySettings.from_environment({}, cache_path=home / "cache.db"))
    with serving_json(provider.answer) as url, proofs_count_as_verified():
        monkeypatch.setenv(f"{setting}_API_BASE", url + base)
        monkeypatch.setenv(f"{setting}_API_KEY", KEY)
        engine = Engine(
            store,
            note=write_report,
            broker=broker,
            catalogue=broker.catalogue,
            sandbox=PretendSandbox(),  # type: ignore[arg-type]
            model=LiteLLMModel(name, retries=ONE_TRY.with_timeout(30), sleep=time.sleep, reply_form="text"),
            timing=Timing(time.clock, time.sleep, lambda: 0.5),
        )
        effort = {"effort": "medium"} if family == "anthropic" else {}
        settings = with_preset("product", model=name, patience=60.0, **effort)  # type: ignore[arg-type]
        state = await engine.work(new_run(store, CLAIM, Cutoff.parse("2018-06-30"), settings))
        require_right(state)
    await broker.aclose()
    store.close()
    assert not provider.faults and provider.slipped == (slip is not None)
    assert max(provider.answered.values()) == 1, "no request that was answered is sent again"
    return provider


#: Each slip on two of the families, each family with two or three of the slips.
CASES = [
    *(
        (family, slip, SLIPS[slip])
        for place, family in enumerate(FAMILIES)
        for slip in (list(SLIPS)[place], list(SLIPS)[(place + 3) % len(SLIPS)])
    ),
    ("anthropic", "a plain error", SLIPS["a plain error"]),
    *(
        (family, end, (*answer, {"Content-Type": "text/event-stream"}))
        for (family, end), answer in ENDS.items()
    ),
]
#: Answers of a run without a slip, by family.
_smooth: dict[str, int] = {}


@pytest.mark.parametrize(
    ("family", "slip", "answer"), CASES, ids=[f"{family}: {slip}" for family, slip, _ in CASES]
)
async def test_one_slip_in_the_middle_changes_nothing_and_buys_nothing_twice(
    family: str, slip: str, answer: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if family not in _smooth:
        good = await ran(family, None, tmp_path / "smooth", monkeypatch)
        assert family != "anthropic" or good.thoughtful
        _smooth[family] = sum(good.answered.values())
    again = await ran(family, answer, tmp_path / "slipped", monkeypatch)
    assert sum(again.answered.values()) == _smooth[family]
