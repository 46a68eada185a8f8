"""The record beside an answer: the forecast of its claim by the same code at up to 120 past cutoffs, from what was known at each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from workbench.backtests.known_rows import KnownRows, read_known_rows
from workbench.backtests.parallel import run_jobs
from workbench.backtests.past_claims import MOST, earlier_days, moved_claim
from workbench.backtests.walk_forward import (
    Forecast,
    OpenForecaster,
    PastForecast,
    past_forecast,
    refuse_later_knowledge,
)
from workbench.blocking import run_blocking
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, base_rate, check, observed
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.series_registry import source_of_rows
from workbench.science.documents.record_documents import BASE_RATE, WALK, PastTable, record_document


class PathsForecaster:
    """Forecasts a claim as the share of the ensemble's paths on which it comes true: the root of the key-free tree."""

    name = "key-free forecast"

    def __init__(self) -> None:
        # The members' forecasts at one cutoff serve the next.
        self.paths = ClaimPaths()

    def forecast(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> Forecast:
        """Return the forecast; see `ClaimForecaster`."""
        return Forecast(self.paths.chance(claim, rows), base_rate(claim, rows, last_day))


def open_paths(known: KnownRows) -> PathsForecaster:
    """Return the ensemble's forecaster; it needs only the rows of each cutoff."""
    return PathsForecaster()


def past_table(rows: Sequence[PastForecast]) -> PastTable:
    """Return past forecasts as the table of a record."""

    def numbers(name: str) -> Any:
        return np.array([getattr(row, name) for row in rows], dtype=np.float64)

    def words(name: str) -> Any:
        return np.array([getattr(row, name) for row in rows], dtype=str)

    return PastTable(
        forecast=numbers("p"),
        outcome=numbers("outcome"),
        rivals={BASE_RATE: numbers("base_rate"), WALK: numbers("walk")},
        series=words("series"),
        first_day=words("last_day"),
        last_day=words("end"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordJob:
    """Some past cutoffs of one claim, for a process that reads embedded series itself; others come as ``known``.

    Such a process has no keys, and a series is asked of its source once.
    """

    claim: Claim
    cutoff: str
    days: tuple[date, ...]
    open_forecaster: OpenForecaster
    root: Path | None
    known: KnownRows | None = None


@lru_cache(maxsize=8)
def known_rows(names: tuple[str, ...], until: str, root: Path | None) -> KnownRows:
    """Return `read_known_rows`, once a process."""
    return run_blocking(read_known_rows(names, Cutoff.parse(until), root=root))


def forecast_days(job: RecordJob) -> list[PastForecast | str]:
    """Return the past forecast of each day of a job, or the reason why there is none."""
    claim, last_day = job.claim, Cutoff.parse(job.cutoff).last_moment_day
    known = job.known or known_rows(claim.sources, job.cutoff, job.root)
    forecaster, now = job.open_forecaster(known), known.as_of(last_day)
    results: list[PastForecast | str] = []
    for day in job.days:
        try:
            moved = moved_claim(claim, last_day, day, now, known.as_of(day))
            results.append(past_forecast(moved, known, day, forecaster))
        except ClaimRefused as problem:
            results.append(str(problem).partition(":")[0])
    return results


def claim_record(
    statement: str,
    cutoff: Cutoff,
    *,
    open_forecaster: OpenForecaster = open_paths,
    most: int = MOST,
    root: Path | None = None,
    processes: int = 1,
) -> dict[str, Any]:
    """Forecast a claim at a cutoff, and score the same forecast at cutoffs before it.

    Nothing that became known after the cutoff is read: outcomes of past windows had come in by then.

    Raises `ClaimRefused`: The claim is none of the grammar, or cannot be asked at the cutoff. Raises `LookAhead`: A past forecast would
    rest on what became known after it.
    """
    claim = read_claim(statement).going_on()
    last_day = cutoff.last_moment_day
    check(claim, last_day)
    known = known_rows(claim.sources, cutoff.text, root)
    now = known.as_of(last_day)
    claim = observed(claim, now)
    forecaster = open_forecaster(known)
    today = forecaster.forecast(claim, now, last_day)
    days = earlier_days(
        claim,
        last_day,
        known.first_day(claim.sources),
        archive=known.first_known(claim.sources),
        most=most,
    )
    if days:
        # One cutoff, in the middle: a forecaster that looks ahead does so at every one.
        middle = days[len(days) // 2]
        moved = moved_claim(claim, last_day, middle, now, known.as_of(middle))
        refuse_later_knowledge(open_forecaster, known, moved, middle)
    size = max(1, len(days) // (6 * processes))
    jobs = [
        RecordJob(
            claim=claim,
            cutoff=cutoff.text,
            days=tuple(part),
            open_forecaster=open_forecaster,
            root=root,
            known=None if all(source_of_rows(name).source == "embedded" for name in claim.sources) else known,
        )
        for part in (days[place : place + size] for place in range(0, len(days), size))
    ]
    results: list[PastForecast | str] = []
    for part in run_jobs(forecast_days, jobs, processes=processes, gentle=True):
        results += part
    rows = sorted(
        (result for result in results if isinstance(result, PastForecast)), key=lambda row: row.last_day
    )
    record = record_document(past_table(rows)) if rows else None
    return {
        "claim": claim.statement,
        "cutoff": cutoff.text,
        "forecaster": forecaster.name,
        "p": today.p,
        "base_rate": today.base_rate,
        "record": record,
        "line": "There is no past date to judge this method by. Use the base rate."
        if record is None
        else record["line"],
        "left_out": dict(Counter(result for result in results if isinstance(result, str))),
        "rows": [asdict(row) for row in rows],
    }
