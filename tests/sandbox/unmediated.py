"""Attacks on what Landlock does not mediate: modes, times, attributes, memory of System V, limits and scheduling of others.

Each is a cell, aimed at dummy targets of its own on this machine. What it did is seen at the target; where it only learns
something, it prints the token. Unsealed each has its effect, else it would prove nothing.
"""

import contextlib
import ctypes
import os
import platform
import resource
import secrets
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
IPC_CREAT, IPC_RMID = 0o1000, 0
TIME = 1_000_000_000
IOPRIO_GET = {"x86_64": 252, "aarch64": 31}[platform.machine()]
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}[platform.machine()]

HEADER = """
import ctypes, os, resource, socket, struct, time
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
"""


@dataclass
class Host:
    """The targets of one attack; `segment` is of System V, `shared` and `queue` are POSIX's."""

    folder: Path
    victim: int
    journal: Path
    segment: int
    nice: int
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    key: int = field(default_factory=lambda: 0x5A000000 + secrets.randbelow(1 << 20))

    @property
    def canary(self) -> Path:
        return self.folder / "canary"

    @property
    def program(self) -> Path:
        return self.folder / "program"

    @property
    def shared(self) -> Path:
        return Path(f"/dev/shm/{self.token}")

    def mode(self, path: Path) -> int:
        return os.stat(path).st_mode & 0o7777


@contextlib.contextmanager
def host(folder: Path, journal: Path) -> Iterator[Host]:
    """Files with modes and times, a process, segments and a queue, and a folder in which files come and go."""
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    victim = subprocess.Popen(["sleep", "600"])
    segment = _libc.shmget(0, 4096, IPC_CREAT | 0o600)
    made = Host(
        folder=folder,
        victim=victim.pid,
        journal=journal,
        segment=segment,
        nice=os.getpriority(os.PRIO_PROCESS, victim.pid),
    )
    at = _libc.shmat(segment, None, 0)
    ctypes.memmove(at, made.token.encode(), len(made.token))
    made.canary.write_text(made.token)
    made.canary.chmod(0o600)
    os.utime(made.canary, (TIME, TIME))
    with contextlib.suppress(OSError):  # where the file system has none, their attacks have no effect either
        os.setxattr(made.canary, "user.note", made.token.encode())
    shutil.copy("/bin/true", made.program)
    made.program.chmod(0o755)
    made.shared.write_text(made.token)
    made.shared.chmod(0o600)
    name = f"/{made.token}".encode()
    queue = _libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
    if queue >= 0:
        _libc.mq_send(queue, made.token.encode(), len(made.token), 0)
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.wait(0.02):
            (folder / f"name-{made.token}").touch()
            (folder / f"name-{made.token}").unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        yield made
    finally:
        stop.set()
        thread.join()
        victim.kill()
        victim.wait()
        _libc.shmdt(ctypes.c_void_p(at))
        _libc.shmctl(segment, IPC_RMID, None)
        _libc.shmctl(_libc.shmget(made.key, 0, 0), IPC_RMID, None)
        _libc.msgctl(_libc.msgget(made.key, 0), IPC_RMID, None)
        _libc.semctl(_libc.semget(made.key, 0, 0), 0, IPC_RMID)
        made.shared.unlink(missing_ok=True)
        Path(f"{made.shared}-left").unlink(missing_ok=True)
        if queue >= 0:
            os.close(queue)
            _libc.mq_unlink(name)


@dataclass(frozen=True)
class Unmediated:
    """`source(host)` is the cell. `done(host)` tells its effect; without it the cell prints the token when it got through."""

    name: str
    source: Callable[[Host], str]
    done: Callable[[Host], bool] | None = None
    #: not every system has it at all
    optional: bool = False


def _ioprio(process: int) -> int:
    return int(_libc.syscall(IOPRIO_GET, 1, process))


