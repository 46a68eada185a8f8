"""Errors of the forecasting room; all are the caller's to mend.

ForecastingError (UsageError, exit 2)
├── DomainError       empty input, shapes that do not match, a value out of its range
├── TooFewError       too few forecasts, outcomes or observations to fit what was asked
├── UnknownName       no pooling rule, model or setting of that name; the message lists the known ones
├── CalibrationError  a saved calibration cannot be read, or does not fit the data it is applied to
└── NotMonotone       a model gave a higher chance of passing a higher level: a bug in that model
"""

from collections.abc import Iterable

from workbench.errors import UsageError


class ForecastingError(UsageError):
    """Something the forecasting room cannot compute as asked."""


class DomainError(ForecastingError):
    """Empty input, shapes that do not match, or a value out of range."""


class TooFewError(ForecastingError):
    """Too few data to fit what was asked."""


class UnknownName(ForecastingError):
    """A name that is not in the list of known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown {kind} {name!r}; known: {', '.join(known)}")


class CalibrationError(ForecastingError):
    """A saved calibration cannot be read or applied."""


class NotMonotone(ForecastingError):
    """A model's chance of passing a level rises with the level."""
