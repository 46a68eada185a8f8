"""Runs of November 2026 open, verify, go on without a call and answer what-ifs, whatever has changed since.

How the files were made is said in ``tests/fixtures/make_home.py``. A failure here means that somebody's runs cannot be
read any more: mend the code, or read the old form as well; never make the files anew.
"""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.conftest import made_once
from tests.fixtures.documents import differences, without_home
from tests.fixtures.stored import FIXTURES, conclusions, document, records, replies_by_node, unpack

PACKAGE = FIXTURES / "package-2026-11.zip"
RECORDED: dict[str, Any] = json.loads((FIXTURES / "documents-2026-11.json").read_text())
RUNS: dict[str, str] = RECORDED["runs"]
SCENARIO_PACKAGE = FIXTURES / "package-scenario-2026-11.zip"


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stored home, for commands that only read."""

    return made_once(tmp_path_factory, "stored_runs", unpack("home-2026-11.tar.xz"))


@pytest.fixture
def copy(stored: Path, tmp_path: Path) -> Path:
    """A stored home of one's own."""
    shutil.copytree(stored / "home", tmp_path / "home")
    return tmp_path


def recorded(command: str, run_id: str) -> Any:
    """The one document of a command on a run, a copy."""
    (answer,) = (answer for answer in RECORDED["answers"] if answer["command"][:2] == [command, run_id])
    return deepcopy(answer["document"])


def test_all_runs_are_listed(stored: Path) -> None:
    assert differences(RECORDED["list"], document(stored, "runs", "--json")) == []


@pytest.mark.parametrize("command", ["show", "scenarios", "sensitivity", "export", "whatif"])
def test_a_command_says_of_stored_runs_what_it_said_then(stored: Path, command: str) -> None:
    answers = [answer for answer in RECORDED["answers"] if answer["command"][0] == command]
    assert answers
    for answer in answers:
        done = run_cli(stored, *answer["command"])
        assert done.returncode == answer["exit"], done.stderr
        if answer["document"] is not None:
            now = without_home(json.loads(done.stdout), stored / "home")
            assert differences(answer["document"], now) == [], answer["command"]


def test_looking_at_stored_runs_leaves_their_records_as_they_were(copy: Path) -> None:
    for run_id in RUNS.values():
        before = records(copy, run_id)
        for command in ("show", "audit"):
            assert run_cli(copy, command, run_id, "--json").returncode in (0, 6)
        assert records(copy, run_id) == before


@pytest.mark.parametrize("name", RUNS)
def test_an_audit_ends_as_it_did_then(stored: Path, name: str) -> None:
    done = run_cli(stored, "audit", RUNS[name], "--json")
    assert done.returncode == RECORDED["audit"][name], done.stdout + done.stderr


def test_stored_proofs_are_verified(stored: Path) -> None:
    found = document(stored, "verify", RUNS["offline"], "--json")
    # The fixture was made on another processor than this may be: a fit may come out otherwise in its last digits, and says so.
    assert all(row["what"].endswith("in the last digits of numbers") for row in found.pop("advisory"))
    assert differences({**RECORDED["verify"]["offline"], "advisory": None}, {**found, "advisory": None}) == []


def test_a_stored_package_is_taken_in_and_verified(tmp_path: Path) -> None:
    run_id = RUNS["remote"]
    assert document(tmp_path, "import", str(PACKAGE), "--json")["run_id"] == run_id
    assert differences(RECORDED["verify"]["remote"], document(tmp_path, "verify", run_id, "--json")) == []
    for answer in RECORDED["answers"]:
        if answer["command"][1] == run_id and answer["command"][0] in ("show", "sensitivity", "whatif"):
            then = deepcopy(answer["document"])
            if answer["command"][0] == "show":
                del then["model_calls"]  # the home's scenario, which is not in the package, asked three more
            assert differences(then, document(tmp_path, *answer["command"])) == []


def test_a_stored_package_with_a_scenario_is_taken_in(tmp_path: Path) -> None:
    run_id = RUNS["rules"]
    assert document(tmp_path, "import", str(SCENARIO_PACKAGE), "--json")["run_id"] == run_id
    (then,) = recorded("scenarios", run_id)["scenarios"]
    (now,) = document(tmp_path, "scenarios", run_id, "--json")["scenarios"]
    del then["seq"]
    assert differences(then, now) == []


@pytest.mark.parametrize("name", ["offline", "remote"])
def test_resuming_a_finished_run_asks_nobody_and_adds_nothing(copy: Path, name: str) -> None:
    """The model of ``remote`` was a server that is gone."""
    run_id = RUNS[name]
    before = records(copy, run_id)
    assert document(copy, "resume", run_id, "--json")["status"] == "done"
    assert records(copy, run_id) == before


def test_a_stopped_run_goes_on_and_grounds_nothing_twice(copy: Path) -> None:
    run_id = RUNS["stopped"]
    before = records(copy, run_id)
    concluded = conclusions(copy, run_id)
    replies = replies_by_node(copy, run_id)
    sessions = copy / "home" / "runs" / run_id / "sessions"
    journals = {path.name: path.read_bytes() for path in sessions.iterdir()}
    resumed = document(copy, "resume", run_id, "--json")
    assert resumed["status"] == "done"
    assert 0 < len(concluded) < resumed["n_leaves"] and len(journals) > len(concluded)
    assert concluded.items() <= {node["id"]: node["p"] for node in resumed["nodes"]}.items()
    for table, old in before.items():
        assert records(copy, run_id)[table][: len(old)] == old
    again = replies_by_node(copy, run_id)
    assert all(again[leaf] == replies[leaf] for leaf in concluded)
    for name, old in journals.items():  # the leaf that was cut off goes on where it was
        assert (sessions / name).read_bytes().startswith(old), name


def test_a_scenario_of_then_takes_a_further_edit(copy: Path) -> None:
    run_id = RUNS["offline"]
    edits = {row["name"]: row["edits"] for row in recorded("scenarios", run_id)["scenarios"]}
    document(copy, "whatif", run_id, "--set", "P3.2=0.2", "--scenario", "bear", "--json")
    document(copy, "scenarios", run_id, "--undo", "shape", "--json")
    now = {row["name"]: row["edits"] for row in document(copy, "scenarios", run_id, "--json")["scenarios"]}
    assert now == {**edits, "bear": edits["bear"] + 1, "shape": edits["shape"] - 1}


@pytest.mark.parametrize(
    ("recorded", "now", "count"),
    [
        ({"a": 1, "b": [0.1, {"c": None}]}, {"a": 1, "b": [0.1 + 1e-14, {"c": None, "d": 2}], "e": 3}, 0),
        ({"a": 1}, {}, 1),
        ({"a": 0.5}, {"a": 0.5 + 1e-9}, 1),
        ({"a": [1, 2]}, {"a": [1]}, 1),
        ({"a": True}, {"a": 1}, 1),
        ({"a": None}, {"a": 0.0}, 1),
        ({"a": {"b": "x"}, "c": 1}, {"a": {"b": "y"}}, 2),
        ({"warnings": []}, {"warnings": ["new"]}, 0),
        ({"warnings": ["b", "c"]}, {"warnings": ["a", "b", "c"]}, 0),
        ({"warnings": ["b", "c"]}, {"warnings": ["c", "b", "a"]}, 1),
    ],
)
def test_the_comparison_sees_what_is_lost_or_moved_and_nothing_else(
    recorded: Any, now: Any, count: int
) -> None:
    assert len(differences(recorded, now)) == count
