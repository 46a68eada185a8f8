"""A Dask cluster on loopback as a person starts it: the plain commands, with certificates, each in a process of its own."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dask
from distributed.security import Security

from workbench.engine.worker_place import WorkerPlace

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Cluster:
    """A scheduler and its workers; the logs lie in ``folder``."""

    folder: Path
    port: int
    environ: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"dask://127.0.0.1:{self.port}"

    @property
    def place(self) -> WorkerPlace:
        return WorkerPlace(self.where)

    def worker(self, *words: str, home: Path, threads: int = 1) -> None:
        """Start a worker with a data folder of its own, as on another machine."""
        self.start(
            "worker", f"tls://127.0.0.1:{self.port}", "--no-nanny", "--nthreads", str(threads),
            "--death-timeout", "120", "--local-directory", str(home), *words,
            environ={"WORKBENCH_HOME": str(home)},
        )  # fmt: skip

    def start(self, *words: str, environ: dict[str, str] | None = None) -> None:
        log = open(self.folder / f"{words[0]}-{len(self.processes)}.log", "wb")  # noqa: SIM115  (the process's own)
        with log:
            self.processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        *words,
                        "--no-dashboard",
                        "--dashboard-address",
                        "127.0.0.1:0",
                        *("--tls-ca-file", str(self.folder / "cert.pem")),
                        *("--tls-cert", str(self.folder / "cert.pem")),
                        *("--tls-key", str(self.folder / "key.pem")),
                    ],
                    env=self.environ | (environ or {}),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # what a worker started ends with it, also after a kill
                )
            )

    def logs(self) -> str:
        return "\n".join(
            f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}"
            for path in sorted(self.folder.glob("*.log"))
        )


#: What Dask's configuration says of a client's certificate.
TLS = ("ca-file", "client.cert", "client.key")


def certificate(folder: Path) -> dict[str, str]:
    """Write a certificate, its own authority, good for every role; return what Dask's configuration says of it."""
    made = Security.temporary()
    files = {"cert.pem": made.tls_client_cert, "key.pem": made.tls_client_key}
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    cert, key = (str(folder / name) for name in files)
    return {f"distributed.comm.tls.{name}": file for name, file in zip(TLS, (cert, cert, key), strict=True)}


@contextmanager
def cluster(folder: Path, *, workers: int, paths: Sequence[Path] = (), **environ: str) -> Iterator[Cluster]:
    """Run a scheduler and workers for the block; ``paths`` are where they find packages beside the installed ones."""
    tls = certificate(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join(map(str, (*paths, ROOT)))
    running = Cluster(folder, port, {**os.environ, "PYTHONPATH": path, **environ})
    try:
        running.start("scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", str(port))
        for number in range(workers):
            running.worker(home=folder / f"worker-{number}")
        with dask.config.set(tls):
            yield running
    finally:
        for process in running.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
