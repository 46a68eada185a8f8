"""Properties of the seal that no attack of the others would miss: who may look at a kernel, who may enter its folder, when it is stopped."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.kernels.folders import run_folder
from tests.sandbox.conftest import LEVELS, Opener
from workbench.signing_keys import key_path, new_key


@pytest.mark.parametrize("level", LEVELS)
async def test_nobody_else_may_enter_the_folders_of_a_kernel(level: str, open_session: Opener):
    session = await open_session(level=level)
    endpoints = session.kernel.endpoints
    # at landlock a kernel of root is another user, who passes through ours to its own folder, and sees nothing there
    # (also here, if such a kernel was started by this process before)
    assert stat.S_IMODE(run_folder().stat().st_mode) in ((0o700, 0o711) if os.geteuid() == 0 else (0o700,))
    assert stat.S_IMODE(endpoints.folder.stat().st_mode) == 0o700
    if endpoints.home is not None:
        assert not stat.S_IMODE(endpoints.home.stat().st_mode) & 0o077
    if os.geteuid() == 0:
        [socket] = [path for path in endpoints.folder.rglob("*") if path.is_socket()][:1]
        code = "import os, sys; os.stat(sys.argv[1])"
        as_other = ["setpriv", "--reuid", "64123", "--clear-groups", sys.executable, "-c", code]
        refused = subprocess.run([*as_other, str(socket)], capture_output=True, text=True, check=False)
        assert "PermissionError" in refused.stderr
        control = subprocess.run([*as_other, "/tmp"], capture_output=True, text=True, check=False)
        assert control.returncode == 0, control.stderr


async def test_two_kernels_share_no_namespace_with_each_other_or_with_us(open_session: Opener):
    """In one network namespace they could speak by abstract sockets; the fork server's would be such a one."""
    names = ("ipc", "mnt", "net", "pid", "uts")
    look = f"import os\nprint(*(os.readlink(f'/proc/self/ns/{{name}}') for name in {names}))"
    kernels = [(await (await open_session(f"P{number}.1.1")).execute(look)).text() for number in (1, 2)]
    ours = " ".join(os.readlink(f"/proc/self/ns/{name}") for name in names)
    spaces = [space for line in (*kernels, ours) for space in line.split()]
    assert len(spaces) == len(set(spaces)) == 15, spaces


LOOK = """
import os, sys
os.setresuid(*[int(sys.argv[2])] * 3)
for name in ('environ', 'mem', 'maps', 'cwd', 'fd'):
    try:
        path = f'/proc/{sys.argv[1]}/{name}'
        os.listdir(path) if name == 'fd' else os.readlink(path) if name == 'cwd' else open(path, 'rb').close()
        print('read', name)
    except OSError: pass
"""


@pytest.mark.parametrize("level", LEVELS)
async def test_a_process_of_the_same_user_cannot_look_into_a_kernel(level: str, open_session: Opener):
    """It would find the key that signs the messages, and the wire."""
    session = await open_session(level=level)
    assert (await session.execute("import ctypes; ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)")).text() == "0"
    kernel = session.kernel.process.pid
    user = _user_of(kernel)

    def look(pid: int) -> str:
        command = [sys.executable, "-c", LOOK, str(pid), str(user)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import os; os.setresuid({user}, {user}, {user}); os.execvp('sleep', ['sleep', '60'])",
        ]
    ) as plain:
        while Path(f"/proc/{plain.pid}/comm").read_text() != "sleep\n":
            pass
        control = look(plain.pid)
        plain.kill()
    assert "read environ" in control and "read cwd" in control
    assert look(kernel) == ""


def _user_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1])


@pytest.mark.parametrize("level", ["none", *LEVELS])
@pytest.mark.parametrize("mode", [0o600, 0o644], ids=["closed", "readable for all"])
async def test_no_sealed_cell_reads_the_signing_key(
    level: str, mode: int, open_session: Opener, open_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Where everybody may read it, what hides it is the seal and not the mode: a sealed kernel of root is another user."""
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(open_folder))
    new_key()
    key = key_path()
    assert key.is_relative_to(open_folder)
    for folder in list(key.parents)[: len(key.relative_to(open_folder).parts)]:
        folder.chmod(0o755)
    key.chmod(mode)
    if mode == 0o644 and os.geteuid() == 0:
        as_other = ["setpriv", "--reuid", "64123", "--clear-groups", "cat", str(key)]
        control = subprocess.run(as_other, capture_output=True, text=True, check=True)
        assert "OPENSSH PRIVATE KEY" in control.stdout
    session = await open_session(level=level)
    assert (os.geteuid() == 0 and level != "none") is (_user_of(session.kernel.process.pid) != os.geteuid())
    read = (await session.execute(f"print(open({str(key)!r}).read())")).text()
    # the control is the level that seals nothing
    assert ("OPENSSH PRIVATE KEY" in read) is (level == "none")
