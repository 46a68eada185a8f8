"""Run a walk-forward back-test: claims at past cutoffs, one after another, each forecast from the rows known there; resumable."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import orjson

from proxies.atomic import open_private, private_folder
from workbench.backtests.claim_record import known_rows, open_paths, past_table
from workbench.backtests.claim_templates import ClaimTemplate, Span, series_of_templates
from workbench.backtests.kept_records import code_hash
from workbench.backtests.known_rows import KnownRows
from workbench.backtests.parallel import run_jobs
from workbench.backtests.past_claims import months_later
from workbench.backtests.walk_forward import (
    OpenForecaster,
    PastForecast,
    past_forecast,
    refuse_later_knowledge,
)
from workbench.errors import Option, UsageError
from workbench.questions.errors import ClaimRefused
from workbench.questions.series.embedded_series import DATA_END
from workbench.questions.series.series_registry import source_of_rows
from workbench.science.documents.record_documents import record_document, record_documents

#: Forecasters by name: the root of the key-free tree is the forecast of the paths.
FORECASTERS: Mapping[str, OpenForecaster] = {"tree": open_paths, "paths": open_paths}
_EVERY = {"week": Span(days=7), "month": Span(months=1), "quarter": Span(months=3)}
#: Header of the table of all forecasts.
COLUMNS = ("family", "statement", "series", "cutoff", "end", "p", "base_rate", "driftless_walk", "outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestPlan:
    """The claims of a back-test, and its cutoffs."""

    templates: tuple[ClaimTemplate, ...]
    #: first, last: Of the cutoffs, ``last`` included.
    first: date
    last: date = DATA_END
    every: str = "quarter"
    #: A key of ``FORECASTERS``.
    forecaster: str = "tree"

    def __post_init__(self) -> None:
        if self.every not in _EVERY:
            raise UsageError(Option("every"), f" is one of {', '.join(_EVERY)}, not {self.every!r:.40}")
        if self.forecaster not in FORECASTERS:
            raise UsageError(
                Option("forecaster"), f" is one of {', '.join(FORECASTERS)}, not {self.forecaster!r:.40}"
            )
        if self.first > self.last:
            raise UsageError(f"the cutoffs would begin on {self.first} and end on {self.last}")

    def cutoffs(self) -> list[date]:
        """Return the knowledge cutoffs, oldest first: each sees the end of the day before."""
        step, days = _EVERY[self.every], []
        for count in range(10_000):
            day = months_later(self.first, step.months * count) + timedelta(days=step.days * count)
            if day > self.last:
                break
            days.append(day)
        return days

    def key(self) -> str:
        """Hash all inputs of the forecasts, the code among them: work done under it need not be done again."""
        inputs = {**asdict(self), "code": code_hash()}
        return hashlib.sha256(orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestJob:
    """All claims at one cutoff, for a process that reads embedded series itself; others come as ``known``: it has no keys."""

    cutoff: date
    templates: tuple[ClaimTemplate, ...]
    forecaster: str
    known: KnownRows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedClaim:
    """One claim at one cutoff: its forecast, or why there is none."""

    family: str
    text: str
    cutoff: str
    forecast: PastForecast | None = None
    reason: str = ""


def _rows_of_all(templates: Sequence[ClaimTemplate]) -> KnownRows:
    # Also the outcomes: all that the embedded data hold.
    return known_rows(series_of_templates(list(templates)), "now", None)


def perform(job: BacktestJob) -> list[AskedClaim]:
    """Forecast each claim of a job."""
    known = job.known or _rows_of_all(job.templates)
    forecaster = FORECASTERS[job.forecaster](known)
    last_day = job.cutoff - timedelta(days=1)
    results = []
    for template in job.templates:
        forecast, reason = None, ""
        try:
            claim = template.filled(last_day, known.as_of(last_day))
            forecast = past_forecast(claim, known, last_day, forecaster)
        except ClaimRefused as problem:
            reason = str(problem)
        results.append(
            AskedClaim(
                family=template.family,
                text=template.text,
                cutoff=job.cutoff.isoformat(),
                forecast=forecast,
                reason=reason,
            )
        )
    return results


class ForecastFile:
    """The forecasts of a back-test so far: a file with a line per claim and cutoff, so that a killed one goes on."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "forecasts.jsonl"

    def read(self) -> list[AskedClaim]:
        """Return the stored claims; half a line, of a kill in the middle of a write, is skipped."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        stored = []
        for line in lines:
            try:
                row = orjson.loads(line)
                forecast = None if row["forecast"] is None else PastForecast(**row["forecast"])
                stored.append(AskedClaim(**{**row, "forecast": forecast}))
            except (ValueError, TypeError, KeyError):  # it is made anew
                continue
        return stored

    def add(self, rows: Sequence[AskedClaim]) -> None:
        """Append rows in one write."""
        private_folder(self.path.parent)
        # The line end comes first: behind half a line of a kill the next whole one begins anew.
        with open(self.path, "ab", opener=open_private) as file:
            file.write(b"".join(b"\n" + orjson.dumps(asdict(row)) for row in rows))
            file.flush()


def run_backtest(
    plan: BacktestPlan,
    stored: ForecastFile,
    *,
    processes: int = 1,
    progress: Callable[[int, int], None] = lambda done, count: None,
) -> list[AskedClaim]:
    """Return every claim at every cutoff, the oldest first; claims in ``stored`` are not forecast again.

    Raises `LookAhead`: The forecaster rests on what became known after its cutoff.
    """
    cutoffs = plan.cutoffs()
    done = {(row.text, row.family, row.cutoff): row for row in stored.read()}
    jobs = []
    for cutoff in cutoffs:
        due = tuple(
            template
            for template in plan.templates
            if (template.text, template.family, cutoff.isoformat()) not in done
        )
        if due:
            jobs.append(BacktestJob(cutoff=cutoff, templates=due, forecaster=plan.forecaster))
    if jobs:
        known = _rows_of_all(plan.templates)
        _check_one(plan, known)
        if any(source_of_rows(name).source != "embedded" for name in known.series):
            jobs = [replace(job, known=known) for job in jobs]
    finished = len(cutoffs) - len(jobs)
    progress(finished, len(cutoffs))
    for rows in run_jobs(perform, jobs, processes=processes):
        stored.add(rows)
        done |= {(row.text, row.family, row.cutoff): row for row in rows}
        finished += 1
        progress(finished, len(cutoffs))
    order = {(template.text, template.family): place for place, template in enumerate(plan.templates)}
    wanted = {cutoff.isoformat() for cutoff in cutoffs}
    rows = [row for row in done.values() if row.cutoff in wanted and (row.text, row.family) in order]
    return sorted(rows, key=lambda row: (row.cutoff, order[row.text, row.family]))


def _check_one(plan: BacktestPlan, known: KnownRows) -> None:
    cutoffs = plan.cutoffs()
    last_day = cutoffs[len(cutoffs) // 2] - timedelta(days=1)
    for template in plan.templates:
        try:
            claim = template.filled(last_day, known.as_of(last_day))
            refuse_later_knowledge(FORECASTERS[plan.forecaster], known, claim, last_day)
        except ClaimRefused:
            continue  # as it will be in its job, with the reason
        return


def backtest_document(plan: BacktestPlan, rows: Sequence[AskedClaim]) -> dict[str, Any]:
    """Return the results of a back-test: `record_document` over all, and of each family after Holm's correction for their number."""
    families: dict[str, list[PastForecast]] = {}
    for row in rows:
        if row.forecast is not None:
            families.setdefault(row.family, []).append(row.forecast)
    scored = [forecast for part in families.values() for forecast in part]
    cutoffs = plan.cutoffs()
    return {
        "claims": [template.text for template in plan.templates],
        "first": cutoffs[0].isoformat(),
        "last": cutoffs[-1].isoformat(),
        "every": plan.every,
        "cutoffs": len(cutoffs),
        "forecaster": plan.forecaster,
        "key": plan.key(),
        "overall": record_document(past_table(scored)) if scored else None,
        "families": record_documents({name: past_table(part) for name, part in families.items()}),
        "left_out": dict(Counter(row.reason.partition(":")[0] for row in rows if row.forecast is None)),
    }


def backtest_rows(rows: Sequence[AskedClaim]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table of all forecasts, under ``COLUMNS``."""
    for row in rows:
        if (forecast := row.forecast) is not None:
            yield (
                row.family,
                forecast.statement,
                forecast.series,
                row.cutoff,
                forecast.end,
                forecast.p,
                forecast.base_rate,
                forecast.walk,
                forecast.outcome,
            )
