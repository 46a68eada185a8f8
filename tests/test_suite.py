"""The suite as it is dealt out: which tier a file is in, and which process it goes to."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import _LONG_FIRST, _TOGETHER

TESTS = Path(__file__).parent
ROOT = TESTS.parent
#: The one browser journey of `make test`.
JOURNEY = "tests/browser/test_evidence_page.py"
#: What only the long tier starts: a browser, JupyterLab, a Dask cluster.
SLOW_TO_START = re.compile(r"mark\.browser|\blab: Lab\b|running_lab\(|tests\.fakes\.cluster import")
FILES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in TESTS.rglob("test_*.py")}


def is_long(text: str) -> bool:
    return re.search(r"^pytestmark = .*mark\.long", text, re.MULTILINE) is not None


def test_what_starts_a_browser_jupyterlab_or_a_cluster_is_long() -> None:
    starts = {name for name, text in FILES.items() if SLOW_TO_START.search(text)} - {"tests/test_suite.py"}
    assert starts >= set(_TOGETHER) - {JOURNEY} and JOURNEY in starts
    assert {name for name in starts if not is_long(FILES[name])} == {JOURNEY}


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_the_two_tiers_hold_every_test_and_the_fast_one_comes_first() -> None:
    said = subprocess.run(
        ["make", "-n", "-C", str(ROOT), "test-all"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert re.findall(r"pytest .* -m '([^']*)'", said) == ["not long", "long or hypothesis"]
    assert "make test-all" in (ROOT / ".ci" / "run").read_text()


def test_a_test_that_is_tried_again_is_named_with_its_reason() -> None:
    marked = {name: ast.parse(text) for name, text in FILES.items() if "mark.flaky" in text}
    for name, tree in marked.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for mark in (m for m in node.decorator_list if "mark.flaky" in ast.unparse(m)):
                    assert isinstance(mark, ast.Call), f"{name}::{node.name}"
                    assert {k.arg for k in mark.keywords} == {"reruns", "reason"}, f"{name}::{node.name}"
            assert not (isinstance(node, ast.Assign) and "mark.flaky" in ast.unparse(node)), (
                f"{name}: a whole file"
            )
    assert "mark.flaky" not in (TESTS / "conftest.py").read_text()


def test_files_that_share_a_server_are_there() -> None:
    assert set(_TOGETHER) <= set(FILES)
    in_the_browser = {name for name in FILES if name.startswith("tests/browser/")}
    assert in_the_browser <= set(_TOGETHER)


def test_folders_that_take_long_are_there() -> None:
    assert all((TESTS / folder).is_dir() for folder in _LONG_FIRST)
