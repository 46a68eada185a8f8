"""A run whose records cannot be read hides no other; a tree that no model made says what can be done with it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import workbench as wb
from tests.command_line import run_cli
from tests.fakes.screens import RUN, demo_tree, make_run
from tests.fakes.small_run import RUN as SMALL_RUN
from tests.fakes.small_run import make_small_run
from workbench.errors import UsageError
from workbench.propositions import Belief
from workbench.store import events as ev
from workbench.widgets import panels
from workbench.widgets.home_page import list_runs


@pytest.fixture(params=[ev.VERSION, ev.VERSION - 1], ids=["no event", "another version"])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A home of two runs, one of whose events is none, or another workbench's."""
    make_run(tmp_path / "home")
    make_small_run(tmp_path / "home")
    with closing(sqlite3.connect(tmp_path / "home" / "workbench.db")) as db, db:
        # appended: the log's triggers refuse a change of what is there
        db.execute(
            "INSERT INTO events (run_id, at_utc, kind, v, data) VALUES (?, '2018-06-30', 'tree.exploded', ?, '{}')",
            (RUN, request.param),
        )
    return tmp_path


def test_one_unreadable_event_is_one_line_and_the_other_runs_are_listed(home: Path) -> None:
    done = run_cli(home, "runs")
    assert done.returncode == 6 and done.stderr == ""
    header, damaged, sound = done.stdout.splitlines()
    assert header.split() == ["run", "state", "p", "cutoff", "age", "statement"]
    assert damaged.split()[:2] == [RUN, "unreadable"] and (
        "was altered, it cannot be read" in damaged or "use the workbench that wrote it" in damaged
    )
    assert sound.split()[:2] == [SMALL_RUN, "done"]
    printed = run_cli(home, "runs", "--json")
    rows = json.loads(printed.stdout)
    assert printed.returncode == 6
    assert [row["status"] for row in rows] == ["unreadable", "done"]
    assert rows[0].keys() - rows[1].keys() == {"unreadable"} and not rows[1].keys() - rows[0].keys()


def test_the_start_page_and_coherence_go_on_without_the_unreadable_run(home: Path) -> None:
    assert [row["run_id"] for row in list_runs(home / "home")] == [SMALL_RUN, RUN]
    page = panels.runs_table(list_runs(home / "home"))
    assert "unreadable" in page and SMALL_RUN in page
    done = run_cli(home, "coherence", "--json")
    assert done.returncode == 0 and len(json.loads(done.stdout)["forecasts"]) == 1
    assert f"run {RUN} cannot be read" in done.stderr
    assert run_cli(home, "coherence", RUN).returncode == 6  # asked for by name


def test_a_tree_from_a_file_cannot_be_asked_and_says_what_can_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaf = demo_tree().leaves()[0]
    data = demo_tree().to_json()
    for node in data["nodes"]:
        if node["id"] in ("P0", leaf):
            node["belief"] = None
    (tmp_path / "open.json").write_text(json.dumps(data))
    (tmp_path / "whole.json").write_text(json.dumps(demo_tree().with_belief(leaf, Belief(p=0.5)).to_json()))
    run_ids = [
        json.loads(run_cli(tmp_path, "import", name, "--cutoff", "2018-06-30", "--json").stdout)["run_id"]
        for name in ("open.json", "whole.json")
    ]
    for words in (
        ["resume", run_ids[0]],
        ["whatif", run_ids[0], "--set", "P3=0.1"],
        ["refit", run_ids[1]],
        ["whatif", run_ids[1], "--set", "P3=0.1", "--full"],
    ):
        done = run_cli(tmp_path, *words)
        *_, line = done.stderr.splitlines()
        assert done.returncode == 2, (words, done.stderr)
        assert "is a tree from a file" in line and "analyze the claim anew" in line
        assert ("give P0 its p in the file" in line) == (run_ids[0] in words)
        assert "unknown model" not in done.stderr
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    from workbench.blocking import run_blocking

    with pytest.raises(UsageError, match="is a tree from a file"):
        run_blocking(wb.resume(run_ids[0], quiet=True))
    assert run_cli(tmp_path, "whatif", run_ids[1], "--set", "P3=0.1").returncode == 0
    assert run_cli(tmp_path, "resume", run_ids[1]).returncode == 0