def _is_taken(name: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.bind(f"\0{name}")
        except OSError:
            return True
    return False


def _scheduling(action: str) -> Callable[[Host], str]:
    return lambda h: action.format(victim=h.victim, uid=os.getuid(), nicer=h.nice + 1)


_SHM_READ = """
at = libc.shmat({segment}, None, 0o10000)
if at != ctypes.c_void_p(-1).value: print(ctypes.string_at(at, 16).decode())
"""
_QUEUE_READ = """
queue = libc.mq_open(b'/{token}', os.O_RDWR | os.O_NONBLOCK)
print(queue, ctypes.get_errno())
text = ctypes.create_string_buffer(8192)
print(libc.mq_receive(queue, text, 8192, None), text.value.decode())
"""
_INOTIFY = """
watch = libc.inotify_init1(0o4000)
print(watch, libc.inotify_add_watch(watch, b'{folder}', 0x100 | 0x200))
time.sleep(0.5)
print(os.read(watch, 65536))
"""

ATTACKS = (
    Unmediated("mode", lambda h: f"os.chmod('{h.canary}', 0o666)", lambda h: h.mode(h.canary) != 0o600),
    Unmediated(
        "set-user-id", lambda h: f"os.chmod('{h.program}', 0o4755)", lambda h: h.mode(h.program) != 0o755
    ),
    Unmediated(
        "mode of a folder", lambda h: f"os.chmod('{h.folder}', 0o777)", lambda h: h.mode(h.folder) != 0o755
    ),
    Unmediated(
        "mode of the session's journal",
        lambda h: f"os.chmod('{h.journal}', 0o606)",
        lambda h: h.mode(h.journal) == 0o606,
    ),
    Unmediated(
        "times", lambda h: f"os.utime('{h.canary}', (5, 5))", lambda h: os.stat(h.canary).st_mtime != TIME
    ),
    Unmediated(
        "times: now", lambda h: f"os.utime('{h.canary}')", lambda h: os.stat(h.canary).st_mtime != TIME
    ),
    Unmediated(
        "attribute set",
        lambda h: f"os.setxattr('{h.canary}', 'user.forged', b'x')",
        lambda h: "user.forged" in os.listxattr(h.canary),
        optional=True,
    ),
    Unmediated(
        "attribute read", lambda h: f"print(os.getxattr('{h.canary}', 'user.note').decode())", optional=True
    ),
    Unmediated(
        "limit of another process",
        _scheduling("resource.prlimit({victim}, resource.RLIMIT_FSIZE, (0, 0))"),
        lambda h: resource.prlimit(h.victim, resource.RLIMIT_FSIZE)[0] == 0,
    ),
    Unmediated(
        "priority of another process",
        _scheduling("os.setpriority(os.PRIO_PROCESS, {victim}, 19)"),
        lambda h: os.getpriority(os.PRIO_PROCESS, h.victim) == 19,
    ),
    Unmediated(
        "processors of another process",
        _scheduling("os.sched_setaffinity({victim}, {{0}})"),
        lambda h: os.sched_getaffinity(h.victim) == {0},
        optional=os.cpu_count() == 1,
    ),
    Unmediated(
        "scheduler of another process",
        _scheduling("os.sched_setscheduler({victim}, os.SCHED_IDLE, os.sched_param(0))"),
        lambda h: os.sched_getscheduler(h.victim) == os.SCHED_IDLE,
    ),
    Unmediated(
        "disk priority of another process",
        _scheduling(f"print(libc.syscall({IOPRIO_SET}, 1, {{victim}}, 3 << 13))"),
        lambda h: _ioprio(h.victim) == 3 << 13,
    ),
    Unmediated("segment of System V: read", lambda h: _SHM_READ.format(segment=h.segment)),
    Unmediated(
        "segment of System V: left for the next",
        lambda h: f"print(libc.shmget({h.key}, 4096, {IPC_CREAT | 0o666}))",
        lambda h: _libc.shmget(h.key, 0, 0) >= 0,
    ),
    Unmediated(
        "queue of System V",
        lambda h: f"print(libc.msgget({h.key}, {IPC_CREAT | 0o666}))",
        lambda h: _libc.msgget(h.key, 0) >= 0,
    ),
    Unmediated(
        "semaphore of System V",
        lambda h: f"print(libc.semget({h.key}, 1, {IPC_CREAT | 0o666}))",
        lambda h: _libc.semget(h.key, 0, 0) >= 0,
    ),
    Unmediated("POSIX queue: read", lambda h: _QUEUE_READ.format(token=h.token), optional=True),
    Unmediated("POSIX segment: read", lambda h: f"print(open('{h.shared}').read())"),
    Unmediated(
        "POSIX segment: left for the next",
        lambda h: f"open('{h.shared}-left', 'w')",
        lambda h: Path(f"{h.shared}-left").exists(),
    ),
    Unmediated("names of others' files, live", lambda h: _INOTIFY.format(folder=h.folder)),
    Unmediated(
        "abstract name of a socket, taken",
        lambda h: (
            f"import builtins\nbuiltins.taken = socket.socketpair()\nbuiltins.taken[0].bind('\\x00{h.token}')"
        ),
        lambda h: _is_taken(h.token),
    ),
)

#: Only root has the effect unsealed.
ATTACKS_OF_ROOT = (
    Unmediated(
        "owner", lambda h: f"os.chown('{h.canary}', 1, 1)", lambda h: os.stat(h.canary).st_uid != os.geteuid()
    ),
)

#: Only a user whose processes are few: it slows all of them down, and would slow down the whole machine as root.
ATTACKS_OF_OTHERS = (
    Unmediated(
        "priority of all the user's processes",
        _scheduling("os.setpriority(os.PRIO_USER, {uid}, {nicer})"),
        lambda h: os.getpriority(os.PRIO_PROCESS, h.victim) > h.nice,
    ),
)
