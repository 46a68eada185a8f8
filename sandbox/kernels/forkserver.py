"""Start the fork server (`kernels/analyst/zygote.py`), request kernels from it and learn of their ends.

`fork_server` gives the one of this process for a level and package set; every session and every provisioner uses it. A
thread reads its messages, so that kernels of several event loops may share it.
"""

import asyncio
import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from proxies.json_text import Fields, Row
from sandbox.errors import KernelStartFailed
from sandbox.kernels.folders import run_folder
from sandbox.kernels.view import PRELOAD, build_view, kernel_folder

_MAX_PACKET = 192 << 10

#: The whole environment of the fork server and of its kernels.
CLEAN_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "USER": "analyst",
    "LOGNAME": "analyst",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "PYTHONHASHSEED": "0",  # a re-run prints sets in the same order
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "MPLCONFIGDIR": "/tmp/matplotlib",
    # the fork server must have one thread: a fork copies no other, and a pool without its threads would wait for ever
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NO_COLOR": "1",
    # glibc gives each thread an arena of 64 MB of address space, and that is what the limit of a kernel counts
    "MALLOC_ARENA_MAX": "2",
}


@dataclass(slots=True)
class KernelProcess:
    """The process of a forked kernel: its process id on this side, its pidfd, and the future of its exit code.

    Signals go by the pidfd: Linux may give the id of an ended process to a new one.
    """

    pid: int
    pidfd: int
    exited: "Future[int]" = field(default_factory=Future)

    @property
    def alive(self) -> bool:
        """Whether the kernel runs."""
        return not self.exited.done()

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the kernel, with `group` also to its children; does nothing after its end."""
        if self.exited.done() or self.pidfd < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, 0)  # raises when it ended, and killpg could hit a stranger
            if group:
                with contextlib.suppress(PermissionError):
                    os.killpg(self.pid, number)
                    return
            signal.pidfd_send_signal(self.pidfd, number)

    def release(self) -> None:
        """Close the pidfd."""
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


class ForkServer:
    """A running fork server.

    Raises `KernelStartFailed`: From `up` and `spawn`, when it died or could not do what was asked; the message names the refused step.
    """

    def __init__(self, *, level: str, packages: tuple[str, ...] = ()) -> None:
        files = build_view(packages)
        # packets, so that a message and its descriptors arrive together
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            # a packet is refused whole where it does not fit into the buffer
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MAX_PACKET * 2)
        self.level = level
        self.up: Future[Row] = Future()
        self._socket = ours
        self._lock = threading.Lock()
        self._count = 0
        self._pending: dict[int, Future[KernelProcess]] = {}
        self._kernels: dict[int, KernelProcess] = {}
        # no pipe: nobody reads it while all goes well, and a full one would block the fork server
        self._log = os.memfd_create("fork-server-log", os.MFD_CLOEXEC)
        self._started = time.monotonic()
        self.dead = False
        folder = kernel_folder()
        path = files.path if level == "namespaces" else (str(folder), *files.path[1:])
        # the guard waits for this: unlike PR_SET_PDEATHSIG it does not fire when only the thread that started it ends
        manager = os.pidfd_open(os.getpid())
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    # not -I, which would ignore the environment, and PYTHONHASHSEED with it
                    "-s",
                    "-P",
                    "-B",
                    str(folder / "launch.py"),
                    "--zygote",
                    str(theirs.fileno()),
                    str(manager),
                ],
                env=CLEAN_ENVIRONMENT if level == "namespaces" else _environment_below_tmp(),
                cwd="/",
                pass_fds=(theirs.fileno(), manager),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                # a Ctrl-C at the manager's terminal goes to its foreground group, which must not hold the fork server
                start_new_session=True,
            )
        finally:
            os.close(manager)
            theirs.close()
        view = {
            "level": level,
            "mountpoint": str(run_folder() / "root"),
            "operations": files.operations,
            "path": path,
            "modules": files.modules,
            "preload": PRELOAD,
        }
        try:
            ours.send(json.dumps(view).encode())
        except OSError as error:
            self._fail(f"it did not take its orders: {error}")
        self._listener = threading.Thread(target=self._listen, name="fork-server", daemon=True)
        self._listener.start()

    def spawn(self, request: Fields, descriptors: Sequence[int]) -> "Future[KernelProcess]":
        """Request one kernel; the future holds its process or `KernelStartFailed`. Callable from any thread."""
        answer: Future[KernelProcess] = Future()
        with self._lock:
            if self.dead:
                answer.set_exception(KernelStartFailed("the fork server is gone"))
                return answer
            self._count += 1
            number = self._count
            self._pending[number] = answer
            packet = json.dumps({"op": "spawn", "id": number, **request}).encode()
            try:
                socket.send_fds(self._socket, [packet], list(descriptors))
            except OSError as error:
                del self._pending[number]
                answer.set_exception(KernelStartFailed(f"the fork server is gone: {error}"))
        return answer

    @property
    def pid(self) -> int:
        """Process id of the guard."""
        return self._process.pid

    def log(self) -> str:
        """Return the last 2000 characters of the fork server's error stream."""
        if self._log < 0:
            return ""
        size = os.fstat(self._log).st_size
        return os.pread(self._log, 2000, max(0, size - 2000)).decode(errors="replace")

    def close(self) -> None:
        """End the fork server and every kernel that it forked; returns when it is reaped."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(timeout=5)

    def _listen(self) -> None:
        while True:
            try:
                packet, descriptors, _, _ = socket.recv_fds(self._socket, _MAX_PACKET, 4)
            except OSError:
                packet, descriptors = b"", []
            if not packet:
                break
            self._handle(json.loads(packet), descriptors)
        self._fail("it ended")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        with self._lock:
            self._socket.close()
            os.close(self._log)
            self._log = -1

    def _handle(self, message: Row, descriptors: list[int]) -> None:
        if "up" in message:
            self.up.set_result({**message["up"], "ready_s": time.monotonic() - self._started})
        elif "spawned" in message:
            # message["pid"] counts in the fork server's own process namespace: good as a key, useless for signals here
            kernel = KernelProcess(pid=_host_pid(descriptors[0]), pidfd=descriptors[0])
            with self._lock:
                self._kernels[message["pid"]] = kernel
                answer = self._pending.pop(message["spawned"])
            if answer.set_running_or_notify_cancel():
                answer.set_result(kernel)
            else:  # who wanted it was cancelled
                kernel.signal(signal.SIGKILL)
                kernel.release()
        elif "failed" in message:
            with self._lock:
                answer = self._pending.pop(message["failed"])
            if answer.set_running_or_notify_cancel():
                answer.set_exception(KernelStartFailed(message["error"]))
        elif "exit" in message:
            # only the parent may wait for a process: our pidfd tells that it ended, not with which code
            with self._lock:
                ended = self._kernels.pop(message["exit"], None)
            if ended is not None:
                ended.exited.set_result(message["code"])
        elif "down" in message:
            self._fail(message["down"])

    def _fail(self, reason: str) -> None:
        with self._lock:
            self.dead = True
            pending, kernels = list(self._pending.values()), list(self._kernels.values())
            self._pending.clear()
            self._kernels.clear()
        failure = KernelStartFailed(f"the fork server could not go on: {reason}")
        for answer in pending:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(failure)
        if not self.up.done():
            self.up.set_exception(failure)
        for kernel in kernels:
            # killed with it, by Linux as its namespace ended or by the guard; nobody is left to report a code
            kernel.exited.set_result(-signal.SIGKILL)


def _environment_below_tmp() -> dict[str, str]:
    home = run_folder() / "shared"
    home.mkdir(exist_ok=True)
    return {
        **CLEAN_ENVIRONMENT,
        "HOME": str(home),
        "TMPDIR": str(home),
        "MPLCONFIGDIR": str(home / "matplotlib"),
    }


def _host_pid(pidfd: int) -> int:
    with open(f"/proc/self/fdinfo/{pidfd}") as info:
        return int(next(line for line in info if line.startswith("Pid:")).split()[1])


_servers: dict[tuple[Any, ...], ForkServer] = {}
_servers_lock = threading.Lock()


async def fork_server(level: str, *, packages: tuple[str, ...] = ()) -> ForkServer:
    """Return the fork server for this level and package set, starting it if needed, which takes 1 to 3 s.

    Raises `KernelStartFailed`: It did not come up; the message names the step that the system refused.
    """
    server = await asyncio.to_thread(get_or_start, level, packages)
    await asyncio.wrap_future(server.up)
    return server


def get_or_start(level: str, packages: tuple[str, ...]) -> ForkServer:
    """Return the process's fork server of a level, which is started where there is none."""
    # a forked child must not speak on its parent's socket
    key = (os.getpid(), level, packages)
    with _servers_lock:
        server = _servers.get(key)
        if server is None or server.dead:
            if not _servers:
                atexit.register(close_servers)
            server = _servers[key] = ForkServer(level=level, packages=packages)
        return server


def close_servers() -> None:
    """End every fork server of this process."""
    with _servers_lock:
        servers = list(_servers.values())
        _servers.clear()
    for server in servers:
        server.close()
