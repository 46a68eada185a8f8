"""Errors of the evaluation room; all are the caller's to mend.

EvaluationError (UsageError, exit 2)
├── ScoreDomainError   empty input, shapes that do not match, a value out of its range
└── TableError         a file that cannot be used; one line with file, row and column
"""

from workbench.errors import UsageError


class EvaluationError(UsageError):
    """Something the evaluation room cannot compute as asked."""


class ScoreDomainError(EvaluationError):
    """Empty input, shapes that do not match, or a value out of range."""


class TableError(EvaluationError):
    """A table that cannot be used: which file, which row, which column, and what to do."""

    def __init__(
        self, file: object, problem: str, *, row: int | None = None, column: str | None = None
    ) -> None:
        place = "".join(
            [f", row {row}" if row is not None else "", f", column {column!r}" if column is not None else ""]
        )
        super().__init__(f"{file}{place}: {problem}")
