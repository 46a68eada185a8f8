"""Try one isolation level in a throw-away process and print the outcome as one JSON line.

`sandbox.kernels.probe` starts it, with a JSON object on standard input: as root at ``landlock``, the user to become
(``uid``), the files it must read (``read``) and the folder it must reach (``pass``).
"""

import errno
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

NEEDED_LANDLOCK = 6
MINIMAL = {
    "disk_mb": 16,
    "memory_mb": 512,
    "address_mb": 1024,
    "cpu_seconds": 10,
    "processes": 64,
    "open_files": 256,
}


def main(level: str, mountpoint: str) -> int:
    """Seal a forked child at `level`, check from the inside, print ``{"ok", "layers"}`` or ``{"ok", "error"}``."""
    needs = json.load(sys.stdin)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            layers = _namespaces(mountpoint, writer) if level == "namespaces" else _landlock(needs)
            report = {"ok": True, "layers": layers}
        except Exception as error:
            report = {"ok": False, "error": str(error) or repr(error)}
        os.write(writer, json.dumps(report).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    print(text.splitlines()[-1] if text else json.dumps({"ok": False, "error": "the probe died"}))
    return 0


def _namespaces(mountpoint: str, writer: int) -> NoReturn:
    import isolation
    import seccomp

    outside = os.getppid()
    user = isolation.leave_host()
    pid = os.fork()
    if pid:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            raise OSError(f"the sealed process ended with {code}")
        os._exit(0)
    operations = [("dir", "/etc"), ("dir", "/usr"), ("dir", "/lib")]
    isolation.enter_root(mountpoint, operations)
    if not seccomp.supported():
        raise OSError("seccomp: no filter for this processor")
    program = seccomp.build()
    uid = 1_900_000_001 if os.geteuid() == 0 and not user else None
    isolation.seal_namespaces({**MINIMAL, "uid": uid}, user)
    isolation.set_limits(MINIMAL)
    layers = ["mount", "network", "process", "ipc", "uts", "no-new-privileges", "capabilities", "limits"]
    layers.append("user" if user else "own-user-id")
    if isolation.landlock_version():
        isolation.restrict_files([("/", "r"), ("/tmp", "w")])
        layers.append("landlock")
    isolation.install_filter(program)
    layers.append("seccomp")
    _expect(os.listdir("/etc") == [], "files of the host are visible")
    # ids as low as 1 exist inside too, so there the question says nothing
    _expect(not os.path.exists(f"/proc/{outside}") or outside < 3, "processes of the host are visible")
    _expect_refused(lambda: socket.socket(socket.AF_INET), "a network socket could be made")
    _expect_refused(lambda: os.mkdir("/etc/x"), "the root can be written")
    os.write(writer, json.dumps({"ok": True, "layers": layers}).encode())
    os._exit(0)


def _landlock(needs: Mapping[str, Any]) -> list[str]:
    import isolation
    import seccomp

    version = isolation.landlock_version()
    if version < NEEDED_LANDLOCK:
        has = f"version {version}" if version else "no Landlock"
        raise OSError(
            f"this system has {has}; version {NEEDED_LANDLOCK} (Linux 6.12) keeps signals inside too"
        )
    if not seccomp.supported():
        raise OSError("seccomp: no filter for this processor")
    program = seccomp.for_process(seccomp.build(private_root=False), os.getpid())
    outside = os.getppid()
    layers = ["landlock", "seccomp", "no-new-privileges", "capabilities", "limits"]
    isolation.drop_rights(needs.get("uid"))
    if "uid" in needs:
        _expect_readable(needs)
        layers.append("own-user-id")
    _expect(os.getuid() != 0, "a kernel would be root")
    isolation.set_limits(MINIMAL)
    isolation.restrict_files([("/usr", "r"), ("/dev/null", "d")])
    isolation.install_filter(program)
    _expect_refused(lambda: os.listdir("/etc"), "files of the host can be read")
    _expect_refused(lambda: os.kill(outside, 0), "processes of the host can be signalled")
    _expect_refused(lambda: socket.socket(socket.AF_INET), "a network socket could be made")
    _expect_refused(lambda: socket.socket(socket.AF_UNIX), "a unix socket could be made")
    _expect_refused(lambda: os.listxattr("/"), "attributes of the host's files can be read")
    return layers


def _expect_readable(needs: Mapping[str, Any]) -> None:
    path = needs["pass"]
    try:
        os.stat(f"{path}/.")
        for path in needs["read"]:
            if os.path.isdir(path):
                os.listdir(path)
            else:
                os.close(os.open(path, os.O_RDONLY))
    except PermissionError:
        raise OSError(
            f"{path} is closed to other users, and a kernel at this level is never root; put Python, its packages and "
            "the folder for temporary files where every user can read, or run as an ordinary user, or at level namespaces"
        ) from None


def _expect(true: bool, otherwise: str) -> None:
    if not true:
        raise OSError(otherwise)


def _expect_refused(action: Callable[[], object], otherwise: str) -> None:
    try:
        action()
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.EROFS, errno.EAFNOSUPPORT, errno.EOPNOTSUPP):
            return
        raise
    raise OSError(otherwise)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main(sys.argv[1], sys.argv[2]))
