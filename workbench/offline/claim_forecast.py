"""One claim at a cutoff: its base rate, its past outcomes week by week, and the forecast of its series' paths."""

from collections.abc import Mapping
from datetime import date

from workbench.forecasts.leaf_forecast import leaf_record
from workbench.forecasts.past_windows import P_MAX, P_MIN
from workbench.offline.report_records import OutcomeRecord, record_of
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, appraise, settle
from workbench.questions.errors import ClaimRefused, LookAhead
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.series_leaf import RECORD
from workbench.science.errors import ScienceError


def refuse_later_rows(rows: Mapping[str, Rows], last_day: date) -> None:
    """Refuse rows of after a cutoff: they would choose and weigh drivers by hindsight; raises ``LookAhead``."""
    for name, part in rows.items():
        if part and str(part[-1]["date"]) > last_day.isoformat():
            raise LookAhead(f"{name} has a value of {part[-1]['date']} at a cutoff that ends on {last_day}")


def past_outcomes(
    claim: Claim, rows: Mapping[str, Rows], last_day: date, *, statement: str = ""
) -> OutcomeRecord:
    """Return a claim's past outcomes at a cutoff, with its base rate as p; no path is drawn.

    Raises `ClaimRefused`: The claim cannot be decided there. Raises `LookAhead`: A row is of after the cutoff.
    """
    refuse_later_rows(rows, last_day)
    claim = settle(claim, rows)
    windows = appraise(claim, rows, last_day)
    p = round(min(max(windows.base_rate, P_MIN), P_MAX), 6)
    head = {"record": RECORD, "kind": "inner", "statement": statement or claim.statement, "p": p}
    return record_of({**head, "models": {}, **windows.record()})


def forecast_claim(
    claim: Claim, rows: Mapping[str, Rows], last_day: date, paths: ClaimPaths, *, statement: str = ""
) -> OutcomeRecord:
    """Return the same with the forecast as p, each model's probability, and the error; raises as `past_outcomes`."""
    record = past_outcomes(claim, rows, last_day, statement=statement)
    try:
        forecast = leaf_record(paths.forecast(claim, rows), None, None)
    except ScienceError as problem:
        raise ClaimRefused(f"{problem}: choose a later cutoff or a nearer date") from None
    figures = {name: forecast[name] for name in ("p", "models", "weights", "error")}
    return record_of({**record.data, **figures})
