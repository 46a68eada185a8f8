"""Provide every Jupyter program (JupyterLab, nbclient, papermill) with the sealed kernel.

Registered as ``analyst-sandbox`` (entry point ``jupyter_client.kernel_provisioners``); `kernels/analyst/kernel.json` names
it. Such a kernel has no cutoff until one is declared: by a launch option (``cutoff=`` of `start_kernel`, the variable
``ANALYST_CUTOFF`` of its environment, or ``config`` in kernel.json) or by ``%cutoff DATE`` in a cell. Until then every
data call is refused; a later declaration can only be earlier. A proof in the folder of its run starts with the cutoff and the source
that its cells had; every other notebook can import the source that is installed now (``forecaster``).
"""

import asyncio
import contextlib
import os
import re
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import Unicode

from proxies.asof.clock import Cutoff
from proxies.broker import Broker, BrokerSession, open_broker
from proxies.errors import CutoffRefused
from proxies.home import home_from
from proxies.json_text import Fields, Row
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import own_folder
from sandbox.cell_library import CellLibrary, installed_library, named_library
from sandbox.kernels.forkserver import fork_server
from sandbox.kernels.kernel import CHANNELS, Endpoints, Kernel, start_kernel
from sandbox.kernels.probe import probed
from sandbox.limits.memory import guard_memory
from sandbox.record.journal import read_lines
from sandbox.types import Limits
from sandbox.wire import WireServer

CUTOFF_VARIABLE = "ANALYST_CUTOFF"
ISOLATION_VARIABLE = "ANALYST_ISOLATION"


class BrokerThread:
    """A thread with an event loop for brokers and wires: a Jupyter program's own loop may be idle for long."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._broker: Broker | None = None
        self._tasks: set[Future[None]] = set()
        threading.Thread(target=self.loop.run_forever, name="analyst-broker", daemon=True).start()

    def serve(self, kernel: Kernel, calls: "OpenCalls", limits: Limits, level: str) -> None:
        """Answer this kernel's calls and watch its memory until it ends."""
        wire = WireServer(kernel.api, calls, limits, declare=calls.declare)
        files = limits.memory_bytes(level) - (limits.memory_mb << 20)
        for work in (wire.run(), guard_memory(kernel, limits.memory_mb, files)):
            task = asyncio.run_coroutine_threadsafe(work, self.loop)
            self._tasks.add(task)  # the loop itself would let it be collected
            task.add_done_callback(self._tasks.discard)

    def session(self) -> BrokerSession:
        """Open a broker session without a cutoff, on the shipped sources, those of packages and the user's own.

        Raises ``CatalogueError``, which fails the kernel's start, if a file of the user's catalogue does not load.
        """
        if self._broker is None:
            home = home_from(os.environ)
            settings = ProxySettings.from_environment(
                os.environ, catalogue_folder=home / "catalogue", own_folder=own_folder(home), reader="person"
            )
            self._broker = open_broker(settings)
        return self._broker.session(None, MemoryLedger())


class OpenCalls:
    """The data calls of a kernel that a person opened: its cutoff is declared once, then only moved earlier."""

    def __init__(self, session: BrokerSession, name: str) -> None:
        self._session = session
        self._name = name

    async def __call__(self, path: str, params: Fields, *, cell: int, nth: int) -> Answer:
        """Answer one call."""
        address = Address(run=self._name, node="lab", trial=1, attempt=1, stage="cell", step=cell, retry=nth)
        return await self._session.call(path, params, address)

    async def declare(self, text: str) -> str:
        """Pin the cutoff and describe it."""
        cutoff = Cutoff.parse(text)
        self._session.pin(cutoff)
        if cutoff.live:
            return "live: nothing is held back"
        return f"{cutoff.text}: the last visible day is {cutoff.last_visible_day.isoformat()}"


_broker_thread: BrokerThread | None = None
_broker_lock = threading.Lock()


def broker_thread() -> BrokerThread:
    """Return the one broker thread of this process."""
    global _broker_thread
    with _broker_lock:
        if _broker_thread is None:
            _broker_thread = BrokerThread()
        return _broker_thread


class ProofBefore(NamedTuple):
    """The library and the cutoff with which the cells of a proof were run."""

    library: CellLibrary | None = None
    cutoff: str = ""


def proof_before(cwd: object, environment: Mapping[str, str]) -> ProofBefore:
    """Read the library and cutoff of a proof that a person opens from the journals beside its folder (``cwd``).

    ``JPY_SESSION_NAME`` in ``environment`` names the notebook; without it any journal of the run serves. The journal of an
    imported run is a stranger's, so it may only hold data back: without a past cutoff the person declares one.

    Raises ``JournalBroken`` where the source was altered.
    """
    folder = Path(str(cwd or ".")).resolve().parent / "sessions"
    # ``P2.1.t2.ipynb`` is of the journals ``P2.1.2.ATTEMPT.jsonl``, and ``P2.1.ipynb`` of ``P2.1.1.ATTEMPT.jsonl``.
    node, _, trial = Path(environment.get("JPY_SESSION_NAME", "")).stem.partition(".t")
    pattern = re.compile(rf"{re.escape(node)}\.{trial or 1}\.\d+\.jsonl" if node else r".*\.jsonl")
    journals = [path for path in folder.glob("*.jsonl") if pattern.fullmatch(path.name)]
    if not journals:
        return ProofBefore()
    lines = read_lines(max(journals, key=lambda path: path.stat().st_mtime))
    named = named_library(lines)
    opened = next((line.get("metadata") for line in lines if line.get("kind") == "open"), None)
    cutoff = opened.get("cutoff") if isinstance(opened, Mapping) else None
    return ProofBefore(None if named is None else CellLibrary.read(folder, named), past_cutoff(cutoff))


