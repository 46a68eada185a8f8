"""Claims at past cutoffs, forecast with what was known there, and how that compares with taking the base rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from workbench.errors import UsageError
from workbench.formatting import counted, signed_interval
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, columns
from workbench.operations.fields import Count, Day
from workbench.operations.forecast_files import write_csv
from workbench.requests import Says


class Backtest(Operation):
    """Forecast claims at past cutoffs with what was known then, and score them against the base rate.

    Stopped or killed, the same command goes on where it was. Differences are in Brier Index points, above 0 where the forecast was
    better; intervals are over clusters of overlapping windows, verdicts after Holm's correction for the number of families.
    """

    places = ("claims",)
    short = ("first", "last", "every", "horizon")
    unlisted = ("forecaster", "csv", "plot")

    claims: Annotated[
        str,
        Says(
            text="A claim, or a file with one a line (CSV: claim, family, horizon). {end}, {start}, {last}, {median} are filled in at each cutoff.",
            form="CLAIM|FILE",
        ),
    ]
    first: Annotated[Day, Says(text="First cutoff.", word="from")]
    last: Annotated[Day | None, Says(text="Last cutoff; the end of the data without it.", word="to")] = None
    every: str = "quarter"
    """week, month or quarter."""
    horizon: str = ""
    """From cutoff to the claim's last day: 26d, 1w, 3m, 1y; the claim's own without it."""
    forecaster: str = "tree"
    """tree, or paths: the answer of the key-free tree, which is the forecast of its series' paths."""
    csv: Path | None = None
    """Write every forecast to this CSV."""
    plot: Path | None = None
    """Write the reliability plot (.png or .svg)."""
    processes: Count | None = None
    """Processes at once; a core each, two at most, without it."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the record of every family and of all, with a row for each forecast."""
        from workbench.backtests.claim_backtest import (
            COLUMNS,
            BacktestPlan,
            ForecastFile,
            backtest_document,
            backtest_rows,
            run_backtest,
        )
        from workbench.backtests.claim_templates import Span, read_templates
        from workbench.resources import cores

        if self.plot is not None and self.plot.suffix.lower() not in (".png", ".svg"):
            raise UsageError(f"a plot is written as .png or .svg, not {self.plot.name!r:.60}")
        plan = BacktestPlan(
            templates=tuple(read_templates(self.claims, Span.parse(self.horizon) if self.horizon else None)),
            first=self.first,
            every=self.every,
            forecaster=self.forecaster,
            **({"last": self.last} if self.last else {}),
        )
        stored = ForecastFile(home.folder / "backtests" / plan.key())
        with home.progress("cutoffs") as progress:
            rows = run_backtest(plan, stored, processes=self.processes or min(2, cores()), progress=progress)
        if self.csv is not None:
            write_csv(self.csv, COLUMNS, backtest_rows(rows))
        scored = [row.forecast for row in rows if row.forecast is not None]
        if self.plot is not None and scored:
            self._draw(scored, self.plot)
        return backtest_document(plan, rows)

    def _draw(self, scored: list[Any], file: Path) -> None:
        from workbench.backtests.claim_record import past_table
        from workbench.output_files import write_output
        from workbench.science.comparing.clusters import event_clusters
        from workbench.science.documents.record_documents import BASE_RATE
        from workbench.science.plots import figure_bytes, reliability_plot

        table = past_table(scored)
        clusters = event_clusters(table.events())
        said = {self.forecaster: table.forecast, "base rate": table.rivals[BASE_RATE]}
        figure = reliability_plot({name: (p, table.outcome, clusters) for name, p in said.items()}, bins=10)
        write_output(file, figure_bytes(figure, file.suffix.lower().removeprefix(".")))

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return how far to trust the forecasts, and a row for each family."""
        overall, families = document["overall"], document["families"]
        if overall is None:
            yield "no claim could be asked at any of these cutoffs"
        else:
            yield overall["line"]
            listed = [*families.items(), *([("all", overall)] if len(families) > 1 else [])]
            yield columns(
                [_family(name, record) for name, record in listed],
                claims="name", n="n", clusters="clusters", came_true="came_true .2f",
                **{document["forecaster"]: "brier_index .1f"}, base_rate="base.brier_index .1f", walk="walk .1f",
                against_base_rate="ends", p_holm="base.p_holm .3f", verdict="verdict",
            )  # fmt: skip
            if len(families) > 1:
                yield f"family: {len(families)} kinds of claims looked at, p after Holm's correction for them; `all` is one look more"
        for reason, count in document["left_out"].items():
            yield Remark(f"skipped {counted(count, 'time')}: {reason}")


def _family(name: str, record: Mapping[str, Any]) -> dict[str, Any]:
    against = record["against"]["base rate"]
    return {
        **record,
        "name": name,
        "base": against,
        "walk": record["against"]["driftless walk"]["brier_index"],
        "ends": signed_interval(against["difference"], against["interval"]),
        "verdict": against["verdict"] or "no verdict",
    }
