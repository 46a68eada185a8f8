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

from workbench.engine.worker_place import WorkerPlace
from workbench.workers.certificates import VARIABLE, new_certificates, tls_options

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

    @property
    def certificates(self) -> dict[str, str]:
        return {VARIABLE: str(self.folder / "certificates")}

    def worker(self, *words: str, home: Path, threads: int = 1) -> None:
        """Start a worker with a data folder of its own, as on another machine."""
        self.start(
            "worker", f"tls://127.0.0.1:{self.port}", "--no-nanny", "--nthreads", str(threads),
            "--death-timeout", "120", "--local-directory", str(home), *words,
            environ={"WORKBENCH_HOME": str(home)},
        )  # fmt: skip

    def start(self, *words: str, environ: dict[str, str] | None = None) -> None:
        tls = tls_options(self.folder / "certificates", words[0])
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
                        *tls,
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


@contextmanager
def cluster(folder: Path, *, workers: int, paths: Sequence[Path] = (), **environ: str) -> Iterator[Cluster]:
    """Run a scheduler and workers for the block; ``paths`` are where they find packages beside the installed ones."""
    new_certificates(folder / "certificates")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join(map(str, (*paths, ROOT)))
    running = Cluster(folder, port, {**os.environ, "PYTHONPATH": path, **environ})
    try:
        running.start("scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", str(port))
        for number in range(workers):
            running.worker(home=folder / f"worker-{number}")
        yield running
    finally:
        for process in running.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
