"""The package as others install it: what it imports is declared, and a wheel runs the demo from any folder."""

import ast
import functools
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from sandbox.kernels.view import ANALYSIS_PACKAGES

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("workbench", "sandbox", "proxies", "kernels/analyst")

#: Declared without an import of ours: held below a slow release, what LiteLLM calls tools with.
NEEDED_BY_OTHERS = {"jsonschema", "mcp"}


def canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["dask"]]
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
    assert imported(("tests",))["pytest"] and "pytest" not in declared()


@pytest.mark.soak
def test_a_wheel_in_a_fresh_environment_runs_the_demo_from_any_folder(tmp_path: Path) -> None:
    """What the demo prints at its end can be typed as it stands, whatever folder the person is in."""

    def run(*command: str | Path, timeout: float = 300) -> str:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**kept, "HOME": str(tmp_path), "WORKBENCH_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    python = tmp_path / "fresh" / "bin" / "python"
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path / "wheels", ROOT)
    run(sys.executable, "-m", "venv", tmp_path / "fresh")
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    run(python, "-m", "pip", "install", "-q", "--no-deps", wheel)
    # The libraries of this environment stand in for those that pip would fetch again; a path line does not run our own
    # editable install, so the code is the wheel's.
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    origin = run(python, "-c", "import workbench; print(workbench.__file__)").strip()
    assert Path(origin).is_relative_to(tmp_path)

    printed = run(tmp_path / "fresh" / "bin" / "workbench", "demo")
    line = next(line for line in printed.splitlines() if line.startswith("what if"))
    command = line.removeprefix("what if").partition("   (")[0].split()
    assert command[1] == "whatif" and Path(command[0]).is_file()
    assert "root" in run(*command)
