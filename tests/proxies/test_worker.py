"""Large answers, read in a process of their own: the same answer, typed ends, no key, nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from proxies import broker as broker_module
from proxies.answers import Job, NextPage, PageReader, read_pages
from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, AskAgain
from proxies.asof.upstream_plan import plan_request
from proxies.broker import Broker
from proxies.catalogue import load_catalogue
from proxies.errors import NotJson, ProxyError, SourceUnavailable
from proxies.fetch import worker as worker_module
from proxies.fetch.worker import CannotStart, Worker
from proxies.hashing import content_hash
from proxies.ledger import Answer, MemoryLedger
from proxies.vendors import base as base_module
from tests.fakes.upstream import Sent, Upstream
from tests.proxies.conftest import asker
from workbench.store.database import Store
from workbench.store.ledgers import ApiLedger

pytestmark = pytest.mark.long

EOD = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
FRED = "fred/series/observations"
TRENDS = "gt/google-trends/google_trends_overtime"
KEY = "sEcReTkEy0123456789"
CUTOFF = Cutoff.parse("2024-06-01")


def bars(count: int, **more: Any) -> list[dict[str, Any]]:
    days = ("2024-05-01", "2024-05-31", "2024-06-01", "2024-07-01", "", None, "soon")
    return [
        {"symbol": "A", "date": days[n % 7], "adjClose": n / 7, "volume": n, "unlisted": n, **more}
        for n in range(count)
    ]


def job(path: str, lookups: Any = None, cutoff: Cutoff = CUTOFF, **params: Any) -> Job:
    request = ApiRequest(endpoint=load_catalogue().resolve(path), params=params)
    return Job(request=request, cutoff=cutoff, plan=plan_request(request, cutoff), lookups=lookups or {})


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    worker = Worker()
    yield worker
    await worker.aclose()


def parts(step: NextPage | Answer) -> tuple[Any, ...]:
    if isinstance(step, NextPage):
        return (dict(step.params),)
    return step.encoded(), step.meta, dict(step.dropped)


async def outcome(work: Any) -> Any:
    """What came of it: the parts, or the error by class and words."""
    try:
        return parts(await work)
    except Exception as error:
        return type(error), str(error), getattr(error, "params", None)


async def pid_of(worker: Worker) -> int:
    return await worker.run(os.getpid, size=0)


# -- the same answer ----------------------------------------------------------------------------------------------


BODIES = [
    orjson.dumps(bars(50)),
    orjson.dumps(bars(3, unlisted=None)),
    b"[]",
    b"{}",
    b"[1, 2]",
    b'[{"date": "2024-05-01", "symbol": "\xc3\xbc", "adjClose": 1e300}]',
    b'{"rows": []}',
    b'{"date": 1}',
    b"no json",
    b"",
    b"[" * 3000,
]


async def test_what_the_worker_answers_is_what_is_answered_here(worker: Worker) -> None:
    for body in BODIES:
        for path, cutoff in ((EOD, CUTOFF), (EOD, Cutoff.parse("now")), (FRED, CUTOFF)):
            params = {"series_id": "X"} if path == FRED else {"symbol": "A"}
            work = job(path, cutoff=cutoff, **params)

            async def here(work: Job = work, body: bytes = body) -> Any:
                reader = PageReader(work)
                reader.add(body)
                return reader.step(None)

            there = worker.run(read_pages, work, [body], None, size=len(body))
            assert await outcome(there) == await outcome(here())


async def test_errors_of_the_policies_come_back_typed(worker: Worker) -> None:
    work = job(EOD, symbol="A", lookups={"raw": ("fmp", b"not json"), "none": None})
    with pytest.raises(NotJson, match="not JSON"):
        await worker.run(read_pages, work, [], None, size=9)
    bucket = int(CUTOFF.instant.timestamp()) - 3600
    rows = [{"timestamp": str(bucket + n * 86400), "values": [], "date": "x"} for n in range(-30, 3)]
    over = orjson.dumps({"interest_over_time": {"timeline_data": rows}})
    with pytest.raises(AskAgain) as caught:
        await worker.run(read_pages, job(TRENDS, q="x", data_type="TIMESERIES"), [over], None, size=9)
    assert caught.value.params["q"] == "x"


# what the broker recorded of this answer before there was a worker: runs of then must verify and replay
BODY_OF_THEN = (
    b'[{"symbol":"\xc3\xbc","date":"2024-05-01","adjClose":1e300,"volume":18446744073709551615,"adjOpen":-0.0},'
    b'{"volume":1.10,"date":"2024-05-31","symbol":null,"adjLow":123456789.123456789},'
    b'{"date":"2024-06-01"},{"date":"soon","adjHigh":1e-7,"later":1}]'
)
DATA_OF_THEN = (
    b'[{"symbol":"\xc3\xbc","date":"2024-05-01","adjClose":1e+300,"volume":18446744073709551615,"adjOpen":-0.0},'
    b'{"volume":1.1,"date":"2024-05-31","symbol":null,"adjLow":123456789.12345679}]'
)
HASH_THEN = "sha256:765373f919d495c401e33ec5f25c4a9239aceb0dab90c65e089b64163638dbe2"
REQUEST_THEN = "sha256:eaf0de8ab57128e2402a03298714dcd6497a8711b9ad3cb1211de7bca6361e92"


@pytest.mark.parametrize("large", [0, 10**9])
async def test_bytes_and_hashes_are_those_of_earlier_runs(
    broker_of: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, large: int
) -> None:
    monkeypatch.setattr(broker_module, "LARGE", large)
    store = Store(tmp_path)
    with Upstream(lambda seen: Sent(BODY_OF_THEN)) as upstream:
        broker = broker_of(keys={"fmp": KEY}, upstreams={"fmp": upstream.url})
        session = broker.session(CUTOFF, ApiLedger(store))
        request = ("fmp/historical-price-eod/non-split-adjusted", {"symbol": "A", "from": "2024-01-01"})
        place = next(asker(broker, None).addresses)
        first = await session.call(*request, place)
        again = await session.call(*request, place)
        assert len(upstream.seen) == 1
    (row,) = ApiLedger(store).rows("r")
    store.close()
    assert row.answer is not None and row.request_hash == REQUEST_THEN
    for answer in (first, again, row.answer):
        assert answer.encoded() == DATA_OF_THEN and answer.meta["content_hash"] == HASH_THEN
        assert content_hash(answer.data) == HASH_THEN


# -- ends ---------------------------------------------------------------------------------------------------------


async def test_no_key_of_the_environment_reaches_the_worker(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FMP_API_KEY", KEY)
    monkeypatch.setenv("SOME_MODELS_TOKEN", KEY)
    process = Path(f"/proc/{await pid_of(worker)}")
    environment = (process / "environ").read_bytes()
    assert KEY.encode() not in environment and b"PYTHONSAFEPATH=1" in environment
    assert KEY.encode() not in (process / "cmdline").read_bytes()
    assert await worker.run(os.getenv, "FMP_API_KEY", size=0) == ""


SCRIPT = """
import asyncio, os, sys
print("top", flush=True)
from proxies.fetch.worker import Worker
async def work():
    worker = Worker()
    print(await worker.run(os.getpid, size=0), flush=True)
    {then}
