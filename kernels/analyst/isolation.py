"""Seal a kernel from within its own process: namespaces, private root, no rights, limits.

Only the standard library and ctypes, because it runs between a fork and the first cell. Two steps:

`enter_root`  once, in the fork server: new namespaces, a root of tmpfs with read-only binds, `pivot_root` into it.
              From then on no file of the host but those of the view exists for the fork server and its children.
`seal`        in every kernel after its fork: own mount, network, ipc, uts (and user) namespaces, own /proc, /tmp and
              /dev/shm, an own user id, no capabilities, limits, Landlock, seccomp. Nothing here can be undone.

Each step raises `OSError` with what it did when the system refused; nothing is skipped silently.
"""

import ctypes
import os
import platform
import resource
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

NEWNS, NEWUTS, NEWIPC = 0x00020000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 4, 24, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 38, 47
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_MOUNT_SETATTR, SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT = 442, 444, 445, 446

HOME = "/tmp/home"
#: Folders that every kernel gets empty, for itself alone.
PRIVATE = ("tmp", "dev/shm")
DEVICES = ("null", "zero", "full", "random", "urandom")
CODE_SUFFIXES = (".py", ".pyi", ".so", ".pyd")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, action: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{action}: {os.strerror(code)}")
    return result


def _syscall(number: int, action: str, *args: Any) -> int:
    return _check(_libc.syscall(ctypes.c_long(number), *args), action)


def unshare(flags: int, kinds: str) -> None:
    """Leave the namespaces named by `flags`."""
    _check(_libc.unshare(ctypes.c_int(flags)), f"new {kinds} namespace")


def setns(fd: int, flags: int, kinds: str) -> None:
    """Join the namespace behind `fd`."""
    _check(_libc.setns(ctypes.c_int(fd), ctypes.c_int(flags)), f"join {kinds} namespace")


def prctl(option: int, *args: int) -> int:
    """Call prctl(2) with unsigned long arguments."""
    values = [ctypes.c_ulong(value) for value in (*args, 0, 0, 0, 0)[:4]]
    return _check(_libc.prctl(ctypes.c_int(option), *values), f"prctl {option}")


def mount(
    source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None
) -> None:
    """Call mount(2)."""
    args = [None if value is None else os.fsencode(value) for value in (source, target, kind)]
    text = None if data is None else data.encode()
    _check(_libc.mount(*args, ctypes.c_ulong(flags), text), f"mount {source} on {target}")


def bind_read_only(source: str, target: str) -> None:
    """Bind a file or folder, with everything mounted below it, read-only, without set-user-id and devices."""
    mount(source, target, None, MS_BIND | MS_REC)
    # mount_setattr, because a remount changes the topmost mount only and leaves those below it writable
    attributes = struct.pack("QQQQ", ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, 0, 0, 0)
    _syscall(
        SYS_MOUNT_SETATTR,
        f"make {target} read-only",
        ctypes.c_int(AT_FDCWD),
        os.fsencode(target),
        ctypes.c_uint(AT_RECURSIVE),
        attributes,
        ctypes.c_size_t(len(attributes)),
    )


def map_user(uid: int, gid: int) -> None:
    """Map exactly one user and one group into the new user namespace: ourselves."""
    # in this order: Linux takes a gid_map from an ordinary user only after setgroups is denied
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def leave_host() -> bool:
    """Leave the host's namespaces; the process id namespace counts from the next fork on.

    Returns True when a user namespace was needed, which is how anyone but root gets the right to do this.
    """
    uid, gid = os.geteuid(), os.getegid()
    kinds = NEWNS | NEWPID | NEWIPC | NEWUTS | NEWNET
    if uid == 0:
        unshare(kinds, "mount, process, ipc, uts and network")
        return False
    unshare(kinds | NEWUSER, "user")
    map_user(uid, gid)
    return True


