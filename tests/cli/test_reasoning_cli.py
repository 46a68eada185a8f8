"""Sensitivity, scenarios, audit, export and import on the demo run."""

import json
import shutil
import zipfile
from pathlib import Path

import nbformat
import pytest

from tests.command_line import run_cli
from tests.conftest import FinishedRun

pytestmark = pytest.mark.long


@pytest.fixture
def copy(demo: FinishedRun, tmp_path: Path) -> Path:
    """A home of one's own that holds the demo run."""
    shutil.copytree(demo.home / "home", tmp_path / "home")
    return tmp_path


def ok(home: Path, *arguments: str) -> str:
    done = run_cli(home, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_scenario_is_kept_compared_undone_and_closed(copy: Path, demo: FinishedRun) -> None:
    leaf = demo.leaves[0]["id"]
    ok(
        copy,
        "whatif",
        demo.run_id,
        "--set",
        f"{leaf}=0.1",
        "--scenario",
        "bear",
        "--set",
        "rationale=it turns",
        "--set",
        "probability=0.25",
    )
    after = json.loads(ok(copy, "whatif", demo.run_id, "--set", f"{leaf}=0.1", "--json"))["after"]
    table = json.loads(ok(copy, "scenarios", demo.run_id, "--json"))
    (bear,) = table["scenarios"]
    assert bear["root"] == pytest.approx(after) and bear["rationale"] == "it turns"
    undone = json.loads(ok(copy, "scenarios", demo.run_id, "--undo", "bear", "--json"))
    assert undone["scenarios"][0]["root"] == demo.document["root"]["p"]
    redone = json.loads(ok(copy, "scenarios", demo.run_id, "--redo", "bear", "--json"))
    assert redone["scenarios"][0]["root"] == pytest.approx(after)
    nothing = run_cli(copy, "scenarios", demo.run_id, "--redo", "bear")
    assert nothing.returncode == 2 and "nothing to redo" in nothing.stderr
    ok(copy, "scenarios", demo.run_id, "--close", "bear")
    assert json.loads(ok(copy, "scenarios", demo.run_id, "--json"))["scenarios"] == []
    assert run_cli(copy, "scenarios", demo.run_id, "--undo", "bull").returncode == 2
    assert json.loads(ok(copy, "show", demo.run_id, "--json"))["root"] == demo.document["root"]


def test_the_demo_passes_its_audit(demo: FinishedRun) -> None:
    report = json.loads(ok(demo.home, "audit", demo.run_id, "--json"))
    assert report["passed"]
    assert {check["verdict"] for check in report["checks"]} == {"ok"}


def test_a_package_brings_the_whole_run_to_another_home(demo: FinishedRun, tmp_path: Path) -> None:
    package = tmp_path / "run.zip"
    ok(demo.home, "export", demo.run_id, "--to", "zip", "-o", str(package))
    with zipfile.ZipFile(package) as held:
        names = held.namelist()
    assert "report.html" not in names and "run/manifest.json" in names
    imported = json.loads(ok(tmp_path, "import", str(package), "--json"))
    same = {key: value for key, value in demo.document.items() if key not in ("nodes", "folder", "imported")}
    assert {key: imported[key] for key in same} == same
    for mine, theirs in zip(imported["nodes"], demo.document["nodes"], strict=True):
        assert {**mine, "notebook": None} == {**theirs, "notebook": None}
        assert (mine["notebook"] is None) == (theirs["notebook"] is None)
    assert json.loads(ok(tmp_path, "audit", demo.run_id, "--json"))["passed"]
    again = run_cli(tmp_path, "import", str(package))
    assert again.returncode == 2 and "already in this home" in again.stderr


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_tree_comes_back_as_the_same_tree(demo: FinishedRun, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"tree.{form}"
    ok(demo.home, "export", demo.run_id, "--to", form, "-o", str(path))
    imported = json.loads(ok(tmp_path, "import", str(path), "--cutoff", "2018-06-30", "--json"))
    for mine, theirs in zip(imported["nodes"], demo.document["nodes"], strict=True):
        for key in ("id", "parent", "statement", "p", "rule", "key_factor"):
            assert mine[key] == theirs[key]
    leaf = demo.leaves[0]["id"]
    here = json.loads(ok(tmp_path, "whatif", imported["run_id"], "--set", f"{leaf}=0.0", "--json"))
    there = json.loads(ok(demo.home, "whatif", demo.run_id, "--set", f"{leaf}=0.0", "--json"))
    assert here["after"] == there["after"]


@pytest.mark.parametrize(("form", "word"), [("bif", "network"), ("problog", "::"), ("html", "<title>")])
def test_other_formats_are_written(demo: FinishedRun, form: str, word: str) -> None:
    assert word in ok(demo.home, "export", demo.run_id, "--to", form)


def test_one_notebook_holds_the_tree_and_every_proof(demo: FinishedRun, tmp_path: Path) -> None:
    path = tmp_path / "all.ipynb"
    ok(demo.home, "export", demo.run_id, "--to", "ipynb", "-o", str(path))
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    text = "\n".join(cell.source for cell in book.cells)
    assert all(leaf["statement"] in text for leaf in demo.leaves)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("none.zip", None, "no file"),
        ("x.json", "{", "JSON"),
        ("x.csv", "a,b\n1,2\n", "header"),
        ("x.zip", "PK", ""),
    ],
)
def test_what_is_no_run_is_refused_in_one_line(
    tmp_path: Path, name: str, content: str | None, word: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    done = run_cli(tmp_path, "import", str(path))
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and word in done.stderr
    assert json.loads(ok(tmp_path, "runs", "--json")) == []
