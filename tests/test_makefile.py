"""``make browser`` on machines of every kind, played by commands of our own on an otherwise empty PATH."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
APT = """#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >> {log}
case "$1" in
  update) exit {update} ;;
  install) [ {install} = 0 ] && ln -s /bin/true {bin}/chromium; exit {install} ;;
esac
"""
SUDO = """#!/bin/sh
[ "$1" = -n ] || exit 9   # it would ask for a password
[ {allowed} = yes ] || exit 1
shift
exec "$@"
"""
ASKED = [
    "noninteractive update -qq",
    "noninteractive install -y -qq --no-install-recommends chromium fonts-dejavu-core",
]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")


class Machine:
    """A PATH with the shell, and what a test adds."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.log = folder / "bin", folder / "log"
        self.bin.mkdir()
        for name in ("sh", "env", "true", "ln", "make"):
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)

    def command(self, name: str, text: str = "#!/bin/sh\n", **holes: object) -> None:
        path = self.bin / name
        path.write_text(text.format(log=self.log, bin=self.bin, **holes) if holes else text)
        path.chmod(0o755)

    def browser(self, **environment: str) -> tuple[list[str], str]:
        """What apt-get was asked for, and what was printed."""
        done = subprocess.run(
            ["make", "-s", "-C", str(ROOT), "browser"],
            env={"PATH": str(self.bin), **environment},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stdout == ""
        return self.log.read_text().splitlines() if self.log.exists() else [], done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_that_is_there_is_taken(machine: Machine, name: str) -> None:
    machine.command("id", "#!/bin/sh\necho 0\n")
    machine.command("apt-get", APT, update=0, install=0)
    machine.command(name)
    assert machine.browser() == ([], "")


@pytest.mark.parametrize("update", [0, 100])
def test_root_installs_one_also_where_the_lists_are_old(machine: Machine, update: int) -> None:
    machine.command("id", "#!/bin/sh\necho 0\n")
    machine.command("apt-get", APT, update=update, install=0)
    assert machine.browser() == (ASKED, "")


def test_who_may_become_root_without_a_password_installs_one(machine: Machine) -> None:
    machine.command("id", "#!/bin/sh\necho 1000\n")
    machine.command("sudo", SUDO, allowed="yes")
    machine.command("apt-get", APT, update=0, install=0)
    assert machine.browser() == (ASKED, "")


@pytest.mark.parametrize("sudo", ["yes", "no", None])
def test_who_cannot_install_is_told_in_one_line(machine: Machine, sudo: str | None) -> None:
    machine.command("id", "#!/bin/sh\necho 1000\n")
    machine.command("apt-get", APT, update=0, install=100)
    if sudo is not None:
        machine.command("sudo", SUDO, allowed=sudo)
    asked, said = machine.browser()
    assert asked == (ASKED if sudo == "yes" else [])
    assert len(said.splitlines()) == 1 and "browser tests will be skipped" in said
    assert "browser tests will fail" in machine.browser(REQUIRE_BROWSER="1")[1]


def test_a_machine_without_apt_is_told_too(machine: Machine) -> None:
    machine.command("id", "#!/bin/sh\necho 0\n")
    asked, said = machine.browser()
    assert asked == [] and "browser tests will be skipped" in said


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (
            "#!/bin/sh\ncase $2 in *platform*) echo CPython 3.10.4 at /usr/bin/python3 ;; *) exit 1 ;; esac\n",
            "CPython 3.10.4 at /usr/bin/python3",
        ),
        (
            "#!/bin/sh\ncase $1 in -m) exit 1 ;; *) echo CPython 3.11.2 at /usr/bin/python3 ;; esac\n",
            "CPython 3.11.2 at /usr/bin/python3",
        ),
        (None, "nothing that runs as python3"),
    ],
    ids=["too old", "no venv module", "no interpreter"],
)
def test_an_interpreter_that_will_not_do_is_named_with_what_is_needed(
    machine: Machine, tmp_path: Path, python: str | None, said: str
) -> None:
    if python:
        machine.command("python3", python)
    machine.command("rm")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, checkout)
    done = subprocess.run(
        ["make", "-s", "-C", str(checkout), "demo"],
        env={"PATH": str(machine.bin)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    first, *_ = done.stderr.splitlines()
    assert done.returncode == 2 and said in first and "needed: CPython 3.11 to 3.14" in first
