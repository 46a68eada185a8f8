"""`workbench questions` from import to score, in one home."""

import json
from pathlib import Path
from typing import Any

from tests.command_line import run_cli
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.questions.test_question_files import FORECASTBENCH, RESOLUTIONS
from tests.questions.test_selection import EVENTS


def done(home: Path, *words: str, **environment: str) -> Any:
    result = run_cli(home, *words, **environment)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout) if "--json" in words else result.stdout


def refused(home: Path, *words: str) -> str:
    result = run_cli(home, *words)
    assert result.returncode == 2 and result.stdout == "" and result.stderr.count("\n") == 1, result
    return result.stderr


def test_a_set_from_import_to_score(tmp_path: Path) -> None:
    (tmp_path / "round.json").write_text(json.dumps(FORECASTBENCH))
    (tmp_path / "final.json").write_text(json.dumps(RESOLUTIONS))
    done(tmp_path, "questions", "import", "round.json")
    listed = done(tmp_path, "questions", "list", "--json")["sets"]
    assert [(row["set"], row["questions"], row["events"], row["left_out"]) for row in listed] == [
        ("round", 2, 3, 1)
    ]
    assert done(tmp_path, "questions", "resolve", "round", "--from", "final.json", "--json")["recorded"] == 1
    # one verb for runs and questions
    done(tmp_path, "resolve", "round/metaculus/abc", "yes", "--on", "2026-01-01")
    document = done(tmp_path, "questions", "show", "round", "--json")
    assert {(row["id"], row["reason"]) for row in document["unscored"]} == {
        ("fred/DGS10", "1 of 2 events not resolved yet"),
        ("fred/['a', 'b']", "a combination of two questions, which are in the set themselves"),
    }
    (tmp_path / "f.csv").write_text(
        "method,event_id,trial,p\nm,metaculus/abc,1,0.8\nm,fred/DGS10@2025-11-02,1,0.6\nm,fred/DGS10@2025-11-25,1,0.5\n"
    )
    scores = done(tmp_path, "questions", "score", "round", "--forecasts", "f.csv", "--json")
    assert scores["scored"] == 2 and len(scores["unscored"]) == 2
    assert abs(scores["methods"]["m"]["brier"]["overall"] - (0.04 + 0.16) / 2) < 1e-12
    # revised: the newest outcome counts
    done(tmp_path, "questions", "resolve", "round", "metaculus/abc", "no")
    scores = done(tmp_path, "questions", "score", "round", "--forecasts", "f.csv", "--json")
    assert abs(scores["methods"]["m"]["brier"]["market"] - 0.64) < 1e-12
    # imported again: nothing new, outcomes stay
    again = done(tmp_path, "questions", "import", "round.json", "--json")
    assert again["new_or_changed"] == 0
    assert done(tmp_path, "questions", "list", "--json")["sets"][0]["scored"] == 2
    assert done(tmp_path, "runs") == ""  # a set is no run


def test_claims_on_embedded_series_resolve_themselves(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(
        "id,title,asked_on\n"
        "up,The S&P 500 closes higher on 2018-12-31 than on 2018-06-29,2018-06-30\n"
        "words,Something good happens,2018-06-30\n"
    )
    done(tmp_path, "questions", "import", "q.csv")
    document = done(tmp_path, "questions", "resolve", "q", "--json")
    assert document["recorded"] == 1 and [row["id"] for row in document["unscored"]] == ["words"]
    shown = done(tmp_path, "questions", "show", "q/up", "--json")
    assert [event["outcome"] for event in shown["events"]] == [0.0]
    done(tmp_path, "questions", "export", "q", "-o", "e.csv", "--format", "events")
    assert (tmp_path / "e.csv").read_text().splitlines()[1].startswith("up,up,own,dataset,none,2018-06-30")


def test_a_venue_is_asked_through_the_broker(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Sent:
        assert seen.path.endswith("/events"), seen.path
        return Sent({"events": EVENTS, "cursor": ""})

    with Upstream(answer) as venue:
        words = ("questions", "fetch", "kalshi", "--rules", "analytica-paper", "--json")
        document = done(tmp_path, *words, WORKBENCH_UPSTREAM_KALSHI=venue.url)
    assert document["read"] == 7 and document["kept"] == 2
    assert {row["filter"]: row["dropped"] for row in document["filters"]}["markets"] == 1
    assert len(document["left_out"]) == 6  # five by a filter, one without markets
    assert [row["id"] for row in done(tmp_path, "questions", "list", "kalshi", "--json")["questions"]] == [
        "FED-24NOV",
        "CPI-24OCT",
    ]


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    assert "`questions import FILE` brings the first one" in refused(tmp_path, "questions", "show", "nothing")
    (tmp_path / "q.csv").write_text("id,title\na,Rain?\n")
    done(tmp_path, "questions", "import", "q.csv")
    assert "`questions list q` names them" in refused(tmp_path, "questions", "show", "q/zzz")
    assert "give the outcome of" in refused(tmp_path, "resolve", "q/a")
    assert "yes, no or a share" in refused(tmp_path, "resolve", "q/a", "perhaps")
    assert "--rules 'x'" in refused(tmp_path, "questions", "import", "q.csv", "--rules", "x")
    assert "no name for a set" in refused(tmp_path, "questions", "import", "q.csv", "--as", "../x")
