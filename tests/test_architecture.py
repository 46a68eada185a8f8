"""The walls between the rooms, checked from the sources alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.size import circles, imports

ROOT = Path(__file__).resolve().parents[1]
OURS = {"workbench", "sandbox", "proxies", "notebooks", "tests", "benchmarks"}


def imported(path: Path) -> set[str]:
    """Top-level names of everything a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


KERNEL_FILES = sorted((ROOT / "kernels").rglob("*.py"))


@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda path: path.name)
def test_code_inside_the_sandbox_imports_nothing_of_ours(path: Path) -> None:
    assert not imported(path) & OURS


def test_the_rule_above_sees_a_trespasser(tmp_path: Path) -> None:
    assert KERNEL_FILES
    trespasser = tmp_path / "x.py"
    trespasser.write_text("def f():\n    from proxies.broker import Broker\n    import workbench.store\n")
    assert imported(trespasser) & OURS == {"proxies", "workbench"}


def test_kernels_is_no_import_package() -> None:
    assert not list((ROOT / "kernels").rglob("__init__.py"))


def test_the_layers_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# the last two are what each page loads before it shows anything
@pytest.mark.parametrize(
    "room", ["proxies", "sandbox", "workbench", "workbench.api", "workbench.widgets.run_page"]
)
def test_importing_a_room_is_quick_and_touches_nothing(room: str, tmp_path: Path) -> None:
    """No heavy library, no folder made: what is imported stays on the cheap side."""
    heavy = [
        "litellm",
        "arch",
        "matplotlib",
        "statsmodels",
        "sklearn",
        "voila",
        "yfinance",
        "jupyterlab",
        "pandas",
        "scipy",
    ]
    code = f"import sys, {room}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
    assert not list(tmp_path.iterdir())


def test_no_machine_path_is_in_a_tracked_file() -> None:
    """A path of the machine somebody worked on means nothing to anybody else."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    bad = [
        name
        for name in tracked.stdout.split("\0")
        if name and (ROOT / name).is_file() and str(ROOT).encode() in (ROOT / name).read_bytes()
    ]
    assert not bad


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles(imports(ROOT)) == []


def test_the_rule_above_sees_a_circle(tmp_path: Path) -> None:
    sources = {
        "workbench/__init__.py": "",
        "workbench/a.py": "def run():\n    from workbench.b import x\n",
        "workbench/b.py": "import workbench.a\n",
        "workbench/c.py": "import workbench.a\n",
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    assert circles(imports(tmp_path)) == [["workbench.a", "workbench.b"]]
