"""Open the Dask cluster that ``--workers`` names: processes of this machine, which end with this one, or a running cluster."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from sandbox.kernels.folders import run_folder
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import UsageError
from workbench.formatting import single_line

#: Seconds for a scheduler to answer.
CONNECT = 20.0
#: Without a dashboard Dask still serves its logs to everybody who reaches the port.
_QUIET = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "logging": {"distributed": "critical"},
}
#: A worker process of our own gets the Ctrl-C of the terminal too; ending it is ours.
_NO_INTERRUPT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


@asynccontextmanager
async def open_client(where: WorkerPlace, *, threads: int) -> AsyncIterator[Any]:
    """Yield Dask's client of a cluster; processes of this machine take ``threads`` jobs at once each.

    The certificates of a cluster that somebody runs are those of Dask's configuration (``distributed.comm.tls``).

    Raises `UsageError`: No certificates, no scheduler that speaks TLS with them, or no processes could be started.
    """
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security

    async with AsyncExitStack() as stack:
        if where.count is not None:
            security = Security.temporary()
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cluster-", dir=run_folder()))
            stack.enter_context(dask.config.set(_QUIET))
            try:
                cluster = await LocalCluster(
                    n_workers=where.count, threads_per_worker=threads, security=security, asynchronous=True,
                    host="127.0.0.1", dashboard_address=None, memory_limit=0, local_directory=folder,
                    silence_logs=60, preload=[_NO_INTERRUPT],
                )  # fmt: skip
            except (OSError, RuntimeError, TimeoutError) as error:
                raise UsageError(
                    f"no workers could be started on this machine: {cause(error)}; a script of your own starts them"
                    ' below `if __name__ == "__main__":`'
                ) from None
            stack.push_async_callback(_closed, cluster)
            address = cluster.scheduler_address
        else:
            security = Security(require_encryption=True)
            address = where.text.replace("dask://", "tls://")
            _require_certificate(security)
        try:
            client = await Client(
                address, asynchronous=True, security=security, timeout=CONNECT, set_as_default=False
            )
        except (OSError, TimeoutError) as error:
            raise UsageError(
                f"no scheduler speaks TLS with these certificates at {where.text}: {cause(error)}. Start one as docs/use/many-machines.md"
                " describes"
            ) from None
        stack.push_async_callback(_closed, client)
        yield client


def _require_certificate(security: Any) -> None:
    files = {
        "ca-file": security.tls_ca_file,
        "client.cert": security.tls_client_cert,
        "client.key": security.tls_client_key or security.tls_client_cert,
    }
    missing = [name for name, file in files.items() if not file or not os.path.isfile(file)]
    if missing:
        raise UsageError(
            "a cluster is used with certificates only, and Dask's configuration names no file for"
            f" {', '.join(f'distributed.comm.tls.{name}' for name in missing)}: make them as docs/use/many-machines.md describes"
        )
    if os.stat(files["client.key"]).st_mode & 0o077:
        raise UsageError(
            f"others can read the key {files['client.key']}: run `chmod 600` on that file, and make new keys if anybody did"
        )


def cause(error: BaseException) -> str:
    """Write an error of Dask as one short line."""
    return single_line(f"{type(error).__name__} {error}")[:200]


async def _closed(opened: Any) -> None:
    await asyncio.shield(asyncio.ensure_future(opened.close()))
