"""Bets on the open questions of a set: own forecasts against quoted asks, sized, capped, and stopped near the close."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import numpy as np

from workbench.questions.book import QuestionSet
from workbench.questions.choices import states_of
from workbench.questions.model import Question, QuestionError, event_id, events_of
from workbench.science.scoring.betting import size_bet, size_options
from workbench.science.scoring.portfolio import size_portfolio


@dataclass(frozen=True, slots=True, kw_only=True)
class BetRules:
    """How bets are sized.

    Parameters
    ----------
    risk_aversion : float
        CRRA exponent; 0 stakes all that the cap allows.
    fee : float
        Dollars a share.
    cap : float
        Most of the bankroll in one question.
    stop_days : int
        No bet so near to the close: models lag markets there (paper P, section 4).
    today : str
        ISO day.
    bankroll : float
        Dollars.
    """

    risk_aversion: float = 1.0
    fee: float = 0.0
    cap: float = 0.1
    stop_days: int = 0
    today: str = ""
    bankroll: float = 1000.0


def bets_document(questions: QuestionSet, p: Mapping[str, float], rules: BetRules) -> dict[str, Any]:
    """Every bet worth making, and every question without one with its reason: ``questions bet``.

    Exclusive options of one question are sized together, and so are its levels or days, which are nested; everything else market
    by market.
    """
    bets: list[dict[str, Any]] = []
    passed: list[dict[str, str]] = []
    for question in questions.questions.values():
        reason = _why_not(question, p, rules)
        if reason:
            passed.append({"question": question.id, "reason": reason})
            continue
        if _is_choice(question):
            own = _choice_bets(question, p, rules)
        else:
            own = (
                _nested_bets(question, p, rules) if _is_nested(question) else _market_bets(question, p, rules)
            )
        if own:
            bets += own
        else:
            passed.append({"question": question.id, "reason": "no edge after spread and costs"})
    return {
        "set": questions.name,
        "rules": asdict(rules),
        "bets": bets,
        "staked": sum(bet["dollars"] for bet in bets),
        "worst": -sum(bet["dollars"] for bet in bets),
        "passed": passed,
    }


def _is_choice(question: Question) -> bool:
    return question.kind == "options" and question.exclusive and len(question.horizons) <= 1


def _is_nested(question: Question) -> bool:
    several = question.kind in ("threshold", "numeric", "date") and len(events_of(question)) > 1
    return several and len(question.horizons) <= 1


def _why_not(question: Question, p: Mapping[str, float], rules: BetRules) -> str:
    events = [event.id for event in events_of(question)]
    if question.outcomes:
        return "resolved"
    if not events or any(event not in p for event in events):
        return "not every event has a forecast"
    if any(question.quotes.get(event) is None or question.quotes[event].yes_ask is None for event in events):
        return "not every event has an ask"
    if rules.stop_days and question.closes_on:
        left = (date.fromisoformat(question.closes_on) - date.fromisoformat(rules.today)).days
        if left < rules.stop_days:
            return f"closes in {left} days, bets stop {rules.stop_days} days before"
    return ""


def _choice_bets(question: Question, p: Mapping[str, float], rules: BetRules) -> list[dict[str, Any]]:
    events = [event_id(question.id, option) for option in question.options]
    total = sum(p[event] for event in events)
    if total <= 0:
        raise QuestionError(f"question {question.id}: its probabilities are all 0")
    chances = [p[event] / total for event in events]
    asks = [question.quotes[event].yes_ask or 0.0 for event in events]
    if rules.risk_aversion == 0 or min(asks) <= 0 or max(asks) >= 1 or sum(asks) + len(asks) * rules.fee < 1:
        return _market_bets(question, p, rules)
    stakes = size_options(chances, asks, risk_aversion=rules.risk_aversion, fee=rules.fee, cap=rules.cap)
    return [
        _bet(question, event, "yes", float(stake), ask + rules.fee, chance, rules)
        for event, stake, ask, chance in zip(events, stakes, asks, chances, strict=True)
        if stake > 0
    ]


def _nested_bets(question: Question, p: Mapping[str, float], rules: BetRules) -> list[dict[str, Any]]:
    """Both sides of every level or day, sized together over the ranges between them: one may hedge another."""
    states = states_of(question, p)
    sides = []
    for event, wins in zip(events_of(question), states.wins, strict=True):
        quote = question.quotes[event.id]
        for side, ask, won in (("yes", quote.yes_ask, wins), ("no", quote.no_ask, 1 - wins)):
            if ask is not None and 0 < ask < 1:
                sides.append((event.id, side, ask + rules.fee, won))
    if not sides:
        return []
    pays = np.array([won / price for _, _, price, won in sides])
    sized = size_portfolio(states.p, pays, risk_aversion=rules.risk_aversion, cap=rules.cap)
    return [
        _bet(question, event, side, float(stake), price, float(won @ states.p), rules)
        for (event, side, price, won), stake in zip(sides, sized.stakes, strict=True)
        if stake > 0
    ]


def _market_bets(question: Question, p: Mapping[str, float], rules: BetRules) -> list[dict[str, Any]]:
    events = [event.id for event in events_of(question)]
    bets = []
    for event in events:
        quote = question.quotes[event]
        if not 0 < (quote.yes_ask or 0.0) < 1 or (quote.no_ask is not None and not 0 < quote.no_ask < 1):
            continue
        sized = size_bet(
            p[event],
            quote.yes_ask or 0.0,
            quote.no_ask,
            risk_aversion=rules.risk_aversion,
            fee=rules.fee,
            cap=rules.cap / len(events),
        )
        if sized.side != "none" and sized.stake > 0:
            chance = p[event] if sized.side == "yes" else 1 - p[event]
            bets.append(_bet(question, event, sized.side, sized.stake, sized.price, chance, rules))
    return bets


def _bet(
    question: Question, event: str, side: str, stake: float, price: float, chance: float, rules: BetRules
) -> dict[str, Any]:
    dollars = stake * rules.bankroll
    return {
        "question": question.id,
        "event": event,
        "side": side,
        "p": chance,
        "price": price,
        "edge": chance - price,
        "stake": stake,
        "dollars": dollars,
        "shares": dollars / price,
        "expected": dollars * (chance / price - 1),
        "worst": -dollars,
    }
