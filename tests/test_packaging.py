"""The package as others install it: what it imports is declared, and a wheel runs the demo from any folder."""

import ast
import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile
from importlib import metadata
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.markers import Environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from sandbox.kernels.view import ANALYSIS_PACKAGES
from tests.sandbox import ordinary_user
from workbench.version import __version__

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("workbench", "sandbox", "proxies", "kernels/analyst")

#: Declared without an import of ours: held below a slow release, what LiteLLM calls tools with, what a sealed cell reads Excel with,
#: and pandas Feather.
NEEDED_BY_OTHERS = {"jsonschema", "mcp", "openpyxl", "pyarrow", "pypdf"}
#: Extras whose packages our own code imports where it finds them.
OFFERED = ("dask", "own")


def canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in OFFERED for line in project["optional-dependencies"][extra]),
    ]
    return {canonical_name(re.split(r"[<>=!~\[; ]", line)[0]) for line in lines}


# Reads the record of every package that is installed.
_distributions = functools.cache(packages_distributions)


@functools.cache
def imported(folders: tuple[str, ...] = SOURCES) -> dict[str, str]:
    """Distribution -> a file that imports it, wherever in the file; the standard library and our own left out."""
    distributions = _distributions()
    own = {
        "workbench",
        "sandbox",
        "proxies",
        *(path.stem for path in (ROOT / "kernels/analyst").glob("*.py")),
    }
    found: dict[str, str] = {}
    for path in (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for name in {name.partition(".")[0] for name in names} - own - set(sys.stdlib_module_names):
                for distribution in distributions.get(name, [name]):
                    found.setdefault(canonical_name(distribution), str(path.relative_to(ROOT)))
    return found


def test_whatever_is_imported_is_declared() -> None:
    missing = {name: where for name, where in imported().items() if name not in declared()}
    assert not missing


def test_whatever_is_declared_is_imported_or_offered_to_cells() -> None:
    needed = {*imported(), *map(canonical_name, ANALYSIS_PACKAGES), *NEEDED_BY_OTHERS, "jupyterlab"}
    assert declared() <= needed  # jupyterlab: `workbench lab` starts it as a program


def test_the_rules_above_see_an_import_of_a_stranger() -> None:
    assert imported(("tests/kernels",))["pytest"] and "pytest" not in declared()


def promised_interpreters() -> list[str]:
    """The lowest release of every minor version that pyproject.toml promises."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    words = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    return [f"{minor}.0" for minor in words]


def holds(pin: Requirement, version: str) -> bool:
    """Whether pip reads the line on this machine under an interpreter of that version."""
    environment: Environment = {  # type: ignore[typeddict-item]  # the rest is this machine's
        "python_version": version.rpartition(".")[0],
        "python_full_version": version,
    }
    return pin.marker is None or pin.marker.evaluate(environment)


def unfit_pins(lines: list[str]) -> list[str]:
    """Pins that pip would take under a promised interpreter which their package excludes.

    What a package asks for is read where it is installed in the pinned version; a version for other interpreters is not.
    """
    unfit = []
    for pin in map(Requirement, lines):
        try:
            package = metadata.distribution(pin.name)
        except metadata.PackageNotFoundError:
            continue
        if package.version in pin.specifier:
            asked = SpecifierSet(package.metadata.get("Requires-Python") or "")
            unfit += [f"{pin} under {v}" for v in promised_interpreters() if holds(pin, v) and v not in asked]
    return unfit


def test_every_pin_can_be_installed_by_every_promised_interpreter() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) > 200 and unfit_pins(lines) == []
    assert promised_interpreters()[0] == "3.11.0"
    # declared and locked are the same set
    names = {canonical_name(Requirement(line).name) for line in lines}
    assert declared() <= names


def test_the_rule_above_sees_a_pin_that_only_a_later_interpreter_can_install() -> None:
    version = metadata.distribution("soupsieve").version
    asked = SpecifierSet(metadata.distribution("soupsieve").metadata["Requires-Python"])
    if "3.11.0" in asked:
        pytest.skip("this release of soupsieve runs on 3.11.0")
    assert unfit_pins([f"soupsieve=={version}"]) == [f"soupsieve=={version} under 3.11.0"]
    assert unfit_pins([f"soupsieve=={version} ; python_full_version >= '3.11.5'"]) == []


def other_interpreter(minor: int) -> str | None:
    """The path of a Python 3.``minor`` on this machine of another release than the one that runs the tests."""
    candidates = [
        Path("/usr/bin/python3"),
        *Path("/usr/bin").glob("python3.1?"),
        *Path("/usr/local/bin").glob("python3.1?"),
    ]
    candidates += Path.home().glob(".pyenv/versions/3.1*/bin/python")
    for path in candidates:
        if not path.exists():
            continue
        words = subprocess.run(
            [path, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:3])"],
            capture_output=True,
            text=True,
        )
        version = tuple(map(int, words.stdout.split()))
        if version[:2] == (3, minor) and version != sys.version_info[:3]:
            return str(path)
    return None


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("minor", range(11, 15))
@pytest.mark.parametrize("who", ["as it is", "ordinary user"])
def test_the_first_command_of_the_readme_works_with_other_interpreters(
    minor: int, who: str, tmp_path: Path
) -> None:
    """Installs from the package index, as a person does; skipped where there is no other interpreter or no index."""
    python = other_interpreter(minor)
    if python is None:
        pytest.skip(f"no other Python 3.{minor} here")
    if who == "ordinary user" and (reason := ordinary_user.possible()):
        pytest.skip(reason)
    if who == "ordinary user" and python.startswith("/root/"):
        pytest.skip("this interpreter lies in root's home")
    if subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", tmp_path / "probe", "soupsieve"],
        capture_output=True,
    ).returncode:
        pytest.skip("no package index can be reached")
    folder = Path(tempfile.mkdtemp(prefix="aw-demo-", dir="/tmp")) if who == "ordinary user" else tmp_path
    try:
        subprocess.run(["git", "clone", "-q", ROOT, folder / "checkout"], check=True)
        command = ["make", "-C", str(folder / "checkout"), "demo", f"PYTHON={python}"]
        if who == "ordinary user":
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, ordinary_user.UID, ordinary_user.UID, follow_symlinks=False)
            passed_on = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
            done = ordinary_user.run(command, folder, seconds=1500, **passed_on)
        else:
            done = subprocess.run(
                command,
                env={**os.environ, "WORKBENCH_HOME": str(folder / "home")},
                capture_output=True,
                text=True,
            )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert (
            "sandbox sealed" in done.stdout
            and "Outcome: no (data of the series, 31 December 2018)" in done.stdout
        )
    finally:
        if folder != tmp_path:
            shutil.rmtree(folder)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_wheel_and_archive_serve_a_new_environment_in_an_empty_folder(tmp_path: Path) -> None:
    """Both are built, hold the same files, and the wheel does the main jobs from a folder that knows nothing of the checkout."""

    def run(*command: str | Path, timeout: float = 300) -> str:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in ("PATH", "LANG", "TMPDIR") or name[:4] == "PIP_"
        }
        own = {"HOME": str(tmp_path), "WORKBENCH_HOME": str(tmp_path / "home"), "WORKBENCH_RECORD": "off"}
        done = subprocess.run(
            command, cwd=folder, env={**kept, **own}, capture_output=True, text=True, timeout=timeout
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    folder = tmp_path / "empty"
    folder.mkdir()
    python, builder = (tmp_path / name / "bin" / "python" for name in ("fresh", "builder"))
    run(sys.executable, "-m", "venv", tmp_path / "builder")
    if subprocess.run([builder, "-m", "pip", "install", "-q", "hatchling"], capture_output=True).returncode:
        pytest.skip("no package index can be reached")
    build = (builder, "-m", "hatchling", "build", "-d", tmp_path / "dist")
    subprocess.run([*build, "-t", "wheel", "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    (wheel,), (archive,) = ((tmp_path / "dist").glob(f"*{end}") for end in (".whl", ".tar.gz"))
    with tarfile.open(archive) as files:
        files.extractall(tmp_path / "archive", filter="data")
    (sources,) = (tmp_path / "archive").iterdir()
    subprocess.run(
        [builder, "-m", "hatchling", "build", "-d", tmp_path / "again", "-t", "wheel"],
        cwd=sources,
        check=True,
        capture_output=True,
    )
    (again,) = (tmp_path / "again").glob("*.whl")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {each.filename: each.CRC for each in one.infolist()} == {
            each.filename: each.CRC for each in other.infolist()
        }

    # Another release of this minor version where there is one: releases differ (gh-106052 broke the demo on 3.11.2 alone).
    run(other_interpreter(sys.version_info.minor) or sys.executable, "-m", "venv", tmp_path / "fresh")
    run(python, "-m", "pip", "install", "-q", "--no-deps", wheel)
    # The libraries of this environment stand in for those that pip would fetch again; a path line does not run our own
    # editable install, so the code is the wheel's.
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    origin = run(python, "-c", "import workbench; print(workbench.__file__)").strip()
    assert Path(origin).is_relative_to(tmp_path)

    workbench = tmp_path / "fresh" / "bin" / "workbench"
    assert run(workbench, "--version") == f"analyst-workbench {__version__}\n"
    # What the demo prints at its end can be typed as it stands, whatever folder the person is in.
    printed = run(workbench, "demo")
    line = next(line for line in printed.splitlines() if line.startswith("what if"))
    command = line.removeprefix("what if").partition("   (")[0].split()
    assert command[1] == "whatif" and Path(command[0]).is_file()
    assert "claim" in run(*command)
    rows = [f"{2010 + n // 12}-{n % 12 + 1:02d}-28,{100 + 3 * (n % 7) + n / 4}" for n in range(102)]
    (folder / "orders.csv").write_text("\n".join(["month,orders", *rows]) + "\n")
    run(workbench, "source", "add", "orders", "orders.csv", "--date", "month", "--lag", "10d")
    assert "own:orders" in run(
        workbench, "analyze", "own:orders above 120 on 2018-12-31", "--cutoff", "2018-06-30"
    )
    if find_spec("material") is not None:
        run(workbench, "docs", folder / "manual")
        assert "Analyst Workbench" in (folder / "manual" / "index.html").read_text()


@pytest.mark.long
def test_another_system_is_told_what_it_offers() -> None:
    """macOS and its like: everything is imported and asked, cells run only where ``--isolation none`` is said."""
    code = """
import asyncio, importlib, os, pkgutil, sys

def import_all():
    for room in ("proxies", "sandbox", "workbench"):
        for found in pkgutil.walk_packages(importlib.import_module(room).__path__, room + "."):
            importlib.import_module(found.name)

import_all()  # what we build on asks for the platform itself: it is loaded as it is here
for name in [name for name in sys.modules if name.partition(".")[0] in ("proxies", "sandbox", "workbench")]:
    del sys.modules[name]
sys.platform = "darwin"
for name in ("memfd_create", "pidfd_open", "sched_getaffinity", "splice", "eventfd"):
    if hasattr(os, name):
        delattr(os, name)
import_all()
from workbench.operations.base import Home
from workbench.operations.doctor import Doctor
report = asyncio.run(Doctor().answer(Home.of(os.environ)))
print(report["isolation"], *report["isolation_refused"], report["memory"])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "namespaces: darwin offers none of the means; Linux does" in done.stdout
    assert "darwin has no control groups" in done.stdout


def test_every_locked_version_has_the_hashes_of_its_files() -> None:
    """`make locked` installs by them, and pip then takes no other file."""
    locked = {
        line.strip()
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    }
    blocks = (ROOT / "constraints-hashes.txt").read_text().replace("\\\n", " ").splitlines()
    hashed = {}
    for block in blocks:
        if block and not block.startswith("#"):
            requirement, *hashes = block.split(" --hash=")
            hashed[" ".join(requirement.split())] = [each.strip() for each in hashes]
    assert set(hashed) == locked
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for hashes in hashed.values() for each in hashes)
    assert all(hashed.values())
