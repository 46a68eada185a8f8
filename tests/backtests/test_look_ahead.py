"""Planted look-ahead, by what it is worth: weights and related series chosen on all rows score visibly better, and are refused."""

from collections.abc import Mapping
from datetime import date, timedelta

import numpy as np
import pytest

from workbench.backtests.known_rows import KnownRows
from workbench.backtests.walk_forward import Forecast, OpenForecaster, refuse_later_knowledge
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows
from workbench.questions.errors import LookAhead
from workbench.questions.series.value_states import KnownRow
from workbench.science.arrays import FloatArray

#: Twenty series that have nothing to do with the index, week by week.
OTHERS = tuple(f"O{number}" for number in range(20))
WEEKS = np.arange("2011-01-07", "2018-06-29", 7, dtype="datetime64[D]")
AHEAD = 4
CUTOFFS = WEEKS[60:-AHEAD:AHEAD]


def world(seed: int = 2) -> KnownRows:
    steps = 0.02 * np.random.default_rng(seed).standard_normal((1 + len(OTHERS), len(WEEKS)))
    return KnownRows(
        {
            name: tuple(
                KnownRow(date=str(day), value=float(value), known=str(day))
                for day, value in zip(WEEKS, 100 * np.exp(np.cumsum(row)), strict=True)
            )
            for name, row in zip(("SP500", *OTHERS), steps, strict=True)
        }
    )


def moves(rows: Mapping[str, Rows], names: tuple[str, ...]) -> FloatArray:
    return np.array([np.diff(np.log([row["value"] for row in rows[name]])) for name in names])


class Fitted:
    """Says where the index goes by what the other series did in the last month, as that went together in the rows it learns from."""

    name = "fitted"

    def __init__(self, learns_from: Mapping[str, Rows] | None, *, one: bool) -> None:
        self.learns_from, self.one = learns_from, one

    def forecast(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> Forecast:
        learned = rows if self.learns_from is None else self.learns_from
        signs = np.sign(_of_a_month(moves(learned, OTHERS)))
        ups = np.sign(_of_a_month(moves(learned, ("SP500",)))[0])
        # What the others did in one month beside what the index did in the next.
        x, y = signs[:, :-AHEAD:AHEAD], ups[AHEAD::AHEAD]
        weights = np.linalg.solve(x @ x.T + 3.0 * np.eye(len(x)), x @ y)
        if self.one:
            best = int(np.argmax(np.abs(x @ y)))
            weights = np.where(np.arange(len(x)) == best, 0.5 * np.sign(x @ y), 0.0)
        now = np.sign(_of_a_month(moves(rows, OTHERS))[:, -1])
        return Forecast(float(np.clip(0.5 + 0.5 * weights @ now, 0.02, 0.98)), 0.5)


def _of_a_month(weekly: FloatArray) -> FloatArray:
    return np.asarray(np.lib.stride_tricks.sliding_window_view(weekly, AHEAD, axis=1).sum(axis=-1))


def claim_at(day: date) -> Claim:
    return Claim(
        pattern="compare", series="SP500", side="above", start=day, end=day + timedelta(days=7 * AHEAD)
    )


def brier_index(open_forecaster: OpenForecaster, known: KnownRows) -> float:
    values = {row.date: row.value for row in known.series["SP500"]}
    forecaster, errors = open_forecaster(known), []
    for cutoff in CUTOFFS:
        day = cutoff.item()
        claim = claim_at(day)
        p = forecaster.forecast(claim, known.as_of(day), day).p
        errors.append((p - float(values[str(claim.end)] > values[str(day)])) ** 2)  # type: ignore[operator]
    return float(100 * (1 - np.sqrt(np.mean(errors))))


@pytest.mark.parametrize("one", [False, True], ids=["weights on all rows", "a related series by hindsight"])
def test_what_was_chosen_on_all_rows_is_visibly_better_and_refused(one: bool) -> None:
    known = world()

    def honest(rows: KnownRows) -> Fitted:
        return Fitted(None, one=one)

    def hindsight(rows: KnownRows) -> Fitted:
        return Fitted(rows.all(), one=one)

    assert brier_index(hindsight, known) > brier_index(honest, known) + 4
    day = CUTOFFS[40].item()
    with pytest.raises(LookAhead, match="another future"):
        refuse_later_knowledge(hindsight, known, claim_at(day), day)
    refuse_later_knowledge(honest, known, claim_at(day), day)
