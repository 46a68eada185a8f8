"""``--workers N``: a scheduler and workers of this machine that end with the process that asked for them, however it ends."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from sandbox.kernels.folders import run_folder
from workbench.errors import UsageError
from workbench.workers.certificates import (
    ClientCertificate,
    client_certificate,
    new_certificates,
    tls_options,
)

#: Seconds for the scheduler to say where it is, and between two looks whether a worker has ended.
_UP, _LOOK = 300.0, 2.0
#: A worker that ended is started anew, so many times for each.
_AGAIN = 3
#: Ends a process when whoever holds the other end of its standard input is gone, also by a kill.
_FOLLOW = (
    "import os, threading; threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()"
)


class OwnCluster(NamedTuple):
    """Where the scheduler listens, and what shows it that we are its client."""

    address: tuple[str, int]
    certificate: ClientCertificate


@asynccontextmanager
async def own_cluster(count: int, *, threads: int) -> AsyncIterator[OwnCluster]:
    """Yield a cluster of so many worker processes, each for so many jobs at once; raises ``UsageError`` if it does not start.

    The scheduler has an empty environment; workers have ours, since they use its keys.
    """
    folder = Path(tempfile.mkdtemp(prefix="cluster-", dir=run_folder()))
    await asyncio.to_thread(new_certificates, folder)
    file = folder / "scheduler.json"
    bare = {"PATH": os.defpath, "HOME": str(folder), "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]"}
    scheduler = _start(
        folder, bare, "scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", "0",
        "--scheduler-file", str(file),
    )  # fmt: skip
    full = {**os.environ, "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]"}

    def worker() -> subprocess.Popen[bytes]:
        return _start(
            folder, full, "worker", "--no-nanny", "--nthreads", str(threads), "--host", "127.0.0.1",
            "--scheduler-file", str(file), "--local-directory", str(folder),
        )  # fmt: skip

    workers: list[subprocess.Popen[bytes]] = []
    renewing: asyncio.Task[None] | None = None
    try:
        address = await _address(file, scheduler, folder)
        workers += [worker() for _ in range(count)]

        async def renew() -> None:
            for _ in range(_AGAIN * count):
                while all(each.poll() is None for each in workers):
                    await asyncio.sleep(_LOOK)
                ended = next(place for place, each in enumerate(workers) if each.poll() is not None)
                workers[ended] = worker()

        renewing = asyncio.ensure_future(renew())
        yield OwnCluster(address, client_certificate(folder))
    finally:
        if renewing is not None:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        await asyncio.shield(asyncio.to_thread(_end_processes, [*workers, scheduler]))
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, environ: dict[str, str], role: str, *words: str) -> subprocess.Popen[bytes]:
    with open(folder / f"{role}.log", "ab") as log:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "dask", role, *words, *tls_options(folder, role)),
                *("--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--preload", _FOLLOW),
            ],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C in a terminal is ours, and ending them too
        )


async def _address(file: Path, scheduler: subprocess.Popen[bytes], folder: Path) -> tuple[str, int]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _UP
    while loop.time() < deadline and scheduler.poll() is None:
        with suppress(OSError, ValueError):
            host, _, port = orjson.loads(file.read_bytes())["address"].removeprefix("tls://").rpartition(":")
            return host, int(port)
        await asyncio.sleep(0.05)
    words = (folder / "scheduler.log").read_text(errors="replace").strip().splitlines()
    raise UsageError(
        f"no scheduler could be started on this machine ({(words or ['it said nothing'])[-1][:200]})"
    )


def _end_processes(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.stdin is not None:
            process.stdin.close()
    for process in processes:
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
