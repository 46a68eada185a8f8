"""The forecasts of a method, out of a file that holds trials or published values."""

from collections.abc import Sequence
from typing import Any

from workbench.errors import UsageError
from workbench.science.arrays import FloatArray
from workbench.science.pooling.pool import pool
from workbench.science.tables import Forecasts

Document = dict[str, Any]


def method_names(forecasts: Forecasts, names: Sequence[str] = ()) -> list[str]:
    """The methods to work on: ``names`` if there are any, else all of the file.

    ``METHOD@VARIANT`` names one published variant of a method. A name the file does not have is refused.
    """
    for name in names:
        if name.partition("@")[0] not in forecasts.methods:
            known = ", ".join(forecasts.methods)
            raise UsageError(f"{forecasts.path} has no method {name!r}; it has: {known}")
    return list(names) or list(forecasts.methods)


def raw_forecasts(forecasts: Forecasts, method: str, variant: str = "forecast") -> FloatArray:
    """Trials (n, K) or published forecasts (n,) of a method; ``METHOD@VARIANT`` overrides ``variant``."""
    name, _, other = method.partition("@")
    if forecasts.keyed_by == "trial":
        return forecasts.trials(name)
    return forecasts.variant(name, other or variant)


def pooled_forecasts(
    forecasts: Forecasts, method: str, *, variant: str = "forecast", how: str = "logit-mean"
) -> FloatArray:
    """One forecast per event, shape (n,): the trials pooled, or the published forecasts as they are."""
    raw = raw_forecasts(forecasts, method, variant)
    return raw if raw.ndim == 1 else pool(raw, how)
