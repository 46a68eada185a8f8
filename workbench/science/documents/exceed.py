"""The document that `exceed` prints."""

from collections.abc import Sequence

import numpy as np

from workbench.science.documents.forecasts import Document
from workbench.science.series.exceedance import exceedance, make_model
from workbench.science.series.history import History


def exceed_document(
    history: History,
    *,
    cutoff: str,
    targets: Sequence[str],
    levels: Sequence[float],
    models: Sequence[str] = ("hybrid",),
) -> Document:
    """Chances that a series lies above each level on each day, from data before the cutoff: what `exceed` prints.

    Parameters
    ----------
    history : History
        May reach past the cutoff: whatever does is not used.
    cutoff : str
        ISO date, the first day that may not be used.
    targets : sequence of str
        ISO dates, none before the cutoff.
    levels : sequence of float
    models : sequence of str
        Keys of `model_names`.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
    >>> history = History.of(days, np.arange(60.0))
    >>> exceed_document(history, cutoff="2020-02-01", targets=["2020-02-03"], levels=[0.0])["last"]
    {'day': '2020-01-31', 'value': 30.0, 'observations': 31}
    """
    chances: list[Document] = []
    for name in models:
        p = exceedance(make_model(name), history, cutoff=cutoff, targets=list(targets), levels=list(levels))
        chances += [
            {"model": name, "day": day, "above": level, "p": float(p[row, column])}
            for row, day in enumerate(targets)
            for column, level in enumerate(levels)
        ]
    seen = history.before(np.datetime64(cutoff, "D"))
    last = {"day": str(seen.days[-1]), "value": float(seen.values[-1]), "observations": len(seen)}
    return {"cutoff": cutoff, "last": last, "chances": chances}
