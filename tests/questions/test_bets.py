"""Bets of a set share one bankroll, are the best within their caps, and state the worst that can really happen."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import run_cli, run_json
from workbench.errors import UsageError
from workbench.questions.formats.format_registry import write_json
from workbench.questions.question import Link, Question, Quote, events_of
from workbench.questions.sets.bets import BetRules, bets_document
from workbench.questions.sets.question_sets import set_of

ASKS = (0.30, 0.25, 0.20, 0.30)
CHANCES = (0.33, 0.30, 0.27, 0.10)


def market(name: str, ask: float = 0.3, links: tuple[Link, ...] = ()) -> Question:
    return Question(id=name, title="t", links=links, quotes={name: Quote(yes_ask=ask, no_ask=1.02 - ask)})


def options(*asks: float, exclusive: bool = True) -> Question:
    names = tuple("abcdef"[: len(asks)])
    quotes = {f"o#{name}": Quote(yes_ask=ask) for name, ask in zip(names, asks, strict=True)}
    return Question(id="o", title="t", kind="options", options=names, exclusive=exclusive, quotes=quotes)


def forecasts(*p: float) -> dict[str, float]:
    return {f"o#{name}": value for name, value in zip("abcdef", p, strict=False)}


def growth(stakes: np.ndarray, p: np.ndarray, pays: np.ndarray) -> float:
    return float(p @ np.log(1 - stakes.sum() + stakes @ pays))


def test_forty_good_markets_stake_one_bankroll() -> None:
    names = [f"q{i}" for i in range(40)]
    document = bets_document(set_of([market(name) for name in names]), dict.fromkeys(names, 0.6), BetRules())
    assert document["staked"] == pytest.approx(1000) and document["worst"] == pytest.approx(-1000)
    assert document["scale"] == pytest.approx(0.25)
    assert {round(bet["dollars"], 6) for bet in document["bets"]} == {25.0}
    half = bets_document(
        set_of([market(name) for name in names]), dict.fromkeys(names, 0.6), BetRules(total_cap=0.5)
    )
    assert half["staked"] == pytest.approx(500)
    few = bets_document(set_of([market(name) for name in names[:3]]), dict.fromkeys(names, 0.6), BetRules())
    assert few["scale"] == 1 and few["staked"] == pytest.approx(300)


def test_exclusive_options_are_the_best_within_the_cap() -> None:
    """By brute force over every division of a tenth of the bankroll in hundredths of it."""
    document = bets_document(set_of([options(*ASKS)]), forecasts(*CHANCES), BetRules(cap=0.1))
    stakes = np.zeros(4)
    for bet in document["bets"]:
        stakes["abcd".index(bet["event"][-1])] = bet["stake"]
    p, pays = np.array(CHANCES), np.diag(1 / np.array(ASKS))
    grid = [
        np.array(each) / 1000 for each in itertools.product(range(0, 101, 4), repeat=4) if sum(each) <= 100
    ]
    best = max(growth(each, p, pays) for each in grid)
    assert best <= growth(stakes, p, pays) <= best * 1.01
    # The best edge for its price has the most, which scaling the uncapped stakes down gave to the worst.
    assert stakes.argmax() == 2 and stakes.sum() == pytest.approx(0.1)
    assert document["worst"] == pytest.approx(-100)  # none of the three that are bet on


def test_options_are_sized_by_their_share_of_all() -> None:
    """Forecasts that sum to 2 are those of half the size: no edge at these prices."""
    rules = BetRules(cap=1.0)
    assert bets_document(set_of([options(0.5, 0.52)]), forecasts(1.0, 1.0), rules)["bets"] == []
    (bet,) = bets_document(set_of([options(0.5, 0.52)]), forecasts(0.4, 0.1), rules)["bets"]
    assert bet["p"] == pytest.approx(0.8) and bet["stake"] == pytest.approx(0.6)


def test_the_cap_is_that_of_a_question_not_of_each_of_its_events() -> None:
    several = options(0.3, 0.3, 0.3, 0.3, exclusive=False)
    document = bets_document(set_of([several]), forecasts(0.6, 0.6, 0.6, 0.6), BetRules(cap=0.2))
    assert len(document["bets"]) == 4 and document["staked"] == pytest.approx(200)
    assert document["worst"] == pytest.approx(-200)
    days = Question(
        id="o", title="t", kind="options", options=("a", "b"), horizons=("2026-01-31", "2026-02-28"),
        quotes={f"o#{part}@{day}": Quote(yes_ask=0.4) for part in "ab" for day in ("2026-01-31", "2026-02-28")},
    )  # fmt: skip
    p = {event: 0.9 if "#a" in event else 0.1 for event in days.quotes}
    document = bets_document(set_of([days]), p, BetRules(cap=0.2))
    assert [bet["dollars"] for bet in document["bets"]] == pytest.approx([100, 100])


def test_bets_stop_the_stated_number_of_days_before_the_close_and_not_a_day_sooner() -> None:
    question = Question(id="q", title="t", closes_on="2026-02-01", quotes={"q": Quote(yes_ask=0.3)})
    for today, placed in (("2026-01-17", 1), ("2026-01-18", 1), ("2026-01-19", 0)):
        rules = BetRules(stop_days=14, today=today)
        assert len(bets_document(set_of([question]), {"q": 0.6}, rules)["bets"]) == placed, today


def can_be(true: dict[str, bool], links: tuple[Link, ...]) -> bool:
    """Whether answers can come together: one option of three, a higher level only with the lower, and what links allow."""
    bound = all(not (true["q0"] and true[link.to] == (link.kind == "excludes")) for link in links)
    return bound and sum(true[f"o#{name}"] for name in "abc") == 1 and true["n#1"] >= true["n#2"]


def test_whatever_the_markets_caps_are_kept_and_the_worst_is_that_of_a_world_that_can_be() -> None:
    """Random sets of plain and linked questions, options and levels, by brute force over all their answers."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        kinds = rng.choice(["implies", "excludes"], rng.integers(0, 3))
        links = tuple(Link(kind=kind, to=f"q{place}") for place, kind in enumerate(kinds, 1))
        asks, levels = rng.uniform(0.1, 0.5, 3).round(3), sorted(rng.uniform(0.1, 0.8, 2), reverse=True)
        quotes = {
            f"n#{n}": Quote(yes_ask=ask, no_ask=1.05 - ask) for n, ask in zip("12", levels, strict=True)
        }
        questions = [
            *(market(f"q{i}", float(rng.uniform(0.05, 0.9)), links if i == 0 else ()) for i in range(3)),
            options(*asks.tolist()),
            Question(id="n", title="t", kind="threshold", levels=(1.0, 2.0), quotes=quotes),
        ]
        events = [event.id for question in questions for event in events_of(question)]
        p = {event: float(np.clip(rng.uniform(-0.1, 1.1), 0, 1)) for event in events} | {"o#a": 0.4}
        rules = BetRules(
            cap=float(rng.uniform(0, 1)), total_cap=float(rng.uniform(0, 1)), risk_aversion=float(rng.choice([0, 0.5, 1, 3]))
        )  # fmt: skip
        document = bets_document(set_of(questions), p, rules)
        assert document["staked"] <= 1000 * rules.total_cap * (1 + 1e-9)
        for name in {bet["question"] for bet in document["bets"]}:
            own = sum(bet["dollars"] for bet in document["bets"] if bet["question"] == name)
            assert own <= 1000 * rules.cap * (1 + 1e-9)
        worlds = (
            dict(zip(events, truths, strict=True))
            for truths in itertools.product((False, True), repeat=len(events))
        )
        gains = [
            sum(
                bet["shares"] * (true[bet["event"]] == (bet["side"] == "yes")) - bet["dollars"]
                for bet in document["bets"]
            )
            for true in worlds
            if can_be(true, links)
        ]
        assert document["worst"] == pytest.approx(min(gains), abs=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cap": 1.5}, {"total_cap": -0.1}, {"bankroll": 0}, {"bankroll": float("nan")}, {"fee": float("nan")}, {"fee": -0.1},
        {"risk_aversion": float("nan")}, {"risk_aversion": float("inf")},
    ],
)  # fmt: skip
def test_rules_that_no_bankroll_can_keep_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        BetRules.read(wrong)


