"""Edits, scenarios, noise and coherence from the command line, on a stored run without kernels."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.propositions import Belief, Tree


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_run(tmp_path / "home")
    return tmp_path


def asked(home: Path, *arguments: str) -> Any:
    done = run_cli(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(home: Path, *arguments: str) -> str:
    done = run_cli(home, *arguments)
    assert done.returncode == 2 and done.stdout == "", done.stderr
    (line,) = done.stderr.strip().splitlines()
    return line


def root() -> float:
    p = demo_tree().root.p
    assert p is not None
    return p


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (("doctor",), "cache bytes"),
        (("whatif", RUN, "--set", "P3=0.1"), demo_tree()["P3"].statement),
        (("noise", RUN, "--set", "draws=20"), "draws"),
        (("refit", RUN, "--k", "2"), demo_tree()["P2"].statement),
    ],
    ids=["doctor", "whatif", "noise", "refit"],
)
def test_a_pipe_gets_whole_plain_lines_of_every_table(home: Path, words: tuple[str, ...], whole: str) -> None:
    done = run_cli(home, *words, FORCE_COLOR="1", COLUMNS="20")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    assert any(whole in line for line in done.stdout.splitlines())
    assert not any(line != line.rstrip() for line in done.stdout.splitlines())


def test_a_report_keeps_its_line_ends_through_csv(home: Path) -> None:
    tree = demo_tree()
    words = "first\r\nsecond\rthird\nfourth"
    (home / "t.json").write_text(json.dumps(tree.with_belief("P3", Belief(p=0.74, report=words)).to_json()))
    first = asked(home, "import", "t.json", "--cutoff", "2018-06-30")["run_id"]
    assert run_cli(home, "export", first, "--to", "csv", "-o", "t.csv").returncode == 0
    (home / "bom.csv").write_bytes(b"\xef\xbb\xbf" + (home / "t.csv").read_bytes())
    for name in ("t.csv", "bom.csv"):
        run_id = asked(home, "import", name, "--cutoff", "2018-06-30")["run_id"]
        assert run_cli(home, "export", run_id, "--to", "json", "-o", "back.json").returncode == 0
        nodes = {node["id"]: node for node in json.loads((home / "back.json").read_bytes())["nodes"]}
        assert nodes["P3"]["belief"]["report"] == words


def add(home: Path, statement: str, p: float, cutoff: str = "2018-06-30") -> str:
    path = home / "one.json"
    path.write_text(json.dumps(Tree.root_only(statement).with_belief("P0", Belief(p=p)).to_json()))
    return str(asked(home, "import", str(path), "--cutoff", cutoff)["run_id"])


def coherence(home: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    done = run_cli(home, "coherence", *arguments, "--json")
    return done, json.loads(done.stdout)


def test_forecasts_that_cannot_all_hold_are_found_wanting(home: Path) -> None:
    low = add(home, "The VIX closes at or below 15 on 2018-12-31", 0.5)
    high = add(home, "The VIX closes above 20 on 2018-12-31", 0.3)
    done, report = coherence(home)
    assert done.returncode == 0 and report["coherent"] and len(report["forecasts"]) == 3
    middle = add(home, "The VIX closes above 15 on 2018-12-31", 0.2)
    done, report = coherence(home)
    assert done.returncode == 6 and not report["coherent"]
    found = {(item["kind"], frozenset(item["ids"])): item["gap"] for item in report["findings"]}
    assert found[("nested", frozenset({high, middle}))] == pytest.approx(-0.1)
    assert found[("exclusive", frozenset({low, middle}))] == pytest.approx(-0.3)
    later = add(home, "The VIX closes above 18 on 2018-12-31", 0.9, cutoff="2018-09-30")
    done, report = coherence(home, high, later)
    assert (
        done.returncode == 0 and "2 cutoffs" in done.stderr
    )  # what is known differs, so nothing is compared
    done, report = coherence(home, RUN, "--exclusive", f"{RUN},{low}")
    assert done.returncode == 6 and report["findings"][0]["gap"] == pytest.approx(root() + 0.5 - 1)
    assert "not coherent" in run_cli(home, "coherence").stdout
    assert "no run" in refused(home, "coherence", "nobody")
