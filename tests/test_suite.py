"""The suite as it is dealt out: which tier a test is in, and which process its file goes to."""

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import _LONG_FIRST, _TOGETHER

TESTS = Path(__file__).parent
ROOT = TESTS.parent
#: The one browser journey of `make test`.
JOURNEY = "tests/browser/test_evidence_page.py"
#: A test that asks for one of these starts a browser, a server for it, JupyterLab or a Dask cluster.
SLOW_TO_START = {"chromium", "tab", "watched", "served", "lab", "running"}
FILES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in TESTS.rglob("test_*.py")}


def marked_tests(text: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Each test of a file with its marks, those of the whole file first."""
    tree = ast.parse(text)
    of_all = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
    whole = "".join(line for line in of_all if line.startswith("pytestmark"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node, whole + " ".join(map(ast.unparse, node.decorator_list))


def test_what_starts_a_browser_jupyterlab_or_a_cluster_is_long() -> None:
    fast = set()
    for name, text in FILES.items():
        if not re.search(r"mark\.browser|tests\.fakes\.(browser|cluster)|" + "|".join(SLOW_TO_START), text):
            continue
        for node, marks in marked_tests(text):
            asked = {argument.arg for argument in node.args.args}
            if ("mark.browser" in marks or asked & SLOW_TO_START) and "mark.long" not in marks:
                fast.add(name)
    assert fast == {JOURNEY}


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_the_two_tiers_hold_every_test_and_the_fast_one_comes_first() -> None:
    done = subprocess.run(
        ["make", "-n", "-C", str(ROOT), "test-all"], capture_output=True, text=True, check=True, timeout=60
    )
    assert re.findall(r"pytest .* -m '([^']*)'", done.stdout) == ["not long", "long or hypothesis"]
    assert "make test-all" in (ROOT / ".ci" / "run").read_text()


def test_files_that_share_a_server_are_there() -> None:
    assert set(_TOGETHER) <= set(FILES)
    assert {name for name in FILES if name.startswith("tests/browser/")} <= set(_TOGETHER)


def test_folders_that_take_long_are_there() -> None:
    assert all((TESTS / folder).is_dir() or folder == TESTS.name for folder in _LONG_FIRST)
