"""The log and the ledgers keep what they were told, in order, and answer only where they were asked."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxies.ledger import Address
from workbench.engine.record.run_files import journal_name
from workbench.errors import UsageError
from workbench.models.base import Message, ModelReply, ModelRequest, NodeRef, ToolCall, Usage
from workbench.propositions.errors import IdMismatch
from workbench.store import ModelLedger, Store, StoreCorrupt, StoredEvent, UnknownRun
from workbench.store import events as ev

H = "sha256:" + "0" * 64


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "home")
    yield made
    made.close()


def started(statement: str = "It rains") -> ev.RunStarted:
    return ev.RunStarted(
        statement=statement, cutoff="2018-06-30", cutoff_instant="2018-06-30T04:00:00Z", settings={}
    )


def address(**changes: Any) -> Address:
    values: dict[str, Any] = {
        "run": "r",
        "node": "P1",
        "trial": 1,
        "attempt": 1,
        "stage": "step",
        "step": 0,
        "retry": 0,
    }
    return Address(**(values | changes))


def request(text: str = "hello") -> ModelRequest:
    return ModelRequest(
        messages=(
            Message(role="system", content="be brief"),
            Message(role="user", content=text, images=(b"png",)),
        ),
        stage="step",
        cutoff="2018-06-30",
        nodes=(NodeRef(id="P1", statement="It rains"),),
    )


def reply(text: str = "yes", cost: float | None = 0.5) -> ModelReply:
    return ModelReply(
        text=text,
        model="m",
        tool_calls=(ToolCall(id="1", name="t", arguments={"a": [1]}),),
        usage=Usage(input_tokens=3, output_tokens=1),
        cost_usd=cost,
        seconds=0.1,
    )


EVENTS = st.one_of(
    st.builds(
        ev.LeafGrounded,
        node=st.sampled_from(["P1", "P2.1"]),
        trial=st.integers(1, 5),
        attempt=st.integers(1, 3),
        p=st.floats(0, 1),
        key_factor=st.text(max_size=40),
        report=st.just(H),
        steps=st.integers(0, 20),
        failed_cells=st.integers(0, 20),
        evidence=st.builds(ev.EvidenceRecord, kind=st.sampled_from(["notebook", "trace"])),
    ),
    st.builds(ev.RunStopped, why=st.sampled_from(["interrupt", "budget"]), detail=st.text(max_size=40)),
    st.builds(ev.NodeFailed, node=st.just("P2"), reason=st.text(max_size=40)),
    st.builds(ev.RunResumed),
)


@given(st.lists(EVENTS, max_size=12))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_run_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, written: list[ev.Event]
) -> None:
    store = Store(tmp_path_factory.mktemp("home"))
    try:
        store.append("r", started())
        for event in written:
            store.append("r", event)
        read = store.events("r")
        assert [item.event for item in read] == [started(), *written]
        assert [item.seq for item in read] == sorted({item.seq for item in read})
    finally:
        store.close()


def test_a_transaction_is_all_or_nothing_also_inside_another(store: Store) -> None:
    store.append("r", started())
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.append("r", ev.RunResumed())
        raise ZeroDivisionError
    assert len(store.events("r")) == 1
    with store.transaction():
        store.append("r", ev.NodeFailed(node="P1", reason="kept"))
        with pytest.raises(ZeroDivisionError), store.transaction():
            store.append("r", ev.NodeFailed(node="P2", reason="taken back"))
            raise ZeroDivisionError
        store.append("r", ev.NodeFailed(node="P3", reason="kept"))
    assert [item.event.node for item in store.events("r")] == [None, "P1", "P3"]


def test_an_event_cannot_be_changed_or_taken_back(store: Store, tmp_path: Path) -> None:
    store.append("r", started())
    with sqlite3.connect(tmp_path / "home" / "workbench.db") as stranger:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            stranger.execute("UPDATE events SET node = 'P9'")
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            stranger.execute("DELETE FROM events")
    stranger.close()
    assert len(store.events("r")) == 1


def test_a_body_is_kept_once_and_its_hash_is_checked(store: Store, tmp_path: Path) -> None:
    digest = store.put_body("a report")
    assert store.put_body(b"a report") == digest
    assert store.text(digest) == "a report"
    with sqlite3.connect(tmp_path / "home" / "workbench.db") as stranger:
        stranger.execute("UPDATE bodies SET data = ?", (b"another report",))
    stranger.close()
    with pytest.raises(StoreCorrupt, match="altered"):
        store.body(digest)


def test_a_guard_that_raises_refuses_the_event_and_changes_nothing(store: Store) -> None:
    store.append("r", started())

    def at_most_two(events: list[StoredEvent]) -> None:
        if len(events) >= 2:
            raise RuntimeError("full")

    store.append("r", ev.RunResumed(), guard=at_most_two)
    with pytest.raises(RuntimeError, match="full"):
        store.append("r", ev.RunResumed(), guard=at_most_two)
    assert len(store.events("r")) == 2
    store.append("r", ev.RunResumed())


@pytest.mark.parametrize(
    ("text", "found"), [("20180101-a", "20180101-a"), ("2019", "20190101-b"), ("last", "20190101-b")]
)
def test_a_run_is_found_by_id_beginning_or_as_the_last(store: Store, text: str, found: str) -> None:
    store.append("20180101-a", started())
    store.append("20190101-b", started())
    assert store.resolve_run(text) == found


@pytest.mark.parametrize("text", ["nope", "20", ""])
def test_an_unknown_or_ambiguous_run_is_refused(store: Store, text: str) -> None:
    store.append("20180101-a", started())
    store.append("20190101-b", started())
    with pytest.raises(UnknownRun):
        store.resolve_run(text)


def test_a_reply_is_recalled_only_at_its_address_and_for_its_request(store: Store) -> None:
    ledger = ModelLedger(store)
    digest = request().canonical_hash("m")
    ledger.record(address(), request(), digest, reply())
    assert ledger.recall(address(), digest) == reply()
    for changes in (
        {"trial": 2},
        {"attempt": 2},
        {"step": 1},
        {"retry": 1},
        {"node": "P2"},
        {"run": "s"},
        {"stage": "x"},
    ):
        assert ledger.recall(address(**changes), digest) is None
    assert ledger.recall(address(), request("other").canonical_hash("m")) is None
    # two processes that asked at once: the reply that came last is the one that the log went on with
    newer = replace(reply(), text="a second reply")
    ledger.record(address(), request(), digest, newer)
    assert ledger.recall(address(), digest) == newer


def test_a_dialogue_that_grows_is_stored_without_repeating_itself(store: Store) -> None:
    ledger = ModelLedger(store)
    turns = [Message(role="user", content=f"{n} " + "x" * 10_000) for n in range(20)]
    for step in range(20):
        asked = ModelRequest(messages=tuple(turns[: step + 1]), stage="step", cutoff="2018-06-30")
        ledger.record(address(step=step), asked, asked.canonical_hash("m"), reply())
    size = store.query("SELECT sum(length(data)) AS n FROM bodies")[0]["n"]
    assert size < 2 * 20 * 10_100


def test_an_event_of_an_unknown_kind_or_with_a_stranger_field_is_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        ev.parse_event({"kind": "run.exploded"})
    with pytest.raises(ValueError, match="extra"):
        ev.parse_event({"kind": "run.resumed", "mood": "good"})
    with pytest.raises(ValueError, match="less than or equal"):
        ev.parse_event({"kind": "run.finished", "p": 1.2})


@pytest.mark.parametrize(
    "run_id",
    ["../../x", "/tmp/x", "", ".", "..", "20180630-120000-a1b2/..", "20180630-120000-A1B2", "20180630-120000-a1b2\n", "２0180630-120000-a1b2", 7],
)  # fmt: skip
def test_no_path_is_made_of_what_is_no_run_id(tmp_path: Path, run_id: object) -> None:
    store = Store(tmp_path)
    try:
        with pytest.raises(UnknownRun):
            store.folder(run_id)  # type: ignore[arg-type]
        assert store.folder("20180630-120000-a1b2") == tmp_path / "runs" / "20180630-120000-a1b2"
    finally:
        store.close()


@pytest.mark.parametrize(
    ("node", "trial", "attempt"),
    [("../P1", 1, 1), ("P1/..", 1, 1), ("", 1, 1), ("P1", 0, 1), ("P1", 1, 10**9)],
)
def test_no_path_is_made_of_what_is_no_node_trial_or_attempt(node: str, trial: int, attempt: int) -> None:
    with pytest.raises((UsageError, IdMismatch)):
        journal_name(node, trial, attempt)
    assert journal_name("P1.2", 2, 3) == "P1.2.2.3.jsonl"
