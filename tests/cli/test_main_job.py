"""The main job from the command line, on real data, in sealed kernels: what a stranger sees."""

import ast
import json
import sqlite3
from pathlib import Path
from typing import Any

import nbformat
import pytest

from sandbox.types import IsolationReport
from tests.command_line import run_cli, run_process
from tests.conftest import FinishedRun


def code_of(notebook: str) -> str:
    cells = nbformat.read(notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def shape_of(source: str) -> str:
    """A program without its names' values: two leaves made from one template differ only in constants."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = type(node.value).__name__
    return ast.dump(tree)


def recomputed(document: dict[str, Any]) -> dict[str, float]:
    """Every node's p, inner ones by hand from the printed rules and the leaves."""
    nodes = {node["id"]: node for node in document["nodes"]}

    def value(node: str) -> float:
        rule = nodes[node]["rule"]
        if rule is None:
            return float(nodes[node]["p"])
        assert rule["name"] == "linear"
        return float(
            rule["intercept"] + sum(weight * value(child) for child, weight in rule["weights"].items())
        )

    return {node: value(node) for node in nodes}


def test_the_demo_is_a_tree_of_several_leaves_on_two_levels(demo: FinishedRun) -> None:
    assert demo.document["status"] == "done"
    assert demo.document["n_leaves"] == len(demo.leaves) >= 4
    assert len({leaf["id"].count(".") for leaf in demo.leaves}) >= 2
    statements = [node["statement"] for node in demo.document["nodes"]]
    assert len(set(statements)) == len(statements)


def test_the_root_can_be_recomputed_by_hand(demo: FinishedRun) -> None:
    by_hand = recomputed(demo.document)
    for node in demo.document["nodes"]:
        assert node["p"] == pytest.approx(by_hand[node["id"]], abs=1e-12)
    assert demo.document["root"]["p"] == pytest.approx(by_hand["P0"], abs=1e-12)
    for node in demo.document["nodes"]:
        if node["rule"]:
            assert abs(node["rule"]["intercept"]) <= 0.1
            assert all(-1 <= weight <= 1 for weight in node["rule"]["weights"].values())


def test_the_answer_is_where_the_measured_design_puts_it(demo: FinishedRun) -> None:
    """The forecast of the paths: below the base rate, since a drift that was seen for twenty years is drawn to none."""
    assert demo.document["root"]["p"] == pytest.approx(0.63, abs=0.03)
    assert demo.document["base_rate"] == pytest.approx(0.68, abs=0.03)


def test_every_leaf_has_an_executed_notebook_with_a_plot(demo: FinishedRun) -> None:
    for leaf in demo.leaves:
        notebook = nbformat.read(leaf["notebook"], as_version=4)
        nbformat.validate(notebook)
        assert Path(leaf["notebook"]).parent == demo.folder / "proofs"
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert code and all(cell.execution_count is not None for cell in code)
        images = [o for cell in code for o in cell.outputs if "image/png" in o.get("data", {})]
        assert images, leaf["id"]
        source = code_of(leaf["notebook"])
        assert "CALL_API(" in source
        # What the figure says is held by tests/forecasts/test_proof_figure.py.
        for word in ("proof_figure(", "title=", "unit=", "last_day="):
            assert word in source, (leaf["id"], word)


def test_leaves_of_different_kinds_run_different_code(demo: FinishedRun) -> None:
    sources = [code_of(leaf["notebook"]) for leaf in demo.leaves]
    assert len(set(sources)) == len(sources)
    shapes = [shape_of(source) for source in sources]
    assert len(set(shapes)) >= 4
    # Only one kind may share a template: two halves, or two references.
    assert max(shapes.count(shape) for shape in shapes) <= 3


def test_no_row_from_after_the_cutoff_is_in_any_ledger(demo: FinishedRun) -> None:
    with sqlite3.connect(demo.home / "home" / "workbench.db") as db:
        answers = db.execute("SELECT answer FROM api_calls WHERE answer IS NOT NULL").fetchall()
        assert len(answers) >= len(demo.leaves)
        dates = []
        for (digest,) in answers:
            raw = db.execute("SELECT data FROM bodies WHERE hash = ?", (digest,)).fetchone()[0]
            dates += [row["date"] for row in json.loads(raw) if isinstance(row, dict) and "date" in row]
        everything = b"".join(raw for (raw,) in db.execute("SELECT data FROM bodies"))
    db.close()
    assert len(dates) > 1000
    assert max(dates) == "2018-06-29"
    # The S&P's close of 2018-12-31 and of the first session after the cutoff.
    assert b"2506.85" not in everything
    assert b"2726.71" not in everything
    assert b"2718.37" in everything


def test_the_files_say_what_the_run_says(demo: FinishedRun) -> None:
    tree = json.loads((demo.folder / "tree.json").read_text())
    assert demo.document["root"]["p"] in [float(x) for x in _numbers(tree)]
    manifest = json.loads((demo.folder / "manifest.json").read_text())
    assert manifest["isolation"] == demo.document["isolation"] == "namespaces"
    assert manifest["prompts"] and manifest["code"].startswith("sha256:") and manifest["data"]
    page = (demo.folder / "report.html").read_text()
    assert "S&amp;P 500" in page and "<script" not in page


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [x for item in value.values() for x in _numbers(item)]
    if isinstance(value, list):
        return [x for item in value for x in _numbers(item)]
    return [value] if isinstance(value, float) else []


def test_the_demo_passes_its_audit_and_every_proof_was_verified_when_it_concluded(demo: FinishedRun) -> None:
    assert all(leaf["verified"] for leaf in demo.leaves)
    done = run_cli(demo.home, "audit", demo.run_id, "--json")
    assert done.returncode == 0
    assert {check["verdict"] for check in json.loads(done.stdout)["checks"]} == {"ok"}


@pytest.mark.long
def test_a_different_claim_works_the_same_way(tmp_path: Path) -> None:
    done = run_cli(tmp_path, "analyze", "VIX above 20 on 2018-12-31", "--cutoff", "2018-11-01", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["status"] == "done"
    assert document["root"]["p"] == pytest.approx(0.25, abs=0.12)
    assert document["root"]["p"] == pytest.approx(recomputed(document)["P0"], abs=1e-12)
    assert document["n_leaves"] >= 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["analyze", "", "--cutoff", "2018-06-30"], "empty"),
        (
            [
                "analyze",
                "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
                "--cutoff",
                "2018-02-30",
            ],
            "2018-02-30",
        ),
        (["analyze", "The S&P 500 closes above 2,500 on 2025-12-31", "--cutoff", "2018-06-30"], "two years"),
        (["analyze", "The moon is made of cheese", "--cutoff", "2018-06-30"], "--model"),
        (["analyze", "It rains", "--cutoff", "2018-06-30", "--model", "nonsense"], "nonsense"),
        (["analyze", "It rains", "--cutoff", "2018-06-30", "--rule", "magic"], "magic"),
        (["analyze", "It rains", "--cutoff", "2018-06-30", "--trials", "0"], "trials"),
        (["analyze", "It rains"], "cutoff"),
        (["show", "nope"], "nope"),
        (["resume", "nope"], "nope"),
        (["whatif", "nope", "--set", "P1=0.5"], "nope"),
        (["call", "embedded/series/nonsense"], "nonsense"),
        (["call", "embedded/series/observations", "series_id=SP500", "vintage=2030-01-01"], "vintage"),
        (["call", "embedded/series/observations"], "series_id"),
        (["api-doc", "fred/nonsense"], "nonsense"),
        (["frobnicate"], "frobnicate"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else value,
)
def test_bad_input_is_one_clear_line_and_exit_2(tmp_path: Path, arguments: list[str], word: str) -> None:
    done = run_cli(tmp_path, *arguments)
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert word in lines[0]
    assert "Traceback" not in done.stderr
    runs = run_cli(tmp_path, "runs", "--json")
    assert json.loads(runs.stdout) == []  # a refused claim leaves no run behind


@pytest.mark.parametrize(
    ("bound", "enforces"),
    [
        ("cgroup v2", ("Linux", "shared memory", "semaphores", "queues")),
        ("watched (no tree of control groups is mounted)", ("filter", "System V", "POSIX queues", "memfd")),
    ],
)
def test_doctor_says_what_enforces_the_memory(
    bound: str, enforces: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = IsolationReport(level="namespaces", available=("namespaces", "none"), memory=bound)
    monkeypatch.setattr("sandbox.manager.probed", lambda: report)
    line = json.loads(run_cli(tmp_path, "doctor", "--json").stdout)["memory"]
    assert line.startswith(bound) and all(word in line for word in enforces)


def test_whoever_closes_their_files_to_others_has_the_same_seals(tmp_path: Path) -> None:
    """The root of a kernel was made with the person's umask: with 077 no kernel, a user of its own, could enter it."""
    closed = run_process(tmp_path, "doctor", "--json", umask=0o077)
    plain = run_cli(tmp_path, "doctor", "--json")
    assert json.loads(closed.stdout)["isolation"] == json.loads(plain.stdout)["isolation"]


def test_history_answers_before_any_evidence(tmp_path: Path) -> None:
    claim = ("The VIX closes above 20 on 2018-12-31", "--cutoff", "2018-11-01")
    planned = run_cli(tmp_path, "analyze", *claim, "--plan-only")
    assert planned.returncode == 0, planned.stderr
    shown = json.loads(run_cli(tmp_path, "show", "last", "--json").stdout)
    assert shown["root"]["p"] is None and 0 < shown["base_rate"] < 1
    said, evidence = planned.stderr.index(f"History: true in {shown['base_rate']:.1%}"), "drivers"
    assert said < planned.stderr.index(evidence)
