"""Estimate how far a chance of the ensemble may lie from the one that is true of its series: the basis of its band."""

import numpy as np

from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.members.level_paths import pull_of
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.reading import Chance, Reading, chance, deciding_steps
from workbench.forecasts.series_paths import Paths
from workbench.science.arrays import FloatArray


def chance_error(answer: Chance, reading: Reading, paths: Paths, ensemble: Ensemble) -> float:
    """Return the standard deviation of a chance about the true one; 0 where the claim is decided, or the series never moved.

    It adds up the unknown place of the paths, their unknown width, and the draw of so many paths. Their place is estimated
    twice, and the larger counts, since both see the same ignorance: by the members' disagreement, and by how far p moves when the
    paths move by one deviation of an estimate from so much of a past. That is their drift, or the place that past ranks gave the pool
    (again the larger: past ranks are off because past drifts were), the pull to the mean, and the part of the pull that the pool leaves out
    because members that do not return have weight in it.

    Chosen on simulated worlds of other drifts and half-lives than those that ``python -m benchmarks.chance_bands`` judges it by; a part of them is in
    tests/forecasts/test_chance_bands.py. A share of so many separate past windows, with the members' disagreement, was too wide: its
    error is one of having counted, and p is not counted.
    """
    past = ScaledPast.of(paths.known, paths.calendar)
    if answer.decided is not None or not past.steps.any():
        return 0.0
    rest = past.rest
    weights = np.bincount(paths.drawn_by, paths.weights, len(paths.members))
    members = np.array([answer.by_member[name] for name in paths.members])
    present = weights > 0
    disagreement = float(weights[present] @ (members[present] - answer.p) ** 2)
    steps = deciding_steps(reading, paths)
    after = np.arange(1.0, len(paths.days) + 1)[steps]
    fit = ensemble.fit(past, len(paths.days)) if ensemble.learned else None
    paths = paths.on_steps(steps)
    # Prices of a ratio or of steps in amounts may go below 0 on a path.
    logs = past.logarithmic and bool((paths.values > 0).all())
    x = np.log(paths.values) if logs else paths.values
    off = x - paths.weights @ x

    def moved_by(move: FloatArray) -> float:
        """The square of what a move of all paths does to p."""
        if not np.any(move):
            return 0.0
        high, low = (chance(reading, paths.moved(np.exp(y) if logs else y)).p for y in (x + move, x - move))
        return ((high - low) / 2) ** 2

    pull = pull_of(rest)
    # What the others would leave out stands also where a strong pull reaches them: in part it is strong by luck.
    returning = sum(
        weight for name, weight in zip(paths.members, weights, strict=True) if name == "reverting"
    )
    left = (1.0 - pull.share) ** after
    distance = float(rest.x[-1]) - pull.centre
    # What a drift adds goes back with the series too, and adds up to less.
    drift = moved_by(rest.drift_error * ((1.0 - left) / pull.share if pull.share > 0.0 else after))
    place = width = 0.0
    if fit is not None:
        calibration = fit.on_steps(after)
        place = moved_by(calibration.shift_error * np.sqrt(paths.weights @ off**2))
        width = moved_by(calibration.spread_error * off)
    pulled = moved_by(pull.error * distance * after * (1.0 - pull.share) ** (after - 1.0))
    left_out = moved_by((1.0 - returning) * (1.0 - left) * distance)
    # Members share their random numbers, so all of them together are as good as one.
    drawn = answer.p * (1.0 - answer.p) / ensemble.each
    return float(np.sqrt(max(disagreement, max(drift, place) + pulled + left_out) + width + drawn))
