"""Each layer alone, the others off, stops an attack that succeeds without it: so every layer is alive."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

FOLDER = Path(__file__).resolve().parents[2] / "kernels" / "analyst"

HEADER = """
import ctypes, json, os, socket, subprocess, sys, tempfile, time
sys.path.insert(0, {folder!r})
import isolation, seccomp
libc = ctypes.CDLL(None, use_errno=True)
isolation_ready = os.getpid()
def own_user():
    if os.geteuid() != 0:
        uid, gid = os.geteuid(), os.getegid()
        return isolation.NEWUSER, lambda: isolation.map_user(uid, gid)
    return 0, lambda: None
def leave(flags):
    user, after = own_user()
    isolation.unshare(flags | user, 'test')
    after()
"""

# name: (layer, attack); the attack prints ok when it had its effect
LAYERS = {
    "network namespace": (
        "leave(isolation.NEWNET)",
        "s = socket.create_connection(('127.0.0.1', port), 2); print('ok')",
    ),
    "process namespace": (
        "leave(isolation.NEWPID)\npid = os.fork()\nif pid: os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
        "os.kill(victim, 0); print('ok')",
    ),
    "ipc namespace": (
        "leave(isolation.NEWIPC)",
        "print('ok' if libc.shmget(key, 0, 0) >= 0 else 'no segment')",
    ),
    "uts namespace": (
        "leave(isolation.NEWUTS)\nlibc.sethostname(b'analyst', 7)",
        "print('ok' if os.uname().nodename == hostname else 'other name')",
    ),
    "mount namespace and private root": (
        "leave(isolation.NEWNS | isolation.NEWPID)\npid = os.fork()\n"
        "if pid: os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "isolation.enter_root(folder, [('dir', '/etc')])",
        "print('ok' if open(secret).read() == 'secret' else '')",
    ),
    "Landlock": (
        "isolation.restrict_files([('/usr', 'r'), ('/lib', 'r'), ('/dev/null', 'd')])",
        "print('ok' if open(secret).read() == 'secret' else '')",
    ),
    "Landlock against signals": (
        "isolation.restrict_files([('/', 'r')])",
        "os.kill(victim, 0); print('ok')",
    ),
    "seccomp": (
        "isolation.install_filter(seccomp.build())",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print('ok')",
    ),
    "seccomp without unix sockets": (
        "isolation.install_filter(seccomp.build(private_root=False))",
        "s = socket.socket(socket.AF_UNIX); s.connect(unix); print('ok')",
    ),
    "seccomp against tracing": (
        "isolation.install_filter(seccomp.build())",
        "print('ok' if libc.ptrace(0x4206, victim, 0, 0) == 0 else ctypes.get_errno())",
    ),
    "no new privileges": (
        "isolation.prctl(isolation.PR_SET_NO_NEW_PRIVS, 1)",
        "print('ok' if 'NoNewPrivs:\\t0' in open('/proc/self/status').read() else 'cannot gain any')",
    ),
    "limit of processor time": (
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
        "end = time.process_time() + 1.4\nwhile time.process_time() < end: pass\nprint('ok')",
    ),
    "limit of address space": (
        "isolation.set_limits(limits)",
        "x = bytearray(1 << 30); print('ok')",
    ),
    "limit of file size": (
        "isolation.set_limits(limits)\nimport signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)",
        "f = open(folder + '/big', 'wb', buffering=0)\nfor _ in range(64): f.write(bytes(1 << 20))\nprint('ok')",
    ),
    "limit of open files": (
        "isolation.set_limits(limits)",
        "kept = [open('/dev/null') for _ in range(600)]; print('ok')",
    ),
}
OF_ROOT = {
    "capabilities": (
        "isolation.drop_rights()",
        "libc.unshare(0x20000); print('ok' if libc.mount(b'n', folder.encode(), b'tmpfs', 0, b'size=16m') == 0 else 'no')",
    ),
    "own user": (
        "isolation.drop_rights(1900000123)",
        "print('ok' if open(secret).read() == 'secret' else '')",
    ),
    "limit of processes": (
        "isolation.drop_rights(1900000124); isolation.set_limits(limits)",
        "for _ in range(50):\n    if os.fork() == 0: time.sleep(1); os._exit(0)\nprint('ok')",
    ),
}
ALL = {**LAYERS, **(OF_ROOT if os.geteuid() == 0 else {})}


@pytest.fixture(scope="module")
def aim(tmp_path_factory):
    import ctypes
    import socket

    folder = tmp_path_factory.mktemp("layers")
    secret = folder / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    tcp = socket.create_server(("127.0.0.1", 0))
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(str(folder / "u"))
    unix.listen()
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    libc = ctypes.CDLL(None)
    key = 0x5A000000 + os.getpid()
    segment = libc.shmget(key, 4096, 0o1600)
    yield {
        "port": tcp.getsockname()[1],
        "unix": str(folder / "u"),
        "victim": victim.pid,
        "secret": str(secret),
        "key": key,
        "hostname": os.uname().nodename,
        "limits": {
            "address_mb": 512,
            "cpu_seconds": 1,
            "disk_mb": 8,
            "open_files": 128,
            "processes": 10,
        },
    }
    libc.shmctl(segment, 0, None)
    victim.kill()
    victim.wait()
    unix.close()
    tcp.close()


def _try(layer: str, attack: str, aim: dict, folder: Path) -> str:
    names = "\n".join(f"{name} = json.loads({json.dumps(value)!r})" for name, value in aim.items())
    program = (
        HEADER.format(folder=str(FOLDER)) + f"folder = {str(folder)!r}\n" + names + f"\n{layer}\n{attack}\n"
    )
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-B", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip()[-300:] or f"exit {done.returncode}"


@pytest.mark.parametrize("name", ALL)
def test_a_layer_alone_stops_its_attack(name: str, aim: dict, tmp_path: Path):
    layer, attack = ALL[name]
    assert _try("pass", attack, aim, tmp_path) == "ok"
    stopped = _try(layer, attack, aim, tmp_path)
    assert stopped != "ok"
    assert "NameError" not in stopped and "SyntaxError" not in stopped and "new " not in stopped, stopped
