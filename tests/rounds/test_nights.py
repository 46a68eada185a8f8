"""A night from a set to its files: resumed to the call, one at a time, again when a review is due, handed in from its folder."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli, run_json
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.store import Store
from workbench.studies.contexts.context import ContextSource, SharedContext
from workbench.studies.contexts.context_store import store_context
from workbench.studies.rounds.round_state import load_round

TODAY = datetime.now(UTC).date()
CLOSE = (TODAY + timedelta(days=60)).isoformat()
ROWS = [
    f"rain,Will it rain?,{CLOSE},0.1,metaculus.com/1,",
    f"sun,Will the sun shine?,{CLOSE},0.65,https://example.org/2,",
    f"who,Who wins?,{CLOSE},,javascript:alert(1),Ann|Bo",
    f"old,Was it so?,{(TODAY - timedelta(days=3)).isoformat()},0.5,,",
]
PLAN = {"P0": {"P1": ("The first part holds", "Positive"), "P2": ("The second part holds", "Positive")}}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Policy(plan=PLAN)) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    text = "id,title,closes_on,crowd,url,options,kind\n" + "".join(
        f"{row},{'options' if row.startswith('who') else 'binary'}\n" for row in ROWS
    )
    (tmp_path / "q.csv").write_text(text)
    done = run_cli(tmp_path, "questions", "import", "q.csv")
    assert done.returncode == 0, done.stderr
    return tmp_path


def night(home: Path, server: OpenAIServer, *words: str) -> Any:
    model = ("--model", "openai/x", "--set", f"api_base={server.url}", "--set", "price=openai/x=1,2")
    news = () if "--contexts" in words else ("--contexts", "stored")
    return run_cli(home, "tournament", "run", "q", *model, *news, "--set", "tree_grounder=zero-shot", *words, OPENAI_API_KEY="sk-none")  # fmt: skip


@pytest.mark.soak
def test_a_night_goes_on_where_its_budget_ended_and_leaves_its_files(
    home: Path, server: OpenAIServer
) -> None:
    limits = ("--promote", "1", "--set", "runs_at_once=1", "--trials", "2")
    poor = night(home, server, "--budget-usd", "0.004", *limits)
    assert poor.returncode == 3 and "`workbench tournament run q` goes on" in poor.stderr, poor.stderr
    assert server.asked
    done = night(home, server, "--budget-usd", "9", "--json")
    assert done.returncode == 0 and "goes on as it was begun" in done.stderr, done.stderr
    results = json.loads(done.stdout)
    assert {row["event"]: len(row["trials"]) for row in results["forecasts"]} == {
        "rain": 2, "sun": 2, "who#Ann": 2, "who#Bo": 2,
    }  # fmt: skip
    # rain and sun are asked alone, the choice as one; each twice for its two trials, and no more
    quick = Counter(asked.key() for asked in server.asked if (asked.stage, asked.node) == ("conclude", "P0"))
    assert len(quick) == 2 and set(quick.values()) == {2}
    assert (
        list(results["promoted"])
        == ["rain"]
        == [max(results["forecasts"], key=lambda row: row["gain"])["event"]]
    )
    folder = Path(results["folder"])
    page = (folder / "night.html").read_text()
    assert "javascript:" not in page and 'href="https://example.org/2"' in page and "<script" not in page
    rows = list(csv.DictReader((folder / "forecasts.csv").read_text().splitlines()))
    counted = Counter(row["method"] for row in rows)
    assert counted == {"final": 4, "coherent": 4, "raw": 4, "quick": 8, "tree": 1}
    who = [row for row in rows if row["method"] == "coherent" and row["event_id"].startswith("who")]
    assert sum(float(row["p"]) for row in who) == pytest.approx(1)
    # a person's own choice comes on top of the rule's
    more = run_json(home, "tournament", "promote", "q", "sun", OPENAI_API_KEY="sk-none")
    assert more["promoted"] == {"rain": "rule", "sun": "person"}
    assert run_cli(home, "tournament", "promote", "q", "nothing").returncode == 2


def test_every_forecast_of_a_night_reads_the_same_context(home: Path, server: OpenAIServer) -> None:
    store = Store(home / "home")
    try:
        source = ContextSource(title="Outlook", published="2026-01-01", summary="Clouds come.")
        stamp = (datetime.now(UTC) - timedelta(minutes=5)).isoformat(timespec="seconds")
        context = SharedContext(question="rain", cutoff="now", instant=stamp, sources=(source,))
        stored = store_context(store, "q", context)
        assert night(home, server, "--promote", "1", "--trials", "2").returncode == 0
        own = [
            asked for asked in server.asked if "Will it rain?" in asked.everything and asked.stage != "linear"
        ]
        assert len(own) > 2 and all(context.text in asked.everything for asked in own)
        assert load_round(store, "q.1").contexts == {"rain": stored.text}
        assert (
            night(home, server, "--promote", "0", "--trials", "1", "--contexts", "none", "--new").returncode
            == 0
        )
        assert load_round(store, "q").contexts == {}
    finally:
        store.close()


@pytest.mark.parametrize("status", [401, 403])
def test_an_account_that_is_refused_stops_the_night_once_and_loses_no_forecast(
    home: Path, server: OpenAIServer, status: int
) -> None:
    limits = ("--promote", "0", "--trials", "2", "--set", "runs_at_once=1")
    server.policy.faults["conclude"] = [status] * 9
    refused = night(home, server, *limits)
    assert (refused.returncode, len(server.turned_away)) == (4, 1)
    assert refused.stderr.count("refuses") == 1 and "`workbench tournament run q` goes on" in refused.stderr
    server.policy.faults.clear()
    done = night(home, server, "--json")
    assert done.returncode == 0 and "goes on as it was begun" in done.stderr
    rows = json.loads(done.stdout)["forecasts"]
    assert {row["event"]: len(row["trials"]) for row in rows} == dict.fromkeys(
        ["rain", "sun", "who#Ann", "who#Bo"], 2
    )


def test_questions_are_forecast_again_when_their_review_is_due(home: Path, server: OpenAIServer) -> None:
    env = {"OPENAI_API_KEY": "sk-none"}
    none = run_cli(home, "forecast", "--due", "--quiet", **env)
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "")
    assert "has no earlier round" in run_cli(home, "forecast", "q", **env).stderr
    assert night(home, server, "--promote", "0", "--trials", "1", "--set", "size=1").returncode == 0
    plan = run_json(home, "forecast", "--due", "--plan-only", **env)["sets"]
    assert sorted(plan[0]["questions"]) == ["rain", "sun"]  # never forecast; who was, and is not due
    before = len(server.asked)
    due = run_cli(home, "forecast", "--due", "--quiet", "--json", **env)
    assert due.returncode == 0 and json.loads(due.stdout)["sets"][0]["nights"] == [
        {"night": "q.2", "forecasts": 2, "missing": 0}
    ]
    assert len(server.asked) == before + 2 and due.stderr == ""
    again = run_cli(home, "forecast", "--due", "--quiet", **env)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "") and len(server.asked) == before + 2
    # by hand at any time, a single one of them
    assert run_cli(home, "forecast", "q/rain", **env).stdout == "q.3: 1 forecast, 0 missing\n"
    times = run_json(home, "tournament", "show", "q")["forecasts"]
    assert times[0]["next_review"] > datetime.now(UTC).isoformat()


def test_mistakes_are_one_line(home: Path) -> None:
    for words, said in (
        (("tournament", "run", "q", "--set", "quick=guess"), "quick is one of"),
        (("tournament", "run", "q", "--set", "skill=2"), "skill is a share"),
        (("tournament", "run", "nothing"), "no set of questions 'nothing'"),
        (("tournament", "run", "q", "--model", "openai/x"), "OPENAI_API_KEY"),
        (("tournament", "run", "q", "--until", "dawn"), "--until 'dawn'"),
        (("tournament", "run", "q", "--contexts", "gather", "--engines", "x"), "no search engine 'x'"),
        (("tournament", "run", "q", "--engines", "brave"), "--engines goes with"),
        (("tournament", "run", "q", "--set", "cutoff=soon"), "is not a cutoff"),
        (("tournament", "show", "q"), "there is no round 'q'"),
        (("forecast",), "to forecast, or --due"),
    ):
        done = run_cli(home, *words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
        assert done.stderr.count("\n") == 1 and not done.stdout
