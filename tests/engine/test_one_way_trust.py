"""Trust goes one way: what a worker, a scheduler or the process between says is data, and never code, at the owner of a run."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.command_line import cli_environment, run_cli
from tests.engine.test_worker_parts import ASK, FACTS, REPLY, FakeOwner, job, small_pool
from tests.fakes.cluster import Cluster, cluster
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import UsageError
from workbench.store import Store
from workbench.workers import cluster_link
from workbench.workers.certificates import client_certificate, new_certificates
from workbench.workers.cluster_link import ClusterLink, WorkersGone
from workbench.workers.lease import MAX_LEASES, WorkersLost
from workbench.workers.worker_words import BadWord, Members, Pipe, read_word, worker_message

CLAIM = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30")
CANARY = "sk-OWNER-CANARY-4711"
#: A worker whose answer, when it is unpickled, says where that happened and what could be read there.
_EVIL = """
import os

class Boom:
    def __reduce__(self):
        return (exec, ({code!r}, {{}}))

def dask_setup(worker):
    from workbench.workers import leaf_worker as side
    async def describe(settings, *, seal, neighbours): return Boom()
    side.describe = describe
"""
_CODE = """
import os, socket
seen = dict(uid=os.getuid(), key="OPENAI_API_KEY" in os.environ)
for name, look in dict(
    home=lambda: os.listdir({home!r}), write=lambda: open({mark!r}, "w").write("ran"),
    net=lambda: socket.create_connection(("127.0.0.1", {port}), 2), proc=lambda: os.listdir("/proc/{owner}"),
).items():
    try:
        look(); seen[name] = "open"
    except OSError as error:
        seen[name] = "closed"
