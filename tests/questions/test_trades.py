"""Paper trades: logged once however often the command is run, settled into edge and luck when their questions resolve."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import run_cli, run_json
from workbench.errors import UsageError
from workbench.questions.formats.format_registry import write_json
from workbench.questions.question import Link, Question, Quote, events_of
from workbench.questions.sets.bets import LOG_COLUMNS, new_trades, read_log, settled_document
from workbench.questions.sets.question_sets import QuestionSet

INSIDE = st.floats(0.05, 0.95)


def trade(**changes: Any) -> dict[str, Any]:
    plain = {
        "day": "2026-01-05",
        "set": "desk",
        "event": "q",
        "side": "yes",
        "p": 0.7,
        "price": 0.5,
        "stake": 0.1,
    }
    return {**plain, "dollars": 100.0, "shares": 200.0, "expected": 40.0, **changes}


def desk(outcome: float | None, quote: Quote | None = None) -> QuestionSet:
    question = Question(
        id="q",
        title="Up?",
        outcomes={} if outcome is None else {"q": outcome},
        quotes={} if quote is None else {"q": quote},
    )
    return QuestionSet(name="desk", questions={"q": question})


def test_a_settled_bet_by_hand() -> None:
    """100 dollars at 0.5 on what was believed at 0.7: 40 of edge; won, 100 of gain, so 60 of luck; lost, -140."""
    won = settled_document(desk(1.0), [trade()])["total"]
    assert (won["gain"], won["edge"], won["luck"]) == pytest.approx((100, 40, 60))
    lost = settled_document(desk(0.0), [trade()])["total"]
    assert (lost["gain"], lost["edge"], lost["luck"]) == pytest.approx((-100, 40, -140))
    # 200 shares, sqrt(0.7 x 0.3) each
    assert won["luck_z"] == pytest.approx(60 / (200 * 0.21**0.5))


def test_bets_on_one_question_share_their_luck() -> None:
    """Four bets on one outcome are one stroke of luck, with four times the deviation of one."""
    one = settled_document(desk(1.0), [trade()])["total"]["luck_z"]
    four = settled_document(desk(1.0), [trade(day=f"2026-01-0{day}") for day in range(1, 5)])["total"]
    assert four["luck_z"] == pytest.approx(one)


@given(INSIDE, INSIDE, INSIDE, st.sampled_from(["yes", "no"]), st.sampled_from([0.0, 1.0]))
def test_gain_is_edge_plus_luck_and_closing_quotes_decide_no_gain(
    p: float, price: float, ask: float, side: str, outcome: float
) -> None:
    entry = desk(outcome, Quote(yes_ask=ask, no_ask=min(1.0, 1.02 - ask)))
    rows = [trade(p=p, price=price, side=side)]
    own, closing = (settled_document(entry, rows, edge_by=by)["settled"][0] for by in ("own", "quotes"))
    for row in (own, closing):
        assert row["gain"] == pytest.approx(row["edge"] + row["luck"])
        assert row["gain"] == pytest.approx(100 / price - 100 if row["won"] else -100)
    assert own["gain"] == closing["gain"] and own["won"] == ((side == "yes") == (outcome == 1.0))
    assert own["edge"] == pytest.approx(100 * (p / price - 1))


def test_what_is_open_waits_and_other_sets_are_left_alone() -> None:
    document = settled_document(desk(None), [trade(), trade(event="gone"), trade(set="other")])
    assert [row["reason"] for row in document["waiting"]] == ["not resolved", "not in the set any more"]
    assert document["total"]["bets"] == 0 and document["total"]["luck_z"] is None
    assert settled_document(desk(0.4), [trade()])["waiting"][0]["reason"] == "not resolved"  # in part
    assert "no quote" in settled_document(desk(1.0), [trade()], edge_by="quotes")["waiting"][0]["reason"]
    with pytest.raises(UsageError, match="own or quotes"):
        settled_document(desk(1.0), [trade()], edge_by="luck")


def test_a_day_s_bet_is_logged_once() -> None:
    bet = {column: trade()[column] for column in LOG_COLUMNS[2:]}
    first = new_trades([bet], [], name="desk", day="2026-01-05")
    assert first == [trade()]
    assert new_trades([bet], first, name="desk", day="2026-01-05") == []
    assert len(new_trades([bet], first, name="desk", day="2026-01-06")) == 1
    assert len(new_trades([{**bet, "side": "no"}], first, name="desk", day="2026-01-05")) == 1


@pytest.mark.parametrize(
    "row", ["2026-01-05,desk,q,up,0.7,0.5,0.1,100,200,40", "2026-01-05,desk,q,yes,1.7,0.5,0.1,100,200,40", "a,b",
            "2026-01-05,desk,q,yes,0.7,0,0.1,100,200,40", "2026-01-05,desk,q,yes,0.7,0.5,0.1,x,200,40"]
)  # fmt: skip
def test_a_log_that_was_spoilt_says_where(row: str) -> None:
    good = "2026-01-05,desk,q,yes,0.7,0.5,0.1,100,200,40"
    with pytest.raises(UsageError, match="row 2"):
        read_log("\n".join([",".join(LOG_COLUMNS), good, row]), name="log.csv")
    with pytest.raises(UsageError, match="not a paper-trade log"):
        read_log("a,b\n1,2\n", name="log.csv")


def test_bet_resolve_and_settle_on_the_command_line(tmp_path: Path) -> None:
    questions = [
        Question(
            id=f"q{k}", title="Up?", quotes={f"q{k}": Quote(yes_ask=0.5, no_ask=0.52)}, closes_on="2026-03-01"
        )
        for k in (1, 2)
    ]
    file, own, log = tmp_path / "set.json", tmp_path / "f.csv", tmp_path / "trades.csv"
    file.write_text(write_json(questions))
    own.write_text("method,event_id,trial,p\nm,q1,1,0.7\nm,q2,1,0.2\n")
    assert run_cli(tmp_path, "questions", "import", str(file), "--as", "desk").returncode == 0
    words = (
        "questions",
        "bet",
        "desk",
        "--forecasts",
        str(own),
        "--log",
        str(log),
        "--set",
        "today=2026-01-05",
    )
    assert run_cli(tmp_path, *words).returncode == 0
    before = log.read_text()
    assert run_json(tmp_path, *words)["logged"] == 0 and log.read_text() == before
    stopped = run_cli(tmp_path, *words[:-1], "today=2026-02-27", "--set", "stop_days=5")
    assert "bets stop 5 days before" in stopped.stdout and log.read_text() == before
    assert run_cli(tmp_path, "questions", "resolve", "desk", "q1", "yes").returncode == 0
    document = json.loads(
        run_cli(tmp_path, "questions", "settle", "desk", "--log", str(log), "--json").stdout
    )
    (row,) = document["settled"]
    assert row["won"] and row["gain"] == pytest.approx(row["dollars"]) and len(document["waiting"]) == 1
    text = run_cli(tmp_path, "questions", "settle", "desk", "--log", str(log)).stdout
    assert "luck z" in text
    missing = run_cli(tmp_path, "questions", "settle", "desk", "--log", str(tmp_path / "none.csv"))
    assert missing.returncode == 2 and len(missing.stderr.strip().splitlines()) == 1


def test_linked_questions_and_days_of_one_series_share_their_luck() -> None:
    """Two bets are one stroke of luck where a link or a series in one stretch of time ties them, and two where nothing does."""

    def z(*entries: Question) -> float:
        questions = QuestionSet(name="desk", questions={each.id: each for each in entries})
        trades = [trade(event=event.id) for each in entries for event in events_of(each)]
        return float(settled_document(questions, trades)["total"]["luck_z"])

    plain = [Question(id=name, title="Up?", outcomes={name: 1.0}) for name in "ab"]
    linked = [
        Question(id="a", title="Up?", outcomes={"a": 1.0}, links=(Link(kind="implies", to="b"),)),
        plain[1],
    ]
    days = {"asked_on": "2026-01-05", "closes_on": "2026-02-05", "extra": {"series": "VIX"}}
    series = [Question(id=name, title="Up?", outcomes={name: 1.0}, **days) for name in "ab"]  # type: ignore[arg-type]
    several = Question(
        id="a",
        title="Up?",
        horizons=("2026-01-31", "2026-02-28"),
        outcomes={"a@2026-01-31": 1.0, "a@2026-02-28": 1.0},
    )
    assert z(*linked) == pytest.approx(z(*series)) == pytest.approx(z(several)) == pytest.approx(z(plain[0]))
    assert z(*plain) == pytest.approx(2**0.5 * z(plain[0]))
