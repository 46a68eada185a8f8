"""What owner and workers rest on, without a cluster: messages, leases, start-up checks, certificates."""

import asyncio
import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.errors import MissingKey
from proxies.ledger import Address, Answer, LedgerRow
from sandbox import Limits
from sandbox.cell_library import CellLibrary, library_path
from sandbox.errors import IsolationUnavailable
from sandbox.record.journal import Journal, read_lines
from tests.command_line import run_cli
from workbench.engine.access.budget import LeafBudgetSpent
from workbench.engine.leaves.forecast_library import forecast_library
from workbench.engine.leaves.job import GroundJob
from workbench.engine.run_settings import RunSettings
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import BudgetStop, UsageError, WorkbenchError
from workbench.models.base import Message, ModelReply, ModelRequest, NodeRef, ReplySchema, ToolCall, ToolSpec
from workbench.models.errors import ContextOverflow, ModelUnavailable
from workbench.search.engines import Hit
from workbench.search.leak_filter import LeakFilter, Verdicts, filter_request, shown_text
from workbench.store import Store
from workbench.workers import dask_client
from workbench.workers.certificates import client_certificate, new_certificates
from workbench.workers.leaf_worker import take_verdicts
from workbench.workers.lease import MAX_LEASES, JobService, WorkersLost, append_lines, whole_lines
from workbench.workers.messages import (
    WorkerBug,
    decode,
    encode,
    error_from_json,
    error_to_json,
    request_from_json,
    request_to_json,
    row_from_json,
    row_to_json,
)
from workbench.workers.worker_facts import CLOCK_BOUND, Facts, clock_misfit, misfit
from workbench.workers.worker_pool import Requirements, WorkerPool
from workbench.workers.worker_words import Said

WORDS = st.text(max_size=20)
# the ledger takes integers of 64 bits too
JSON = st.dictionaries(WORDS, st.integers(-(2**63), 2**63 - 1) | WORDS | st.none(), max_size=3)
TOOL_CALLS = st.builds(ToolCall, id=WORDS, name=WORDS, arguments=JSON)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=WORDS,
    images=st.lists(st.binary(max_size=8), max_size=2).map(tuple),
    captions=st.lists(WORDS, max_size=2).map(tuple),
    tool_calls=st.lists(TOOL_CALLS, max_size=2).map(tuple),
    tool_call_id=st.none() | WORDS,
)
REQUESTS = st.builds(
    ModelRequest,
    messages=st.lists(MESSAGES, max_size=3).map(tuple),
    stage=WORDS,
    cutoff=WORDS,
    nodes=st.lists(st.builds(NodeRef, id=WORDS, statement=WORDS), max_size=2).map(tuple),
    tools=st.lists(st.builds(ToolSpec, name=WORDS, description=WORDS, parameters=JSON), max_size=2).map(
        tuple
    ),
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 9000),
    effort=st.none() | st.sampled_from(["low", "high"]),
    reply_schema=st.none() | st.builds(ReplySchema, name=WORDS, schema=JSON, note=WORDS),
    role=st.none() | st.sampled_from(["grounder", "reader"]),
    may_fall_back=st.booleans(),
    choice=st.sampled_from(["auto", "none", "submit"]),
    spare_cache=st.booleans(),
)


@settings(max_examples=30)
@given(REQUESTS)
def test_a_request_arrives_whole_and_under_its_hash(request: ModelRequest) -> None:
    arrived = request_from_json(decode(encode(request_to_json(request))))
    assert arrived == request
    assert arrived.canonical_hash("m") == request.canonical_hash("m")


