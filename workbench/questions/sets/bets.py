"""Bets on the open questions of a set: forecasts against quoted asks, sized and capped; and the log of paper trades."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from operator import itemgetter
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from proxies.input_files import InputRefused, parse_csv
from workbench.errors import Option, UsageError, command
from workbench.questions.question import Question, QuestionError, Quote, event_id, events_of, parts_of
from workbench.questions.sets.choices import states_of
from workbench.questions.sets.linked import group_of, linked_questions, mend
from workbench.questions.sets.question_sets import QuestionSet
from workbench.questions.sets.set_scores import events_table
from workbench.requests import Request
from workbench.science.arrays import FloatArray
from workbench.science.comparing.clusters import series_clusters
from workbench.science.scoring.betting import size_bet
from workbench.science.scoring.market import edge_and_luck, sum_deviation
from workbench.science.scoring.portfolio import size_portfolio

LOG_COLUMNS = ("day", "set", "event", "side", "p", "price", "stake", "dollars", "shares", "expected")
_NUMBERS = ("p", "price", "stake", "dollars", "shares", "expected")

Trade = dict[str, Any]


def read_log(text: str, *, name: str) -> list[Trade]:
    """Return the trades of a log; raises ``UsageError`` with the row that cannot be read.

    >>> row = "2026-01-05,desk,q1,yes,0.7,0.5,0.1,100,200,40"
    >>> [trade["dollars"] for trade in read_log(",".join(LOG_COLUMNS) + chr(10) + row, name="log.csv")]
    [100.0]
    """
    try:
        rows = parse_csv(text, name)
    except InputRefused as error:
        raise UsageError(str(error)) from None
    if not rows or tuple(rows[0]) != LOG_COLUMNS:
        raise UsageError(
            f"{name} is not a paper-trade log of ",
            command("questions bet", log="FILE"),
            f": its columns are {','.join(LOG_COLUMNS)}",
        )
    trades = []
    for number, row in enumerate(rows[1:], 1):
        try:
            trade: Trade = dict(zip(LOG_COLUMNS, row, strict=True))
            trade |= {column: float(trade[column]) for column in _NUMBERS}
            if trade["side"] not in ("yes", "no"):
                raise ValueError(f"side {trade['side']!r:.20}")
            if not (0 <= trade["p"] <= 1 and 0 < trade["price"] < np.inf and 0 <= trade["dollars"] < np.inf):
                raise ValueError("a number out of range")
        except ValueError as error:
            raise UsageError(f"{name}, row {number}: {str(error)[:80]}") from None
        trades.append(trade)
    return trades


def new_trades(
    bets: Sequence[Mapping[str, Any]], logged: Sequence[Trade], *, name: str, day: str
) -> list[Trade]:
    """Return the rows to add for bets of a day: those of the same day, event and side stand there already.

    Running the same command twice must not double what was staked.
    """
    place = itemgetter("day", "set", "event", "side")
    known = set(map(place, logged))
    rows = [{"day": day, "set": name, **{column: bet[column] for column in LOG_COLUMNS[2:]}} for bet in bets]
    return [row for row in rows if place(row) not in known]


def settled_document(
    questions: QuestionSet, trades: Sequence[Trade], *, edge_by: str = "own"
) -> dict[str, Any]:
    """What logged bets on a set came to, each split into edge and luck: ``questions settle``.

    ``edge_by`` is ``own``, the probability at which a bet was made, or ``quotes``, what the set's newest quotes imply: the closing price
    where the set was fetched again before the close. The formula is that of `workbench.science.scoring.market`, in dollars.

    Raises `UsageError`: An unknown ``edge_by``.
    """
    if edge_by not in ("own", "quotes"):
        raise UsageError(Option("edge_by"), f" is own or quotes, not {edge_by!r:.40}")
    outcomes = {event.id: event.outcome for event in questions.events()}
    closing = _implied_prices(questions)
    settled, waiting = [], []
    for trade in trades:
        if trade["set"] != questions.name:
            continue
        outcome, reason = outcomes.get(trade["event"]), "no quote to measure the edge by"
        belief = trade["p"] if edge_by == "own" else closing.get((trade["event"], trade["side"]))
        if outcome not in (0.0, 1.0):
            belief, reason = None, "not resolved" if trade["event"] in outcomes else "not in the set any more"
        if belief is None:
            waiting.append({name: trade[name] for name in ("event", "day", "dollars")} | {"reason": reason})
            continue
        won = outcome == float(trade["side"] == "yes")
        # Per dollar: a share of this side is the event "this side wins", so `pays_no` is what losing leaves.
        split = edge_and_luck([1 / trade["price"]], [0.0], [float(won)], [belief])
        parts = {"gain": split.gain, "edge": split.edge, "luck": split.luck, "luck_sd": split.deviation}
        row = {column: trade[column] for column in ("day", "event", "side", "p", "price", "dollars")}
        gains = {name: trade["dollars"] * float(values[0]) for name, values in parts.items()}
        settled.append({**row, "won": won, **gains})
    # Bets of one cluster share their luck; those on No win where the others lose.
    clusters = _luck_clusters(questions)
    spread = sum_deviation(
        [row["luck_sd"] if row["side"] == "yes" else -row["luck_sd"] for row in settled],
        [clusters[row["event"]] for row in settled],
    )
    totals = {name: float(sum(row[name] for row in settled)) for name in ("dollars", "gain", "edge", "luck")}
    return {
        "set": questions.name,
        "edge_by": edge_by,
        "settled": settled,
        "waiting": waiting,
        "total": {**totals, "bets": len(settled), "luck_z": totals["luck"] / spread if spread > 0 else None},
    }


def _luck_clusters(questions: QuestionSet) -> dict[str, str]:
    entries = list(questions.questions.values())
    table = events_table(entries)
    clusters = dict(zip(table.event_id.tolist(), series_clusters(table).tolist(), strict=True))
    for group in linked_questions(entries):
        joined = {clusters[event.id] for question in group for event in events_of(question)}
        clusters |= {event: f"linked {group[0].id}" for event, own in clusters.items() if own in joined}
    return clusters


def _implied_prices(questions: QuestionSet) -> dict[tuple[str, str], float]:
    implied: dict[tuple[str, str], float] = {}
    for question in questions.questions.values():
        for event, quote in question.quotes.items():
            if quote.implied is not None:
                implied[event, "yes"], implied[event, "no"] = quote.implied, 1 - quote.implied
    return implied


class BetRules(Request):
    """How bets are sized."""

    risk_aversion: Annotated[float, Field(ge=0, lt=1e6)] = 1.0
    """CRRA exponent; 1 is Kelly, 0 stakes all that the cap allows."""
    fee: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Dollars a share on top of the ask."""
    cap: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Most of the bankroll in one question."""
    total_cap: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Most of the bankroll in all questions together."""
    # models lag markets near the close (paper P, section 4)
    stop_days: int = 0
    """No bet so many days before the close."""
    today: str = ""
    """ISO day; today in UTC without it."""
    bankroll: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1000.0
    """Dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bet:
    """A stake, as a share of the bankroll, on one side of an event; ``wins`` says in which states of its book it does.

    Where a condition fails and the stake comes back, ``wins`` is the price.
    """

    question: str
    event: str
    side: str
    p: float
    price: float
    wins: FloatArray
    stake: float = 0.0

    @property
    def gains(self) -> FloatArray:
        """What it gains by state, as a share of the bankroll."""
        return np.asarray(self.stake * (self.wins / self.price - 1))

    def row(self, scale: float, bankroll: float) -> dict[str, Any]:
        stake = self.stake * scale
        dollars = stake * bankroll
        return {
            **{name: getattr(self, name) for name in ("question", "event", "side", "p", "price")},
            "edge": self.p - self.price,
            "stake": stake,
            "dollars": dollars,
            "shares": dollars / self.price,
            "expected": dollars * (self.p / self.price - 1),
            "worst": -dollars,
        }


#: Bets on events of which the same states decide; they were sized together, and what one loses another may win.
_Book = list[_Bet]


def bets_document(questions: QuestionSet, p: Mapping[str, float], rules: BetRules) -> dict[str, Any]:
    """Every bet worth making, and every question without one with its reason: ``questions bet``.

    Linked questions are sized together over the worlds that their links allow, each within its own cap, those that cannot be bet on among them; exclusive options of one
    question together, and so its levels or days, which are nested; everything else market by market. All of them share one bankroll:
    where they would stake more of it than the total cap, they are scaled down alike.
    ``worst`` is the gain in the worst state that all questions can be in at once, however unlikely.
    """
    reasons = {question.id: _why_not(question, p, rules) for question in questions.questions.values()}
    alone = {name: question for name, question in questions.questions.items() if not reasons[name]}
    books: list[_Book] = []
    linked: list[dict[str, Any]] = []
    for group in linked_questions(questions.questions.values()):
        able = [question for question in group if question.id in alone]
        if not able:
            continue
        try:
            worlds = group_of(group).consistent_with(
                {event: y for question in group for event, y in question.outcomes.items()}
            )
        except QuestionError:  # too many worlds, or none: taken as if nothing bound them
            continue
        mended = mend(worlds, p)
        linked.append({"questions": [question.id for question in group], "mended": mended.moved})
        answers = dict(zip(worlds.events, worlds.answers, strict=True))
        offered = [
            (question, event.id, mended.p[event.id], answers[event.id])
            for question in able
            for event in events_of(question)
        ]
        books.append(_sized(offered, mended.worlds, rules, rules.cap))
        for question in able:
            del alone[question.id]
    books += [book for question in alone.values() for book in _books(question, p, rules)]
    place = {name: number for number, name in enumerate(questions.questions)}
    bets = sorted((bet for book in books for bet in book), key=lambda bet: place[bet.question])
    chosen = {bet.question for bet in bets}
    wanted = sum(bet.stake for bet in bets)
    scale = min(1.0, rules.total_cap / wanted) if wanted else 1.0
    rows = [bet.row(scale, rules.bankroll) for bet in bets]
    # Books have nothing to do with each other, so all may go wrong at once.
    worst = sum(float(np.sum([bet.gains for bet in book], axis=0).min()) for book in books if book)
    return {
        "set": questions.name,
        "rules": rules.model_dump(),
        "bets": rows,
        "staked": sum(row["dollars"] for row in rows),
        "scale": scale,
        "worst": worst * scale * rules.bankroll,
        "linked": linked,
        "passed": [
            {"question": name, "reason": reason or "no edge after spread and costs"}
            for name, reason in reasons.items()
            if name not in chosen
        ],
    }


def _why_not(question: Question, p: Mapping[str, float], rules: BetRules) -> str:
    events = [event.id for event in events_of(question)]
    if question.outcomes:
        return "resolved"
    if not events or any(event not in p for event in events):
        return "not every event has a forecast"
    if any(question.quotes.get(event, Quote()).yes_ask is None for event in events):
        return "not every event has an ask"
    if rules.stop_days and question.closes_on:
        left = (date.fromisoformat(question.closes_on) - date.fromisoformat(rules.today)).days
        if left < rules.stop_days:
            return f"closes in {left} days, bets stop {rules.stop_days} days before"
    return ""


#: An event that is quoted: of which question, with which chance of yes, and whether it comes true by state (nan: void).
_Offered = tuple[Question, str, float, FloatArray]


def _sized(offered: Sequence[_Offered], states: FloatArray, rules: BetRules, cap: float) -> _Book:
    """Size bets on both sides of events together over the chances of the states that decide them, each question within the cap."""
    sides = [
        # where a condition fails the price comes back
        _Bet(
            question=question.id,
            event=event,
            side=side,
            p=chance,
            price=ask + rules.fee,
            wins=np.where(np.isnan(won), ask + rules.fee, won),
        )
        for question, event, p, wins in offered
        for side, ask, won, chance in (
            ("yes", question.quotes[event].yes_ask, wins, p),
            ("no", question.quotes[event].no_ask, 1 - wins, 1 - p),
        )
        if ask is not None and 0 < ask < 1
    ]
    if not sides:
        return []
    sized = size_portfolio(
        states,
        np.array([bet.wins / bet.price for bet in sides]),
        risk_aversion=rules.risk_aversion,
        cap=cap,
        groups=[bet.question for bet in sides],
    )
    return [
        replace(bet, stake=float(stake)) for bet, stake in zip(sides, sized.stakes, strict=True) if stake > 0
    ]


def _books(question: Question, p: Mapping[str, float], rules: BetRules) -> list[_Book]:
    """Bets on a question: a book for each day of resolution where its events hang together, else one for each event."""
    parts = parts_of(question)
    together = question.exclusive if question.kind == "options" else question.kind != "binary"
    if not together or len(parts) < 2:
        events = [event.id for event in events_of(question)]
        return [_market(question, event, p[event], rules, rules.cap / len(events)) for event in events]
    books = []
    for horizon in question.horizon_labels:
        states = states_of(question, p, horizon)
        offered = [
            (question, event_id(question.id, part, horizon), float(wins @ states.p), wins)
            for part, wins in zip(parts, states.wins, strict=True)
        ]
        books.append(_sized(offered, states.p, rules, rules.cap / len(question.horizon_labels)))
    return books


def _market(question: Question, event: str, p: float, rules: BetRules, cap: float) -> _Book:
    """The side of one event that is worth its price, if there is one; its states are yes and no."""
    quote = question.quotes[event]
    yes_ask = quote.yes_ask or 0.0
    if not 0 < yes_ask < 1 or (quote.no_ask is not None and not 0 < quote.no_ask < 1):
        return []
    sized = size_bet(p, yes_ask, quote.no_ask, risk_aversion=rules.risk_aversion, fee=rules.fee, cap=cap)
    if sized.side == "none" or sized.stake <= 0:
        return []
    yes = sized.side == "yes"
    return [
        _Bet(
            question=question.id,
            event=event,
            side=sized.side,
            p=p if yes else 1 - p,
            price=sized.price,
            stake=sized.stake,
            wins=np.array([yes, not yes], dtype=float),
        )
    ]
