"""Work in hand of November 2026 opens, verifies, says the same, and goes on without a call bought twice, whatever has changed since.

How the files were made is said in ``tests/fixtures/make_work_home.py``. A failure here means that somebody's study, night or
stopped run is lost, or is paid for again: mend the code, or read the old form as well; never make the files anew.
"""

import csv
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.conftest import made_once
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.web_upstream import FakeWeb
from tests.fixtures.documents import differences
from tests.fixtures.scripted_work import WorkPolicy, model_server, web
from tests.fixtures.stored import FIXTURES, TABLES, document, records, unpack

RECORDED: dict[str, Any] = json.loads((FIXTURES / "documents-work-2026-11.json").read_text())
RUNS: dict[str, str] = RECORDED["runs"]
SIGNED = FIXTURES / "package-signed-2026-11.zip"
REVIEW = FIXTURES / "package-review-2026-11.zip"
#: What depends on the day that it is asked on, or says how much may be concluded from the figures.
PASSING = {"age", "days_left", "next_review", "own_record", "interval", "intervals"}


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stored folder, for commands that only read."""
    return made_once(tmp_path_factory, "stored_work", unpack("work-2026-11.tar.xz"))


@pytest.fixture
def copy(stored: Path, tmp_path: Path) -> Path:
    """A stored folder of one's own."""
    shutil.copytree(stored, tmp_path, dirs_exist_ok=True)
    return tmp_path


def lasting(value: Any) -> Any:
    """A document without what passes; of the checklist its keys are stored, and the sentences are words of the day."""
    if isinstance(value, dict):
        return {
            key: sorted(item) if key == "checklist" else lasting(item)
            for key, item in value.items()
            if key not in PASSING
        }
    return [lasting(item) for item in value] if isinstance(value, list) else value


def says_what_it_said(home: Path, *command: str) -> None:
    answers = [
        answer for answer in RECORDED["answers"] if tuple(answer["command"][: len(command)]) == command
    ]
    assert answers
    for answer in answers:
        now = document(home, *answer["command"])
        assert differences(lasting(answer["document"]), lasting(now)) == [], answer["command"]


# --- it opens and says the same --------------------------------------------------------------------------------------------


def test_all_work_is_listed(stored: Path) -> None:
    now = document(stored, "runs", "--json")
    assert differences(lasting(RECORDED["list"]), lasting(now)) == []


@pytest.mark.parametrize("command", ["show", "export", "evidence", "whatif", "sign-off", "questions"])
def test_a_command_says_of_stored_work_what_it_said_then(stored: Path, command: str) -> None:
    says_what_it_said(stored, command)


@pytest.mark.parametrize("name", ["half", "later-text"])
def test_a_half_done_study_says_how_far_it_is(stored: Path, name: str) -> None:
    command = ["experiment", "status", f"{name}.yaml", "--json"]
    (then,) = (answer["document"] for answer in RECORDED["answers"] if answer["command"] == command)
    assert differences(then["arms"], document(stored, *command)["arms"]) == []


def test_a_half_done_night_is_shown(copy: Path) -> None:
    """Its page is written anew, so it has a folder of its own."""
    says_what_it_said(copy, "tournament", "show")


def test_runs_whose_question_held_a_later_line_are_shown(stored: Path) -> None:
    """A study's forecasts of before such lines were cut; what going on with it does is not held here."""
    runs = [row["run_id"] for row in RECORDED["list"] if row["cutoff"] == "2024-06-01"]
    assert len(runs) == 2
    shown = [document(stored, "show", run_id, "--json") for run_id in runs]
    assert [row["p"] for row in (each["root"] for each in shown)].count(None) == 1


@pytest.mark.parametrize("name", [name for name, code in RECORDED["audit"].items() if code == 0])
def test_what_was_sound_is_sound(stored: Path, name: str) -> None:
    done = run_cli(stored, "audit", RUNS[name], "--json")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["reviewed", "search", "belief", "imported"])
def test_stored_proofs_are_verified(stored: Path, name: str) -> None:
    assert differences(RECORDED["verify"][name], document(stored, "verify", RUNS[name], "--json")) == []


def test_a_proof_of_a_live_run_is_verified(stored: Path) -> None:
    assert document(stored, "verify", RUNS["live"], "P1", "--json")["verified"] is True


def test_a_signed_package_is_taken_in_and_names_its_signer(tmp_path: Path) -> None:
    assert document(tmp_path, "import", str(SIGNED), "--json")["run_id"] == RUNS["reviewed"]
    assert "signed by an unknown key" in run_cli(tmp_path, "show", "last").stdout
    assert run_cli(tmp_path, "keys", "trust", "ann@example.org", RECORDED["public_key"]).returncode == 0
    assert "signed by ann@example.org" in run_cli(tmp_path, "show", "last").stdout
    (then,) = (answer["document"] for answer in RECORDED["answers"] if answer["command"][:2] == ["show", RUNS["reviewed"]])  # fmt: skip
    now = document(tmp_path, "show", "last", "--json")
    assert differences({name: then[name] for name in ("root", "nodes", "outcome", "manifest_id")}, now) == []
    assert [(row["author"], row["fault"]) for row in now["sign_offs"]] == [("Ann", None)]
    assert run_cli(tmp_path, "audit", "last", "--json").returncode == 0