@given(JSON, st.none() | WORDS, st.integers(0, 99))
def test_a_row_arrives_whole_in_the_attempt_of_its_lease_alone(
    asked: dict[str, Any], refused: str | None, step: int
) -> None:
    mine = Address(run="r", node="P1", trial=1, attempt=2, stage="cell", step=step, retry=3)
    answer = None if refused is not None else Answer(data=[asked], meta={"content_hash": "x"})
    row = LedgerRow(
        address=mine, at_utc="2026-01-01", path="a/b", asked=asked, sent=[asked], cutoff="2018-06-30",
        answer=answer, refused=refused, request_hash="h", audit={"rows_dropped": 1},
    )  # fmt: skip
    place = Address(run="r", node="P1", trial=1, attempt=2, stage="", step=0, retry=0)
    assert row_from_json(decode(encode(row_to_json(row))), place) == row
    elsewhere = dataclasses.replace(place, run="other", node="P9", trial=7, attempt=8)
    moved = row_from_json(row_to_json(row), elsewhere).address
    assert (moved.run, moved.node, moved.trial, moved.attempt) == ("other", "P9", 7, 8)


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("busy", retry_after=7.5, rate_limited=True, billed=True, heard=True),
        ContextOverflow("long", window=8000),
        MissingKey("no key"),
        IsolationUnavailable("no seal"),
        LeafBudgetSpent("spent"),
    ],
)
def test_an_error_arrives_as_what_it_was(error: Exception) -> None:
    arrived = error_from_json(decode(encode(error_to_json(error))))
    assert type(arrived) is type(error) and str(arrived) == str(error) and vars(arrived) == vars(error)


def test_an_error_that_nobody_knows_is_a_bug_of_the_worker() -> None:
    arrived = error_from_json(error_to_json(KeyError("x")))
    assert isinstance(arrived, WorkerBug) and "KeyError" in str(arrived)


def test_no_error_carries_what_is_not_plain() -> None:
    error = BudgetStop("x")
    error.secret = SimpleNamespace(key="k")  # type: ignore[attr-defined]
    assert "secret" not in error_to_json(error)["facts"]


def job() -> GroundJob:
    return GroundJob(
        run="20180630-120000-aced", node="P1", trial=1, attempt=1, statement="It holds", cutoff="2018-06-30",
        cutoff_instant="2018-06-30T04:00:00Z", settings=RunSettings(), keyed=("fred",), limits=Limits(cell_seconds=7.0),
    )  # fmt: skip


def test_a_job_arrives_whole() -> None:
    assert GroundJob.from_json(decode(encode(job().to_json()))) == job()


def test_the_cutoff_now_is_the_instant_at_which_the_run_was_opened() -> None:
    cutoff = dataclasses.replace(job(), cutoff="now").parsed_cutoff()
    assert cutoff.instant == datetime(2018, 6, 30, 4, tzinfo=UTC)


# -- leases


class FakeOwner:
    """A gateway whose model is the worker; replies are recorded by address."""

    def __init__(self, store: Store) -> None:
        self.recorder = SimpleNamespace(store=store)
        self.gateway = self
        self.pace = SimpleNamespace(learn=lambda limits: None)
        self.charged = 0
        self.verdicts: Any = None
        self.replies: dict[Address, ModelReply] = {}

    def on_reply(self, address: Address, reply: ModelReply) -> None:
        raise AssertionError("the fake gateway calls nobody")

    async def level(self) -> str:
        return "landlock"

    async def ask(
        self, address: Address, request: ModelRequest, *, on_reply: Any, complete: Any
    ) -> ModelReply:
        if address not in self.replies:
            try:
                self.replies[address] = await complete(request)
            except asyncio.CancelledError:
                self.charged += 1  # as `ModelGateway` charges a call that was cut off
                raise
        return self.replies[address]


