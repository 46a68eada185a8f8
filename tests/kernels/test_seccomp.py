"""The filter of system calls: its tables, its answers on both processors, and each closed call alone in a process of its own."""

import errno
import platform
import re
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "kernels" / "analyst"
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
ALLOWED = "allowed"
PROCESS = 4711


@pytest.fixture(scope="module")
def seccomp():
    sys.path.insert(0, str(FOLDER))
    try:
        import seccomp

        yield seccomp
    finally:
        sys.path.remove(str(FOLDER))


def _run(program: bytes, token: int, number: int, arguments: tuple[int, ...] = ()) -> str | int:
    """What Linux would do with a call: `ALLOWED`, an error number, or ``kill``; the part of BPF that the filter uses."""
    data = struct.pack("=iIQ", number, token, 0)
    data += b"".join(struct.pack("=Q", value) for value in (*arguments, *[0] * 6)[:6])
    steps = [struct.unpack("HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    at = value = 0
    while True:
        code, yes, no, k = steps[at]
        at += 1
        if code == 0x20:
            value = struct.unpack_from("=I", data, k)[0]
        elif code == 0x54:
            value &= k
        elif code == 0x05:
            at += k
        elif code in (0x15, 0x35, 0x45):
            at += yes if {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code] else no
        else:
            assert code == 0x06
            return ALLOWED if k == 0x7FFF0000 else "kill" if k == 0x80000000 else k & 0xFFFF


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request):
    return request.param


@pytest.fixture
def call(seccomp, machine):
    """Answers of the filter to a call by its name."""
    token, column = seccomp.ARCH[machine]
    tables = [
        value for name, value in vars(seccomp).items() if isinstance(value, str) and name.startswith("_")
    ]
    numbers = {
        name: n
        for table in tables
        if re.match(r"\s*\w+ [\d-]+ [\d-]+", table)
        for name, n in seccomp.calls(table, column)
    }

    def answer(name: str, *arguments: int, private_root: bool) -> str | int:
        program = seccomp.for_process(seccomp.build(private_root, machine), PROCESS)
        return _run(program, token, numbers[name], arguments)

    answer.numbers = numbers
    return answer


def test_the_numbers_are_those_of_the_systems_headers(call, machine):
    header = HEADERS[machine]
    if not header.is_file():
        pytest.skip("the headers of Linux are not installed")
    known = {}
    for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", header.read_text()):
        known.setdefault(name, int(number))
    renamed = {"newfstatat": "fstatat"} if machine == "aarch64" else {}
    assert {name: known.get(renamed.get(name, name)) for name in call.numbers} == call.numbers
    assert len(call.numbers) > 230


@pytest.mark.parametrize("private_root", [True, False])
def test_every_number_is_answered_and_what_is_named_nowhere_is_no_such_call(
    seccomp, call, machine, private_root
):
    token, _ = seccomp.ARCH[machine]
    program = seccomp.build(private_root, machine)
    named = seccomp.answers(private_root, machine)
    others = [n for n in range(seccomp.NEWEST + 1) if n not in named]
    others += [447, 452, 463, 1000, 0x40000000, 0x400000FF, 0xFFFFFFFF - (1 << 32)]
    assert {_run(program, token, number) for number in others} == {errno.ENOSYS}
    assert all(_run(program, token, number) != errno.ENOSYS for number in named if number not in others)
    assert _run(program, token ^ 1, 0) == "kill"
    assert len(program) // 8 <= 4096


@pytest.mark.parametrize("private_root", [True, False])
def test_the_machinery_of_the_system_is_refused_with_or_without_a_private_root(call, private_root):
    for name in (
        "ptrace",
        "bpf",
        "keyctl",
        "mount",
        "unshare",
        "io_uring_setup",
        "userfaultfd",
        "kcmp",
        "pidfd_getfd",
    ):
        assert call(name, private_root=private_root) == errno.EPERM, name
    assert call("clone", 0x10000000, private_root=private_root) == errno.EPERM
    assert call("clone", 0x3D0F00, private_root=private_root) == ALLOWED
    for family in (2, 10, 16, 17, 38, 40):
        assert call("socket", family, 1, private_root=private_root) == errno.EACCES
    assert call("socketpair", 1, 1 | 0o2000000, private_root=private_root) == ALLOWED
    assert call("socketpair", 1, 2, private_root=private_root) == errno.EACCES
    assert call("socketpair", 2, 1, private_root=private_root) == errno.EACCES
    for command in (0x5412, 0x541C, 0x541D, 0x5423, 0x40086602, 0x40086604, 0x401C5820):
        assert call("ioctl", 3, command, private_root=private_root) == errno.ENOTTY
    assert call("ioctl", 3, 0x5421, private_root=private_root) == ALLOWED
    for command in (8, 10, 15, 1024, 1026, 1036):
        assert call("fcntl", 3, command, private_root=private_root) == errno.EINVAL
    assert call("fcntl", 3, 6, private_root=private_root) == ALLOWED


def test_without_a_private_root_only_oneself_is_limited_and_scheduled(call):
    for name in ("prlimit64", "sched_setaffinity", "sched_setparam", "sched_setattr", "sched_getaffinity"):
        for own in (0, PROCESS, 1 << 32, (1 << 32) + PROCESS):  # Linux looks at the lower half
            assert call(name, own, private_root=False) == ALLOWED
        for other in (1, PROCESS + 1, 0xFFFFFFFF, 0x5EA1B00C):
            assert call(name, other, private_root=False) in (errno.EPERM, errno.ENOSYS), (name, other)
    assert call("sched_setscheduler", 0, 5, private_root=False) == ALLOWED
    assert call("sched_setscheduler", 1, 5, private_root=False) == errno.EPERM
    assert call("sched_setscheduler", 1, 0, private_root=False) == 0  # nothing is done
    for name, kind in (("setpriority", 0), ("getpriority", 0), ("ioprio_set", 1), ("ioprio_get", 1)):
        assert call(name, kind, 0, private_root=False) == ALLOWED
        assert call(name, kind, 1, private_root=False) == errno.EPERM
        for group_or_user in {0, 1, 2, 3} - {kind}:
            assert call(name, group_or_user, 0, private_root=False) == errno.EPERM


def test_without_a_private_root_no_name_of_a_socket_passes(call):
    for name in ("bind", "listen", "connect", "socket"):
        assert call(name, 1, private_root=False) == errno.EACCES
    assert call("sendto", 3, 4, 5, 0, 0, 0, private_root=False) == ALLOWED
    for address in (1, 1 << 32):
        assert call("sendto", 3, 4, 5, 0, address, 0, private_root=False) == errno.EACCES


def test_with_a_private_root_what_is_its_own_may_be_changed(call):
    for name in (
        "fchmod",
        "fchownat",
        "utimensat",
        "setxattr",
        "shmget",
        "msgsnd",
        "semop",
        "prlimit64",
        "bind",
        "connect",
    ):
        assert call(name, 1, 1, 1, private_root=True) == ALLOWED
        assert call(name, 1, 1, 1, private_root=False) != ALLOWED


HEADER = """
import ctypes, errno, fcntl, json, os, resource, socket, struct, sys
sys.path.insert(0, {folder!r})
import isolation, seccomp
libc = ctypes.CDLL(None, use_errno=True)
path = {path!r}
os.umask(0o077)
file = os.open(path, os.O_RDONLY | os.O_CREAT)
folder = os.open(os.path.dirname(path), os.O_RDONLY)
os.utime(path, (5, 5))
def failed(result):
    if result < 0: raise OSError(ctypes.get_errno(), 'refused')
"""
# Each succeeds with a descriptor that was opened for reading only; ok when it had its effect.
BY_DESCRIPTOR = {
    "fchmod": "os.fchmod(file, 0o666); assert os.stat(path).st_mode & 0o777 == 0o666",
    "fchmodat below a folder": "os.chmod(os.path.basename(path), 0o666, dir_fd=folder); assert os.stat(path).st_mode & 0o777 == 0o666",
    "fchmodat by /proc": "os.chmod(f'/proc/self/fd/{file}', 0o666); assert os.stat(path).st_mode & 0o777 == 0o666",
    "fchmodat2": "libc.syscall(452, file, b'', 0o666, 0x1000); assert os.stat(path).st_mode & 0o777 == 0o666",
    "futimens": "os.utime(file, (7, 7)); assert os.stat(path).st_mtime == 7",
    "futimens, now": "os.utime(file); assert os.stat(path).st_mtime != 5",
    "fchown": "os.fchown(file, os.getuid(), os.getgid()); failed(libc.fchown(file, os.getuid(), os.getgid()))",
    "fsetxattr": "os.setxattr(file, 'user.forged', b'x')",
    "notice of a folder's use": "fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS)",
    "lease": "fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)",
    "signals to another process": "fcntl.fcntl(file, fcntl.F_SETOWN, os.getppid())",
    "hint that every reader sees": "fcntl.fcntl(file, 1036, struct.pack('Q', 2))",
    "flags of a file": "fcntl.ioctl(file, 0x40086602, struct.pack('l', 0x40))",
    "pages of a file in memory": "import mmap; m = mmap.mmap(-1, 4096); v = (ctypes.c_ubyte * 1)(); failed(libc.mincore(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))), 4096, v))",
    "asynchronous input and output": "c = ctypes.c_ulong(0); failed(libc.syscall({'x86_64': 206, 'aarch64': 0}[os.uname().machine], 1, ctypes.byref(c)))",
}


@pytest.mark.parametrize("name", BY_DESCRIPTOR)
def test_the_filter_alone_stops_what_a_readers_descriptor_suffices_for(name: str, tmp_path: Path):
    if platform.machine() not in HEADERS:
        pytest.skip("no filter for this processor")
    layer = "isolation.install_filter(seccomp.for_process(seccomp.build(False), os.getpid()))"
    unsealed = _try("pass", BY_DESCRIPTOR[name], tmp_path / "open")
    if unsealed != "ok" and ("Errno 95" in unsealed or "Errno 25" in unsealed or name == "fchmodat2"):
        pytest.skip(f"this file system or kernel has no such call: {unsealed}")
    assert unsealed == "ok"
    stopped = _try(layer, BY_DESCRIPTOR[name], tmp_path / "sealed")
    assert re.search(r"AssertionError|\[Errno (1|22|25|38|95)\]", stopped), stopped


def _try(layer: str, attack: str, path: Path) -> str:
    program = HEADER.format(folder=str(FOLDER), path=str(path)) + f"\n{layer}\n{attack}\nprint('ok')\n"
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-B", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip()[-300:] or f"exit {done.returncode}"
