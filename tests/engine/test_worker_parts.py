"""What owner and workers rest on, without a cluster: calls, leases, start-up checks."""

import asyncio
import dataclasses
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.errors import MissingKey
from proxies.ledger import Address
from sandbox import Limits
from sandbox.cell_library import CellLibrary, library_path
from sandbox.errors import IsolationUnavailable, JournalBroken
from sandbox.record.journal import Journal, read_lines
from workbench.agents.base import GroundingFailure
from workbench.engine.access.budget import LeafBudgetSpent
from workbench.engine.leaves.forecast_library import forecast_library
from workbench.engine.leaves.job import GroundJob
from workbench.engine.record.run_files import journal_name
from workbench.engine.record.state import TrialState
from workbench.engine.run_settings import RunSettings
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import UsageError, WorkbenchError
from workbench.models.base import Message, ModelReply, ModelRequest, NodeRef
from workbench.models.errors import ContextOverflow, ModelUnavailable
from workbench.propositions import Proposition
from workbench.search.engines import Hit
from workbench.search.leak_filter import LeakFilter, Verdicts, filter_request, shown_text
from workbench.store import Store
from workbench.workers import worker_pool
from workbench.workers.calls import CallLine, Parcel, pack, unpack
from workbench.workers.job_service import OFFERS, JobService, append_lines, whole_lines
from workbench.workers.worker_facts import CLOCK_BOUND, Facts, clock_misfit, misfit, utc_now
from workbench.workers.worker_pool import Requirements, WorkerPool


class _Strange(Exception):
    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("busy", retry_after=7.5, rate_limited=True, billed=True, heard=True),
        ContextOverflow("long", window=8000),
        MissingKey("no key"),
        IsolationUnavailable("no seal"),
        LeafBudgetSpent("spent"),
        _Strange(code=7),
        KeyError("x"),
    ],
)
def test_an_error_arrives_as_what_it_was(error: Exception) -> None:
    arrived = unpack(pack(error))
    assert type(arrived) is type(error) and str(arrived) == str(error) and vars(arrived) == vars(error)


def job() -> GroundJob:
    return GroundJob(
        run="20180630-120000-aced", node="P1", trial=1, attempt=1, leaf=Proposition(id="P1", statement="It holds"), begun=TrialState(),
        cutoff=Cutoff.parse("2018-06-30"), settings=RunSettings(), keyed=("fred",), limits=Limits(cell_seconds=7.0),
    )  # fmt: skip


def test_a_job_arrives_whole() -> None:
    assert unpack(pack(job())) == job()


# -- leases