raise RuntimeError("SEEN " + repr(seen))
"""

BEGIN = {"lease": "a", "n": 1, "what": "begin", "job": "j", "inbox": "i", "worker": "tls://w:1"}
GROUNDED = {"p": 0.5, "key_factor": "k", "report": "r", "kind": "trace", "evidence": {}, "trace": {}}
ROW = {
    "place": ["cell", 0, 0], "at_utc": "2026", "path": "a/b", "asked": {}, "sent": [], "cutoff": "2018-06-30",
    "answer": {"body": "[]", "meta": {}}, "refused": None, "request_hash": "h", "audit": {},
}  # fmt: skip
GOOD: tuple[dict[str, Any], ...] = (
    BEGIN,
    {"lease": "a", **ASK},
    {"lease": "a", "n": 2, "what": "sent", "limits": {}, "reply": REPLY},
    {"lease": "a", "n": 2, "what": "row", "row": ROW},
    {"lease": "a", "n": 2, "what": "journal", "offset": 0, "lines": "{}"},
    {"lease": "a", "n": 2, "what": "level"},
    {"lease": "a", "n": 2, "what": "end", "grounding": GROUNDED},
)
#: What pickle, msgpack, a terminal or a crowd would make of a field.
HOSTILE = (
    "\x80\x04cposix\nsystem\n",
    "\x1b]0;x\x07",
    {"__reduce__": ["os.system", "id"]},
    [[]],
    True,
    -1,
    1e400,
    None,
)


def paths(value: Any, *path: Any) -> Any:
    yield path
    if isinstance(value, dict):
        for name, each in value.items():
            yield from paths(each, *path, name)


@pytest.mark.parametrize("message", GOOD, ids=lambda message: message["what"])
def test_a_hostile_value_in_any_field_is_refused_or_is_plain_text(message: dict[str, Any]) -> None:
    worker_message(message)
    for path in list(paths(message))[1:]:
        for value in HOSTILE:
            document = json.loads(json.dumps(message))
            place = document
            for name in path[:-1]:
                place = place[name]
            place[path[-1]] = value
            try:
                read = worker_message(document)
            except BadWord as refusal:
                assert str(refusal).isascii() and str(refusal).isprintable()
            else:  # a free text, or a mapping that is kept as JSON
                assert json.loads(json.dumps(read)) is not None
        with pytest.raises(BadWord):
            worker_message({**message, "__class__": "x"})


@pytest.mark.parametrize(
    "data", [b"x", b"[1]", b'{"n": 1, "exec": "x"}', b'{"gone": "\\u001b"}', b'{"n": "1"}']
)
def test_a_line_that_no_process_of_ours_writes_is_refused(data: bytes) -> None:
    with pytest.raises(BadWord):
        read_word(Pipe, data)


@pytest.mark.parametrize(
    "members", [{"tls://a": 10**9}, {"\x1b": 1}, {"a": "4"}, {str(n): 1 for n in range(10_001)}]
)
def test_a_scheduler_that_lies_about_its_workers_is_not_believed(members: Any) -> None:
    with pytest.raises(BadWord):
        read_word(Members, members)


async def test_a_worker_that_says_what_none_says_loses_the_job_and_another_gets_it(tmp_path: Path) -> None:
    said: list[str] = []
    pool, link = small_pool({"tls://w:1": FACTS}, said.append)
    pool._members.fit = {"tls://w:1": 1}
    rounds = 0

    async def perform(order: Any, **_: Any) -> str:
        nonlocal rounds
        rounds += 1
        pool.take({**BEGIN, "lease": f"l{rounds}", "job": order["job"]})
        pool.take({"lease": f"l{rounds}", "n": 2, "what": "end", "grounding": {**GROUNDED, "p": 2.0}})
        await asyncio.Event().wait()
        return ""

    link.perform = perform  # type: ignore[method-assign]
    owner: Any = FakeOwner(Store(tmp_path))
    with pytest.raises(WorkersLost):
        await pool.ground(job(), owner)
    assert rounds == MAX_LEASES + 1 and "not listened to" in said[0]


async def test_a_scheduler_that_calls_everything_done_is_not_asked_for_ever(tmp_path: Path) -> None:
    pool, link = small_pool({"tls://w:1": FACTS})
    pool._members.fit = {"tls://w:1": 1}
    owner: Any = FakeOwner(Store(tmp_path))
    with pytest.raises(WorkersLost, match="never came"):
        await pool.ground(job(), owner)
    assert link.performed == MAX_LEASES + 1


async def test_a_worker_that_answers_for_another_job_is_not_heard(tmp_path: Path) -> None:
    """The name of a job is its key: who was not given it cannot begin it, and speaks for no lease but its own."""
    pool, link = small_pool({"tls://w:1": FACTS})
    pool._members.fit = {"tls://w:1": 1}
    names: list[str] = []

    async def perform(order: Any, **_: Any) -> str:
        names.append(order["job"])
        await asyncio.Event().wait()
        return ""

    link.perform = perform  # type: ignore[method-assign]
    owner: Any = FakeOwner(Store(tmp_path))
    task = asyncio.ensure_future(pool.ground(job(), owner))
    while not names:
        await asyncio.sleep(0)
    guess = names[0].rpartition("-")[0] + "-" + "0" * 32
    pool.take({**BEGIN, "job": guess})
    pool.take({"lease": "a", "n": 2, "what": "end", "grounding": GROUNDED})
    assert len(names[0].rpartition("-")[2]) == 32 and not pool._leases and not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# -- the process between


def made_link(**named: Any) -> tuple[ClusterLink, list[WorkersGone]]:
    gone: list[WorkersGone] = []
    link = ClusterLink(
        ("127.0.0.1", 1), on_message=print, on_refused=lambda lease, size: None, on_gone=gone.append, **named
    )
    return link, gone


@pytest.mark.parametrize(
    "flood", [b"x" * 3_000_000, b'{"exec": 1}\n', b""], ids=["endless line", "another word", "dies"]
)
async def test_a_process_that_floods_lies_or_dies_stops_the_run_and_no_more(
    flood: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster_link, "_MAX_LINE", 1_000_000)

    def start(*_: Any, descriptors: Any, **__: Any) -> Any:
        code = f"import os,sys; os.write({descriptors[1]}, b'{{\"ready\": true}}\\n'); sys.stdin.buffer; data = {flood[:20]!r} * {max(1, len(flood) // 20)}\nfor _ in range(1): os.write({descriptors[1]}, data)"
        return subprocess.Popen([sys.executable, "-c", code], pass_fds=descriptors, stderr=subprocess.DEVNULL)

    monkeypatch.setattr(cluster_link, "start_sealed", start)
    new_certificates(tmp_path)
    link, gone = made_link()
    await link.open(client_certificate(tmp_path), inbox="i", level="none", timeout=20)
    with pytest.raises(WorkersGone):
        async with asyncio.timeout(60):
            while True:
                await link.members()
    await link.aclose()
    assert len(gone) == 1


@pytest.mark.long
def test_what_a_worker_has_unpickled_runs_behind_the_seal_and_finds_nothing(tmp_path: Path) -> None:
    with cluster(tmp_path, workers=0) as running:
        mark, home = tmp_path / "PWNED", tmp_path / "owner"
        home.mkdir()
        code = _CODE.format(home=str(home), mark=str(mark), port=running.port, owner=os.getpid())
        (tmp_path / "evil.py").write_text(_EVIL.format(code=code))
        running.worker("--preload", str(tmp_path / "evil.py"), home=tmp_path / "w0")
        time.sleep(6)
        environ = {
            **cli_environment(tmp_path), **running.certificates, "WORKBENCH_HOME": str(home), "OPENAI_API_KEY": CANARY,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "workbench.cli.main", "analyze", *CLAIM, "--workers", running.where],
            env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=240,
        )  # fmt: skip
    # it ran, else nothing is shown here; as nobody, with neither files nor network nor a look at the owner
    seen = done.stderr.partition("SEEN ")[2]
    assert done.returncode == 2 and re.match(r"{'uid': [12]\d{9},", seen) and "'key': False" in seen, (
        done.stderr
    )
    assert seen.partition("}")[0].count("closed") == 4 and "open" not in seen, seen
    assert not mark.exists() and CANARY not in done.stdout + done.stderr, running.logs()


# -- the command line


def test_the_old_word_is_taken_and_says_nothing(tmp_path: Path) -> None:
    assert WorkerPlace("dask://127.0.0.1:1").words() == ["--workers", "dask://127.0.0.1:1"]
    for words in (("resume", "last"), ("experiment", "run", "study.yaml")):
        plain = run_cli(tmp_path, *words, "--workers", "dask://127.0.0.1:1")
        with_word = run_cli(tmp_path, *words, "--workers", "dask://127.0.0.1:1", "--trust-cluster")
        assert (plain.returncode, plain.stderr) == (with_word.returncode, with_word.stderr)
        assert "trust" not in plain.stderr


@pytest.mark.parametrize(
    "text", ["0", "257", "-1", "1.5", "", "\u0664", "tcp://h:1", "h:1", "dask://h", "dask://:1"]
)
def test_what_is_neither_a_number_of_processes_nor_a_cluster_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write dask://HOST:PORT, or how many"):
        WorkerPlace(text)


def test_python_needs_no_word_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="with certificates only"):
        wb.analyze_sync(CLAIM[0], cutoff="2018-06-30", workers="dask://127.0.0.1:1", quiet=True)


__all__ = ["Cluster"]
