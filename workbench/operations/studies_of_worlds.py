"""Studies in worlds whose truth is known, and the tables of paper B beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, columns
from workbench.operations.fields import Count
from workbench.science.tables import read_events, read_forecasts


class Simulate(Operation):
    """Run a study in simulated worlds with known truth, and print every estimate with its interval."""

    places = ("study",)
    short = ()

    study: str = "all"
    """`noise`, `leaves`, depth, crowd, or all."""
    seed: int = 0
    """Seed of the draws."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the studies with their estimates and claims."""
        from workbench.science.simulator.studies import STUDIES, run_study

        names = STUDIES if self.study == "all" else [self.study]
        studies = [run_study(name, seed=self.seed) for name in names]
        return {
            "seed": self.seed,
            "studies": [{**study.to_json(), "summary": study.summary()} for study in studies],
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return two tables for each study, and what it comes to."""
        for study in document["studies"]:
            yield f"{study['name']}: {study['measure']}"
            yield columns(
                study["estimates"], setting="setting", value="value .5f", low="low .5f", high="high .5f"
            )
            yield columns(
                study["claims"], claim="statement", source="source", difference="estimate.value .5f", low="estimate.low .5f",
                high="estimate.high .5f", Holm_p="p_holm .4f", verdict="verdict",
            )  # fmt: skip
            yield from study["summary"]


class PaperTables(Operation):
    """Print Tables 1, 9 and 17 of paper B next to ours, with the differences and their reasons."""

    short = ("events", "published")

    events: Path
    """Events: CSV (gzip too) or parquet."""
    published: Path
    """Published forecasts of the dev methods."""
    trials: Path
    """Trials of the dev methods."""
    resamples: Count = 5000
    """Bootstrap resamples."""
    seed: int = 20261121
    """Seed of the resampling."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return every cell of the tables, and what cannot be had from the released files."""
        from workbench.science.documents import paper_tables_document

        events = read_events(self.events)
        published, trials = (read_forecasts(path, events) for path in (self.published, self.trials))
        return paper_tables_document(events, published, trials, resamples=self.resamples, seed=self.seed)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the cells table by table, and how many agree."""
        cells = document["cells"]
        for number in ("1", "9", "17"):
            yield f"Table {number}"
            yield columns(
                [cell for cell in cells if cell["table"] == number], row="row", column="column", printed="printed .1f",
                note="printed_note", ours="ours .2f", difference="difference +.2f", agrees="agrees", why="why",
            )  # fmt: skip
        comparable = [cell for cell in cells if cell["difference"] is not None]
        yield f"{sum(cell['agrees'] for cell in comparable)} of {len(comparable)} figures agree to the print's rounding."
        yield "Also printed, but not to be had from the released files:"
        yield from (f"  {row['what']}: {row['why']}" for row in document["unreachable"])
