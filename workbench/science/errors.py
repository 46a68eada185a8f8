"""Errors of the science room; all are the caller's to mend.

ScienceError (UsageError, exit 2)
├── DomainError       empty input, shapes that do not match, a value out of its range
├── TooFewError       too few forecasts, outcomes or observations to fit what was asked
├── UnknownName       no pooling rule, model or setting of that name; the message lists the known ones
├── CalibrationError  a saved calibration cannot be read, or does not fit the data it is applied to
├── NotMonotone       a model gave a higher chance of passing a higher level: a bug in that model
└── TableError        a file that cannot be used; one line with file, row and column
"""

from collections.abc import Iterable

from workbench.errors import Option, UsageError


class ScienceError(UsageError):
    """Raised for anything the science room cannot compute."""


class DomainError(ScienceError):
    """Empty input, shapes that do not match, or a value out of range."""


class TooFewError(ScienceError):
    """Too few data for the fit."""


class UnknownName(ScienceError):
    """A name that is not in the list of known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown {kind} {name!r}; known: {', '.join(known)}")


class CalibrationError(ScienceError):
    """A saved calibration cannot be read or applied."""


class NotMonotone(ScienceError):
    """A model's chance of passing a level rises with the level."""


class TableError(ScienceError):
    """A table that cannot be used: which file, which row, which column, and what to do."""

    def __init__(
        self, file: object, *problem: str | Option, row: int | None = None, column: str | None = None
    ) -> None:
        place = "".join(
            [f", row {row}" if row is not None else "", f", column {column!r}" if column is not None else ""]
        )
        super().__init__(f"{file}{place}: ", *problem)
