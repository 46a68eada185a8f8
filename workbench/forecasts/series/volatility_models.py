"""Volatility models of `arch`: filtered simulation of log returns whose size clusters."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from workbench.forecasts.leaf_models.window_volatility import garch_model
from workbench.forecasts.series.series_history import Days, History
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError, UnknownName

Kind = Literal["garch", "gjr-garch", "egarch", "constant"]

_SETTINGS: dict[str, dict[str, Any]] = {
    "garch": {"vol": "GARCH", "p": 1, "o": 0, "q": 1},
    "gjr-garch": {"vol": "GARCH", "p": 1, "o": 1, "q": 1},
    "egarch": {"vol": "EGARCH", "p": 1, "o": 1, "q": 1},
    "constant": {"vol": "constant"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Volatility:
    """Simulated paths of log returns: a fitted volatility, shocks drawn from the model's own past shocks.

    One set of paths serves all horizons and levels, so chances never rise with the level. Uses `arch`, imported when
    first needed.

    Parameters
    ----------
    kind : {"garch", "gjr-garch", "egarch", "constant"}
    window : int
        Fit on the last so many returns; at least 250 are needed.
    simulations : int
        Paths; the standard error of a chance is at most ``0.5 / sqrt(simulations)``.
    drift : bool
        Keep the mean return; without it the walk is fair.
    seed : int
        The same seed gives the same numbers.
    """

    kind: Kind = "gjr-garch"
    window: int = 1500
    simulations: int = 4000
    drift: bool = True
    seed: int = 0

    @property
    def name(self) -> str:
        """How the model is listed."""
        return self.kind

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Probabilities, shape (targets, levels)."""
        if self.kind not in _SETTINGS:
            raise UnknownName("volatility model", self.kind, _SETTINGS)
        history.need(251, "a volatility model")
        y = history.values[-(self.window + 1) :]
        if (y <= 0).any():
            raise DomainError("a model of log returns needs values above 0")
        count = history.steps_to(targets)
        # In percent: `arch` estimates badly on variances of 1e-4, and its own rescaling (off) would change the unit.
        totals = self._log_returns(100.0 * np.diff(np.log(y)), int(count.max()))[:, count - 1]
        # Every horizon reads its column of the same paths, so chances on different days fit each other too.
        ends = float(history.values[-1]) * np.exp(totals / 100.0)
        rows = []
        for column in ends.T:
            above = len(column) - np.searchsorted(np.sort(column), levels, side="right")
            rows.append((above + 1.0) / (len(column) + 2.0))
        return np.array(rows)

    def _log_returns(self, percent: FloatArray, horizon: int) -> FloatArray:
        """Cumulated log returns in per cent, shape (simulations, horizon)."""
        # the mean is always fitted, so that the past shocks drawn from are centred; without drift it is taken off again
        model = garch_model()(percent, mean="Constant", rescale=False, **_SETTINGS[self.kind])
        fit = model.fit(disp="off", show_warning=False)
        forecast = fit.forecast(
            horizon=horizon,
            method="bootstrap",
            simulations=self.simulations,
            reindex=False,
            random_state=np.random.RandomState(self.seed),
        )
        paths: Any = forecast.simulations.values
        steps = np.asarray(paths[-1], dtype=np.float64)
        return np.cumsum(steps if self.drift else steps - float(fit.params["mu"]), axis=1)