def past_cutoff(text: object) -> str:
    """Return a journal's cutoff if it lies in the past, else "": nothing that a stranger writes opens the present."""
    try:
        cutoff = Cutoff.parse(str(text or ""))
    except CutoffRefused:
        return ""
    return "" if cutoff.live or cutoff.instant > datetime.now(UTC) else cutoff.text


class SandboxProvisioner(KernelProvisionerBase):
    """Starts, watches and ends one sealed kernel for a `jupyter_client` kernel manager."""

    cutoff = Unicode(
        "", help="knowledge cutoff of kernels started from this spec; empty: to be declared"
    ).tag(config=True)
    isolation = Unicode("", help="isolation level; empty: the best sealed one that works here").tag(
        config=True
    )

    kernel: Kernel | None = None
    _endpoints: Endpoints | None = None
    _declared = ""

    @property
    def has_process(self) -> bool:
        """Whether a kernel was started and its exit code not yet fetched."""
        return self.kernel is not None

    async def poll(self) -> int | None:
        """Return None while the kernel runs, else its exit code."""
        if self.kernel is None:
            return 0
        return self.kernel.process.exited.result() if not self.kernel.process.alive else None

    async def wait(self) -> int | None:
        """Wait for the kernel's end and return its exit code."""
        if self.kernel is None:
            return 0
        code = await self.kernel.wait()
        self.kernel.process.release()
        self.kernel = None
        return code

    async def send_signal(self, signum: int) -> None:
        """Send a signal to the kernel; an interrupt also goes to its children."""
        if self.kernel is not None:
            self.kernel.process.signal(signum, group=signum == signal.SIGINT)

    async def kill(self, restart: bool = False) -> None:
        """Kill the kernel and its children."""
        await self.send_signal(signal.SIGKILL)

    async def terminate(self, restart: bool = False) -> None:
        """Kill the kernel: process 1 of a namespace ignores gentler signals."""
        await self.kill(restart)

    async def pre_launch(self, **kwargs: Any) -> Row:
        """Bind fresh sockets before every start and write them into the manager's connection file."""
        manager = self.parent
        environment = kwargs.get("env") or os.environ
        self._declared = str(
            kwargs.pop("cutoff", "") or environment.get(CUTOFF_VARIABLE, "") or self.cutoff or self._declared
        )
        requested = self.isolation or os.environ.get(ISOLATION_VARIABLE, "") or None
        self.isolation = (await asyncio.to_thread(probed)).choose(requested)
        if self._endpoints is None:
            # the manager signs with the key it has already
            key = manager.session.key.decode() if manager is not None else None
            self._endpoints = Endpoints.make(key=key)
        else:
            self._endpoints.listen()
        info = self._endpoints.info
        if manager is not None:
            manager.transport = "ipc"
            manager.ip = info["ip"]
            for channel in CHANNELS:
                setattr(manager, f"{channel}_port", info[f"{channel}_port"])
            manager.write_connection_file()
        self.connection_info = dict(info, key=info["key"].encode())  # type: ignore[assignment]
        kwargs.pop("extra_arguments", None)
        return {"cmd": ["analyst-sandbox"], **kwargs}

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Fork the kernel and return its connection."""
        assert self._endpoints is not None
        limits = Limits(api_calls=100_000, cpu_seconds=24 * 3600)
        server = await fork_server(self.isolation)
        # a start that fails removes them; the next one then binds fresh ones
        endpoints, self._endpoints = self._endpoints, None
        before = await asyncio.to_thread(proof_before, kwargs.get("cwd"), kwargs.get("env") or {})
        library = before.library or await asyncio.to_thread(installed_library)
        self.kernel = await start_kernel(server, limits, endpoints=endpoints, library=library)
        self._endpoints = endpoints
        thread = broker_thread()
        calls = OpenCalls(thread.session(), f"kernel-{self.kernel_id}")
        # A proof opened by a person reads what it read: no later, unless they say so before the kernel starts.
        if declared := self._declared or before.cutoff:
            await calls.declare(declared)
        thread.serve(self.kernel, calls, limits, self.isolation)
        return self.connection_info

    async def cleanup(self, restart: bool = False) -> None:
        """Remove the sockets after the end; a restart binds them again at the same paths."""
        if not restart and self._endpoints is not None:
            self._endpoints.remove()
            self._endpoints = None

    async def get_provisioner_info(self) -> Row:
        """Return the base information with the isolation level."""
        return {**await super().get_provisioner_info(), "isolation": self.isolation}

    def get_shutdown_wait_time(self, recommended: float = 5.0) -> float:
        """Return at most one second: the kernel has nothing to save."""
        return min(recommended, 1.0)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if self.kernel is not None:
                self.kernel.process.signal(signal.SIGKILL)
