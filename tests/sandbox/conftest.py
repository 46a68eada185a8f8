import asyncio
import dataclasses
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from proxies.ledger import LedgerRow
from sandbox import CellResult, Limits, Sandbox, Session, SessionSpec
from sandbox.kernels.forkserver import close_servers, get_or_start
from sandbox.kernels.probe import probed
from sandbox.limits.disk import DiskWatch
from sandbox.record.verify import Verification, compare_proof, rerun_proof
from tests.sandbox import readable_python

LEVELS = ("namespaces", "landlock")
#: The level of tests that name none; the long tests run them at the other one too.
DEFAULT_LEVEL = os.environ.get("SANDBOX_TEST_LEVEL", "namespaces")

Opener = Callable[..., Awaitable[Session]]


@dataclasses.dataclass(frozen=True)
class Told:
    data: Any
    meta: Mapping[str, Any]


def printed(result: CellResult) -> str:
    """What a cell wrote on its streams."""
    return "".join(output["text"] for output in result.outputs if output["output_type"] == "stream")


async def echo(path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Told:
    """Answers every call with what was asked."""
    data = {"path": path, "params": dict(params), "cell": cell, "nth": nth}
    return Told(data=data, meta={"as_of": "2018-06-30", "content_hash": f"sha256:{path}-{nth}"})


@pytest.fixture(scope="session", autouse=True)
def _no_server_left() -> Any:
    readable_python.open_to_all()
    probed.cache_clear()  # a test elsewhere may have asked before
    yield
    close_servers()


@pytest.fixture(scope="session")
def _servers_of_all_levels() -> None:
    """Have the fork servers of all levels come up side by side, while the first tests wait for one of them."""
    for level in probed().available:
        get_or_start(level, ())


@pytest.fixture
async def box(_servers_of_all_levels: None) -> AsyncIterator[Sandbox]:
    sandbox = Sandbox(warm=0)  # test_pool.py has kernels in waiting
    yield sandbox
    await sandbox.aclose()


@pytest.fixture
def spec_for(tmp_path: Path) -> Callable[..., SessionSpec]:
    def make(
        name: str = "P1.1.1", *, level: str = DEFAULT_LEVEL, limits: Limits | None = None
    ) -> SessionSpec:
        return SessionSpec(
            name=name,
            journal=tmp_path / "sessions" / f"{name}.jsonl",
            notebook=tmp_path / "proofs" / f"{name}.ipynb",
            isolation=level,
            limits=limits or Limits(),
            title="A test",
            metadata={"node": "P1"},
        )

    return make


@pytest.fixture
async def open_session(box: Sandbox, spec_for: Callable[..., SessionSpec]) -> Opener:
    async def make(
        name: str = "P1.1.1", *, level: str = DEFAULT_LEVEL, limits: Limits | None = None, api: Any = echo
    ) -> Session:
        if level not in (await box.probe()).available:
            pytest.skip(f"level {level} cannot be made here")
        return await box.open(spec_for(name, level=level, limits=limits), api)

    return make


@pytest.fixture
def two_looks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Answers a call when the disk watches have looked twice since: one of the two began after the call.

    A busy machine looks seldom, so a cell that waits for the watch waits for this and for no number of seconds.
    """
    real, done = DiskWatch.exceeded, asyncio.Condition()
    looks = 0

    async def counted(self: DiskWatch) -> bool:
        nonlocal looks
        result = await real(self)
        async with done:
            looks += 1
            done.notify_all()
        return result

    async def answer(path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Told:
        enough = looks + 2
        async with done:
            await done.wait_for(lambda: looks >= enough)
        return await echo(path, params, cell=cell, nth=nth)

    monkeypatch.setattr(DiskWatch, "exceeded", counted)
    return answer


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may pass: as root the kernels are other users, and what refuses shall be the seal.

    Not below pytest's own: every start of another pytest closes the folder above those of all of this user's.
    """
    with tempfile.TemporaryDirectory(prefix="aw-open-", dir="/tmp") as name:
        os.chmod(name, 0o755)
        yield Path(name)


async def verify_proof(
    sandbox: Sandbox, *, journal: Path, notebook: Path, rows: Sequence[LedgerRow], **more: Any
) -> Verification:
    """Compare a proof's records and, where they agree, run it again, as ``verify`` does."""
    recorded = compare_proof(
        journal=journal, notebook=notebook, rows=rows, conclusion=more.pop("conclusion", None)
    )
    return recorded if recorded.differing else await rerun_proof(sandbox, journal=journal, rows=rows, **more)
