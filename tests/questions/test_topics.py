"""Topics of questions and how a set stands for a corpus: by rule, by a model, kept when a set is imported again."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import run_cli
from tests.fakes.loopback import serving_json
from workbench.questions.question import Question, QuestionError
from workbench.questions.sets.question_sets import set_of
from workbench.questions.sets.representation import against_document
from workbench.questions.sets.topics import NAMES, topic_by_rule


@pytest.mark.parametrize(
    ("title", "topic"),
    [
        ("Will Bitcoin close above $100,000?", "crypto"),
        ("Will the Fed cut its interest rate?", "economics"),
        ("Who wins the Champions League?", "sports"),
        ("Will there be a ceasefire in Gaza?", "geopolitics"),
        ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "finance"),
        ("Will Ann be elected?", "other"),
        ("Will it be a warm day in the warehouse?", "other"),  # no word inside a word
    ],
)
def test_words_tell_the_topic(title: str, topic: str) -> None:
    assert topic_by_rule(Question(id="q", title=title)) == topic


@given(st.text(min_size=1).filter(str.strip))
def test_every_title_has_one_topic_of_the_list(title: str) -> None:
    assert topic_by_rule(Question(id="q", title=title)) in NAMES


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
)
def test_a_distance_is_a_share_and_zero_against_itself(own: list[str], corpus: list[str]) -> None:
    def made(sources: list[str]) -> Any:
        return set_of([Question(id=f"q{n}", title="?", source=s) for n, s in enumerate(sources)])

    document = against_document(made(own), made(corpus), "corpus")
    source = document["columns"][0]
    assert source["column"] == "source" and 0 <= source["distance"] <= 1
    assert sum(row["set"] for row in source["values"]) == pytest.approx(1)
    same = against_document(made(own), made(own), "itself")
    assert all(column["distance"] == 0 for column in same["columns"]) and same["in_both"] == len(own)
    with pytest.raises(QuestionError, match="no event"):
        against_document(made(own), set_of([]), "empty")


CSV = "id,title,asked_on,answer\na,Will Bitcoin rise?,2026-01-01,yes\nb,Who knows?,2026-01-01,no\n"


def test_topics_are_kept_and_scored_by(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(CSV)
    assert run_cli(tmp_path, "questions", "import", "q.csv").returncode == 0
    done = run_cli(tmp_path, "questions", "classify", "q", "--json")
    assert json.loads(done.stdout) == {"set": "q", "changed": 2, "topics": {"crypto": 1, "other": 1}}, (
        done.stderr
    )
    again = run_cli(tmp_path, "questions", "import", "q.csv", "--json")
    assert json.loads(again.stdout)["new_or_changed"] == 0  # a file that knows no topic takes none away
    (tmp_path / "f.csv").write_text("method,event_id,trial,p\nm,a,1,0.9\nm,b,1,0.4\n")
    scores = run_cli(tmp_path, "questions", "score", "q", "--forecasts", "f.csv", "--by", "topic", "--json")
    assert scores.returncode == 0 and "crypto" in scores.stdout
    shown = run_cli(tmp_path, "questions", "show", "q", "--against", "q.csv", "--json").stdout
    assert json.loads(shown)["in_both"] == 2 and "crypto" not in shown


def test_a_model_sorts_and_is_asked_once(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(CSV)
    assert run_cli(tmp_path, "questions", "import", "q.csv").returncode == 0
    asked: list[Any] = []

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        asked.append(body)
        text = '```json\n{"topics": {"1": "finance", "2": "society"}}\n```'
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        document = {"id": "x", "object": "chat.completion", "created": 1, "model": "x", "usage": usage}
        return 200, {**document, "choices": [choice]}, {}

    with serving_json(reply) as url:
        words = (
            "questions",
            "classify",
            "q",
            "--set",
            "again=true",
            "--model",
            "openai/x",
            "--set",
            f"api_base={url}",
            "--json",
        )
        for changed in (2, 0):
            done = run_cli(tmp_path, *words, OPENAI_API_KEY="sk-none")
            assert json.loads(done.stdout)["changed"] == changed, done.stderr
    assert len(asked) == 1 and json.loads(done.stdout)["topics"] == {"finance": 1, "society": 1}
