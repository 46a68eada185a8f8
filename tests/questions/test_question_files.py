"""Each format of a file of questions: read, what it leaves out with its reason, and written back."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.questions.test_question_model import questions
from workbench.questions.formats.format_registry import FORMATS, WRITERS, read_file, read_resolutions
from workbench.questions.question import Question, QuestionError

FORECASTBENCH = {
    "forecast_due_date": "2025-10-26",
    "question_set": "2025-10-26-llm.json",
    "questions": [
        {
            "id": "abc",
            "source": "metaculus",
            "question": "Will it rain?",
            "resolution_criteria": "As the page says",
            "background": "N/A",
            "url": "https://example.org",
            "freeze_datetime_value": "0.25",
            "market_info_close_datetime": "2026-01-01T00:00:00+00:00",
            "resolution_dates": "N/A",
        },
        {
            "id": "DGS10",
            "source": "fred",
            "question": "Will DGS10 be higher by {resolution_date} than on {forecast_due_date}?",
            "freeze_datetime_value": "4.1",
            "resolution_dates": ["2025-11-02", "2025-11-25"],
        },
        {"id": ["a", "b"], "source": "fred", "question": "Both?", "combination_of": [{}, {}]},
    ],
}
RESOLUTIONS = {
    "forecast_due_date": "2025-10-26",
    "resolutions": [
        {
            "id": "abc",
            "source": "metaculus",
            "resolution_date": "2025-12-01",
            "resolved_to": 0.31,
            "resolved": False,
        },
        {
            "id": "DGS10",
            "source": "fred",
            "resolution_date": "2025-11-02",
            "resolved_to": 1.0,
            "resolved": True,
        },
        {
            "id": ["a", "b"],
            "source": "fred",
            "resolution_date": "2025-11-02",
            "resolved_to": 1.0,
            "resolved": True,
        },
    ],
}
TASKS = [
    {
        "task_id": "T1",
        "title": "Who wins?",
        "outcomes": ["Ann", "Bo"],
        "predict_by": "2026-01-05T00:00:00Z",
        "source": "kalshi",
        "context": "Two run.",
        "metadata": {"category": "Politics"},
        "resolved_outcome": {"value": ["Bo"], "resolved_at": "2026-01-09"},
    },
    {
        "task_id": "T2",
        "title": "Which pass?",
        "outcomes": ["x", "y"],
        "resolved_outcome": {"value": ["x", "y"]},
    },
    {"task_id": "T3", "title": "Odd", "outcomes": ["x", "y"], "resolved_outcome": {"value": ["z"]}},
]
POSTS: dict[str, Any] = {
    "results": [
        {
            "id": 1,
            "title": "Rain?",
            "question": {
                "id": 11,
                "type": "binary",
                "title": "Rain?",
                "resolution": "yes",
                "open_time": "2026-01-01T00:00:00Z",
                "actual_resolve_time": "2026-02-01T00:00:00Z",
                "aggregations": {"recency_weighted": {"latest": {"centers": [0.7]}}},
            },
        },
        {
            "id": 2,
            "question": {
                "id": 12,
                "type": "numeric",
                "title": "How many?",
                "scaling": {"range_min": 0, "range_max": 100},
                "resolution": "above_upper_bound",
            },
        },
        {
            "id": 3,
            "question": {
                "id": 13,
                "type": "date",
                "title": "When?",
                "scaling": {"range_min": "2026-01-01T00:00:00Z", "range_max": "2026-12-27T00:00:00Z"},
                "resolution": "2026-06-01T00:00:00Z",
            },
        },
        {"id": 4, "question": {"id": 14, "type": "binary", "title": "Void?", "resolution": "annulled"}},
        {
            "id": 5,
            "conditional": {
                "condition": {"id": 50, "type": "binary", "title": "War?"},
                "question_yes": {"id": 51, "type": "binary", "title": "Oil up?"},
                "question_no": {"id": 52, "type": "binary", "title": "Oil up?"},
            },
        },
    ]
}
CLAIM = {
    "claim_id": "2206.01072v1_9_T",
    "claim_text": "A chain is ferromagnetic.",
    "gold_label": True,
    "metadata": {
        "type": "experimental",
        "explanation": "The paper says so.",
        "paper_id": "2206.01072v1",
        "quant_or_qual": "qualitative",
        "published_date": {"year": 2022, "month": 6},
    },
}


def written(tmp_path: Path, value: object, name: str = "file.json") -> Path:
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


@settings(max_examples=40)
@given(questions())
def test_json_and_csv_give_back_what_was_written(question: Question) -> None:
    for form in ("json", "csv"):
        reading = FORMATS[form](WRITERS[form]([question]))
        assert reading.questions == (question,), form


def test_a_forecastbench_set_and_its_resolutions(tmp_path: Path) -> None:
    reading, form = read_file(written(tmp_path, FORECASTBENCH))
    market, series = reading.questions
    assert form == "forecastbench" and market.crowd == {"metaculus/abc": 0.25}
    assert series.horizons == ("2025-11-02", "2025-11-25") and "{" not in series.title
    assert [each.id for each in reading.left_out] == ["fred/['a', 'b']"]
    assert "combination" in reading.left_out[0].reason
    known = {question.id: question for question in reading.questions}
    final = read_resolutions(written(tmp_path, RESOLUTIONS, "r.json"), known)
    assert final == [("fred/DGS10@2025-11-02", 1.0, "2025-11-02", False)]  # a market's price is no outcome
    again = FORMATS["forecastbench"](WRITERS["forecastbench"](reading.questions))
    assert [q.id for q in again.questions] == [q.id for q in reading.questions]
    assert again.questions[1].horizons == series.horizons and again.questions[0].crowd == market.crowd


def test_prophet_arena_tasks_keep_the_names_of_outcomes(tmp_path: Path) -> None:
    reading, form = read_file(written(tmp_path, "\n".join(json.dumps(task) for task in TASKS), "tasks.jsonl"))
    one, several = reading.questions
    assert form == "prophet" and one.outcomes == {"T1#Ann": 0.0, "T1#Bo": 1.0} and one.category == "Politics"
    assert not several.exclusive and set(several.outcomes.values()) == {1.0}
    assert reading.left_out[0].id == "T3" and "none of its outcomes" in reading.left_out[0].reason
    again = FORMATS["prophet"](WRITERS["prophet"](reading.questions))
    assert [q.outcomes for q in again.questions] == [q.outcomes for q in reading.questions]


def test_metaculus_posts_of_every_kind(tmp_path: Path) -> None:
    reading, form = read_file(written(tmp_path, POSTS))
    by_id = {question.id: question for question in reading.questions}
    assert form == "metaculus" and by_id["11"].crowd == {"11": 0.7} and by_id["11"].outcomes == {"11": 1.0}
    assert by_id["12"].levels == (10, 20, 30, 40, 50, 60, 70, 80, 90)
    assert set(by_id["12"].outcomes.values()) == {1.0}  # above the range is above each level
    assert sum(by_id["13"].outcomes.values()) == 5  # of nine days, five lie on or after the first of June
    assert [link.kind for name in ("51", "52") for link in by_id[name].links] == ["given-yes", "given-no"]
    assert reading.left_out == (("14", "resolved as annulled"),)


def test_a_claim_comes_without_its_explanation(tmp_path: Path) -> None:
    reading, form = read_file(written(tmp_path, [CLAIM]))
    question = reading.questions[0]
    assert (
        form == "matter-of-fact"
        and question.asked_on == "2022-06-01"
        and question.outcomes == {question.id: 1.0}
    )
    assert "paper says so" not in json.dumps(question.to_json())


def test_a_csv_by_hand(tmp_path: Path) -> None:
    rows = "id,title,kind,options,answer,crowd,desk\na,Rain?,binary,,yes,0.3,macro\nb,Who?,options,Ann|Bo,Bo,,\n,No id,,,,,\nc,Who?,options,Ann,,,\n"
    packed = tmp_path / "q.csv.gz"
    packed.write_bytes(gzip.compress(rows.encode()))
    reading, form = read_file(packed)
    a, b = reading.questions
    assert (
        form == "csv" and a.crowd == {"a": 0.3} and a.outcomes == {"a": 1.0} and a.extra == {"desk": "macro"}
    )
    assert b.outcomes == {"b#Ann": 0.0, "b#Bo": 1.0}
    assert [each.id for each in reading.left_out] == ["row 3", "c"]


@pytest.mark.parametrize("name", ["outcome", "Answer", "ANSWER ", "result", "Resolved to", "resolved-as", "groundTruth", "Final outcome", "winner"])  # fmt: skip
def test_an_outcome_under_another_name_is_refused_and_one_beside_the_right_column_is_kept(
    name: str, tmp_path: Path
) -> None:
    for text, right in (
        (f"id,title,{name}\na,Rain?,yes\n", "answer"),
        (f"event_id,question_key,source,question_type,question,{name}\na,a,own,market,Rain?,1\n", "outcome"),
    ):
        if name == right:
            assert read_file(written(tmp_path, text))[0].questions[0].outcomes == {"a": 1.0}
            continue
        with pytest.raises(QuestionError, match=f"column '{name}.*call it {right}"):
            read_file(written(tmp_path, text))
    both = read_file(written(tmp_path, f"id,title,answer,{name}\na,Rain?,no,wet\n"))[0].questions[0]
    assert both.outcomes == {"a": 0.0} and both.extra == {name: "wet"}


@pytest.mark.parametrize("name", ["resolution_date", "resolution_source", "resolved_on", "desk", "outcome_set", "results_page"])  # fmt: skip
def test_a_column_that_says_something_else_is_kept(name: str, tmp_path: Path) -> None:
    (question,) = read_file(written(tmp_path, f"id,title,{name}\na,Rain?,2027-01-01\n"))[0].questions
    assert not question.outcomes and "2027-01-01" in json.dumps(question.to_json())


def test_a_file_with_semicolons_is_read_and_its_decimal_commas_are_named(tmp_path: Path) -> None:
    text = 'id;title;crowd;answer\na;"Rain; snow, or hail?";0.3;yes\nb;Wind?;0,25;\nc;Sun?;1,234;\n'
    reading, form = read_file(written(tmp_path, text))
    (rain,) = reading.questions
    assert form == "csv" and rain.title == "Rain; snow, or hail?" and rain.outcomes == {"a": 1.0}
    assert [(each.id, each.reason.rpartition(":")[2]) for each in reading.left_out] == [
        ("b", " write 0.25"),
        ("c", " mend it, or leave the cell empty"),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no row"),
        ("{", "no JSON"),
        ("{}", "no format that is known"),
        ("title\nx\n", "column 'id' is missing"),
        ("id,title\na\n", "row 1 of the file has 1 cells, the header 2"),
        ("[" * 100_000, "nested deeper than 100"),
    ],
)
def test_a_file_that_is_none_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(QuestionError, match=says) as refusal:
        read_file(written(tmp_path, text))
    assert "\n" not in str(refusal.value) and "file.json" in str(refusal.value)
