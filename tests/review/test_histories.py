"""Histories of forecasts made elsewhere, in the columns that each platform documents for its download.

Metaculus: the README of its data download (question_data.csv, forecast_data.csv), February 2026. Good Judgment: the columns of
survey_fcasts.yrN.csv and ifps.csv of the project's data at Harvard's Dataverse. Manifold: bets and markets of its public interface,
written as CSV; that a bet's price after it is its owner's belief is assumed.
"""

from math import log
from pathlib import Path
from time import process_time

import pytest

from workbench.audit.forecast_histories import history_scores
from workbench.errors import UsageError

QUESTIONS = "Question ID,Question Title,Question Type,Resolution\n1,Rain,binary,yes\n2,Snow,binary,no\n3,Hail,binary,annulled\n"
FORECASTS = """Question ID,Forecaster ID,Forecaster Username,Is Bot,Start Time,End Time,Forecaster Count,Probability Yes,Median
1,7,ann,False,2025-01-01 10:00:00+00:00,,,0.4,
1,7,ann,False,2025-01-03 10:00:00+00:00,,,0.8,
1,,recency_weighted,,2025-01-02 10:00:00+00:00,,20,0.5,
1,,recency_weighted,,2025-01-04 10:00:00+00:00,,20,0.9,
2,7,ann,False,2025-01-01 10:00:00+00:00,,,0.3,
3,7,ann,False,2025-01-01 10:00:00+00:00,,,0.3,
4,7,ann,False,2025-01-01 10:00:00+00:00,,,,12.5
"""


def test_a_download_of_metaculus(tmp_path: Path) -> None:
    path = tmp_path / "forecast_data.csv"
    path.write_text(FORECASTS)
    with pytest.raises(UsageError, match=r"put question_data\.csv of the same download"):
        history_scores(path)
    (tmp_path / "question_data.csv").write_text(QUESTIONS)
    scores = history_scores(path)
    assert (scores["n"], scores["unresolved"]) == (2, 1)
    assert scores["brier"] == pytest.approx((0.04 + 0.09) / 2)
    # the crowd as it stood when the forecast was made
    assert scores["crowd"]["n"] == 1 and scores["crowd"]["brier"] == pytest.approx(0.25)
    assert scores["peer"] == pytest.approx(100 * log(0.8 / 0.5))
    path.write_text(FORECASTS + "1,8,bo,False,2025-01-01 10:00:00+00:00,,,0.4,\n")
    with pytest.raises(UsageError, match="forecasts of 2 people"):
        history_scores(path)


def test_surveys_of_good_judgment(tmp_path: Path) -> None:
    path = tmp_path / "survey_fcasts.yr1.csv"
    path.write_text(
        "ifp_id,ctt,cond,training,team,user_id,forecast_id,fcast_type,answer_option,value,fcast_date,expertise,q_status\n"
        "1001-0,1a,1,a,,3,1,0,a,0.2,9/5/2011,2,closed\n"
        "1001-0,1a,1,a,,3,1,0,b,0.8,9/5/2011,2,closed\n"
        "1001-0,1a,1,a,,3,1,1,a,0.1,10/5/2011,2,closed\n"
        "1001-0,1a,1,a,,3,1,1,b,0.9,10/5/2011,2,closed\n"
        "1002-0,1a,1,a,,3,2,0,a,0.5,9/6/2011,2,closed\n"
        "1002-0,1a,1,a,,3,2,0,b,0.3,9/6/2011,2,closed\n"
        "1002-0,1a,1,a,,3,2,0,c,0.2,9/6/2011,2,closed\n"
        "1003-0,1a,1,a,,3,3,0,a,0.9,9/6/2011,2,closed\n"
        "1003-0,1a,1,a,,3,3,4,b,0.1,9/7/2011,2,closed\n"
        "1004-0,1a,1,a,,3,4,0,a,0.9,9/6/2011,2,voided\n"
        "1004-0,1a,1,a,,3,4,0,b,0.1,9/6/2011,2,voided\n"
    )
    (tmp_path / "ifps.csv").write_text(
        "ifp_id,q_type,q_text,outcome\n1001-0,0,Will it?,b\n1002-0,0,Which?,c\n1003-0,0,Left,a\n1004-0,0,Void,\n"
    )
    scores = history_scores(path)
    assert [row["question"] for row in scores["rows"]] == ["1001-0 a", "1002-0 a", "1002-0 b", "1002-0 c"]
    assert scores["brier"] == pytest.approx((0.01 + 0.25 + 0.09 + 0.64) / 4)


def test_bets_of_manifold_say_which_side_was_bought_and_not_what_came(tmp_path: Path) -> None:
    path = tmp_path / "bets.csv"
    path.write_text(
        "id,contractId,userId,createdTime,outcome,amount,probBefore,probAfter\n"
        "b1,m1,u,1735725600000,YES,10,0.4,0.6\n"
        "b2,m1,u,1735812000000,NO,10,0.7,0.5\n"
        "b3,m2,u,1735725600000,NO,10,0.3,0.2\n"
        "b4,m3,u,1735725600000,YES,10,0.3,0.4\n"
    )
    with pytest.raises(UsageError, match=r"markets\.csv"):
        history_scores(path)
    (tmp_path / "markets.csv").write_text("id,question,resolution\nm1,Rain,NO\nm2,Snow,YES\nm3,Hail,CANCEL\n")
    scores = history_scores(path)
    assert (scores["n"], scores["unresolved"]) == (2, 1)
    assert scores["brier"] == pytest.approx((0.25 + 0.64) / 2)
    assert scores["crowd"]["brier"] == pytest.approx((0.49 + 0.49) / 2)


