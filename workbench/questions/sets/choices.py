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
from workbench.questions.question import Question, QuestionError, Quote, event_id, parts_of
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
    own = question.horizon_label(horizon)
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
class _Choice:
    """A side of an event that can be bet on: what a dollar comes back as if it wins, and by state whether it does (nan: void)."""

    name: str
    pays: float
    wins: FloatArray


def _on_offer(
    of: str, labels: Sequence[str], quotes: Sequence[Quote | None], answers: FloatArray, rules: ChoiceRules
) -> list[_Choice]:
    """The sides of events at the payoffs that are stated, else at the quoted asks; ``answers`` has a row for each event."""
    if unknown := sorted(set(rules.payoffs) - set(labels)):
        known = f" names one of {', '.join(labels)}"
        raise QuestionError(f"{of} has no {unknown[0]!r:.60}: ", Option("payoff"), known)
    choices = []
    for label, quote, wins in zip(labels, quotes, answers, strict=True):
        if label in rules.payoffs:
            sides = [(label, rules.payoffs[label], wins)]
        else:
            asks = (None, None) if quote is None else (quote.yes_ask, quote.no_ask)
            named = zip((label, f"no on {label}"), asks, (wins, 1 - wins), strict=True)
            sides = [(name, 1 / (ask + rules.fee), won) for name, ask, won in named if ask]
        choices += [_Choice(name, pays, won) for name, pays, won in sides]
    return choices


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
    horizon = question.horizon_label(rules.horizon)
    parts = parts_of(question)
    choices = _on_offer(
        f"question {question.id}",
        [part or "yes" for part in parts],
        [question.quotes.get(event_id(question.id, part, horizon)) for part in parts],
        states.wins,
        rules,
    )
    likeliest = states.names[int(np.argmax(states.p))]
    weighed = _weigh(states.p, choices, rules, likeliest)
    for row, choice in zip(weighed["choices"], choices, strict=True):
        row["p"] = float(choice.wins @ states.p)
    return {
        "question": question.id,
        "kind": question.kind,
        "states": [
            {"state": name, "p": chance} for name, chance in zip(states.names, states.p.tolist(), strict=True)
        ],
        "mended": states.mended,
        "likeliest": likeliest,
        **weighed,
        "worth": _worth(question, states, weighed["decision"]),
    }


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
    if missing := [event for event in group.events if event not in p]:
        raise QuestionError(f"question {missing[0]}, which is linked to {own}, has no forecast")
    mended = mend(group, p)
    quotes = {event: quote for question in group.questions for event, quote in question.quotes.items()}
    of = f"what is linked to {own}"
    choices = _on_offer(of, group.events, [quotes.get(event) for event in group.events], group.answers, rules)
    likeliest_first = np.argsort(-mended.worlds, kind="stable")[:_MOST_LISTED]
    return {
        "question": own,
        "linked": list(group.events),
        "forecasts": [{"question": name, "stated": p[name], "p": mended.p[name]} for name in group.events],
        "mended": mended.moved,
        "worlds": [
            {
                "p": float(mended.worlds[world]),
                "answers": dict(zip(group.events, map(_answer, group.answers[:, world]), strict=True)),
            }
            for world in likeliest_first
        ],
        **_weigh(mended.worlds, choices, rules, KEEP),
    }


def _weigh(p: FloatArray, choices: Sequence[_Choice], rules: ChoiceRules, otherwise: str) -> dict[str, Any]:
    """Choices with their stakes, the best of them (``otherwise`` where there are none), and the portfolio they make."""
    if not choices:
        return {"choices": [], "decision": otherwise, "portfolio": None}
    pays = np.array([np.where(np.isnan(bet.wins), 1.0, bet.pays * bet.wins) for bet in choices])
    sized = size_portfolio(p, pays, risk_aversion=rules.risk_aversion, cap=rules.cap)
    expected = pays @ p
    best = int(np.argmax(expected))
    return {
        "choices": [
            {"choice": bet.name, "pays": bet.pays, "expected": float(value), "stake": float(stake)}
            for bet, value, stake in zip(choices, expected, sized.stakes, strict=True)
        ],
        "decision": choices[best].name if expected[best] > 1 + 1e-9 else KEEP,
        "portfolio": {
            "risk_aversion": rules.risk_aversion,
            "cap": rules.cap,
            "fee": rules.fee,
            "staked": float(sized.stakes.sum()),
            "expected": sized.expected,
            "worst": sized.worst,
            "certain": sized.certain,
        },
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
