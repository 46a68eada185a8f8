"""Attacks through the machinery of Linux: io_uring, kernel sockets, key rings, bpf, handles, descriptors and memory of others.

Each is a cell that has an effect where nothing stops it; `unsealed` shows it in a plain process of the same user. What this
machine or this user does not have at all gives a reason there instead, and the test counts it.
"""

import contextlib
import ctypes
import os
import platform
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_MACHINE = platform.machine()
_NUMBERS = {
    # name: x86_64, aarch64
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "fanotify_init": (300, 262), "fsopen": (430, 430),
    "clone3": (435, 435), "setns": (308, 268), "syslog": (103, 116), "process_madvise": (440, 440),
}  # fmt: skip
NUMBER = {name: both[_MACHINE == "aarch64"] for name, both in _NUMBERS.items()}
USER_KEYRING, KEYCTL_UNLINK, KEYCTL_SEARCH = -4, 9, 10

_libc = ctypes.CDLL(None, use_errno=True)

HEADER = """
import ctypes, errno, hashlib, mmap, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *plain)
    if result < 0:
        print('refused:', errno.errorcode.get(ctypes.get_errno(), ctypes.get_errno()))
    return result
"""

#: Holds the token in its memory, in a file without a name, and lets every process of its user trace it.
_VICTIM = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(ctypes.c_int(0x59616D61), ctypes.c_ulong(2**64 - 1), 0, 0, 0)
token = sys.argv[1].encode()
memory = ctypes.create_string_buffer(token, 64)
file = os.memfd_create('secret')
os.write(file, token)
print(ctypes.addressof(memory), file, flush=True)
for line in sys.stdin:
    print(memory.value.decode(), flush=True)
"""


@dataclass(frozen=True)
class Victim:
    """A process of this user, a closed file and a key; all hold the token.

    `address` and `descriptor` are where process `pid` holds it; `handle` is the file's handle, which needs no path.
    """

    process: subprocess.Popen[str]
    pid: int
    address: int
    descriptor: int
    secret: Path
    handle: bytes
    handle_type: int
    token: str

    @property
    def key(self) -> str:
        return f"key-{self.token}"

    def memory(self) -> str:
        """What stands in its memory now."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def left_key(self) -> bool:
        """Whether the user's key ring holds the key that an attack leaves."""
        return _find_key(f"left-{self.token}") >= 0


def _find_key(name: str) -> int:
    return int(_libc.syscall(NUMBER["keyctl"], KEYCTL_SEARCH, USER_KEYRING, b"user", name.encode(), 0))


def _unlink_key(name: str) -> None:
    key = _find_key(name)
    if key >= 0:
        _libc.syscall(NUMBER["keyctl"], KEYCTL_UNLINK, key, USER_KEYRING)


@contextlib.contextmanager
def victim(folder: Path) -> Iterator[Victim]:
    """Make one in `folder`, which everybody may pass."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    token = secrets.token_hex(12)
    secret = folder / "secret"
    secret.write_text(token)
    secret.chmod(0o600)
    space = ctypes.create_string_buffer(bytes([128, 0, 0, 0, 0, 0, 0, 0]) + bytes(128))
    mount = ctypes.c_int()
    done = _libc.syscall(
        NUMBER["name_to_handle_at"], -100, os.fsencode(secret), space, ctypes.byref(mount), 0
    )
    size, kind = (int.from_bytes(space.raw[at : at + 4], "little", signed=True) for at in (0, 4))
    handle = space.raw[8 : 8 + size] if done == 0 else bytes(8)
    with subprocess.Popen(
        [sys.executable, "-c", _VICTIM, token], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address, descriptor = map(int, process.stdout.readline().split())
        made = Victim(process, process.pid, address, descriptor, secret, handle, kind, token)
        payload = token.encode()
        _libc.syscall(NUMBER["add_key"], b"user", made.key.encode(), payload, len(payload), USER_KEYRING)
        try:
            yield made
        finally:
            process.kill()
            for name in (made.key, f"left-{token}"):
                _unlink_key(name)


#: Installs the filter of system calls of a kernel with a private root, and nothing else of the seal.
FILTERED = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2] / "kernels" / "analyst")!r})
import isolation, seccomp
isolation.install_filter(seccomp.build())
"""