asyncio.run(work())
"""


def script(folder: Path, then: str) -> "subprocess.Popen[str]":
    """A plain script without a guard around its main part, in a folder whose files must not be imported."""
    (folder / "main.py").write_text(SCRIPT.replace("{then}", then))
    for name in ("loky", "orjson", "proxies"):
        (folder / f"{name}.py").write_text("raise SystemExit('a file of the current folder ran')")
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.Popen(
        [sys.executable, "-P", str(folder / "main.py")], cwd=folder, text=True, stdout=-1, stderr=-1,
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip


def test_the_callers_script_is_not_run_again_nor_a_file_of_the_current_folder(tmp_path: Path) -> None:
    process = script(tmp_path, "await worker.aclose()")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines()[0] == "top" and len(out.splitlines()) == 2, out
    assert not Path(f"/proc/{out.split()[1]}").exists()


def test_the_command_line_starts_no_process_that_imports_from_the_current_folder() -> None:
    """loky and multiprocessing start trackers with ``python -c``, which puts the current folder first."""
    code = "import os, sys\nsys.argv = ['workbench', '--version']\nfrom workbench.cli.main import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n    print(os.environ['PYTHONSAFEPATH'])"
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "1", done.stderr


def test_a_broker_that_is_killed_leaves_no_worker_behind(tmp_path: Path) -> None:
    process = script(tmp_path, "os.kill(os.getpid(), 9)")
    out, _ = process.communicate(timeout=60)
    worker = Path(f"/proc/{out.split()[1]}/stat")
    for _ in range(100):
        if not worker.exists() or " Z " in worker.read_text():
            return
        time.sleep(0.1)
    raise AssertionError("the worker is still there")


async def test_a_stuck_worker_is_ended_in_time(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = await pid_of(worker)
    monkeypatch.setattr(worker_module, "SECONDS", 0.3)
    with pytest.raises(SourceUnavailable, match="ask again"):
        await worker.run(time.sleep, 60, size=0)
    assert not Path(f"/proc/{stuck}").exists()
    monkeypatch.setattr(worker_module, "SECONDS", 60)
    assert await pid_of(worker) != stuck


async def test_a_machine_that_starts_no_process_is_asked_once(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError("no space left on /dev/shm")

    monkeypatch.setattr("loky.ProcessPoolExecutor", full)
    for _ in range(2):
        with pytest.raises(CannotStart):
            await pid_of(worker)
    assert len(caplog.records) == 1 and "no space left" in caplog.text


# -- the broker with it -------------------------------------------------------------------------------------------


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """A vendor whose every answer beyond 2 kB counts as large."""
    for module in (broker_module, base_module):
        monkeypatch.setattr(module, "LARGE", 2000)
    body = orjson.dumps(bars(70))
    with Upstream(lambda seen: Sent(body)) as upstream:
        yield upstream


@pytest.fixture
def broker(vendor: Upstream, broker_of: Callable[..., Broker]) -> Broker:
    return broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url})


async def answer_of(broker: Broker) -> Answer:
    return await asker(broker, "2024-06-01")(EOD, symbol="A")


async def test_a_large_answer_is_the_one_that_is_made_here(
    broker: Broker, vendor: Upstream, broker_of: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = asker(broker, "2024-06-01")
    large = await ask(EOD, symbol="A")
    earlier = asker(broker, "2024-05-31")
    again = await earlier(EOD, symbol="A")
    assert len(vendor.seen) == 2 and len(again.data) == 10
    [row] = earlier.ledger.rows.values()
    assert row.rows_dropped == 60 and again.meta["undated"] == 30

    async def refused(self: Worker, *_: Any, **__: Any) -> Any:
        raise worker_module.CannotStart

    monkeypatch.setattr(Worker, "run", refused)
    here = await answer_of(broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url}))
    assert here.encoded() == large.encoded() and here.meta["content_hash"] == large.meta["content_hash"]
    assert {k: v for k, v in here.meta.items() if k != "fetched_at"} == {
        k: v for k, v in large.meta.items() if k != "fetched_at"
    }
    (row,) = ask.ledger.rows.values()
    assert row.answer is large and KEY not in repr(row)


async def test_a_worker_that_dies_is_a_typed_failure_that_leaves_nothing_behind(
    broker: Broker, vendor: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = MemoryLedger()
    session = broker.session(CUTOFF, ledger)
    places = asker(broker, None).addresses
    with monkeypatch.context() as patch:
        patch.setattr(broker_module, "read_pages", _die)
        with pytest.raises(SourceUnavailable) as caught:
            await session.call(EOD, {"symbol": "A"}, next(places))
    assert "\n" not in str(caught.value) and isinstance(caught.value, ProxyError)
    assert ledger.rows == {}
    assert len((await session.call(EOD, {"symbol": "A"}, next(places))).data) == 20


def _die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