class Inbox:
    """What the owner sent to one lease."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def __call__(self, **message: Any) -> None:
        await self.messages.put(message)

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(30):
            return await self.messages.get()


REQUEST = ModelRequest(messages=(Message(role="user", content="?"),), stage="step", cutoff="2018-06-30")
ASK = {"n": 2, "what": "ask", "place": ["step", 0, 0], "request": request_to_json(REQUEST)}
REPLY = {"text": "yes", "model": "m", "tool_calls": [], "usage": {}, "cost_usd": 0.1, "seconds": 0.0}


def test_a_call_that_dies_with_its_worker_is_charged_and_asked_again_at_the_same_address(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        owner: Any = FakeOwner(Store(tmp_path))
        service = JobService(job(), owner)
        first, second = Inbox(), Inbox()
        service.receive("a", {"n": 1, "what": "begin", "worker": "w1"}, first)
        assert (await first.next())["content"]["node"] == "P1"
        service.receive("a", ASK, first)
        assert (await first.next())["what"] == "send"
        service.receive("b", {"n": 1, "what": "begin", "worker": "w2"}, second)  # w1 is dead
        await second.next()
        assert service.lease == "b" and service.worker == "w2"
        service.receive("b", ASK, second)
        assert (await second.next())["what"] == "send"
        assert owner.charged == 1
        service.receive("b", {"n": 2, "what": "sent", "limits": {}, "reply": REPLY}, second)
        assert (await second.next())["reply"]["text"] == "yes"
        assert [address.step for address in owner.replies] == [0]
        # whoever takes the job next has it from the ledger: no `send`
        third = Inbox()
        service.receive("c", {"n": 1, "what": "begin", "worker": "w3"}, third)
        await third.next()
        service.receive("c", ASK, third)
        assert (await third.next())["what"] == "answer"
        service.receive("c", {"n": 3, "what": "level"}, third)
        assert (await third.next())["level"] == "landlock"

    asyncio.run(scene())


OLDER = CellLibrary.of({"forecaster.leaf_forecast": "P = 0.5\n"})


@pytest.mark.parametrize("begun_with", [OLDER, forecast_library()], ids=["another text", "today's"])
async def test_a_worker_that_goes_on_with_a_journal_gets_the_text_that_its_cells_import(
    tmp_path: Path, begun_with: CellLibrary
) -> None:
    owner: Any = FakeOwner(Store(tmp_path))
    service = JobService(job(), owner)
    journal = service._spec.journal
    journal.parent.mkdir(parents=True)
    begun_with.file_in(journal.parent)
    lines = Journal(journal)
    lines.append("library", sha256=begun_with.digest)
    lines.close()
    inbox = Inbox()
    service.receive("a", {"n": 1, "what": "begin", "worker": "w1"}, inbox)
    begun = await inbox.next()
    sent = begun["library"]
    assert sent == (OLDER.text.decode() if begun_with is OLDER else None), "today's text a worker has itself"
    if sent:
        library_path(journal.parent, OLDER.digest).unlink()
        service.receive("a", {"n": 2, "what": "begin", "worker": "w1"}, inbox)
        assert "the source that its cells import" in str((await inbox.next())["error"]), (
            "gone: said, not guessed"
        )


async def test_who_holds_an_old_lease_is_told_that_it_is_over_and_is_not_heard() -> None:
    heard: list[tuple[str, str]] = []
    service = SimpleNamespace(
        lease="b", waiting=0, receive=lambda lease, message, reply: heard.append((lease, message["what"]))
    )
    pool, link = small_pool({})
    pool._leases = {lease: (service, lease) for lease in "ab"}  # type: ignore[misc]
    for lease, what in (("a", "level"), ("b", "level"), ("a", "ping"), ("c", "ping"), ("b", "ping")):
        pool.take({"lease": lease, "n": 1, "what": what})
    await asyncio.gather(*pool._sending)
    assert link.sent == [("a", "over"), ("a", "over")] and heard == [("b", "level"), ("b", "ping")]


def test_what_one_worker_had_judged_no_other_has_judged_again(tmp_path: Path) -> None:
    """The owner reads each reply of the filter and sends new verdicts with every answer; a worker's filter then asks nobody."""
    question, cutoff = NodeRef(id="P1", statement="It rains"), Cutoff.parse(job().cutoff)
    hits = [
        Hit(url=f"https://x.org/{n}", title=f"T{n}", published="", text=f"text {n}", engines=("exa",))
        for n in (1, 2)
    ]
    judging = filter_request([shown_text(hit) for hit in hits], node=question, cutoff=cutoff)
    ask = {"n": 2, "what": "ask", "place": ["filter", 0, 0], "request": request_to_json(judging)}
    reply = {**REPLY, "text": "1: KEEP - early\n2: DROP - later"}

    async def no_model(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        raise AssertionError("judged already")

    async def judged_by(messages: list[dict[str, Any]]) -> list[bool]:
        verdicts = Verdicts()
        for message in messages:
            take_verdicts(verdicts, decode(encode(message)))
        reader = LeakFilter(no_model, node=question, cutoff=cutoff, verdicts=verdicts)
        return [verdict.keep for verdict in await reader.judge(hits, step=0, retry=0)]

    async def scene() -> None:
        owner: Any = FakeOwner(Store(tmp_path))
        owner.verdicts = Verdicts()
        first, second = JobService(job(), owner), JobService(job(), owner)
        a, b = Inbox(), Inbox()
        for service, lease, inbox in ((first, "a", a), (second, "b", b)):
            service.receive(lease, {"n": 1, "what": "begin", "worker": "w"}, inbox)
            assert (await inbox.next())["verdicts"] == []
        first.receive("a", ask, a)
        assert (await a.next())["what"] == "send"
        first.receive("a", {"n": 2, "what": "sent", "limits": {}, "reply": reply}, a)
        assert await judged_by([await a.next()]) == [True, False]
        # the other one hears of it with its next answer, whatever it asked, and once
        second.receive("b", {**ASK, "place": ["act", 0, 0]}, b)
        assert (await b.next())["what"] == "send"
        second.receive("b", {"n": 2, "what": "sent", "limits": {}, "reply": REPLY}, b)
        assert await judged_by([await b.next()]) == [True, False]
        second.receive("b", {**ASK, "n": 3, "place": ["act", 0, 0]}, b)
        assert (await b.next())["verdicts"] == []
        # whoever takes the job over begins with all of them
        second.receive("c", {"n": 1, "what": "begin", "worker": "w3"}, b)
        assert await judged_by([await b.next()]) == [True, False]

    asyncio.run(scene())


def test_a_job_that_ends_every_worker_is_not_handed_on_for_ever(tmp_path: Path) -> None:
    async def scene() -> None:
        owner: Any = FakeOwner(Store(tmp_path))
        service = JobService(job(), owner)
        for lease in range(MAX_LEASES + 1):
            assert not service.outcome.done()
            service.receive(str(lease), {"n": 1, "what": "begin", "worker": "w"}, Inbox())
        with pytest.raises(WorkersLost, match="3 workers died at the evidence for P1"):
            await service.outcome

    asyncio.run(scene())


def test_lines_go_to_the_end_of_a_journal_or_nowhere(tmp_path: Path) -> None:
    source, copy = Journal(tmp_path / "a.jsonl"), tmp_path / "b.jsonl"
    source.append("open", name="x")
    source.append("markdown", id="cell-001", source="text")
    source.close()
    lines = source.path.read_bytes()
    half = lines.index(b"\n") + 1
    append_lines(copy, 0, lines[:half])
    append_lines(copy, half, lines[half:])
    assert read_lines(copy) == read_lines(source.path)
    for offset in (0, half):
        with pytest.raises(WorkbenchError, match="another worker wrote it"):
            append_lines(copy, offset, lines[half:])
    assert copy.read_bytes() == lines


def test_half_a_line_of_an_earlier_kill_is_cut_before_a_worker_goes_on(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    assert whole_lines(journal) == ""
    journal.write_bytes(b'{"a":1}\n{"b"')
    assert whole_lines(journal) == '{"a":1}\n' == journal.read_text()


# -- start-up checks

FACTS = Facts(
    version="1", code="c", catalogue="k", keys=("fmp", "fred"), levels=("namespaces", "landlock", "none")
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, None),
        ({"version": "2"}, "has version 2, this is 1: install the same"),
        ({"code": "d"}, "from other sources"),
        ({"catalogue": "l"}, "another catalogue"),
        ({"levels": ("none",)}, "cannot seal kernels at level landlock"),
        ({"keys": ("fmp",)}, "lacks the keys of fred"),
        ({"grounder_problem": "no grounder named 'x'"}, "cannot collect evidence: no grounder"),
    ],
)
def test_a_worker_works_only_where_everything_is_the_same(change: dict[str, Any], words: str | None) -> None:
    problem = misfit(FACTS, dataclasses.replace(FACTS, **change), level="landlock", keyed=("fred",))
    assert problem is None if words is None else words in str(problem)


