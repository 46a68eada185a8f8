"""Start one kernel and end it: its sockets, its process, its control group.

The manager binds the five sockets in a folder only it can enter and hands the kernel their descriptors, so the kernel
needs no folder, no port and no network.
"""

import asyncio
import contextlib
import functools
import json
import os
import secrets
import shutil
import signal
import socket
import tempfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from proxies.json_text import Row
from sandbox.cell_library import CellLibrary
from sandbox.errors import KernelStartFailed
from sandbox.kernels.folders import remove_tree, run_folder
from sandbox.kernels.forkserver import CLEAN_ENVIRONMENT, ForkServer, KernelProcess
from sandbox.kernels.users import next_user
from sandbox.limits.cgroup import Group
from sandbox.limits.cgroups import available as groups_here
from sandbox.limits.cgroups import make_group, retire_group
from sandbox.types import Limits

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")
_BACKLOG = 16  # connections that wait until the kernel accepts them: clients may connect before it runs


@dataclass(slots=True)
class Endpoints:
    """The sockets of one kernel: their paths, and the listening descriptors until the kernel has them.

    `home` is the folder that a kernel without a private root may write.
    """

    folder: Path
    info: Row
    listeners: list[socket.socket] = field(default_factory=list)
    home: Path | None = None

    @classmethod
    def make(cls, *, key: str | None = None) -> "Endpoints":
        """Bind five fresh sockets in a fresh folder."""
        folder = Path(tempfile.mkdtemp(dir=run_folder()))
        ports = {f"{channel}_port": number for number, channel in enumerate(CHANNELS, 1)}
        info = {
            "transport": "ipc",
            "ip": str(folder / "s"),
            "key": key or secrets.token_hex(32),
            "signature_scheme": "hmac-sha256",
            "kernel_name": "analyst",
            **ports,
        }
        endpoints = cls(folder=folder, info=info)
        endpoints.listen()
        return endpoints

    def listen(self) -> None:
        """Bind and listen on the five paths; sockets of an earlier kernel are removed."""
        for number, _ in enumerate(CHANNELS, 1):
            Path(f"{self.info['ip']}-{number}").unlink(missing_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(f"{self.info['ip']}-{number}")
            listener.listen(_BACKLOG)
            self.listeners.append(listener)

    def make_home(self, uid: int | None) -> Path:
        """Create the one folder of the host that a kernel without a private root may write."""
        if self.home is not None:
            remove_tree(self.home)
        self.home = Path(tempfile.mkdtemp(prefix="home-", dir=run_folder()))
        if uid is not None:
            os.chown(self.home, uid, uid)
            os.chmod(run_folder(), 0o711)  # the kernel's user must pass through; it can list nothing
        return self.home

    def close_listeners(self) -> None:
        """Close our copies of the listening descriptors, once the kernel has its own."""
        for listener in self.listeners:
            listener.close()
        self.listeners.clear()

    def remove(self) -> None:
        """Remove the folder."""
        self.close_listeners()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.home is not None:
            remove_tree(self.home)


@dataclass(slots=True)
class Kernel:
    """A started kernel. `api` is our end of its socket to the broker; `steps` are seconds since the request.

    `group` is its control group, where there is one.
    """

    process: KernelProcess
    endpoints: Endpoints
    api: socket.socket
    steps: dict[str, float]
    group: Group | None = None

    async def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; raises `TimeoutError`."""
        # shielded: a timeout would else cancel the exit code for everybody who waits for it
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self.process.exited)), timeout)

    def interrupt(self) -> None:
        """Send Ctrl-C to the kernel and its programs."""
        self.process.signal(signal.SIGINT, group=True)

    async def kill(self) -> None:
        """Kill the kernel and its children, and remove its sockets."""
        self.process.signal(signal.SIGKILL)
        self.api.close()
        if self.endpoints.home is None:
            self.endpoints.remove()  # while the system takes the kernel's memory apart
        with contextlib.suppress(TimeoutError):
            await self.wait(10)
        self.process.release()
        if self.endpoints.home is not None:  # there may be very much in it
            await asyncio.to_thread(self.endpoints.remove)


async def start_kernel(
    server: ForkServer,
    limits: Limits,
    *,
    endpoints: Endpoints | None = None,
    clock: datetime | None = None,
    library: CellLibrary | None = None,
    lossless: bool = False,
) -> Kernel:
    """Fork, seal and build a kernel; returns when it listens.

    Raises `KernelStartFailed`: It did not come up in `limits.start_seconds`; the message has its last words.
    """
    endpoints = endpoints or Endpoints.make()
    api, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    text = [] if library is None else [_text_descriptor(library)]
    # RLIMIT_NPROC counts per user, so kernels that shared one would share that limit too
    uid = next_user() if os.geteuid() == 0 and server.level != "none" else None
    home = endpoints.make_home(uid) if server.level != "namespaces" else None
    group: Group | None = None
    request: Row = {
        "level": server.level,
        "connection": endpoints.info,
        "api": True,
        "library": library is not None,
        "lossless": lossless,
        "uid": uid,
        "folder": str(home),
        "env": CLEAN_ENVIRONMENT,
        "seed": 0,
        "clock": clock.timestamp() if clock is not None else None,
        "memory_mb": limits.memory_mb,
        "cpu_seconds": limits.cpu_seconds,
        "processes": limits.processes,
        "disk_mb": limits.disk_mb,
        "open_files": limits.open_files,
    }
    process: KernelProcess | None = None
    try:
        if server.level != "none":
            await asyncio.to_thread(groups_here)  # the first call tries them on a process
            group = make_group()
        # what a control group alone would count is closed where there is none
        request["grouped"] = group is not None
        listeners = [listener.fileno() for listener in endpoints.listeners]
        spawning = server.spawn(request, [*listeners, writer, theirs.fileno(), *text])
        process = await asyncio.wait_for(asyncio.wrap_future(spawning), limits.start_seconds)
        if group is not None:
            process.exited.add_done_callback(functools.partial(retire_group, group))
        # our copy: the pipe ends only when the kernel, which reports in it and closes it or dies, has the last one
        os.close(writer)
        writer = -1
        if group is not None:
            await asyncio.to_thread(_join, group, process)
        notice = await asyncio.wait_for(_read_all(reader), limits.start_seconds)
        report = json.loads(notice or "{}")
        if not report.get("ready"):
            reasons = str(report.get("error") or server.log()).strip().splitlines() or ["no word from it"]
            raise KernelStartFailed(f"the kernel did not come up: {reasons[-1]}")
        endpoints.close_listeners()
        if group is not None:
            _set_limits(group, limits, server.level)
        return Kernel(process=process, endpoints=endpoints, api=api, steps=dict(report["steps"]), group=group)
    except BaseException as error:
        # a start that is cancelled must not leave a process, a group or a folder either
        if process is not None:
            process.signal(signal.SIGKILL)
            process.release()
        api.close()
        endpoints.remove()
        if isinstance(error, TimeoutError):
            raise KernelStartFailed(f"the kernel did not come up in {limits.start_seconds:g} s") from error
        raise
    finally:
        if group is not None and process is None:
            retire_group(group)
        theirs.close()
        for fd in (reader, *text):
            os.close(fd)
        if writer >= 0:
            os.close(writer)


def _text_descriptor(library: CellLibrary) -> int:
    """Open a fresh descriptor of the library for each kernel: all holders of one share its read position."""
    # in memory and without a name: a packet to the fork server would not hold it
    fd = os.memfd_create("cell-library", os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(library.text)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _join(group: Group, process: KernelProcess) -> None:
    """Move a kernel into its group before any code of a session runs: its system call filter relies on the group."""
    try:
        group.join(process.pid)
    except OSError as error:
        # one that has ended took its group along; its report says why
        if process.alive:
            raise KernelStartFailed(f"the kernel cannot be moved into its control group: {error}") from error


def _set_limits(group: Group, limits: Limits, level: str) -> None:
    """Limit a kernel that is ready; memory of its construction does not count."""
    try:
        # one less than the user's own count allows, so that the group is what refuses a fork: it can tell
        group.set_limits(limits.memory_bytes(level), max(1, limits.processes - 1))
    except OSError as error:
        raise KernelStartFailed(f"the kernel's control group takes no limits: {error}") from error


async def _read_all(fd: int) -> bytes:
    """Read a pipe until its other end is closed: a kernel writes its report into it and closes it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    parts: list[bytes] = []

    def readable() -> None:
        try:
            chunk = os.read(fd, 65536)
        except BlockingIOError:
            return
        if chunk:
            parts.append(chunk)
        elif not done.done():
            done.set_result(None)

    loop.add_reader(fd, readable)
    try:
        await done
    finally:
        loop.remove_reader(fd)
    return b"".join(parts)