def test_a_second_review_comes_back_once(copy: Path) -> None:
    run_id = RUNS["reviewed"]
    before = document(copy, "show", run_id, "--json")
    assert run_cli(copy, "import", "--review", str(REVIEW)).returncode == 0
    now = document(copy, "show", run_id, "--json")
    assert [row["text"] for row in now["comments"][len(before["comments"]) :]] == ["Better now."]
    signed = [(row["author"], row["verdict"], row["fault"]) for row in now["sign_offs"]]
    assert signed == [("Ann", "accept", None), ("Bo", "return", None), ("Bo", "accept", None)]
    assert run_cli(copy, "import", "--review", str(REVIEW)).returncode == 2


def test_a_set_takes_its_last_outcome_and_a_bet_of_then_is_no_second_one(copy: Path) -> None:
    def bets() -> list[tuple[str, str, str]]:
        with open(copy / "bets.csv", newline="") as file:
            return [(row["day"], row["event"], row["side"]) for row in csv.DictReader(file)]

    before = bets()
    words = ("--forecasts", "forecasts.csv", "--log", "bets.csv", "--today", "2018-07-01")
    assert run_cli(copy, "questions", "bet", "markets", *words).returncode == 0
    assert bets() == before and len(before) == 3
    assert run_cli(copy, "questions", "resolve", "markets", "flat", "no").returncode == 0
    assert document(copy, "questions", "settle", "markets", "--log", "bets.csv", "--json")["waiting"] == []


# --- it goes on -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GoingOn:
    """A stored folder with the model and the web of then, and what both are asked from now on."""

    home: Path
    server: OpenAIServer
    web: FakeWeb
    environ: dict[str, str]

    def document(self, *words: str) -> Any:
        return document(self.home, *words, "--json", **self.environ)

    def asked(self) -> Counter[tuple[str, str]]:
        """Requests to the model, by stage and proposition."""
        return Counter((one.stage, one.node) for one in self.server.asked)


@contextmanager
def going_on(home: Path, policy: WorkPolicy | None = None) -> Iterator[GoingOn]:
    """For a block; whatever it does, no record of before is changed, and what was answered is not asked again."""
    before = {run_id: records(home, run_id) for run_id in owners(home)}
    with model_server(policy) as server, web() as (fake, environ):
        yield GoingOn(home, server, fake, dict(environ))
    assert not server.unread and not server.turned_away
    for run_id, tables in before.items():
        now = records(home, run_id)
        for table, old in tables.items():
            assert now[table][: len(old)] == old, (run_id, table)
    with closing(sqlite3.connect(home / "home" / "workbench.db")) as db:
        address = "run_id, node, trial, attempt, stage, step, retry"
        twice = db.execute(f"SELECT {address} FROM model_calls GROUP BY {address} HAVING count(*) > 1")
        assert twice.fetchall() == []
        ((replies,),) = db.execute("SELECT count(*) FROM model_calls")
    assert replies == sum(len(tables["model_calls"]) for tables in before.values()) + len(server.asked)


def owners(home: Path) -> list[str]:
    """Every run, and every study, night and set, that has rows in a table."""
    with closing(sqlite3.connect(home / "home" / "workbench.db")) as db:
        query = " UNION ".join(f"SELECT run_id FROM {table}" for table in TABLES)
        return [run_id for (run_id,) in db.execute(query)]


@pytest.mark.parametrize("name", ["search", "belief", "dialogue", "limit"])
def test_a_run_whose_prompts_are_kept_no_more_asks_before_it_buys_again(copy: Path, name: str) -> None:
    with going_on(copy) as made:
        done = run_cli(copy, "resume", RUNS[name], **made.environ)
        assert done.returncode == 2 and "nothing was bought" in done.stderr
        assert not made.server.asked


def test_a_half_done_study_goes_on_and_asks_only_what_is_missing(copy: Path) -> None:
    """On record: three forecasts of the first arm, one of the second, and two replies of its next run."""
    with going_on(copy) as made:
        results = made.document("experiment", "run", "half.yaml")
        stages = Counter(one.stage for one in made.server.asked)
        assert made.web.seen == []
    assert {name: row["events"] for name, row in results["arms"].items()} == dict.fromkeys(
        ("zero-shot", "tot", "belief-no-search"), 3
    )
    assert stages == {"thoughts": 1, "value": 5, "conclude": 2, "act": 3}


def test_a_half_done_night_goes_on_and_asks_only_what_is_missing(copy: Path) -> None:
    """On record: its contexts, and three of six quick forecasts."""
    with going_on(copy) as made:
        night = made.document("tournament", "run", "open", "--budget-usd", "9")
        stages = Counter(one.stage for one in made.server.asked)
        assert made.web.seen == []
    assert night["night"] == "open.1"
    assert {row["event"]: row["trials"] for row in night["forecasts"]} == {
        "rain": [0.6, 0.6],
        "sun": [0.6, 0.6],
        "wind": [0.6, 0.6],
    }
    assert len(night["promoted"]) == 1
    # the quick forecasts that were missing, and the tree of one event
    # one analysis more: drivers that were settled before the cutoff are sent back once
    assert stages == {"conclude": 3 + 2, "analyze": 3, "linear": 1}


@pytest.mark.parametrize("name", ["live", "reviewed"])
def test_a_finished_run_of_then_asks_nobody(copy: Path, name: str) -> None:
    with going_on(copy) as made:
        assert made.document("resume", RUNS[name])["status"] == "done"
        assert not made.server.asked
