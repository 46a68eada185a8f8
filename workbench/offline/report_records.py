"""The one JSON line that a notebook prints and a report carries; later stages compute from it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.questions.series.series_leaf import RECORD

_BEGIN = re.compile(r'\{"record": ?"' + re.escape(RECORD) + '"')


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecord:
    """A proposition's probability and its past outcomes, as a notebook printed them; weights are estimated from these.

    ``outcomes`` are 1, 0 or -1 (unknown) for the weekly windows whose as-of days run from ``weeks_from`` in steps
    of seven days. ``kind`` is ``leaf``, ``reference`` or ``inner``. ``data`` is the whole line, read.
    """

    kind: str
    statement: str
    p: float
    base_rate: float
    horizon_days: int
    effective_windows: float
    weeks_from: date
    outcomes: npt.NDArray[np.int64]
    data: Mapping[str, Any]

    @property
    def forecast(self) -> float:
        """The p before anybody changed a driver below it; of a leaf, its p."""
        return float(self.data.get("forecast", self.p))


def read_records(text: str) -> list[OutcomeRecord]:
    """Return every record in a text, in order; a line that is cut off or altered is left out."""
    records = []
    for match in _BEGIN.finditer(text):
        try:
            data, _ = json.JSONDecoder().raw_decode(text, match.start())
            records.append(record_of(data))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # half a line is no record; the caller says that there is none
    return records


def record_of(data: Mapping[str, Any]) -> OutcomeRecord:
    """Make a record from a line's data; raises ValueError, KeyError or TypeError where they make none."""
    bits = str(data["bits"])
    if not re.fullmatch(r"[01x]+", bits):
        raise ValueError("outcomes are written with 0, 1 and x")
    p = float(data["p"])
    if not 0 <= p <= 1:
        raise ValueError("p lies outside [0, 1]")
    return OutcomeRecord(
        kind=str(data["kind"]),
        statement=str(data["statement"]),
        p=p,
        base_rate=float(data["base_rate"]),
        horizon_days=int(data["horizon_days"]),
        effective_windows=float(data["effective_windows"]),
        weeks_from=date.fromisoformat(data["weeks_from"]),
        outcomes=np.array([{"0": 0, "1": 1, "x": -1}[bit] for bit in bits], dtype=np.int64),
        data=data,
    )


def write_record(data: Mapping[str, Any]) -> str:
    """Write the line of a record, which ``read_records`` reads back from a report."""
    return json.dumps({"record": RECORD, **data}, ensure_ascii=False, allow_nan=False)


def common_windows(records: Iterable[OutcomeRecord]) -> npt.NDArray[np.int64]:
    """Lay outcomes of several records side by side, shape (weeks, records), for the weeks in which all are known.

    Weeks are matched by their as-of days; grids that do not fall on the same weekday share none.
    """
    items = list(records)
    by_week = [
        {
            record.weeks_from.toordinal() + 7 * week: int(value)
            for week, value in enumerate(record.outcomes)
            if value >= 0
        }
        for record in items
    ]
    # Only weeks that every record knows: an unknown outcome (-1) must not count as a failure in the fit.
    shared = sorted(set.intersection(*(set(weeks) for weeks in by_week))) if by_week else []
    table = [[weeks[day] for weeks in by_week] for day in shared]
    return np.array(table, dtype=np.int64).reshape(len(shared), len(items))
