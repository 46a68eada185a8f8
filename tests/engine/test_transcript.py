"""A transcript holds every model call as it was sent and answered, each sentence once; a stranger's words in it do nothing."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.ledger import Address
from tests.command_line import run_cli, run_ok
from tests.fakes.hostile_text import corpus
from tests.fakes.model_policy import Asked, Policy
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.screens import RUN, make_run
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.models.base import Message, ModelReply, ModelRequest, ToolCall, ToolSpec, Usage
from workbench.models.thoughts import well_formed
from workbench.packages.export import export_run
from workbench.reports.note_content import note_of
from workbench.reports.note_markdown import note_markdown
from workbench.reports.note_page import note_html
from workbench.reports.note_tree import Verbatim
from workbench.reports.note_word import note_docx
from workbench.store import ModelLedger, Store
from workbench.store import events as ev
from workbench.views.transcript import call_heading, call_parts, transcript
from workbench.widgets.panels import model_calls

CANARY = "http://127.0.0.1:9"


def _record(store: Store, node: str, step: int, messages: Sequence[Message], **reply: Any) -> None:
    request = ModelRequest(
        messages=tuple(messages),
        stage="step",
        cutoff="2018-06-30",
        tools=(ToolSpec(name="call_api", description="data", parameters={}),),
    )
    address = Address(run=RUN, node=node, trial=1, attempt=1, stage="step", step=step, retry=0)
    answer = ModelReply(model="acme/one", **{"text": "", "cost_usd": 0.5, "seconds": 2.0, **reply})
    ModelLedger(store).record(address, request, request.canonical_hash("acme/one"), answer)


def _said(role: Any, text: str, **more: Any) -> Message:
    return Message(role=role, content=text, **more)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    make_run(tmp_path / "home")
    with closing(Store(tmp_path / "home")) as opened:
        yield opened


def _document(store: Store, node: str | None = None, search: str = "") -> dict[str, Any]:
    return transcript(store, load_state(store, RUN), node, search=search)


def _own(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for call in document["calls"] if call["model"] == "acme/one"]


def test_what_stood_in_a_call_before_is_folded_as_sent_or_as_replied(store: Store) -> None:
    system, first = _said("system", "Be careful."), _said("user", "Ground P1.1.")
    _record(store, "P1.1", 0, [system, first], text="<think>\nhm\n</think>\nI look it up.")
    _record(
        store,
        "P1.1",
        1,
        [system, first, _said("assistant", "I look it up."), _said("user", "2 rows", images=(b"png",))],
        text="0.6",
        usage=Usage(input_tokens=1200, output_tokens=30, cached_tokens=900),
        cost_usd=None,
    )
    _record(store, "P2.1", 0, [system, _said("user", "Ground P2.1.")], text="0.4")
    one, two, three = _own(_document(store))
    assert [message["content"] for message in one["sent"]] == ["Be careful.", "Ground P1.1."]
    assert (one["reply"]["text"], one["reply"]["thoughts"]) == ("I look it up.", "<think>\nhm\n</think>")
    assert [message["content"] for message in two["sent"]] == ["2 rows"]
    assert two["folded"] == {"messages": 3, "last_in": one["number"]}
    assert [message["content"] for message in three["sent"]] == ["Ground P2.1."]
    assert dict(call_parts(two))["sent, user"] == "2 rows\n[1 picture]"
    assert "1,200 tokens in, 30 out, 900 cached, price unknown, 2.0 s" in call_heading(two)
    assert "P1.1 trial 1, step 2" in call_heading(two)
    assert [call["node"] for call in _own(_document(store, "P2.1"))] == ["P2.1"]
    # By itself a node's transcript leaves out nothing that another node's calls show.
    assert len(_own(_document(store, "P2.1"))[0]["sent"]) == 2


texts = st.sampled_from(["a", "b", "c"])
turns = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts), min_size=1, max_size=5)


@given(dialogues=st.lists(st.tuples(turns, texts), min_size=1, max_size=6))
def test_every_message_of_every_call_can_be_read_in_its_transcript(
    tmp_path_factory: pytest.TempPathFactory, dialogues: list[tuple[list[tuple[str, str]], str]]
) -> None:
    home = tmp_path_factory.mktemp("law")
    make_run(home)
    with closing(Store(home)) as store:
        for step, (messages, reply) in enumerate(dialogues):
            _record(store, "P1.1", step, [_said(role, text) for role, text in messages], text=reply)
        calls = _document(store)["calls"]
        assert len(calls) == len(dialogues)
        shown: set[tuple[str, ...]] = set()  # beginnings of dialogues that can be read so far
        for call, (messages, reply) in zip(calls, dialogues, strict=True):
            spelt = [f"{role}: {text}" for role, text in messages]
            known = call["folded"]["messages"]
            sent = [f"{message['role']}: {message['content']}" for message in call["sent"]]
            assert sent == spelt[known:]
            assert not known or tuple(spelt[:known]) in shown
            shown |= {tuple(spelt[:length]) for length in range(len(spelt) + 1)}
            shown.add((*spelt, f"assistant: {reply}"))


def test_a_call_of_a_tool_and_a_request_without_a_reply_are_shown(store: Store) -> None:
    wish = ToolCall(id="1", name="call_api", arguments={"path": "embedded/series/list"})
    _record(store, "P1.1", 0, [_said("user", "Go.")], tool_calls=(wish,), finish="truncated")
    place = {"node": "P1.1", "trial": 1, "attempt": 1, "stage": "step", "retry": 0}
    for step, digest in ((1, "x"), (2, "y")):
        store.append(RUN, ev.CallAsked(**place, step=step, request_hash=digest, model="acme/one"))
    store.append(RUN, ev.CallUnbilled(**place, step=1, request_hash="x", reason="429: slow down"))
    document = _document(store)
    parts = dict(call_parts(_own(document)[0]))
    assert parts["reply"] == "-> call_api(path='embedded/series/list')"
    assert parts["tools on offer"] == "call_api"
    assert parts["ended"] == "truncated"
    assert [row["reason"][:15] for row in document["unanswered"]] == ["429: slow down", "no reply: the p"]


@pytest.fixture
def hostile(store: Store) -> Store:
    for step, text in enumerate(map(well_formed, corpus(CANARY).values())):
        _record(store, "P1.1", step, [_said("user", text)], text=text, notes=(text,))
    return store


def test_in_a_note_a_strangers_words_are_text_in_all_formats(hostile: Store) -> None:
    note = note_of(hostile, load_state(hostile, RUN), with_transcript=True)
    assert sum(isinstance(block, Verbatim) for block in note.blocks) >= len(corpus(CANARY))
    without = note_html(note_of(hostile, load_state(hostile, RUN)))
    page, tag = note_html(note), re.compile(r"<(\w+)")
    assert set(tag.findall(page)) <= set(tag.findall(without)) | {"pre"}
    assert not re.search(r"""<[^>]*\s(on\w+|src|href)=["'](?!#|data:image)""", page)
    appendix = note_markdown(note).split("## Appendix: every model call")[1]
    for line in appendix.splitlines():
        assert not line or line.startswith(("    ", "### call", "*"))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", appendix)
    with zipfile.ZipFile(io.BytesIO(note_docx(note))) as parts:
        document = parts.read("word/document.xml").decode()
    assert "Appendix: every model call" in document
    assert "instrText" not in document