class FakeOwner:
    """A gateway whose model is the worker; replies are recorded by address."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.gateway = self
        self.pace = SimpleNamespace(learn=lambda limits: None)
        self.charged = 0
        self.verdicts = Verdicts()
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


REQUEST = ModelRequest(messages=(Message(role="user", content="?"),), stage="step", cutoff="2018-06-30")
REPLY = ModelReply(text="yes", model="m", cost_usd=0.1)


class FakeLease:
    """A worker's end of a lease, joined to the owner's without a queue between; its model answers when it is let."""

    def __init__(self, service: JobService, *, reply: ModelReply = REPLY, mute: bool = False) -> None:
        self.reply, self.mute, self.sent = reply, mute, 0
        self.line = CallLine("lease", self._to_owner, self, frozenset({"send", "end"}))
        self.owners = CallLine("lease", self._to_worker, service, OFFERS)
        service.lease_to(self.owners, "worker")

    async def _to_owner(self, parcel: Parcel) -> None:
        self.owners.receive(unpack(pack(parcel)))

    async def _to_worker(self, parcel: Parcel) -> None:
        self.line.receive(unpack(pack(parcel)))

    async def send(self, request: ModelRequest) -> Any:
        self.sent += 1
        if self.mute:
            await asyncio.Event().wait()
        return self.reply, {}

    async def ask(self, stage: str = "step", request: ModelRequest = REQUEST) -> Any:
        async with asyncio.timeout(30):
            return await self.line.call("ask", request, stage, 0, 0)


async def test_a_call_that_dies_with_its_worker_is_charged_and_asked_again_at_the_same_address(
    tmp_path: Path,
) -> None:
    owner: Any = FakeOwner(Store(tmp_path))
    service = JobService(job(), owner)
    first = FakeLease(service, mute=True)
    assert (await first.line.call("begin")).job.node == "P1"
    lost = asyncio.ensure_future(first.ask())
    while not first.sent:
        await asyncio.sleep(0)
    second = FakeLease(service)  # the first one's worker is dead
    assert (await second.ask())[0].text == "yes"
    assert owner.charged == 1 and second.sent == 1
    assert [address.step for address in owner.replies] == [0]
    third = FakeLease(service)  # whoever takes the job next has it from the ledger
    assert (await third.ask())[0].text == "yes" and third.sent == 0
    assert await third.line.call("level") == "landlock"
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)


async def test_an_error_of_the_workers_model_is_raised_at_both_ends_and_only_what_is_offered_is_called(
    tmp_path: Path,
) -> None:
    service = JobService(job(), FakeOwner(Store(tmp_path)))  # type: ignore[arg-type]
    lease = FakeLease(service, reply=ModelUnavailable("busy", retry_after=7.5))  # type: ignore[arg-type]
    with pytest.raises(ModelUnavailable, match="busy") as caught:
        await lease.ask()
    assert caught.value.retry_after == 7.5
    with pytest.raises(AttributeError, match="no call 'end'"):
        await lease.line.call("end")


OLDER = CellLibrary.of({"forecaster.leaf_forecast": "P = 0.5\n"})


@pytest.mark.parametrize("begun_with", [OLDER, forecast_library()], ids=["another text", "today's"])
async def test_a_worker_that_goes_on_with_a_journal_gets_the_text_that_its_cells_import(
    tmp_path: Path, begun_with: CellLibrary
) -> None:
    owner: Any = FakeOwner(Store(tmp_path))
    service = JobService(job(), owner)
    journal = owner.store.folder(job().run) / "sessions" / journal_name("P1", 1, 1)
    journal.parent.mkdir(parents=True)
    begun_with.file_in(journal.parent)
    lines = Journal(journal)
    lines.append("library", sha256=begun_with.digest)
    lines.close()
    lease = FakeLease(service)
    sent = (await lease.line.call("begin")).library
    assert sent == (OLDER.text.decode() if begun_with is OLDER else None), "today's text a worker has itself"
    if sent:
        library_path(journal.parent, OLDER.digest).unlink()
        with pytest.raises(JournalBroken, match="the source that its cells import"):
            await lease.line.call("begin")


async def test_what_one_worker_had_judged_no_other_has_judged_again(tmp_path: Path) -> None:
    """The owner reads each reply of the filter and sends new verdicts with every answer; a worker's filter then asks nobody."""
    question, cutoff = NodeRef(id="P1", statement="It rains"), job().cutoff
    hits = [
        Hit(url=f"https://x.org/{n}", title=f"T{n}", published="", text=f"text {n}", engines=("exa",))
        for n in (1, 2)
    ]
    judging = filter_request([shown_text(hit) for hit in hits], node=question, cutoff=cutoff)
    reply = ModelReply(text="1: KEEP - early\n2: DROP - later", model="m", cost_usd=0.1)

    async def no_model(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        raise AssertionError("judged already")

    async def judged_by(fresh: Any) -> list[bool]:
        verdicts = Verdicts()
        for key, verdict in fresh:
            verdicts.keep(key, verdict)
        reader = LeakFilter(no_model, node=question, cutoff=cutoff, verdicts=verdicts)
        return [verdict.keep for verdict in await reader.judge(hits, step=0, retry=0)]

    owner: Any = FakeOwner(Store(tmp_path))
    owner.verdicts = Verdicts()
    first, second = JobService(job(), owner), JobService(job(), owner)
    a, b = FakeLease(first, reply=reply), FakeLease(second)
    for lease in (a, b):
        assert (await lease.line.call("begin")).verdicts == []
    _, fresh = await a.ask("filter", judging)
    assert await judged_by(fresh) == [True, False]
    # the other one hears of it with its next answer, whatever it asked, and once
    _, fresh = await b.ask("act")
    assert await judged_by(fresh) == [True, False]
    assert (await b.ask("act"))[1] == []
    # whoever takes the job over begins with all of them
    assert await judged_by((await FakeLease(second).line.call("begin")).verdicts) == [True, False]


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


@given(st.floats(-1e6, 1e6), st.floats(0, 30))
def test_a_clock_may_be_off_by_the_bound_beyond_the_time_of_the_look(off: float, took: float) -> None:
    before = datetime(2026, 1, 1, tzinfo=UTC)
    after, worker = before + timedelta(seconds=took), before + timedelta(seconds=off)
    fits = clock_misfit(before, worker, after) is None
    if -CLOCK_BOUND + 0.01 < off < took + CLOCK_BOUND - 0.01:
        assert fits
    if off < -CLOCK_BOUND - 0.01 or off > took + CLOCK_BOUND + 0.01:
        assert not fits


class FakeClient:
    """A scheduler with workers, as ``WorkerPool`` looks at them; one without facts never answers."""

    def __init__(self, workers: dict[str, Facts | None]) -> None:
        self.workers = workers
        self.described: list[str] = []
        self.given: list[list[str]] = []
        self.scheduler = self

    async def identity(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {name: {"nthreads": 4} for name in self.workers}}

    async def run(self, function: Any, *_: Any, workers: list[str], **__: Any) -> dict[str, Any]:
        facts = self.workers[workers[0]]
        if facts is None:
            await asyncio.Event().wait()
        if function is utc_now:
            return {workers[0]: utc_now()}
        self.described += workers
        return {workers[0]: facts}

    def submit(self, function: Any, order: bytes, *, workers: list[str], **_: Any) -> Any:
        """Give a job to these workers; whoever has it says at once that nothing could be read."""
        self.given.append(workers)

        async def result() -> bytes:
            return pack(GroundingFailure(reason="nothing could be read", retryable=False))

        return SimpleNamespace(result=result, release=lambda: None)


def small_pool(workers: dict[str, Any], say: Any = print) -> tuple[WorkerPool, FakeClient]:
    client = FakeClient(workers)
    requirements = Requirements(settings=RunSettings(), facts=FACTS, level=None, keyed=())
    return WorkerPool(client, requirements, say, no_worker=60), client


async def test_a_worker_that_never_answers_gets_no_leaf_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "DESCRIBE", 0.05)
    said: list[str] = []
    pool, client = small_pool({"tls://mute:1": None, "tls://b:1": FACTS}, said.append)
    await pool.start()
    with closing(Store(tmp_path)) as store:
        owner: Any = FakeOwner(store)
        outcome = await pool.ground(job(), owner)
    await pool.aclose()
    assert isinstance(outcome, GroundingFailure) and client.given == [["tls://b:1"]]
    (line,) = said
    assert line.startswith("worker tls://mute:1 cannot say what it is") and line.endswith("it gets no work")


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
