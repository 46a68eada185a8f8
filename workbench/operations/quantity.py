"""A forecast of a series' value instead of a claim's probability."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from proxies.asof.clock import Cutoff
from workbench.errors import Option, UsageError
from workbench.formatting import quoted
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Drawing, Table
from workbench.operations.fields import CutoffText, Day

_PICTURES = (".png", ".svg")


class Quantity(Operation):
    """Forecast a series: quantiles of its value on a day, or of its highs and lows until then.

    The first line says how far to trust it: how the same forecast did at past cutoffs. Once the day has come, CRPS (lower is better, in
    the unit of the series) and PIT (where in the forecast the value lay, from 0 to 1) follow.
    """

    places = ("series",)
    short = ("on", "by", "cutoff")
    unlisted = ("plot",)
    person = ("plot",)

    series: str
    """A series by name (S&P 500, VIX, Bitcoin), by reference (yahoo:AAPL, fred:DGS10, own:NAME), or a CSV with date and value."""
    on: Day | None = None
    """Forecast its value on this day."""
    by: Day | None = None
    """Forecast its highest and lowest value until this day."""
    cutoff: CutoffText = "now"
    past: Annotated[int | None, Field(ge=0)] = None
    """Past cutoffs of its record; 0 for none."""
    plot: Path | None = None
    """Write the fan chart (.png or .svg)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.on is None) == (self.by is None):
            raise UsageError(
                "name one day: ", Option("on", "DATE"), " for the value on it, ", Option("by", "DATE"), " for the highest and the lowest until then"
            )  # fmt: skip
        if self.plot is not None and self.plot.suffix.lower() not in _PICTURES:
            raise UsageError(f"a plot is written as .png or .svg, not {self.plot.name!r:.60}")
        return self

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the quantiles with their fan, what came, and the record of past cutoffs (`quantity_document`)."""
        # half a second of numerics, which those that only list requests do without
        from workbench.backtests.series_source import read_quantity
        from workbench.forecasts.ensemble import Ensemble
        from workbench.questions.series.series_quantity import MOST, quantity_document

        day = self.on or self.by
        assert day is not None, "one of the two is there"
        quantity, later = await read_quantity(
            self.series, day, Cutoff.parse(self.cutoff), home.broker(), extremes=self.by is not None
        )
        most = MOST if self.past is None else self.past
        document = {
            "cutoff": self.cutoff,
            **quantity_document(quantity, Ensemble(), later=later, most=most),
        }
        if self.plot is not None:
            from workbench.output_files import write_output
            from workbench.science.plots import figure_bytes
            from workbench.views.fan_chart import fan_figure

            write_output(
                self.plot, figure_bytes(fan_figure(document), self.plot.suffix.lower().removeprefix("."))
            )
        return document

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the line, the fan, the quantiles, and levels with one chance in so many."""
        from workbench.views.fan_chart import fan_lines, fan_picture, places

        def level(value: float) -> str:
            return quoted(value, places(document))

        yield document["line"]
        yield Drawing(fan_lines(document), fan_picture(document))
        shares = next(iter(document["quantiles"].values())).keys()
        yield Table(
            ["", *(f"{float(share):.0%}" for share in shares)],
            [[name, *map(level, levels.values())] for name, levels in document["quantiles"].items()],
        )
        yield Table(
            ["1 chance in", "above", "below"],
            [[row["one_in"], level(row["above"]), level(row["below"])] for row in document["one_in"]],
        )
        for name, score in (document["outcome"] or {}).items():
            yield f"{name} {level(score['value'])} came: CRPS {level(score['crps'])}, PIT {score['pit']:.2f}"