def test_on_a_page_a_strangers_words_are_text(hostile: Store) -> None:
    panel = model_calls(_document(hostile))
    assert set(re.findall(r"<(\w+)", panel)) == {"p", "details", "summary", "div", "span", "pre"}


def test_only_a_note_takes_a_transcript(store: Store) -> None:
    with pytest.raises(UsageError, match="only a note can hold a transcript"):
        export_run(store, RUN, "zip", with_transcript=True)
    _record(store, "P1.1", 0, [_said("user", "Steel prices?")], text="They rose.")
    assert b"Steel prices?" in export_run(store, RUN, "md", with_transcript=True)[0]
    assert b"Steel prices?" not in export_run(store, RUN, "md")[0]


class Thinks(Policy):
    """A model that sends its thoughts beside each reply."""

    def answer(self, asked: Asked) -> dict[str, Any]:
        return {**super().answer(asked), "reasoning_content": f"Only {asked.stage} is asked. <python_cell>"}


def test_thoughts_that_came_beside_a_reply_are_kept_and_sent_to_nobody(tmp_path: Path) -> None:
    with OpenAIServer(Thinks(plan={"P0": {"P1": ("The first part holds", "Positive")}})) as server:
        done = run_ok(
            tmp_path,
            "analyze",
            "The cabinet falls by 2024-12-31",
            "--cutoff",
            "2024-01-15",
            *server.words(),
            "--grounder",
            "zero-shot",
            "--json",
            OPENAI_API_KEY="none",
        )
        assert not any(" is asked. <python_cell>" in asked.everything for asked in server.asked)
    run = orjson.loads(done)["run_id"]
    document = orjson.loads(
        run_cli(tmp_path, "transcript", run, "--search", "linear is asked", "--json").stdout
    )
    assert [call["reply"]["thoughts"] for call in document["calls"]] == [
        "Only linear is asked. <python_cell>"
    ]
    assert document["n_calls"] > 2 and run_cli(tmp_path, "verify", run).returncode == 0
