"""Questions that hang together by their links: the worlds that the links allow, and the forecasts nearest to those stated.

A world says of every question of a group whether it comes out yes; ``implies`` and ``excludes`` rule worlds out. A conditional question
has an answer only where its condition holds, and where its whole (``part-of``) is in the group, the whole's answer is its own. Only
plain questions are bound: options, levels and days hang together within their question (`workbench.questions.sets.choices`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import LinearConstraint, minimize, nnls

from workbench.questions.question import Question, QuestionError
from workbench.science.arrays import FloatArray

#: More worlds than this are not weighed: twelve questions that nothing binds.
MOST_WORLDS = 4096
_POLISHED = 64  # worlds up to which conditional forecasts are mended to the last digit
_VOID = float("nan")  # one object, so that equal worlds are equal
_CONDITIONS = {"given-yes": 1.0, "given-no": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedGroup:
    """Linked questions and the worlds that their links allow.

    Parameters
    ----------
    questions : tuple of Question
        Plain ones, in the set's order.
    answers : ndarray, shape (questions, worlds)
        1 yes, 0 no, nan where a conditional question's condition fails.
    """

    questions: tuple[Question, ...]
    answers: FloatArray

    @property
    def ids(self) -> tuple[str, ...]:
        """The questions' ids, which are those of their events."""
        return tuple(question.id for question in self.questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """Forecasts of a group that hang together.

    Parameters
    ----------
    p : mapping of question id to float
        The nearest to those stated, in least squares; a question without a forecast has what the others leave it.
    worlds : ndarray, shape (worlds,)
        Probabilities of the worlds: of all that give ``p`` the ones that assume least besides (maximum entropy).
    moved : float
        Largest change of a stated forecast.
    """

    p: Mapping[str, float]
    worlds: FloatArray
    moved: float


def linked_questions(questions: Iterable[Question]) -> list[tuple[Question, ...]]:
    """Two or more plain questions each that links bind, in the set's order."""
    plain = {q.id: q for q in questions if q.kind == "binary" and len(q.horizons) <= 1}
    leader = {name: name for name in plain}

    def top(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for question in plain.values():
        for link in question.links:
            if link.to in plain and _binds(question, link.kind):
                leader[top(link.to)] = top(question.id)
    members: dict[str, list[Question]] = {}
    for question in plain.values():
        members.setdefault(top(question.id), []).append(question)
    return [tuple(group) for group in members.values() if len(group) > 1]


def _binds(question: Question, kind: str) -> bool:
    # Being one part of another question's event binds nothing by itself; with a condition it makes a pair's whole.
    conditional = any(link.kind in _CONDITIONS for link in question.links)
    return kind != "part-of" or conditional


def group_of(questions: tuple[Question, ...]) -> LinkedGroup:
    """Linked questions with the worlds that their links allow.

    Raises
    ------
    QuestionError
        More than `MOST_WORLDS` worlds, or none.
    """
    place = {question.id: row for row, question in enumerate(questions)}
    conditions: dict[int, list[tuple[int, float]]] = {}
    wholes: dict[int, int] = {}
    rules: list[tuple[str, int, int]] = []
    for row, question in enumerate(questions):
        for link in question.links:
            if link.to not in place:
                continue
            if link.kind in _CONDITIONS:
                conditions.setdefault(row, []).append((place[link.to], _CONDITIONS[link.kind]))
            elif link.kind != "part-of":
                rules.append((link.kind, row, place[link.to]))
            elif _binds(question, link.kind):
                wholes.setdefault(row, place[link.to])
    worlds: list[list[float]] = [[]]
    for row in range(len(questions)):
        # A conditional question's answer follows from its whole; where there is none it is free, and void where its condition fails.
        values = (0.0,) if row in wholes else (0.0, 1.0)
        worlds = [[*world, value] for world, value in product(worlds, values)]
        worlds = [world for world in worlds if _allowed(world, rules, {*wholes, *conditions})]
        if len(worlds) > MOST_WORLDS:
            raise QuestionError(
                f"{len(questions)} linked questions, {questions[0].id} among them, allow more than {MOST_WORLDS} worlds: that is"
                " too many to weigh together"
            )
    complete = {answers for world in worlds if (answers := _answered(world, conditions, wholes, rules))}
    if not complete:
        raise QuestionError(f"the links of {', '.join(place)} leave no world in which all hold")
    return LinkedGroup(questions=questions, answers=np.array(sorted(complete, key=repr)).T)


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

    Examples
    --------
    >>> from workbench.questions.question import Link
    >>> own = Question(id="win", title="Does she win?", links=(Link(kind="implies", to="run"),))
    >>> group = group_of((own, Question(id="run", title="Does she run?")))
    >>> {name: round(value, 6) for name, value in mend(group, {"win": 0.6, "run": 0.4}).p.items()}
    {'win': 0.5, 'run': 0.5}
    """
    yes, holds = np.nan_to_num(group.answers), np.isfinite(group.answers).astype(np.float64)
    stated = np.array([p.get(name, np.nan) for name in group.ids])
    known = np.isfinite(stated)
    worlds = _nearest(yes[known], holds[known], stated[known])
    chances = _chances(yes, holds, worlds)
    # A condition that cannot hold leaves its question what was said of it.
    chances = np.where(np.isfinite(chances), chances, np.where(known, stated, 0.5))
    moved = float(np.abs(chances - stated)[known].max()) if known.any() else 0.0
    return Mended(
        p=dict(zip(group.ids, np.clip(chances, 0.0, 1.0).tolist(), strict=True)),
        worlds=_least_assuming(yes[known], holds[known], worlds),
        moved=moved,
    )


def _chances(yes: FloatArray, holds: FloatArray, worlds: FloatArray) -> FloatArray:
    """Chance of yes of each question, given that it has an answer; nan where it never has."""
    mass = holds @ worlds
    return np.asarray(np.divide(yes @ worlds, mass, out=np.full(len(yes), np.nan), where=mass > 1e-12))


def _nearest(yes: FloatArray, holds: FloatArray, stated: FloatArray) -> FloatArray:
    """Probabilities of worlds whose forecasts lie nearest to the stated ones."""
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
    """Of all worlds' probabilities with the same forecasts those of maximum entropy, by Newton's steps on its dual."""
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
    return weights