def test_facts_of_an_older_version_are_read_and_refused() -> None:
    assert "has version unknown" in str(misfit(FACTS, Facts.from_json({"new": 1}), level=None, keyed=()))


@given(st.floats(-1e6, 1e6), st.floats(0, 30))
def test_a_clock_may_be_off_by_the_bound_beyond_the_time_of_the_look(off: float, took: float) -> None:
    before = datetime(2026, 1, 1, tzinfo=UTC)
    after, worker = before + timedelta(seconds=took), before + timedelta(seconds=off)
    fits = clock_misfit(before, worker, after) is None
    if -CLOCK_BOUND + 0.01 < off < took + CLOCK_BOUND - 0.01:
        assert fits
    if off < -CLOCK_BOUND - 0.01 or off > took + CLOCK_BOUND + 0.01:
        assert not fits


class FakeLink:
    """A scheduler with workers, as ``WorkerPool`` looks at them."""

    def __init__(self, workers: dict[str, Facts]) -> None:
        self.workers = workers
        self.described: list[str] = []
        self.sent: list[tuple[str, str]] = []
        self.performed = 0

    async def members(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 4)

    async def describe(self, workers: list[str], settings: Any, **_: Any) -> dict[str, Said]:
        self.described += workers
        return {name: Said(said=self.workers[name].to_json()) for name in workers}

    async def clocks(self, workers: list[str]) -> dict[str, Said]:
        return {name: Said(said=datetime.now(UTC).isoformat()) for name in workers}

    async def send(self, inbox: str, message: bytes) -> None:
        self.sent.append((inbox, decode(message)["what"]))

    async def perform(self, order: Any, **_: Any) -> str:
        self.performed += 1
        return "done"


