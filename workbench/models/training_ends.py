"""Look up when a model's training data end.

The exams leave out questions that a model may know, and a run of an earlier cutoff says "hindsight". Nothing else is loaded,
so that a screen may ask this at its start.
"""

import calendar
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from workbench.errors import Option, UsageError


class UnknownTrainingEnd(UsageError):
    """The model is not in the table, or a date cannot be parsed."""


def training_cutoff(model: str, override: str | None = None) -> date | None:
    """Return the last day that may be in a model's training data; None for a model without any.

    Raises `UnknownTrainingEnd`: The table does not have the model, or the date cannot be read.

    >>> training_cutoff("gemini/gemini-3-flash-preview")
    datetime.date(2025, 1, 31)
    >>> training_cutoff("anything", "2024-06-01")
    datetime.date(2024, 6, 1)
    """
    text = override
    if text is None:
        rows = cutoff_table()
        bare = model.rsplit("/", 1)[-1]
        matches = [row for row in rows if fnmatchcase(model, row["match"]) or fnmatchcase(bare, row["match"])]
        if not matches:
            names = ", ".join(row["match"] for row in rows)
            raise UnknownTrainingEnd(
                f"no training cutoff is known for {model!r}; give ",
                Option("model_cutoff", "DATE"),
                f" (known: {names})",
            )
        text = str(matches[0]["cutoff"])
    if text == "never":
        return None
    return date_or_month(text, last=True)


@cache
def cutoff_table() -> list[dict[str, str]]:
    """Load the rows ``match, cutoff, source`` of the packaged table of training cutoffs.

    >>> sorted(cutoff_table()[0])
    ['cutoff', 'match', 'source']
    """
    import yaml

    text = files("workbench.models").joinpath("training_ends.yaml").read_text(encoding="utf-8")
    rows: list[dict[str, str]] = yaml.safe_load(text)
    return rows


def date_or_month(text: str, *, last: bool = False) -> date:
    """Parse ``2025-10-26`` or ``2025-10``: the month's first day, or its last with ``last``.

    Raises `UnknownTrainingEnd`: The text is neither.
    """
    try:
        if len(text) == 7:
            first = date.fromisoformat(f"{text}-01")
            end = calendar.monthrange(first.year, first.month)[1]
            return first.replace(day=end) if last else first
        return date.fromisoformat(text)
    except ValueError as error:
        raise UnknownTrainingEnd(f"{text!r} is neither a date (2025-10-26) nor a month (2025-10)") from error
