"""Questions made out of prices, and copies of published sets held to what their paper says."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import run_cli
from workbench.questions.formats.format_registry import FORMATS
from workbench.questions.formats.price_questions import read_price_history
from workbench.questions.formats.published_sets import NAMED_SETS
from workbench.questions.question import QuestionError
from workbench.science.scoring.payoffs import RULES

START, END = "2024-01-02", "2025-01-01"


def rows(symbol: str, first: float, last: float, **extra: str) -> list[dict[str, str]]:
    days = (("2024-01-01", first), (START, first * 3), (END, last))
    return [{"symbol": symbol, "date": day, "close": repr(price), **extra} for day, price in days]


@given(st.floats(1, 1000), st.floats(0, 3000), st.sampled_from(sorted(RULES)))
def test_the_better_side_is_the_one_that_pays_more(first: float, last: float, rule: str) -> None:
    reading = read_price_history(rows("A", first, last), START, payoff=rule)
    long, short = (float(value[0]) for value in RULES[rule].asset([first], [last], [365]))
    if not reading.questions:
        assert abs(long - short) < 0.001 and "told apart" in reading.left_out[0].reason
        return
    (question,) = reading.questions
    # the close of the start's own day, three times as high, is not known at its cutoff
    assert question.payoffs == {"long": long, "short": short} and sum(question.outcomes.values()) == 1
    best = max(question.payoffs, key=lambda side: question.payoffs[side])
    assert question.outcomes[f"A@{START}#{best}"] == 1.0


def test_what_cannot_be_evaluated_is_named(tmp_path: Path) -> None:
    lines = [
        *rows("UP", 100, 150, category="Stocks", name="Up & Co"),
        *rows("FLAT", 100, 102, category="Indices"),
        *rows("GONE", 100, 90)[:2],
        {"symbol": "LATE", "date": "2024-06-01", "close": "5"},
        {"symbol": "BAD", "date": "yesterday", "close": "5"},
    ]
    columns = ["symbol", "date", "close", "category", "name"]
    text = "\n".join([",".join(columns), *[",".join(row.get(c, "") for c in columns) for row in lines]])
    (tmp_path / "prices.csv").write_text(text + "\n")
    done = run_cli(tmp_path, "questions", "long-short", "prices.csv", "--start", START, "--json")
    document = json.loads(done.stdout)
    assert document["questions"] == 1 and document["categories"] == {"stocks": 1}
    reasons = {row["id"]: row["reason"] for row in document["left_out"]}
    assert "cannot be told apart" in reasons["FLAT"] and "history is too short" in reasons["GONE"]
    assert "no price in the 7 days before 2024-01-02" in reasons["LATE"] and "must be a day" in reasons["BAD"]
    shown = json.loads(run_cli(tmp_path, "questions", "show", "prices", "--json").stdout)
    assert len(shown["unscored"]) == 4
    for words, said in (
        (("--start", "soon"), "--start must be a day"),
        (("--start", START, "--payoff", "x"), "plain"),
    ):
        bad = run_cli(tmp_path, "questions", "long-short", "prices.csv", *words)
        assert bad.returncode == 2 and said in bad.stderr and bad.stderr.count("\n") == 1
    with pytest.raises(QuestionError, match="'close' is missing"):
        read_price_history([{"symbol": "A", "date": START}], START)


def post(number: int, kind: str = "binary", resolution: str = "no") -> dict[str, object]:
    question = {"id": number, "type": kind, "title": f"Question {number}?", "resolution": resolution}
    if kind == "multiple_choice":
        question |= {"options": ["a", "b"], "resolution": "a"}
    return {"id": number, "title": f"Question {number}?", "question": question}


def test_a_copy_of_a_named_set_is_held_to_its_paper() -> None:
    known = NAMED_SETS["aibq2"]
    posts = [post(n, resolution="yes" if n < known.yes else "no") for n in range(known.questions)]
    whole = FORMATS["aibq2"](json.dumps({"results": [*posts, post(500, "multiple_choice")]}))
    assert len(whole.questions) == known.questions
    assert whole.left_out == (("500", "of kind options: the set is of binary questions"),)
    part = FORMATS["aibq2"](json.dumps({"results": posts[1:]}))
    assert [each.reason for each in part.left_out] == [
        "the copy has 112 binary questions, the set 113 (BLF, App. H.1)",
        "24 came out Yes in the copy, 25 in the set (BLF, App. H.1)",
    ]