def test_a_plain_file_and_what_is_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("question,p,outcome\nRain,80%,yes\nSnow,0.1,no\n")
    assert history_scores(path)["brier"] == pytest.approx((0.04 + 0.01) / 2)
    for text, words in (
        ("question,p\nRain,0.4\n", "no column for outcome"),
        ("question,p,outcome\nRain,1.4,yes\n", "no probability"),
        ("question,p,outcome\nRain,0.4,maybe\n", "no forecast of a question that came out"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=words):
            history_scores(path)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("0.5,yes,1e400,1", "'1e400' is no instant"),
        ("0.5,yes,-1e20,1", "'-1e20' is no instant"),
        ("0.5,yes,253402300800000,1", "'253402300800000' is no instant"),
        ("0.5,yes,2020-01-01,nan", "'nan' is no peer score"),
        ("0.5,yes,2020-01-01,high", "'high' is no peer score"),
        ("1_0e-1,yes,2020-01-01,1", "'1_0e-1' is no probability"),
        ("0.5,yes,1735725600000,-1.5e1", None),
        ("50%,yes,nan,", None),
    ],
)
def test_a_cell_that_is_no_number_is_named_with_its_row(
    tmp_path: Path, cells: str, words: str | None
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"question,p,outcome,day,peer score\nRain,{cells}\n")
    if words is None:
        assert history_scores(path)["brier"] == pytest.approx(0.25)
    else:
        with pytest.raises(UsageError, match=rf"mine\.csv, row 1: {words}"):
            history_scores(path)


@pytest.mark.parametrize(
    ("header", "row", "beside", "outcomes"),
    [
        (
            "Question ID,Forecaster ID,Start Time,Probability Yes",
            "1,{person},2025,0.5",
            "question_data.csv",
            "Question ID,Resolution\n" + "1,yes\n" * 20_000,
        ),
        (
            "contractId,probAfter,id_bet",
            "1,0.5,{person}",
            "markets.csv",
            "id,resolution\n" + "1,YES\n" * 20_000,
        ),
    ],
    ids=["Metaculus", "Manifold"],
)
def test_rows_that_repeat_a_question_multiply_nothing(
    tmp_path: Path, header: str, row: str, beside: str, outcomes: str
) -> None:
    """Joined, they were 400 million rows; the crowd's forecasts were searched anew for each of a person's."""
    path = tmp_path / "history.csv"
    rows = [row.format(person=person) for person in ("7", "")] * 20_000
    path.write_text("\n".join([header, *rows]) + "\n")
    (tmp_path / beside).write_text(outcomes)
    begun = process_time()
    assert history_scores(path)["n"] == 1
    assert process_time() - begun < 5
    other = outcomes.splitlines()[1].casefold().replace("yes", "no")
    (tmp_path / beside).write_text(f"{outcomes}{other}\n")
    with pytest.raises(UsageError, match=rf"{beside} says of '1' both"):
        history_scores(path)


def test_a_download_without_the_column_that_orders_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "forecast_data.csv"
    path.write_text("Question ID,Forecaster ID,Probability Yes\n1,7,0.5\n1,,0.4\n")
    (tmp_path / "question_data.csv").write_text(QUESTIONS)
    with pytest.raises(UsageError, match="has no column Start Time"):
        history_scores(path)


DAYS = {
    "us": ("9/1/2026", "10/1/2026"), "german": ("31.01.2026", "01.02.2026"), "words": ("Sep 30, 2026", "Oct 1, 2026"),
    "unpadded": ("2026-9-1", "2026-10-1"), "offsets": ("2026-09-01T12:00:00+05:00", "2026-09-01T10:00:00Z"),
    "blank or T": ("2026-09-01T10:00", "2026-09-01 12:00"), "day first": ("13/1/2026", "1/2/2026"), "long words": ("30 September 2026", "1 October 2026"),
    "seconds": ("1788220800", "1790812800"), "slashes": ("2026/9/30", "2026/10/1"), "two digits": ("9/30/26", "10/1/26"),
}  # fmt: skip


@pytest.mark.parametrize("first, last", DAYS.values(), ids=DAYS)
@pytest.mark.parametrize("turned", [False, True])
def test_the_last_forecast_is_the_latest_however_days_are_written(
    tmp_path: Path, first: str, last: str, turned: bool
) -> None:
    rows = [f'q,0.2,yes,"{first}"', f'q,0.9,yes,"{last}"']
    path = tmp_path / "h.csv"
    path.write_text("\n".join(["question,p,outcome,day", *(rows[::-1] if turned else rows)]) + "\n")
    assert [row["p"] for row in history_scores(path)["rows"]] == [0.9]


@pytest.mark.parametrize(
    "days", [("3/1/2026", "1/2/2026"), ("soon", "2026-01-02"), ("2026-02-30", "2026-01-02")]
)
def test_days_whose_order_cannot_be_told_are_refused(tmp_path: Path, days: tuple[str, str]) -> None:
    path = tmp_path / "h.csv"
    path.write_text(f"question,p,outcome,day\nq,0.2,yes,{days[0]}\nq,0.9,yes,{days[1]}\n")
    with pytest.raises(UsageError, match="2026-09-01"):
        history_scores(path)
