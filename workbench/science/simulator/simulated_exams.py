"""An exam from a world: questions whose true probability is known, a market with a crowd, and grounders that err by rule.

A study (`workbench experiment`) takes it in place of real questions: the arms of a simulated exam cost nothing, and the right
answer to "which of them is better" is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError
from workbench.science.simulator.worlds import (
    GrounderErrors,
    World,
    WorldKind,
    crowd_prices,
    linear_reading,
    make_world,
)
from workbench.science.tables import Events

RULES = ("own", "linear", "leaf")
_SPREAD = 0.6  # of the leaves' truths: many lie near 0 and 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedExam:
    """Questions of one world.

    Parameters
    ----------
    world : World
    leaves : ndarray, shape (questions, leaves)
        True soft truth values.
    truth, price, outcome : ndarray, shape (questions,)
        True probability, the market's price, what happened (drawn with the true probability).
    """

    world: World
    reading: World
    leaves: FloatArray
    truth: FloatArray
    price: FloatArray
    outcome: FloatArray

    def events(self) -> Events:
        """The questions as a table of market events with the columns ``crowd`` and ``truth``.

        Their luck is drawn apart, so each is asked on a day of its own and resolves before the next.
        """
        asked = np.datetime64("2026-01-01") + 2 * np.arange(len(self.outcome))
        return Events.of(
            self.outcome,
            kind="market",
            source="simulator",
            crowd=self.price,
            truth=self.truth,
            forecast_due_date=asked.astype(str),
            resolution_date=(asked + 1).astype(str),
            horizon_days=1.0,
            category=self.world.kind,
        )

    def forecast(self, row: int, errors: GrounderErrors, rule: str, *, seed: int, trial: int) -> float:
        """One arm's probability of one question: flawed leaves under a rule; the same for the same seed, trial and row.

        Raises `DomainError`: Another rule.
        """
        if rule not in RULES:
            raise DomainError(f"a simulated arm's rule is one of {', '.join(RULES)}, not {rule!r}")
        rng = np.random.default_rng([seed, trial, row])
        if rule == "leaf":
            return float(errors.apply(self.truth[row : row + 1, None], rng)[0, 0])
        said = errors.apply(self.leaves[row : row + 1], rng)
        return float((self.world if rule == "own" else self.reading).truth(said)[0])


def simulate_exam(
    kind: WorldKind = "linear",
    *,
    questions: int = 100,
    seed: int = 0,
) -> SimulatedExam:
    """Draw an exam of trees of nine leaves; the same for the same arguments."""
    if not 1 <= questions <= 100_000:
        raise DomainError(f"an exam has 1 to 100,000 questions, not {questions}")
    world = make_world(kind, seed=seed)
    rng = np.random.default_rng([seed, 1])
    leaves = world.draw_truths(questions, rng, spread=_SPREAD)
    truth = world.truth(leaves).clip(0.0, 1.0)
    return SimulatedExam(
        world=world,
        reading=linear_reading(
            world, world.draw_truths(2000, np.random.default_rng([seed, 2]), spread=_SPREAD)
        ),
        leaves=leaves,
        truth=truth,
        price=crowd_prices(truth, rng),
        outcome=(rng.random(questions) < truth).astype(np.float64),
    )


def exam_from_settings(settings: Any) -> SimulatedExam:
    """The exam that a study file's ``simulator`` section describes; raises `DomainError` for what is none."""
    if not isinstance(settings, Mapping):
        raise DomainError(f"the simulator's settings are a mapping, not {settings!r:.40}")
    known = {"kind", "questions", "seed"}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise DomainError(f"the simulator has no setting {unknown[0]!r}: {', '.join(sorted(known))}")
    try:
        return simulate_exam(**settings)
    except (TypeError, ValueError) as error:
        raise DomainError(f"the simulator cannot be set so: {error}") from None
