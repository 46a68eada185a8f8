"""Forecasts that a person made elsewhere: histories of Metaculus, Good Judgment, Manifold, or a plain CSV, scored beside the own record.

They are scored apart from the runs of this home, and never teach it anything.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import fsum, log
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.errors import UsageError
from workbench.science.table_cells import read_cells

#: Columns by what they hold, in small letters and without blanks or lines: first those of a plain file, then each platform's.
COLUMNS: dict[str, tuple[str, ...]] = {
    "question": ("question", "questionid", "ifpid", "contractid", "title", "questiontitle"),
    "p": ("p", "probability", "probabilityyes", "forecast", "probafter", "value"),
    "outcome": ("outcome", "resolution", "resolvedto", "answer", "resolved"),
    "day": ("day", "date", "starttime", "createdat", "createdtime", "timestamp", "forecastcreatedat"),
    "crowd": ("crowd", "communityprediction", "crowdmedian", "median", "consensus", "probbefore"),
    "peer": ("peerscore", "spotpeerscore"),
}
_NEEDED = ("question", "p", "outcome")
_OUTCOMES = {"yes": 1.0, "true": 1.0, "1": 1.0, "1.0": 1.0, "no": 0.0, "false": 0.0, "0": 0.0, "0.0": 0.0}
#: A probability of 0 or 1 that was wrong would cost without end.
_LEAST = 0.001
#: Later instants than the year 2200 in seconds are milliseconds.
_MILLISECONDS = 7_258_118_400


def history_scores(path: Path) -> dict[str, Any]:
    """Return how a history of forecasts did: the last forecast of each resolved question counts.

    ``peer`` is the mean of 100 ln(p / crowd's p) of what came, where the file has the crowd's, and ``stated_peer`` the mean
    of the peer scores that the platform states; both None where the file allows neither. Higher is better.

    Raises
    ------
    UsageError
        A column that is needed is missing, or a probability is none.
    """
    frame = read_cells(path)
    names = {"".join(filter(str.isalnum, str(column))).casefold(): column for column in frame.columns}
    columns = {
        field: next((names[each] for each in spellings if each in names), None)
        for field, spellings in COLUMNS.items()
    }
    for field in _NEEDED:
        if columns[field] is None:
            raise UsageError(
                f"{path} has no column for {field}: name one {', '.join(COLUMNS[field])}; it has {', '.join(map(str, frame.columns))[:200]}"
            )
    last: dict[str, dict[str, Any]] = {}
    unresolved = 0
    for row in _rows_of_history(path, frame, columns):
        if row["outcome"] is None:
            unresolved += 1
            continue
        before = last.get(row["question"])
        if before is None or row["day"] >= before["day"]:
            last[row["question"]] = row
    rows = list(last.values())
    if not rows:
        raise UsageError(f"{path} has no forecast of a question that came out yes or no")
    crowds = [row for row in rows if row["crowd"] is not None]
    stated = [row["peer"] for row in rows if row["peer"] is not None]
    return {
        "file": str(path),
        "n": len(rows),
        "unresolved": unresolved,
        "brier": _mean_of([(row["p"] - row["outcome"]) ** 2 for row in rows]),
        "crowd": {
            "n": len(crowds),
            "brier": _mean_of([(row["crowd"] - row["outcome"]) ** 2 for row in crowds]),
            "own_brier": _mean_of([(row["p"] - row["outcome"]) ** 2 for row in crowds]),
        },
        "peer": _mean_of([peer_score(row["p"], row["crowd"], row["outcome"]) for row in crowds]),
        "stated_peer": _mean_of(stated),
        "rows": rows,
    }


def peer_score(p: float, crowd: float, outcome: float) -> float:
    """Return 100 ln of what a forecast gave to what came, over what the crowd gave it; 0 is as good as the crowd.

    >>> round(peer_score(0.8, 0.4, 1.0), 2), peer_score(0.3, 0.3, 0.0)
    (69.31, 0.0)
    """
    own, other = (each if outcome else 1 - each for each in (p, crowd))
    return 100 * log(max(own, _LEAST) / max(other, _LEAST))


def _rows_of_history(
    path: Path, frame: pd.DataFrame, columns: dict[str, str | None]
) -> Sequence[dict[str, Any]]:
    listed = []
    for number, cells in enumerate(frame.to_dict("records"), 1):
        values = {field: str(cells[name]).strip() if name else "" for field, name in columns.items()}
        where = f"{path}, row {number}"
        listed.append(
            {
                "question": values["question"],
                "p": _probability(values["p"], where),
                "outcome": _OUTCOMES.get(values["outcome"].casefold()),
                "day": _utc_instant(values["day"]),
                "crowd": _probability(values["crowd"], where) if values["crowd"] else None,
                "peer": float(values["peer"]) if values["peer"] else None,
            }
        )
    return listed


def _probability(text: str, where: str) -> float:
    try:
        p = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        p = -1.0
    if not 0 <= p <= 1:
        raise UsageError(f"{where}: {text!r:.40} is no probability from 0 to 1")
    return p


def _utc_instant(text: str) -> str:
    """An instant as text that sorts: an ISO text stays, a count of seconds or milliseconds becomes one."""
    try:
        seconds = float(text)
    except ValueError:
        return text
    return datetime.fromtimestamp(seconds / (1000 if seconds > _MILLISECONDS else 1), UTC).isoformat()


def _mean_of(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
