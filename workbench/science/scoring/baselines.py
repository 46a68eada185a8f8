"""Forecasters without a model: a constant, the crowd, a prior, read from the columns of an events file."""

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError
from workbench.science.tables import Events


def baseline_forecast(events: Events, spec: str) -> FloatArray:
    """Forecasts of a baseline, shape (n,); ``nan`` where its column is empty.

    ``crowd+prior_static`` is the "crowd+emp" baseline of BLF's Table 1; its prior was made with hindsight.

    Parameters
    ----------
    events : Events
    spec : str
        A number (``0.5``), a column (``crowd``; ``outcome`` is the perfect forecaster), or two columns
        ``MARKET+OTHER``: the first on market events, the second on all others (``crowd+prior_static``).

    Raises
    ------
    DomainError
        A number outside [0, 1] or an empty part.
    TableError
        No such column, or a value that is no probability.

    Examples
    --------
    >>> events = Events.of([1, 0], kind=["market", "dataset"], crowd=[0.8, float("nan")], prior_temporal=0.3)
    >>> baseline_forecast(events, "crowd+prior_temporal").tolist()
    [0.8, 0.3]
    """
    try:
        constant = float(spec)
    except ValueError:
        constant = None
    if constant is not None:
        if not 0.0 <= constant <= 1.0:
            raise DomainError(f"baseline {spec} is not a probability in [0, 1]")
        return np.full(len(events), constant)
    first, plus, second = spec.partition("+")
    if not first or (plus and not second):
        raise DomainError(f"baseline {spec!r} is neither a number, a column, nor MARKET+OTHER")
    p = events.probability(first)
    return np.where(events.kind == "market", p, events.probability(second)) if plus else p
