"""Questions that hang together by their links: the worlds that the links allow, and the forecasts nearest to those stated.

A world says of every event of a group whether it comes true. Of exclusive options one does, levels and days follow each other, and
``implies`` and ``excludes`` rule worlds out. A conditional question has an answer only where its condition holds, and where its whole
(``part-of``) is in the group, the whole's answer is its own. A question of several days is bound by nothing here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.optimize import LinearConstraint, minimize, nnls

from workbench.questions.question import (
    Link,
    Question,
    QuestionError,
    event_id,
    events_of,
    outcome_sets,
)
from workbench.science.arrays import FloatArray

#: More worlds than this are not weighed: twelve plain questions that nothing binds.
MOST_WORLDS = 4096
_POLISHED = 64  # worlds up to which conditional forecasts are mended to the last digit
_EXACT = 1e-10  # how near worlds of maximum entropy come to the forecasts, or others that do take their place
_VOID = float("nan")  # one object, so that equal worlds are equal
_CONDITIONS = {"given-yes": 1.0, "given-no": 0.0}

_Pattern = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedGroup:
    """Linked questions and the worlds that their links allow."""

    #: In the set's order.
    questions: tuple[Question, ...]
    #: Ids of their events, question by question; a plain question's is its own id.
    events: tuple[str, ...]
    #: 1 yes, 0 no, nan where a conditional question's condition fails.
    answers: FloatArray

    def consistent_with(self, outcomes: Mapping[str, float]) -> "LinkedGroup":
        """The group without the worlds that known outcomes rule out; raises `QuestionError` where none is left."""
        possible = np.ones(self.answers.shape[1], dtype=bool)
        for row, event in enumerate(self.events):
            if outcomes.get(event) in (0.0, 1.0):
                possible &= np.isnan(self.answers[row]) | (self.answers[row] == outcomes[event])
        if not possible.any():
            raise QuestionError(
                f"the outcomes of {', '.join(q.id for q in self.questions)} contradict their links"
            )
        return replace(self, answers=self.answers[:, possible])


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """Forecasts of a group that hang together."""

    #: The nearest to those stated, in least squares; an event without a forecast has what the others leave it.
    p: Mapping[str, float]
    #: Probabilities of the worlds: of all that give ``p`` the ones that assume least besides (maximum entropy).
    worlds: FloatArray
    #: Largest change of a stated forecast.
    moved: float


def linked_questions(questions: Iterable[Question]) -> list[tuple[Question, ...]]:
    """Two or more questions each that links bind, in the set's order."""
    entries = {q.id: q for q in questions if len(q.horizons) <= 1}
    owner = {event.id: q.id for q in entries.values() for event in events_of(q)}
    leader = {name: name for name in entries}

    def top(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for question in entries.values():
        for link in question.links:
            for _, other in tied_events(question, link, owner):
                leader[top(owner[other])] = top(question.id)
    members: dict[str, list[Question]] = {}
    for question in entries.values():
        members.setdefault(top(question.id), []).append(question)
    return [tuple(group) for group in members.values() if len(group) > 1]


def tied_events(question: Question, link: Link, known: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of events that a link ties, the question's own first; none where it binds nothing or an event is not known.

    Being one part of another question's event binds nothing by itself; with a condition it makes a pair's whole, part by part.

    >>> own = Question(id="rates", title="Rates?", kind="options", options=("cut", "hold"), links=(Link(kind="implies", to="up", of="cut"),))
    >>> tied_events(own, own.links[0], ["rates#cut", "rates#hold", "up"])
    [('rates#cut', 'up')]
    """
    events = {event.id: event.part for event in events_of(question)}
    named = event_id(question.id, link.of)
    if link.kind in _CONDITIONS:
        pairs = [(event, link.to) for event in events]
    elif link.kind == "part-of" and not any(each.kind in _CONDITIONS for each in question.links):
        pairs = []
    elif named in events:
        pairs = [(named, link.to)]
    else:
        pairs = (
            [(event, event_id(link.to, part)) for event, part in events.items()]
            if link.kind == "part-of"
            else []
        )
    there = set(known)
    return [(own, other) for own, other in pairs if other in there]


def _patterns(question: Question) -> list[_Pattern]:
    events = [event.id for event in events_of(question)]
    sets = outcome_sets(question)
    if not sets:
        return list(product((0.0, 1.0), repeat=len(events)))
    (own,) = sets
    ordered = [event.id for event in own.events]
    if own.exclusive:
        true = [{event} for event in ordered]
    else:  # each implies the next, so those from some place on come true, or none
        true = [set(ordered[place:]) for place in range(len(ordered), -1, -1)]
    return [tuple(float(event in each) for event in events) for each in true]


def group_of(questions: tuple[Question, ...]) -> LinkedGroup:
    """Linked questions with the worlds that their links allow.

    Raises `QuestionError`: More than `MOST_WORLDS` worlds, or none.
    """
    events = tuple(event.id for question in questions for event in events_of(question))
    place = {event: row for row, event in enumerate(events)}
    conditions: dict[int, list[tuple[int, float]]] = {}
    wholes: dict[int, int] = {}
    rules: list[tuple[str, int, int]] = []
    for question in questions:
        for link in question.links:
            for own, other in tied_events(question, link, place):
                row, target = place[own], place[other]
                if link.kind in _CONDITIONS:
                    conditions.setdefault(row, []).append((target, _CONDITIONS[link.kind]))
                elif link.kind == "part-of":
                    wholes.setdefault(row, target)
                else:
                    rules.append((link.kind, row, target))
    worlds: list[_Pattern] = [()]
    patterns = {question.id: _patterns(question) for question in questions}
    for question in questions:
        first = len(worlds[0])
        # An event's answer follows from its whole; where there is none it is free, and void where its condition fails.
        own_patterns = {
            tuple(0.0 if first + step in wholes else value for step, value in enumerate(pattern))
            for pattern in patterns[question.id]
        }
        worlds = [(*world, *pattern) for world, pattern in product(worlds, sorted(own_patterns))]
        worlds = [world for world in worlds if _allowed(world, rules, {*wholes, *conditions})]
        if len(worlds) > MOST_WORLDS:
            raise QuestionError(
                f"{len(questions)} linked questions, {questions[0].id} among them, allow more than {MOST_WORLDS} worlds: that is"
                " too many to weigh together"
            )
        if not worlds:
            break
    complete = {answers for world in worlds if (answers := _answered(world, conditions, wholes, rules))}
    first = 0
    for question in questions:
        # Answers that were copied from a whole have to be ones that the question itself can have.
        last = first + len(patterns[question.id][0])
        possible = set(patterns[question.id])
        complete = {
            answers
            for answers in complete
            if any(answer != answer for answer in answers[first:last]) or answers[first:last] in possible
        }
        first = last
    if not complete:
        raise QuestionError(
            f"the links of {', '.join(q.id for q in questions)} leave no world in which all hold"
        )
    return LinkedGroup(questions=questions, events=events, answers=np.array(sorted(complete, key=repr)).T)


def _allowed(world: Sequence[float], rules: Sequence[tuple[str, int, int]], later: set[int]) -> bool:
    """Whether the rules between the answers so far hold; those of conditional questions are looked at when they are known."""
    for kind, own, other in rules:
        if max(own, other) >= len(world) or own in later or other in later:
            continue
        if world[own] == 1 and world[other] == (0 if kind == "implies" else 1):
            return False
    return True


def _answered(
    world: Sequence[float],
    conditions: Mapping[int, Sequence[tuple[int, float]]],
    wholes: Mapping[int, int],
    rules: Sequence[tuple[str, int, int]],
) -> tuple[float, ...] | None:
    """The world with the answers of its conditional questions; None where one of them breaks a rule."""
    answers = list(world)
    for row in (*wholes, *conditions):
        if row in wholes:
            answers[row] = answers[wholes[row]]
    for row, needed in conditions.items():
        if any(answers[condition] != value for condition, value in needed):
            answers[row] = _VOID
    return tuple(answers) if _allowed(answers, rules, set()) else None


def mend(group: LinkedGroup, p: Mapping[str, float]) -> Mended:
    """The forecasts of a group that hang together and change the stated ones least.

    >>> from workbench.questions.question import Link
    >>> own = Question(id="win", title="Does she win?", links=(Link(kind="implies", to="run"),))
    >>> group = group_of((own, Question(id="run", title="Does she run?")))
    >>> {name: round(value, 6) for name, value in mend(group, {"win": 0.6, "run": 0.4}).p.items()}
    {'win': 0.5, 'run': 0.5}
    """
    yes, holds = np.nan_to_num(group.answers), np.isfinite(group.answers).astype(np.float64)
    stated = np.array([p.get(name, np.nan) for name in group.events])
    known = np.isfinite(stated)
    worlds = _nearest(yes[known], holds[known], stated[known])
    chances = _chances(yes, holds, worlds)
    # A condition that cannot hold leaves its question what was said of it.
    chances = np.where(np.isfinite(chances), chances, np.where(known, stated, 0.5))
    moved = float(np.abs(chances - stated)[known].max()) if known.any() else 0.0
    return Mended(
        p=dict(zip(group.events, np.clip(chances, 0.0, 1.0).tolist(), strict=True)),
        worlds=_least_assuming(yes[known], holds[known], worlds),
        moved=moved,
    )


def _chances(yes: FloatArray, holds: FloatArray, worlds: FloatArray) -> FloatArray:
    """Chance of yes of each question, given that it has an answer; nan where it never has."""
    mass = holds @ worlds
    return np.asarray(np.divide(yes @ worlds, mass, out=np.full(len(yes), np.nan), where=mass > 1e-12))


def _nearest(yes: FloatArray, holds: FloatArray, stated: FloatArray) -> FloatArray:
    count = yes.shape[1]
    worlds = np.full(count, 1.0 / count)
    if not len(stated):
        return worlds
    for _ in range(60):
        # A conditional forecast is a ratio; with the chance of its condition as it was, the problem is linear.
        mass = np.maximum(holds @ worlds, 1e-6)
        rows = (yes - stated[:, None] * holds) / mass[:, None]
        try:
            solved, _ = nnls(np.vstack([rows, np.full(count, 1e3)]), np.append(np.zeros(len(rows)), 1e3))
        except RuntimeError:  # it did not end: what the step before found still hangs together
            break
        change = np.abs(solved / solved.sum() - worlds).max()
        worlds = solved / solved.sum()
        if change < 1e-12:
            break

    def loss(weights: FloatArray) -> float:
        chances = _chances(yes, holds, weights)
        return float(np.nansum((chances - stated) ** 2))

    def of_weights(weights: FloatArray) -> float:
        return loss(weights / weights.sum())

    if (holds == 1).all() or count > _POLISHED or loss(worlds) < 1e-16:
        return worlds
    polished = minimize(
        of_weights,
        np.asarray(0.999 * worlds + 0.001 / count),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * count,
        constraints=LinearConstraint(np.ones((1, count)), 1.0, 1.0),
        options={"maxiter": 500, "ftol": 1e-15},
    )
    better = np.maximum(polished.x, 0.0)
    better /= better.sum()
    return np.asarray(better if loss(better) < loss(worlds) else worlds)


def _least_assuming(yes: FloatArray, holds: FloatArray, worlds: FloatArray) -> FloatArray:
    """Of all worlds' probabilities with the same forecasts those of maximum entropy, by Newton's steps on its dual.

    Where the steps end before they give the forecasts again, as with a world whose chance is all but 0, the worlds stay as they were.
    """
    rows = np.vstack([yes, holds])
    targets = rows @ worlds
    shares = np.zeros(len(rows))

    def fitted(multipliers: FloatArray) -> tuple[FloatArray, float]:
        heights = multipliers @ rows
        top = heights.max()
        weights = np.exp(heights - top)
        return weights / weights.sum(), float(np.log(weights.sum()) + top - multipliers @ targets)

    weights, loss = fitted(shares)
    # A world whose chance is to be 0 loses a power of e a step: 60 are enough, and 20 where there is none.
    for _ in range(60):
        gap = targets - rows @ weights
        if np.abs(gap).max(initial=0.0) < 1e-13:
            break
        means = rows @ weights
        spread = (rows * weights) @ rows.T - np.outer(means, means)
        step = np.linalg.lstsq(spread, gap, rcond=1e-12)[0]
        length = 1.0
        while length > 1e-6:
            tried, new = fitted(shares + length * step)
            if new <= loss + 1e-15:
                shares, weights, loss = shares + length * step, tried, new
                break
            length /= 2
        else:
            break  # as near as the digits reach
    return weights if np.abs(targets - rows @ weights).max(initial=0.0) < _EXACT else worlds