def unsealed(source: str, before: str = "") -> str:
    """What the cell prints in a plain process of this user, as an ordinary program would run."""
    done = subprocess.run(
        [sys.executable, "-c", before + HEADER + source],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


@dataclass(frozen=True)
class Machinery:
    """`source(victim)` is the cell; it prints the token when it got through, or `done(victim)` sees its effect."""

    name: str
    source: Callable[[Victim], str]
    done: Callable[[Victim], bool] | None = None
    #: what every Linux gives an ordinary user, so that a missing effect there is a fault of the test
    common: bool = False

    def had_effect(self, printed: str, aim: Victim) -> bool:
        """Whether it got through."""
        return aim.token in printed if self.done is None else self.done(aim)


# Opens and reads a file by requests in memory, of which a filter of system calls sees nothing.
_IO_URING = """
params = ctypes.create_string_buffer(120)
ring = call({setup}, 4, params)
if ring >= 0:
    sq = struct.unpack_from('10I', params.raw, 40)
    cq = struct.unpack_from('10I', params.raw, 80)
    entries_sq, entries_cq = struct.unpack_from('2I', params.raw, 0)
    rings = mmap.mmap(ring, max(sq[6] + entries_sq * 4, cq[5] + entries_cq * 16), offset=0)
    sqes = mmap.mmap(ring, entries_sq * 64, offset=0x10000000)
    def submit(entry):
        tail = struct.unpack_from('I', rings, sq[1])[0]
        at = tail & struct.unpack_from('I', rings, sq[2])[0]
        sqes[at * 64:at * 64 + 64] = entry.ljust(64, b'\\0')
        struct.pack_into('I', rings, sq[6] + 4 * at, at)
        struct.pack_into('I', rings, sq[1], tail + 1)
        assert call({enter}, ring, 1, 1, 1, 0, 0) == 1
        head = struct.unpack_from('I', rings, cq[0])[0]
        at = head & struct.unpack_from('I', rings, cq[2])[0]
        result = struct.unpack_from('i', rings, cq[5] + 16 * at + 8)[0]
        struct.pack_into('I', rings, cq[0], head + 1)
        return result
    name, text = ctypes.create_string_buffer(b'{secret}'), ctypes.create_string_buffer(64)
    opened = submit(struct.pack('BBHiQQII', 18, 0, 0, -100, 0, ctypes.addressof(name), 0, 0))
    read = submit(struct.pack('BBHiQQII', 22, 0, 0, opened, 0, ctypes.addressof(text), 64, 0))
    print(opened, read, text.value.decode())
"""
_ALG = """
try:
    with socket.socket(38, socket.SOCK_SEQPACKET) as s:
        s.bind(('hash', 'sha256'))
        with s.accept()[0] as digest:
            digest.sendall(b'{token}')
            if digest.recv(32) == hashlib.sha256(b'{token}').digest(): print('{token}')
except OSError as error: print('refused:', error)
"""
_VSOCK = """
try:
    with socket.socket(40, socket.SOCK_STREAM) as s:
        s.bind((0xFFFFFFFF, 0xFFFFFFFF))
        print('{token}', s.getsockname())
except OSError as error: print('refused:', error)
"""
_PACKET = """
try:
    with socket.socket(17, socket.SOCK_RAW, 3): print('{token}')
except OSError as error: print('refused:', error)
"""
_READ_KEY = """
text = ctypes.create_string_buffer(64)
if key >= 0:
    call({keyctl}, 11, key, text, 64)
    print(text.value.decode())
"""
_BPF = """
made = call({bpf}, 0, struct.pack('IIII', 2, 4, 32, 1).ljust(128, b'\\0'), 128)
if made >= 0:
    key, value, out = ctypes.c_uint(0), ctypes.create_string_buffer(b'{token}', 32), ctypes.create_string_buffer(32)
    def elements(value): return struct.pack('IIQQQ', made, 0, ctypes.addressof(key), ctypes.addressof(value), 0).ljust(128, b'\\0')
    call({bpf}, 2, elements(value), 128)
    call({bpf}, 1, elements(out), 128)
    print(out.value.decode())
"""
_PERF = """
attributes = struct.pack('IIQQQQQ', 1, 112, 2, 0, 0, 0, 1 << 5 | 1 << 6).ljust(112, b'\\0')
if call({perf}, attributes, {pid}, -1, -1, 0) >= 0: print('{token}')
"""
_USERFAULT = """
fault = call({userfaultfd}, 1)
if fault >= 0:
    api = ctypes.create_string_buffer(struct.pack('QQQ', 0xAA, 0, 0), 24)
    if libc.ioctl(fault, ctypes.c_ulong(0xC018AA3F), api) == 0: print('{token}')
"""
_HANDLE = """
handle = struct.pack('Ii', {size}, {kind}) + {handle!r}
for top in ('/', '/tmp', '/usr', '/lib', '/home', '/root', '/dev/shm'):
    try: mount = os.open(top, os.O_RDONLY)
    except OSError: continue
    opened = call({open_by_handle_at}, mount, handle, os.O_RDONLY)
    if opened >= 0:
        print(os.read(opened, 64).decode())
"""
# a program without a file, started by its descriptor; what it is started for is refused to it as to the cell
_MEMFD = """
program = os.memfd_create('program', 0)
with open('/bin/cat', 'rb') as file: os.write(program, file.read())
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    try:
        os.dup2(writer, 1)
        os.execve(program, ['cat', '{secret}'], {{}})
    finally: os._exit(1)
os.close(writer)
print(os.read(reader, 100).decode(), os.waitpid(child, 0)[1])
"""
_GETFD = """
process = call({pidfd_open}, {pid}, 0)
if process >= 0:
    stolen = call({pidfd_getfd}, process, {descriptor}, 0)
    if stolen >= 0: print(os.pread(stolen, 64, 0).decode())
"""
_VM = """
text = ctypes.create_string_buffer({content!r}, 64)
ours = struct.pack('QQ', ctypes.addressof(text), {length})
theirs = struct.pack('QQ', {address}, {length})
print(call({number}, {pid}, ours, 1, theirs, 1, 0), text.value.decode())
"""
_OTHER_NUMBERS = """
code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
code.write(bytes([0x53, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x5b, 0xc3]))  # getpid of a 32-bit program
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    os.write(writer, b'{token}' if function() == os.getpid() else b'other')
    os._exit(0)
os.close(writer)
print(os.read(reader, 100).decode(), os.waitpid(child, 0)[1])
"""
_CLONE3 = """
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    arguments = ctypes.create_string_buffer(struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
    born = call({clone3}, arguments, 64)
    if born == 0:
        os.write(writer, b'{token}')
        os._exit(0)
    os._exit(0)
os.close(writer)
os.waitpid(child, 0)
print(os.read(reader, 100).decode())
"""


def _fill(text: str, **more: int) -> Callable[[Victim], str]:
    return lambda v: text.format(
        **{**NUMBER, **more}, token=v.token, pid=v.pid, secret=v.secret, descriptor=v.descriptor
    )


def _prints(call: str) -> Callable[[Victim], str]:
    return lambda v: f"if {call.format(**NUMBER, pid=v.pid)} >= 0: print('{v.token}')"


def _vm(name: str, content: bytes | None = None) -> Callable[[Victim], str]:
    return lambda v: _VM.format(
        content=bytes(24) if content is None else content,
        length=24,
        address=v.address,
        number=NUMBER[name],
        pid=v.pid,
    )


MACHINERY = (
    Machinery(
        "io_uring",
        lambda v: _IO_URING.format(
            setup=NUMBER["io_uring_setup"], enter=NUMBER["io_uring_enter"], secret=v.secret
        ),
    ),
    Machinery("AF_ALG", _fill(_ALG)),
    Machinery("AF_VSOCK", _fill(_VSOCK)),
    Machinery("AF_PACKET", _fill(_PACKET)),
    Machinery(
        "add_key: a key left for the next session",
        lambda v: f"call({NUMBER['add_key']}, b'user', b'left-{v.token}', b'note', 4, -4)",
        lambda v: v.left_key(),
    ),
    Machinery(
        "keyctl: a key of the user",
        lambda v: (
            f"key = call({NUMBER['keyctl']}, 10, -4, b'user', b'{v.key}', 0)"
            + _READ_KEY.format(keyctl=NUMBER["keyctl"])
        ),
    ),
    Machinery(
        "request_key: a key of the user",
        lambda v: (
            f"key = call({NUMBER['request_key']}, b'user', b'{v.key}', None, 0)"
            + _READ_KEY.format(keyctl=NUMBER["keyctl"])
        ),
    ),
    Machinery("bpf", _fill(_BPF)),
    Machinery("perf_event_open", _fill(_PERF, perf=NUMBER["perf_event_open"])),
    Machinery("userfaultfd", _fill(_USERFAULT)),
    Machinery(
        "open_by_handle_at",
        lambda v: _HANDLE.format(size=len(v.handle), kind=v.handle_type, handle=v.handle, **NUMBER),
    ),
    Machinery("memfd and fexecve", _fill(_MEMFD), common=True),
    Machinery("pidfd_getfd", _fill(_GETFD), common=True),
    Machinery("process_vm_readv", _vm("process_vm_readv"), common=True),
    Machinery(
        "process_vm_writev",
        _vm("process_vm_writev", b"forged".ljust(24, b"\0")),
        lambda v: v.memory() == "forged",
        common=True,
    ),
    Machinery("kcmp", _prints("call({kcmp}, {pid}, {pid}, 2, 0, 0)"), common=True),
    Machinery("fanotify", _prints("call({fanotify_init}, 0, 0)")),
    Machinery("file systems by descriptor", _prints("call({fsopen}, b'tmpfs', 0)")),
    Machinery(
        "namespaces of another process",
        _prints("call({setns}, call({pidfd_open}, {pid}, 0), 0x04000000)"),
    ),
    Machinery("clone3 into a user namespace", _fill(_CLONE3)),
    Machinery("messages of Linux", _prints("call({syslog}, 10, None, 0)")),
    *([Machinery("calls of a 32-bit program", _fill(_OTHER_NUMBERS))] if _MACHINE == "x86_64" else []),
)