def enter_root(mountpoint: str, operations: Iterable[Sequence[str]]) -> None:
    """Build the private root on `mountpoint` from the operations of the view and pivot into it.

    Operations: ``dir path``, ``bind source path``, ``link target path``, ``text content path``, ``copy source path``,
    ``hide path`` (an empty folder over it), ``code path`` (only the code files of what is there over it).
    """
    # A person who closes their files to others (umask 077) has this root open all the same: kernels are users of their own.
    os.umask(0o022)
    # else what is mounted from here on would appear in the host's tree too
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", mountpoint, "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=755")
    for folder in ("proc", "dev/pts", *PRIVATE):
        os.makedirs(f"{mountpoint}/{folder}", exist_ok=True)
    # Before the view's own operations: an interpreter may live below /tmp, and must not be covered.
    for folder in PRIVATE:
        mount("tmpfs", f"{mountpoint}/{folder}", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=1777")
    for operation in operations:
        _apply(mountpoint, operation)
    # bound and not made: in a user namespace nobody may make device nodes
    for name in DEVICES:
        _touch(f"{mountpoint}/dev/{name}")
        mount(f"/dev/{name}", f"{mountpoint}/dev/{name}", None, MS_BIND)
    for target, name in (
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
        ("pts/ptmx", "ptmx"),
    ):
        os.symlink(target, f"{mountpoint}/dev/{name}")
    mount("proc", f"{mountpoint}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.chdir(mountpoint)
    # pivot_root(".", ".") puts the old root over the new one, from where it can be unmounted: no folder for it is needed
    _syscall(SYS_PIVOT_ROOT[platform.machine()], "pivot_root", b".", b".")
    _check(_libc.umount2(b".", MNT_DETACH), "leave the old root")
    os.chdir("/")
    mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _touch(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _apply(root: str, operation: Sequence[str]) -> None:
    kind, *args = operation
    target = root + args[-1]
    if kind == "dir":
        os.makedirs(target, exist_ok=True)
    elif kind == "bind":
        if os.path.isdir(args[0]):
            os.makedirs(target, exist_ok=True)
        else:
            _touch(target)
        bind_read_only(args[0], target)
    elif kind == "link":
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(args[0], target)
    elif kind == "text":
        _touch(target)
        with open(target, "w") as file:
            file.write(args[0])
    elif kind == "copy":
        _touch(target)
        shutil.copyfile(args[0], target)
        os.chmod(target, 0o755 if os.access(args[0], os.X_OK) else 0o644)
    elif kind == "hide":
        mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "size=4k,mode=755")
    elif kind == "code":
        # read before the mount covers it
        code = [(path, _read(os.path.join(target, path))) for path in code_files(target)]
        mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "size=32m,mode=755")
        for path, content in code:
            os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
            with open(os.path.join(target, path), "wb") as file:
                file.write(content)
        mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    else:
        raise ValueError(f"unknown operation of a view: {kind!r}")


def code_files(folder: str) -> Iterator[str]:
    """List the relative paths of the code files below `folder`."""
    for base, _, names in os.walk(folder):
        for name in names:
            if name.endswith(CODE_SUFFIXES):
                yield os.path.relpath(os.path.join(base, name), folder)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def grants_of(operations: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Return the Landlock grants for the files that a private root would show, in the host's own tree."""
    masks = {operation[-1]: operation[0] for operation in operations if operation[0] in ("hide", "code")}
    holders = {str(parent) for mask in masks for parent in PurePosixPath(mask).parents}

    def below(path: str) -> Iterator[tuple[str, str]]:
        kind = masks.get(path)
        if kind == "hide":
            return
        if kind == "code":
            yield path, "l"
            for name in code_files(path):
                yield os.path.join(path, name), "f"
        elif path in holders:
            yield path, "l"
            for entry in os.scandir(path):
                yield from below(entry.path)
        else:
            yield path, "r"

    for operation in operations:
        if operation[0] == "bind":
            yield from below(operation[1])
        elif operation[0] == "copy":
            yield operation[1], "f"
            yield os.path.dirname(operation[1]), "l"


def processes_of_user() -> int:
    """Count this user's processes and threads on the machine: RLIMIT_NPROC counts them all."""
    uid, count = os.getuid(), 0
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                if os.stat(f"/proc/{pid}").st_uid == uid:
                    count += len(os.listdir(f"/proc/{pid}/task"))
            except OSError:
                continue
    return count


def _renew(folder: str, options: str) -> None:
    """Mount an empty tmpfs over a private folder, with the view's folders below it bound in again.

    An interpreter may live below /tmp.
    """
    old = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        names = sorted(name for name in os.listdir(folder) if os.path.isdir(f"{folder}/{name}"))
        mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, options)
        for name in names:
            os.mkdir(f"{folder}/{name}", 0o755)
            mount(f"/proc/self/fd/{old}/{name}", f"{folder}/{name}", None, MS_BIND | MS_REC)
            mount(None, f"{folder}/{name}", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    finally:
        os.close(old)


def seal_namespaces(request: Mapping[str, Any], user_namespace: bool) -> None:
    """Give this kernel its own namespaces, /proc, /tmp and /dev/shm, and a unique user id."""
    unshare(NEWNS | NEWNET | NEWIPC | NEWUTS, "kernel")
    size = f"size={int(request['disk_mb'])}m,mode=1777,nr_inodes=20000"
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for folder in PRIVATE:
        _renew(f"/{folder}", size)
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,max=8")
    name = b"analyst"
    _check(_libc.sethostname(name, ctypes.c_size_t(len(name))), "sethostname")
    if user_namespace:
        # a user namespace of its own: its count of processes is apart from its siblings', and it owns no other one
        uid, gid = os.geteuid(), os.getegid()
        unshare(NEWUSER, "kernel's user")
        map_user(uid, gid)
    drop_rights(None if user_namespace else request.get("uid"))


def drop_rights(uid: int | None = None) -> None:
    """Drop every capability for good, and become user and group `uid` if one is given."""
    # the numbers have no gaps: the first that is refused is past the last this system knows
    for capability in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break
    # 4: clear all
    _libc.prctl(PR_CAP_AMBIENT, ctypes.c_ulong(4), 0, 0, 0)
    if uid is not None:
        # groups first: without root there is no right to change them
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    # version 3 of the interface, and our own process; the 24 zero bytes are empty sets
    header = struct.pack("II", 0x20080522, 0)
    _check(_libc.capset(header, bytes(24)), "drop capabilities")
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    # changing user resets these two, so they come last
    prctl(PR_SET_PDEATHSIG, 9)
    prctl(PR_SET_DUMPABLE, 0)


def set_limits(request: Mapping[str, Any]) -> None:
    """Set hard limits on memory, processor time, processes, files and core dumps."""
    limits = (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, int(request["address_mb"]) << 20),
        (resource.RLIMIT_CPU, int(request["cpu_seconds"])),
        (resource.RLIMIT_FSIZE, int(request["disk_mb"]) << 20),
        (resource.RLIMIT_NOFILE, int(request["open_files"])),
        (resource.RLIMIT_NPROC, int(request["processes"])),
        (resource.RLIMIT_MEMLOCK, 64 << 10),
        (resource.RLIMIT_MSGQUEUE, 0),
    )
    for kind, value in limits:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_filter(code: bytes) -> None:
    """Install a seccomp filter (raw BPF) on this process and its children."""
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    pr_set_seccomp, mode_filter = 22, 2
    _check(
        _libc.prctl(ctypes.c_int(pr_set_seccomp), ctypes.c_ulong(mode_filter), ctypes.byref(program), 0, 0),
        "install the seccomp filter",
    )


LL_EXECUTE, LL_WRITE, LL_READ, LL_READ_DIR = 1, 2, 4, 8
LL_TRUNCATE, LL_IOCTL = 1 << 14, 1 << 15
LL_MAKE_CHAR, LL_MAKE_BLOCK = 1 << 6, 1 << 11
LL_OF_FILES = LL_EXECUTE | LL_WRITE | LL_READ | LL_TRUNCATE | LL_IOCTL


def landlock_version() -> int:
    """Return the Landlock version of the running system; 0 without Landlock."""
    version: int = _libc.syscall(
        ctypes.c_long(SYS_LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint(1)
    )
    return max(0, version)


def restrict_files(grants: Iterable[tuple[str, str]], network: bool = True) -> None:
    """Forbid every file, TCP port, abstract socket and outside signal but what `grants` names (Landlock).

    Parameters
    ----------
    grants : iterable of (path, rights)
        Rights among ``r`` (read files and list folders below), ``l`` (list folders only), ``f`` (read files),
        ``w`` (everything but making device nodes), ``d`` (read and write, for devices).
    """
    version = landlock_version()
    if version < 1:
        raise OSError("Landlock: not offered by this system")
    # the rights over files that each version knows; naming a newer one is refused. 4 brings TCP (bind, connect), 6 scopes
    # (abstract sockets, signals)
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    fields = [handled]
    if version >= 4:
        fields.append(3 if network else 0)
    if version >= 6:
        fields.append(3)
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    ruleset = _syscall(
        SYS_LANDLOCK_CREATE,
        "Landlock",
        attributes,
        ctypes.c_size_t(len(attributes)),
        ctypes.c_uint(0),
    )
    read = LL_READ | LL_READ_DIR | LL_EXECUTE
    rights = {
        "r": read,
        "l": LL_READ_DIR,
        "f": LL_READ | LL_EXECUTE,
        "w": handled & ~(LL_MAKE_CHAR | LL_MAKE_BLOCK),
        "d": LL_READ | LL_WRITE | LL_TRUNCATE | LL_IOCTL,
    }
    for path, right in grants:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            access = rights[right] & handled
            # a rule for a file that names a right over folders is refused
            if not os.path.isdir(path):
                access &= LL_OF_FILES
            # "=": the structure is packed, 12 bytes
            rule = struct.pack("=Qi", access, fd)
            _syscall(
                SYS_LANDLOCK_ADD,
                f"Landlock: grant {path}",
                ctypes.c_int(ruleset),
                ctypes.c_int(1),
                rule,
                ctypes.c_uint(0),
            )
        finally:
            os.close(fd)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _syscall(SYS_LANDLOCK_RESTRICT, "Landlock: restrict", ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)
