"""Several answers of one model pooled, and the chance that a series lies above a level."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.errors import Option, UsageError
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Table, columns
from workbench.operations.fields import Day, Days, Numbers, Words


class Elicit(Operation):
    """Pool what one model answered when asked in several ways: variants, both directions, repeated votes."""

    answers: Path
    """CSV: event_id, kind (variant, yes, no, vote), value, confidence (votes only, may be empty)."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the pooled answers of each event."""
        from workbench.science.documents import elicit_document
        from workbench.science.tables import read_answers

        return elicit_document(read_answers(self.answers))

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a row for each event."""
        kinds = ["ensemble", "both_directions", "votes", "weighted_votes"]
        yield Table(
            ["event", *kinds],
            [[event, *map(entry.get, kinds)] for event, entry in document["events"].items()],
        )


class Exceed(Operation):
    """Print the probability that the series is above each level on each day, from data before the cutoff only.

    It is the share of the paths of the forecaster that `quantity` and the key-free analyst ask; ``--model`` names another, such as those
    of paper B.
    """

    short = ("series", "cutoff", "on", "above")
    unlisted = ("model",)

    series: Path | None = None
    """CSV (gzip too) or parquet with a date and a value column."""
    cutoff: Day | None = None
    """First day that may not be used."""
    on: Days = []
    """Days asked about, by comma."""
    above: Numbers = []
    """Levels asked about, by comma."""
    model: Words = ["ensemble"]
    """Model, by comma; `--model list` lists them and needs nothing else."""
    date_column: str = "date"
    """Name of the date column."""
    value_column: str = "value"
    """Name of the value column."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the chances, or the models by name."""
        from workbench.forecasts.series.exceedance import exceed_document, model_names
        from workbench.forecasts.series.series_history import History
        from workbench.science.tables import read_series

        if self.model == ["list"]:
            return {"models": model_names()}
        missing = [name for name in ("series", "cutoff", "on", "above") if not getattr(self, name)]
        if missing or self.series is None or self.cutoff is None:
            raise UsageError(
                Option(missing[0]),
                " is missing: --series, --cutoff, --on and --above are needed (`--model list` needs none)",
            )
        days, values = read_series(self.series, self.date_column, self.value_column)
        return exceed_document(
            History.of(days, values),
            cutoff=self.cutoff.isoformat(),
            targets=[day.isoformat() for day in self.on],
            levels=self.above,
            models=self.model,
        )

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a row for each model, day and level."""
        if "models" in document:
            yield Table(["model", "what it is"], [*document["models"].items()])
            return
        last = document["last"]
        yield f"{last['observations']} observations before {self.cutoff}, the last {last['value']:g} on {last['day']}"
        yield columns(document["chances"], model="model", day="day", above="above g", p="p")
