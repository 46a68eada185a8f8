"""Random draws of a rule's coefficients, for ``Rule.sample``."""

from __future__ import annotations

from typing import Any


def beta_draws(mean: float, size: float, rows: int, draws: Any) -> Any:
    """Draw one value per row: Beta with this mean, worth ``size`` observations; a certain 0 or 1 stays as it is."""
    import numpy as np

    if not 0.0 < mean < 1.0:
        return np.full(rows, mean)
    return draws.beta(mean * size, (1 - mean) * size, rows)
