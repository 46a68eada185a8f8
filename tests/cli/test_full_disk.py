"""A disk that is full under a command: one line, nothing lost, and the same command does its work once there is room."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import cli_environment
from tests.fakes.small_run import RUN, make_small_run

#: In a process of its own: a file system of 16 MB at the place, seen by it alone, and the command on it before and after there is room.
_SCRIPT = """
import ctypes, os, shutil, subprocess, sys
source, place, spare, *words = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x20000) or libc.mount(None, b"/", None, 0x4000 | 1 << 18, None):
    sys.exit(77)
if libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, b"size=16m"):
    sys.exit(77)
shutil.copytree(source, f"{place}/home")
free = os.statvfs(place)
with open(f"{place}/ballast", "wb") as ballast:
    ballast.write(bytes(free.f_bavail * free.f_frsize - 1024 * int(spare)))
command = [sys.executable, "-m", "workbench.cli.main"]
full = subprocess.run([*command, *words], cwd=place, capture_output=True, text=True)
os.remove(f"{place}/ballast")
left = set(os.listdir(place)) - {"home"}
again = subprocess.run([*command, *words], cwd=place, capture_output=True, text=True)
whole = subprocess.run([*command, "doctor", "--check"], cwd=place, capture_output=True, text=True)
print(full.returncode, again.returncode, whole.returncode, len(left))
print(full.stdout + full.stderr, end="")
"""

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("spare", "words"),
    [
        (4, ["runs"]),
        (4, ["note", RUN, "so"]),
        (40, ["export", RUN, "--output", "out.zip"]),
        (40, ["gc"]),
    ],
)
def test_a_full_disk_is_one_line_and_the_command_goes_on_later(
    tmp_path: Path, spare: int, words: list[str]
) -> None:
    make_small_run(tmp_path / "source")
    place = tmp_path / "place"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, tmp_path / "source", place, str(spare), *words],
        env={**cli_environment(place), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=200,
    )
    if done.returncode == 77:
        pytest.skip("no mounts here")
    assert done.returncode == 0, done.stderr
    codes, _, said = done.stdout.partition("\n")
    assert codes == "3 0 0 0", (codes, said)
    assert said.count("\n") == 1 and "the disk is full" in said
