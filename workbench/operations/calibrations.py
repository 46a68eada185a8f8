"""A calibration: learned from resolved forecasts, saved, applied to new ones; and base rates that knew no later outcome."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from workbench.errors import UsageError
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Csv, Remark
from workbench.operations.fields import Words
from workbench.operations.forecast_files import ForecastFiles, write_csv
from workbench.requests import Says
from workbench.science.tables import read_events


class FitCalibration(ForecastFiles):
    """Fit a calibration on every resolved forecast of one method, and save it where it helps questions left out of the fit."""

    short = ("events", "forecasts", "output", "method")

    output: Annotated[Path, Says(text="Where the calibration goes (JSON).", form="FILE", short="o")]
    pool: str = "logit-mean"
    """How trials are pooled."""
    by: Words = []
    """Offsets along: source, topic, horizon, or any column."""
    penalty: Annotated[float, Says(text="Penalty on the offsets.", word="lambda")] = 1.0
    minimum: Annotated[int | None, Field(ge=4)] = None
    """Fewer resolved questions are refused."""
    threshold: bool = False
    """Also fit the cut for Yes; the events must be a validation set."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Save the calibration and return how it does on questions left out of the fit."""
        from workbench.science.calibrating.calibration import save_calibration
        from workbench.science.documents import calibration_document, method_names
        from workbench.science.documents.calibration_documents import ENOUGH

        events, forecasts = self.tables(unresolved=True)
        names = method_names(forecasts, self.method)
        if len(names) != 1:
            raise UsageError(
                f"a calibration belongs to one method: choose with --method among {', '.join(names)}"
            )
        model, report = calibration_document(
            events,
            forecasts,
            names[0],
            variant=self.variant,
            how=self.pool,
            factors=self.by,
            penalty=self.penalty,
            minimum=ENOUGH if self.minimum is None else self.minimum,
            threshold=self.threshold,
        )
        save_calibration(model, self.output)
        return report


class ApplyCalibration(ForecastFiles):
    """Write calibrated forecasts, resolved or not, as variant `calibrated`."""

    places = ("model",)
    short = ("events", "forecasts", "output", "method")

    model: Path
    """A calibration written by `calibrate fit`."""
    output: Annotated[
        Path | None,
        Says(text="Forecasts CSV (gz by its name); stdout when not given.", form="FILE", short="o"),
    ] = None
    pool: str = "logit-mean"
    """How trials are pooled."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the forecasts; ``unseen`` holds the groups that the calibration did not know, by factor."""
        from workbench.science.calibrating.calibration import load_calibration
        from workbench.science.documents import calibrated_document

        model = load_calibration(self.model)
        events, forecasts = self.tables(unresolved=True)
        document = calibrated_document(
            model, events, forecasts, methods=self.method, variant=self.variant, how=self.pool
        )
        if self.output is not None:
            write_csv(self.output, *_rows(document))
        return document

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the forecasts as CSV where no file holds them, and what was not seen."""
        for factor, groups in document["unseen"].items():
            yield Remark(
                f"not seen when the calibration was learned, so without an offset: {factor} {', '.join(groups)}"
            )
        if self.output is None:
            yield Csv(*_rows(document))


def _rows(document: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    rows = document["forecasts"]
    header = ["method", "event_id", "variant", "p", "p_raw"]
    return [*header, *(["yes"] if rows and len(rows[0]) > len(header) else [])], [
        [*row.values()] for row in rows
    ]


class Priors(Operation):
    """Write the events with `prior_temporal`: how often earlier questions of the same group came true.

    It knows no later outcome, so back-tests may shrink to it (`score --pool shrink-prior`), show it to an agent (`prior` of an arm) or
    score it (`score --set baseline=prior_temporal`).
    """

    places = ("events", "output")
    short = ()

    events: Path
    """Events: CSV (gzip too) or parquet."""
    output: Path
    """Where the events go with their priors (CSV, gz by its name)."""
    by: Words = ["source"]
    """Columns whose values make a group, by comma."""
    pseudo: Annotated[float, Field(ge=0)] = 1.0
    """Imagined questions on either side: 0 leaves a first question empty, as paper B."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Write the file and return the groups with their shares of Yes."""
        import numpy as np

        from workbench.science.documents import priors_document

        events = read_events(self.events, unresolved=True)
        prior, document = priors_document(events, self.by, pseudo=self.pseudo)
        frame = events.frame.assign(
            prior_temporal=["" if np.isnan(p) else repr(p) for p in prior.p.tolist()],
            prior_temporal_n=[str(n) for n in prior.pool.tolist()],
        )
        cells = frame.astype(object).where(frame.notna(), "").astype(str)
        write_csv(self.output, list(cells.columns), cells.to_numpy().tolist())
        return document