def small_pool(workers: dict[str, Facts], say: Any = print) -> tuple[WorkerPool, FakeLink]:
    pool = WorkerPool(
        Requirements(settings=RunSettings(), facts=FACTS, level=None, keyed=()), say, no_worker=60
    )
    pool._link = link = FakeLink(workers)
    return pool, link


def test_an_older_worker_among_others_gets_no_work_and_one_line() -> None:
    async def scene() -> None:
        older = dataclasses.replace(FACTS, version="0.9")
        said: list[str] = []
        pool, link = small_pool({"tls://a:1": FACTS, "tls://b:1": older}, said.append)
        await pool._look()
        assert pool._members.fit == {"tls://a:1": 4}
        assert said == ["worker tls://b:1 has version 0.9, this is 1: install the same; it gets no work"]
        link.workers["tls://c:1"] = FACTS
        del link.workers["tls://a:1"]
        await pool._look()
        assert pool._members.fit == {"tls://c:1": 4} and len(said) == 1
        assert link.described == ["tls://a:1", "tls://b:1", "tls://c:1"]  # each once

    asyncio.run(scene())


def test_a_run_whose_workers_are_all_refused_says_why() -> None:
    async def scene() -> None:
        pool, link = small_pool({"tls://b:1": dataclasses.replace(FACTS, catalogue="old")})
        with pytest.raises(UsageError, match="no worker may work: tls://b:1 has another catalogue"):
            await pool.start(link)

    asyncio.run(scene())


