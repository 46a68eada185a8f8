"""Options: probabilities that sum to 1, and the threshold that the run's preset says."""

import json
from pathlib import Path

import pytest

from tests.command_line import run_cli


def imported(home: Path, statement: str, p: float) -> str:
    path = home / "tree.csv"
    path.write_text(f"id,statement,p\nP0,{statement},{p}\n")
    done = run_cli(home, "import", str(path), "--cutoff", "2018-06-30", "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["run_id"])


def test_two_exclusive_options_need_one_analysis(tmp_path: Path) -> None:
    run = imported(tmp_path, "It rains", 0.6)
    result = json.loads(run_cli(tmp_path, "decide", run, "--json").stdout)
    assert [row["probability"] for row in result["options"]] == pytest.approx([0.6, 0.4])
    assert result["threshold"] == 0.5 and result["decision"] == "It rains"
    strict = json.loads(run_cli(tmp_path, "decide", run, "--threshold", "0.7", "--json").stdout)
    assert strict["decision"] == "not: It rains"


def test_several_options_are_normalised_and_the_likeliest_is_taken(tmp_path: Path) -> None:
    runs = [
        imported(tmp_path, text, p) for text, p in (("Ann wins", 0.5), ("Bob wins", 0.2), ("Cyd wins", 0.1))
    ]
    result = json.loads(run_cli(tmp_path, "decide", *runs, "--json").stdout)
    assert [row["probability"] for row in result["options"]] == pytest.approx([0.625, 0.25, 0.125])
    assert result["decision"] == "Ann wins"
    same = run_cli(tmp_path, "decide", runs[0], "--threshold", "1.5")
    assert same.returncode == 2 and len(same.stderr.strip().splitlines()) == 1