def test_the_command_says_the_total_and_the_worst_case(tmp_path: Path) -> None:
    names = [f"q{i}" for i in range(15)]
    (tmp_path / "set.json").write_text(write_json([market(name) for name in names]))
    (tmp_path / "f.csv").write_text(
        "method,event_id,trial,p\n" + "".join(f"m,{name},1,0.6\n" for name in names)
    )
    assert run_cli(tmp_path, "questions", "import", "set.json", "--as", "desk").returncode == 0
    words = ("questions", "bet", "desk", "--forecasts", "f.csv")
    done = run_json(tmp_path, *words, "--set", "total_cap=0.6")
    assert [round(done[name], 6) for name in ("staked", "scale", "worst")] == [600, 0.4, -600]
    document = json.loads(run_cli(tmp_path, *words, "--json").stdout)
    assert document["staked"] == pytest.approx(1000) and document["rules"]["total_cap"] == 1
    refused = run_cli(tmp_path, *words, "--set", "total_cap=4")
    assert refused.returncode == 2 and "at most 1" in refused.stderr


def linked_set() -> tuple[Question, ...]:
    """Options of which one implies a plain question, all quoted."""
    rates = Question(
        id="o", title="Rates?", kind="options", options=("a", "b"), links=(Link(kind="implies", to="up", of="a"),),
        quotes={"o#a": Quote(yes_ask=0.5, no_ask=0.52), "o#b": Quote(yes_ask=0.5, no_ask=0.52)},
    )  # fmt: skip
    return rates, Question(id="up", title="Up?", quotes={"up": Quote(yes_ask=0.5, no_ask=0.52)})


def test_a_forecast_of_a_question_without_a_price_moves_the_bet_on_one_that_it_implies() -> None:
    """A cut at 0.6 implies "up", said at 0.4: both are 0.5 or above once they agree, and at an ask of 0.45 that is an edge."""
    rates, up = linked_set()
    entries = [replace(rates, quotes={}), replace(up, quotes={"up": Quote(yes_ask=0.45, no_ask=0.6)})]
    document = bets_document(set_of(entries), {"o#a": 0.6, "o#b": 0.4, "up": 0.4}, BetRules())
    (bet,) = document["bets"]
    assert (bet["event"], bet["side"]) == ("up", "yes") and bet["p"] >= 0.5 - 1e-9
    assert [row["reason"] for row in document["passed"]] == ["not every event has an ask"]


def test_outcomes_rule_worlds_of_linked_options_out() -> None:
    p = {"o#a": 0.6, "o#b": 0.4, "up": 0.8}
    third = Question(id="third", title="t", outcomes={"third": 1.0}, links=(Link(kind="excludes", to="up"),))
    known = bets_document(set_of([*linked_set(), third]), p, BetRules(cap=0.3))
    # What came rules "up" out, and with it the option that implies it: only one world is left, and every stake wins in it.
    assert known["worst"] > 0 and {bet["p"] for bet in known["bets"]} == {1.0}
    assert {(bet["event"], bet["side"]) for bet in known["bets"]} <= {
        ("o#a", "no"),
        ("o#b", "yes"),
        ("up", "no"),
    }
    assert {"question": "third", "reason": "resolved"} in known["passed"]
