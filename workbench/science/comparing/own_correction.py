"""Learn shrinkage and calibration from one's own resolved forecasts, and judge whether they may be used at all.

Noise fits too: with two numbers and a grid of 121 cells some correction beats the raw forecasts of any record. So a correction is
used only where the paired test over questions shows that it helps questions that it was not fitted on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.formatting import signed_figure
from workbench.science.arrays import EPS, FloatArray, codes_of, sigmoid
from workbench.science.calibrating.calibration import fit_platt, leave_out_platt
from workbench.science.comparing.paired import paired_test
from workbench.science.errors import TooFewError
from workbench.science.pooling.shrinkage import TrialLogits
from workbench.science.pooling.tuning import FLOOR_GRID, choose_leave_out, tune_in_sample
from workbench.science.scoring.scores import log_losses

_NO_SHRINKAGE = replace(FLOOR_GRID, axes=((1.0,), (0.0,)))

#: Fewer resolved questions teach nothing: dates of one question, and leaves of one claim, share their luck.
ENOUGH = 20
# Of the interval over questions that has to lie above 0, in the log score, which sees overconfidence sooner than the Brier score. Left out
# of its own fit, a calibrated forecaster does worse by it on average, so 80 % already errs in under 1 % of records of 20 to 100
# questions, and finds a forecaster whose logits are twice too large in five of six records of 200 (at 95 %: in one of four).
_LEVEL = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCorrection:
    """The correction that a record of resolved forecasts teaches."""

    #: Number of questions it was learned from.
    questions: int
    #: Mean over questions of the share of Yes, with two pseudo-questions: the prior where a forecast has none.
    base_rate: float = 0.5
    #: floor, slope: Of `workbench.science.pooling.tuning.FLOOR_GRID`; 1 and 0 shrink nothing.
    floor: float = 1.0
    slope: float = 0.0
    calibration_slope: float = 1.0
    calibration_offset: float = 0.0
    #: brier_raw, brier: Mean over questions of the Brier score, raw and corrected, each question left out of all that corrects it; lower
    #: is better.
    brier_raw: float | None = None
    brier: float | None = None
    #: Why nothing is corrected, "" if it is.
    reason: str = ""


def learn_correction(
    logits: TrialLogits,
    prior: FloatArray,
    outcome: FloatArray,
    question: Sequence[str],
    *,
    shrinks: bool = True,
) -> OwnCorrection:
    """Fit a correction to a record and judge it on questions left out.

    Parameters
    ----------
    logits : TrialLogits
        ``mean`` is the forecast, ``spread`` and ``count`` those of its trials.
    prior : ndarray, shape (n,)
        What a forecast is shrunk to (its crowd); ``nan`` for the base rate of the other questions.
    outcome : ndarray, shape (n,)
        1 or 0.
    question : sequence of str, length n
        Forecasts with one label are left out, and counted, together.
    shrinks : bool
        Whether the grid is tried; else calibration alone.

    Examples
    --------
    >>> from workbench.science.pooling.shrinkage import trial_logits
    >>> record = learn_correction(trial_logits([[0.9], [0.8]]), np.full(2, np.nan), np.array([1.0, 0.0]), ["a", "b"])
    >>> record.reason
    'fewer than 20 questions are too few'
    """
    codes, names = codes_of(question)
    if len(names) < ENOUGH:
        return OwnCorrection(questions=len(names), reason=f"fewer than {ENOUGH} questions are too few")
    sizes = np.bincount(codes)
    yes = np.bincount(codes, weights=outcome) / sizes
    # As many pseudo-questions as two, so that a record of one outcome does not make a prior of 0 or 1.
    base_rate = float((yes.sum() + 1) / (len(names) + 2))
    raw, grid = sigmoid(logits.mean), FLOOR_GRID if shrinks else _NO_SHRINKAGE
    corrected = np.empty(len(raw))

    def calibrated(under: FloatArray) -> FloatArray:
        return leave_out_platt(under, outcome, None, codes)

    try:
        # A fold's base rate leaves the fold out for every forecast of it, those that it is fitted on too: a rate of its own for each
        # question would differ by its outcome, and a fit would read that off. Folds with one rate go together.
        others = ((yes.sum() - yes + 1) / (len(names) + 1))[codes]
        for rate in np.unique(others):
            folds = others == rate
            held_out = choose_leave_out(logits, _filled(prior, rate), outcome, codes, grid=grid)
            corrected[folds] = held_out.forecasts(calibrated)[folds]
        whole = tune_in_sample(logits, _filled(prior, base_rate), outcome, grid=grid)
        fit = fit_platt(whole.p, outcome)
    except TooFewError as error:
        return OwnCorrection(questions=len(names), base_rate=base_rate, reason=str(error))
    weights = 1.0 / sizes[codes]
    errors, corrected_errors = (raw - outcome) ** 2, (corrected - outcome) ** 2
    gain = log_losses(raw, outcome, clip=EPS) - log_losses(corrected, outcome, clip=EPS)
    test = paired_test(gain, codes, weights=weights, level=_LEVEL)
    reason = ""
    if test.verdict != "better" or not np.average(errors - corrected_errors, weights=weights) > 0:
        mean, low, high = (signed_figure(value, 4) for value in (test.estimate, test.low, test.high))
        reason = f"it is not shown to help (log score {mean}, {_LEVEL:.0%} {low} to {high} over questions)"
    elif fit.slope <= 0:
        reason = "the fit would turn forecasts round"
    return OwnCorrection(
        questions=len(names),
        base_rate=base_rate,
        floor=whole.floor,
        slope=whole.slope,
        calibration_slope=float(fit.slope),
        calibration_offset=float(fit.offset),
        brier_raw=float(np.average(errors, weights=weights)),
        brier=float(np.average(corrected_errors, weights=weights)),
        reason=reason,
    )


def _filled(prior: FloatArray, base_rate: float) -> FloatArray:
    return np.where(np.isnan(prior), base_rate, prior)
