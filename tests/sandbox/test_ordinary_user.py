"""The seal holds for an ordinary user too: the tests of the room run again as one, in a process of its own."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.sandbox import ordinary_user
from tests.sandbox.test_machinery import NOBODY_HAS_IT

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).resolve().parents[2]
HERE = CHECKOUT / "tests" / "sandbox"

#: Files that every run of the suite tries as an ordinary user too.
IN_EVERY_RUN = ("attacks", "unmediated", "machinery", "seals_are_on", "open_list")
#: Files whose tests start kernels and attack with them.
WHOLE_ROOM = [
    f"test_{name}.py"
    for name in (
        *IN_EVERY_RUN,
        *("poisoning", "session", "usage", "disk", "exhaustion", "blame", "pool"),
        *("hostile_messages", "wire", "lifecycle", "verify", "cgroups"),
    )
]
#: Looks at what only root may see or change; nothing of it is an attack.
OF_ROOT = "root_whose_python or (full_disk and not closed)"
#: Reads every file of the machine: once is enough.
ONCE = "close_from_after"
#: Why tests of the room may be skipped there.
KNOWN_REASONS = (
    NOBODY_HAS_IT,
    "no control groups here",
    "needs --soak",
    "readable for root only",
    "only root",
)


def _run_tests(
    names: list[str], *options: str, seconds: int = 800, **environment: str
) -> tuple[int, list[str]]:
    """Run tests as an ordinary user; return how many passed and the reasons of those that were skipped."""
    reason = ordinary_user.possible()
    if reason:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="aw-user-", dir="/tmp") as folder:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "--verbosity=0"]
        command += [
            "--rootdir",
            str(CHECKOUT),
            "-c",
            str(CHECKOUT / "pyproject.toml"),
            f"--basetemp={folder}/t",
        ]
        command += [*(f"{HERE}/{name}" for name in names), *options]
        done = ordinary_user.run(command, Path(folder), seconds=seconds, **environment)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    [passed] = re.findall(r"(\d+) passed", done.stdout)
    return int(passed), re.findall(r"^SKIPPED \[\d+\] \S+: (.*)$", done.stdout, re.M)


@pytest.mark.timeout(900)
def test_the_seal_holds_for_an_ordinary_user_too():
    names = [f"test_{name}.py" for name in IN_EVERY_RUN]
    passed, skipped = _run_tests(names, "-k", f"not {ONCE} and not ({OF_ROOT})")
    assert passed >= 35
    expected = (NOBODY_HAS_IT, "files without a name")
    assert [reason for reason in skipped if not any(known in reason for known in expected)] == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_the_whole_room_holds_for_an_ordinary_user_at_each_level(level: str):
    """With `SANDBOX_TEST_LEVEL` as the level of every test that names none."""
    passed, skipped = _run_tests(
        WHOLE_ROOM, "-k", f"not {ONCE} and not ({OF_ROOT})", seconds=1800, SANDBOX_TEST_LEVEL=level
    )
    assert passed >= 150
    assert [reason for reason in skipped if not any(known in reason for known in KNOWN_REASONS)] == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_whole_room_holds_at_landlock_for_the_user_of_the_suite():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", f"not {ONCE}", *WHOLE_ROOM],
        cwd=HERE,
        env={**os.environ, "SANDBOX_TEST_LEVEL": "landlock"},
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_forty_memory_bombs_beside_a_busy_loop_end_well_for_an_ordinary_user_too():
    passed, skipped = _run_tests(["test_blame.py"], "--soak", "-k", "forty_memory_bombs", seconds=3500)
    assert passed >= 1 and [reason for reason in skipped if NOBODY_HAS_IT not in reason] == []
