"""Forecasters without a model: a constant, the crowd or a prior from the columns of an events file, and how often such events came before."""

from collections.abc import Sequence

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.calibrating.priors import TemporalPrior, temporal_prior
from workbench.science.errors import DomainError
from workbench.science.table_cells import StrArray
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


def group_labels(events: Events, columns: Sequence[str]) -> StrArray:
    """The group of each event: its values in these columns, joined by a slash.

    >>> group_labels(Events.of([1], source="acled", subtype="increase"), ["source", "subtype"]).tolist()
    ['acled/increase']
    """
    labels = [events.factor(column) for column in columns]
    return np.array(
        ["/".join(parts) for parts in zip(*(each.tolist() for each in labels), strict=True)], dtype=str
    )


def event_priors(events: Events, columns: Sequence[str], *, pseudo: float = 1.0) -> TemporalPrior:
    """`temporal_prior` of a table of events, some of which may not have resolved; those count for none.

    ``pseudo`` is the number of imagined questions on either side: with 1 a first question gets 0.5, with 0 the paper's ``nan``.

    Raises `TableError`: No column ``forecast_due_date`` or ``resolution_date``. Raises `DomainError`: A day that cannot be read.

    >>> events = Events.of([1, 0], question=["a", "b"], forecast_due_date=["2025-01-01", "2025-03-01"],
    ...                    resolution_date=["2025-02-01", "2025-04-01"])
    >>> event_priors(events, ["source"]).p.round(4).tolist()
    [0.5, 0.6667]
    """
    try:
        due, resolved = (
            np.array(events.text(column), dtype="datetime64[D]")
            for column in ("forecast_due_date", "resolution_date")
        )
    except ValueError as error:
        raise DomainError(f"a day of {events.path} cannot be read: {error}") from None
    waiting = ~np.isfinite(events.outcome) | np.isnat(resolved)
    return temporal_prior(
        group_labels(events, columns),
        events.question,
        due,
        np.where(waiting, np.datetime64("9999-12-31"), resolved),
        np.where(waiting, 0.0, events.outcome),
        pseudo_yes=pseudo,
        pseudo_no=pseudo,
    )
