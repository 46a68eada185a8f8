"""What to do about a question: the states that its answer can be in, what each choice pays there, and which choice is best.

A binary question has two states; exclusive options have one each; levels and days have the ranges between them, so that nested
markets ("above 3", "above 4") are weighed together. Options that do not exclude each other have no common states here: each is a
question of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from workbench.errors import Option
from workbench.questions.question import Question, QuestionError, event_id, parts_of
from workbench.questions.sets.choice_rules import ChoiceRules
from workbench.questions.sets.linked import group_of, linked_questions, mend
from workbench.science.arrays import FloatArray
from workbench.science.scoring.portfolio import bucket_probabilities, size_portfolio
from workbench.science.scoring.utility import utility_scores

#: Keeping the dollar: what a decision is when no bet is worth its price.
KEEP = "keep the dollar"
_MOST_LISTED = 32  # worlds in a document, the likeliest first


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """What can come of a question."""

    #: One per state.
    names: tuple[str, ...]
    #: Own probabilities, summing to 1.
    p: FloatArray
    #: Whether an event of the question comes true in a state, 1 or 0, in the order of `parts_of`.
    wins: FloatArray
    #: Largest change that it took to make the forecasts hang together.
    mended: float


def states_of(question: Question, p: Mapping[str, float], horizon: str = "") -> States:
    """States of a question under forecasts of its events.

    Exclusive options are divided by their sum; chances of levels and days that contradict their order are mended by the least change.

    Raises `QuestionError`: An event without a forecast, several horizons and none named, or options that do not exclude each other.

    >>> question = Question(id="q", title="Rate?", kind="threshold", levels=(3.0, 4.0))
    >>> states = states_of(question, {"q#3": 0.8, "q#4": 0.3})
    >>> dict(zip(states.names, states.p.round(6).tolist(), strict=True))
    {'not above 3': 0.2, 'above 3, not above 4': 0.5, 'above 4': 0.3}
    """
    if len(question.horizons) > 1 and horizon not in question.horizons:
        raise QuestionError(
            f"question {question.id} has several horizons: ",
            Option("horizon"),
            f" is one of {', '.join(question.horizons)}",
        )
    parts = parts_of(question)
    own = horizon if len(question.horizons) > 1 else ""
    missing = [part for part in parts if event_id(question.id, part, own) not in p]
    if missing or not parts:
        what = f"no forecast of {missing[0] or question.id}" if missing else "no event to decide on"
        raise QuestionError(f"question {question.id} has {what}")
    chances = np.array([p[event_id(question.id, part, own)] for part in parts])
    if question.kind == "binary":
        return States(
            names=("yes", "no"),
            p=np.array([chances[0], 1 - chances[0]]),
            wins=np.array([[1.0, 0.0]]),
            mended=0.0,
        )
    if question.kind == "options":
        if not question.exclusive:
            raise QuestionError(
                f"the options of question {question.id} do not exclude each other: decide on each as a question of its own"
            )
        total = float(chances.sum())
        if total <= 0:
            raise QuestionError(f"question {question.id}: its probabilities are all 0")
        return States(
            names=parts,
            p=chances / total,
            wins=np.eye(len(parts)),
            mended=float(np.abs(chances / total - chances).max()),
        )
    return _ranges(question, parts, chances)


def _ranges(question: Question, parts: tuple[str, ...], chances: FloatArray) -> States:
    by_day = question.kind == "date"
    order = sorted(range(len(parts)), key=lambda place: parts[place] if by_day else question.levels[place])
    labels = [parts[place] for place in order]
    rising = by_day or question.side in ("below", "at most")
    ordered = chances[order]
    shares, mended = bucket_probabilities(1 - ordered if rising else ordered)
    side = "by" if by_day else question.side
    names = [f"{side if rising else 'not ' + side} {labels[0]}"]
    for low, high in pairwise(labels):
        names.append(f"{side} {high}, not {side} {low}" if rising else f"{side} {low}, not {side} {high}")
    names.append(f"{'not ' + side if rising else side} {labels[-1]}")
    wins = np.zeros((len(parts), len(parts) + 1))
    for rank, place in enumerate(order):
        # Above its level lie the states behind it; below, those up to it.
        if rising:
            wins[place, : rank + 1] = 1.0
        else:
            wins[place, rank + 1 :] = 1.0
    return States(names=tuple(names), p=shares, wins=wins, mended=mended)


@dataclass(frozen=True, slots=True)
class _Bet:
    choice: str
    part: str
    pays: float
    wins: FloatArray


def _bets(question: Question, states: States, rules: ChoiceRules) -> list[_Bet]:
    parts = parts_of(question)
    unknown = sorted(set(rules.payoffs) - {part or "yes" for part in parts})
    if unknown:
        raise QuestionError(
            f"question {question.id} has no {unknown[0]!r:.60}: ",
            Option("payoff"),
            f" names one of {', '.join(part or 'yes' for part in parts)}",
        )
    own = rules.horizon if len(question.horizons) > 1 else ""
    bets = []
    for part, wins in zip(parts, states.wins, strict=True):
        label = part or "yes"
        quote = question.quotes.get(event_id(question.id, part, own))
        if label in rules.payoffs:
            bets.append(_Bet(label, part, rules.payoffs[label], wins))
        elif quote is not None and quote.yes_ask:
            bets.append(_Bet(label, part, 1 / (quote.yes_ask + rules.fee), wins))
        if quote is not None and quote.no_ask and label not in rules.payoffs:
            bets.append(_Bet(f"no on {label}", part, 1 / (quote.no_ask + rules.fee), 1 - wins))
    return bets


def choice_document(question: Question, p: Mapping[str, float], rules: ChoiceRules) -> dict[str, Any]:
    """The choice that pays best by the own forecasts, and stakes for it: ``decide --question``.

    Where neither asks nor payoffs are known, the likeliest state is the choice. What a question's own ``payoffs`` say is known
    only afterwards: they never decide, they tell what the decision was worth.

    >>> question = Question(id="q", title="Who?", kind="options", options=("Ann", "Bo"))
    >>> rules = ChoiceRules(payoffs={"Ann": 1.2, "Bo": 4.0})
    >>> choice_document(question, {"q#Ann": 0.7, "q#Bo": 0.3}, rules)["decision"]
    'Bo'
    """
    states = states_of(question, p, rules.horizon)
    bets = _bets(question, states, rules)
    document: dict[str, Any] = {
        "question": question.id,
        "kind": question.kind,
        "states": [
            {"state": name, "p": chance} for name, chance in zip(states.names, states.p.tolist(), strict=True)
        ],
        "mended": states.mended,
        "likeliest": states.names[int(np.argmax(states.p))],
        "choices": [],
        "decision": states.names[int(np.argmax(states.p))],
        "portfolio": None,
        "worth": None,
    }
    if bets:
        rows = [(bet.choice, bet.pays, bet.pays * bet.wins) for bet in bets]
        _weigh(document, states.p, rows, rules)
        for row, bet in zip(document["choices"], bets, strict=True):
            row["p"] = float(bet.wins @ states.p)
    document["worth"] = _worth(question, states, document["decision"])
    return document


def linked_document(
    questions: Mapping[str, Question], own: str, p: Mapping[str, float], rules: ChoiceRules
) -> dict[str, Any]:
    """Bets on a question and on all that are linked to it, weighed together over the worlds their links allow: ``decide --linked``.

    The forecasts are mended by the least change first. A bet on a conditional question whose condition fails comes back whole.
    ``payoffs`` are by the ids of events, a plain question's its own.

    Raises `QuestionError`: The question is bound by no link, one of the group has no forecast, or too many worlds.
    """
    linked = next(
        (group for group in linked_questions(questions.values()) if own in {q.id for q in group}), None
    )
    if linked is None:
        raise QuestionError(f"question {own} has no linked questions: decide without ", Option("linked"))
    group = group_of(linked)
    missing = [event for event in group.events if event not in p]
    if missing:
        raise QuestionError(f"question {missing[0]}, which is linked to {own}, has no forecast")
    unknown = sorted(set(rules.payoffs) - set(group.events))
    if unknown:
        raise QuestionError(
            f"{unknown[0]!r:.60} is not linked to {own}: ",
            Option("payoff"),
            f" names one of {', '.join(group.events)}",
        )
    mended = mend(group, p)
    quotes = {event: quote for question in group.questions for event, quote in question.quotes.items()}
    choices: list[tuple[str, float, FloatArray]] = []
    for event, answers in zip(group.events, group.answers, strict=True):
        quote = quotes.get(event)
        for side, ask, wins in (
            (event, quote.yes_ask if quote else None, answers),
            (f"no on {event}", quote.no_ask if quote else None, 1 - answers),
        ):
            pays = rules.payoffs.get(side) if event in rules.payoffs else ask and 1 / (ask + rules.fee)
            if pays:
                choices.append((side, pays, np.where(np.isnan(wins), 1.0, pays * wins)))
    document: dict[str, Any] = {
        "question": own,
        "linked": list(group.events),
        "forecasts": [{"question": name, "stated": p[name], "p": mended.p[name]} for name in group.events],
        "mended": mended.moved,
        "worlds": [
            {
                "p": chance,
                "answers": {name: _answer(value) for name, value in zip(group.events, world, strict=True)},
            }
            for chance, world in sorted(
                zip(mended.worlds.tolist(), group.answers.T.tolist(), strict=True), key=lambda each: -each[0]
            )[:_MOST_LISTED]
        ],
        "choices": [],
        "decision": KEEP,
        "portfolio": None,
    }
    if choices:
        _weigh(document, mended.worlds, choices, rules)
    return document


def _weigh(
    document: dict[str, Any], p: FloatArray, bets: Sequence[tuple[str, float, FloatArray]], rules: ChoiceRules
) -> None:
    """Put bets with their stakes, the best of them and the portfolio into a document; each is a name, what it pays, and that by state."""
    table = np.array([pays for _, _, pays in bets])
    sized = size_portfolio(p, table, risk_aversion=rules.risk_aversion, cap=rules.cap)
    expected = table @ p
    best = int(np.argmax(expected))
    document["choices"] = [
        {"choice": name, "pays": pays, "expected": float(value), "stake": float(stake)}
        for (name, pays, _), value, stake in zip(bets, expected, sized.stakes, strict=True)
    ]
    document["decision"] = bets[best][0] if expected[best] > 1 + 1e-9 else KEEP
    document["portfolio"] = {
        "risk_aversion": rules.risk_aversion,
        "cap": rules.cap,
        "fee": rules.fee,
        "staked": float(sized.stakes.sum()),
        "expected": sized.expected,
        "worst": sized.worst,
        "certain": sized.certain,
    }


def _answer(value: float) -> str:
    return "void" if np.isnan(value) else "yes" if value else "no"


def _worth(question: Question, states: States, decision: str) -> dict[str, Any] | None:
    """Soft and hard utility of the decision by the payoffs that became known (paper A, section 5.1); None before that."""
    if question.kind != "options" or set(question.payoffs) != set(question.options):
        return None

    values = [question.payoffs[option] for option in question.options]
    if len(set(values)) < 2:
        return None
    scores = utility_scores([states.p], [values])
    return {
        "payoff": question.payoffs.get(decision, 1.0),
        "best": max(values),
        "worst": min(values),
        "soft": scores.soft,
        "hard": scores.hard,
    }