@pytest.mark.parametrize("own", [0, 2])
def test_one_process_of_ours_that_cannot_say_what_it_is_is_not_taken_for_all(own: int) -> None:
    """It was killed while it was asked, and the other comes a moment later."""

    async def scene() -> None:
        pool, link = small_pool({"tls://a:1": dataclasses.replace(FACTS, grounder_problem="it died")})
        begun = asyncio.ensure_future(pool.start(link, own=own))
        await asyncio.sleep(0.05)
        link.workers["tls://b:1"] = FACTS
        if own:
            await begun
            assert list(pool._members.fit) == ["tls://b:1"]
            await pool.aclose()
        else:
            with pytest.raises(UsageError, match="it died"):
                await begun

    asyncio.run(scene())


async def test_a_worker_that_never_says_what_it_is_holds_no_other_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(function: Any, *, workers: list[str]) -> dict[str, str]:
        if workers == ["tls://mute:1"]:
            await asyncio.Event().wait()
        return {workers[0]: "12:00"}

    monkeypatch.setattr(dask_client, "_ASK", 0.1)
    client: Any = dask_client._Service.__new__(dask_client._Service)
    client._client = SimpleNamespace(run=run)
    said = await asyncio.wait_for(client._ask(["tls://mute:1", "tls://b:1"], print), 30)
    assert said["tls://b:1"] == {"said": "12:00"} and "TimeoutError" in said["tls://mute:1"]["failed"]


# -- the command line


@pytest.mark.parametrize("text", ["4", "dask://host:8786", "dask://127.0.0.1:1"])
def test_workers_are_a_number_or_a_scheduler(text: str) -> None:
    assert WorkerPlace(text).words()[:2] == ["--workers", text]


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "257", "x", "tcp://host:1", "dask://host", "dask://:1", "dask://h:x", "٣"]
)
def test_nothing_else_is_taken_for_workers(text: str) -> None:
    with pytest.raises(UsageError, match="write dask://HOST:PORT"):
        WorkerPlace(text)


def test_certificates_are_made_once_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask

    folder = tmp_path / "certificates"
    new_certificates(folder)
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert len(files) == 9 and {file.stat().st_mode & 0o777 for file in files} == {0o600}
    found = client_certificate(folder)
    assert found.key == folder / "client" / "client.key"
    with pytest.raises(UsageError, match="holds certificates already"):
        new_certificates(folder)
    found.key.chmod(0o640)
    with pytest.raises(UsageError, match="others can read the key"):
        client_certificate(folder)
    found.key.chmod(0o600)
    with pytest.raises(UsageError, match=r"has no ca\.pem, client\.pem, client\.key"):
        client_certificate(tmp_path)
    tls = {"ca-file": str(found.authority), "client": {"cert": str(found.certificate), "key": str(found.key)}}
    with dask.config.set({"distributed.comm.tls": tls}):  # a cluster that somebody runs without us
        assert client_certificate(tmp_path) == found


def test_the_command_line_makes_certificates_and_says_how_to_use_them(tmp_path: Path) -> None:
    done = run_cli(tmp_path, "workers", "keys", str(tmp_path / "set"))
    assert done.returncode == 0, done.stderr
    assert "dask scheduler --protocol tls" in done.stdout and "dask worker tls://" in done.stdout
    again = run_cli(tmp_path, "workers", "keys", str(tmp_path / "set"))
    assert again.returncode == 2 and "holds certificates already" in again.stderr


def test_what_is_no_place_for_workers_is_refused_before_a_run_is_opened(tmp_path: Path) -> None:
    done = run_cli(
        tmp_path, "analyze", "The S&P 500 rises", "--cutoff", "2018-06-30", "--workers", "tcp://x:1"
    )
    assert done.returncode == 2 and "write dask://HOST:PORT" in done.stderr
    assert "run " not in done.stdout
