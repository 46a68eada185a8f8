"""Forecasts that a person made elsewhere: histories of Metaculus, Good Judgment, Manifold, or a plain CSV, scored beside the own record.

They are scored apart from the runs of this home, and never teach it anything.
"""

import re
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
    "p": ("p", "probability", "probabilityyes", "forecast", "probafter"),
    # Before "outcome", which in a list of bets is the side that was bought.
    "outcome": ("resolution", "resolvedto", "outcome", "answer", "resolved"),
    "day": ("day", "date", "starttime", "createdat", "createdtime", "timestamp", "forecastcreatedat"),
    "crowd": ("crowd", "communityprediction", "crowdmedian", "consensus", "probbefore"),
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
    frame = _in_one_table(path, read_cells(path))
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


def _in_one_table(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a history with its outcomes, which each platform keeps in a table of its own beside the forecasts.

    Metaculus' download has ``forecast_data.csv`` and ``question_data.csv``, the Good Judgment Project's data ``survey_fcasts.yrN.csv``
    and ``ifps.csv``; of Manifold, bets and markets as its interface gives them are taken as ``bets.csv`` and ``markets.csv``.
    """
    there = set(frame.columns)
    if {"Question ID", "Probability Yes"} <= there and "Resolution" not in there:
        return _metaculus(path, frame)
    if {"ifp_id", "answer_option", "value"} <= there:
        return _good_judgment(path, frame)
    if {"contractId", "probAfter"} <= there and "resolution" not in there:
        markets = _outcome_table(path, "markets.csv", ("id", "resolution"))
        return frame.drop(columns="outcome", errors="ignore").merge(
            markets[["id", "resolution"]],
            how="left",
            left_on="contractId",
            right_on="id",
            suffixes=("_bet", ""),
        )
    return frame


def _outcome_table(path: Path, name: str, needed: tuple[str, ...]) -> pd.DataFrame:
    table = path.with_name(name)
    if not table.is_file():
        raise UsageError(
            f"{path} says what was forecast and not what came: put {name} of the same download beside it"
        )
    frame = read_cells(table)
    if missing := [column for column in needed if column not in frame.columns]:
        raise UsageError(f"{table} has no column {missing[0]}")
    return frame


def _metaculus(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """A person's forecasts of binary questions, with the newest aggregate before each as the crowd's."""
    questions = _outcome_table(path, "question_data.csv", ("Question ID", "Resolution"))
    binary = frame[frame["Probability Yes"].astype(str).str.strip() != ""]
    people = binary["Forecaster ID"].astype(str).str.strip() if "Forecaster ID" in binary else None
    own = binary if people is None else binary[people != ""]
    if people is not None and own["Forecaster ID"].nunique() > 1:
        raise UsageError(
            f"{path} holds forecasts of {own['Forecaster ID'].nunique()} people: keep the rows of one"
        )
    crowd = binary.iloc[0:0] if people is None else binary[people == ""]
    rows = []
    for row in own.to_dict("records"):
        others = crowd[
            (crowd["Question ID"] == row["Question ID"]) & (crowd["Start Time"] <= row["Start Time"])
        ]
        newest = others.sort_values("Start Time").tail(1)
        rows.append({**row, "crowd": newest["Probability Yes"].iloc[0] if len(newest) else ""})
    joined = pd.DataFrame(rows, columns=[*own.columns, "crowd"])
    return joined.merge(questions[["Question ID", "Resolution"]], how="left", on="Question ID")


def _good_judgment(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each option of a question, of two options for the first; a question that was withdrawn from is left out."""
    questions = _outcome_table(path, "ifps.csv", ("ifp_id", "outcome"))
    if "user_id" in frame and frame["user_id"].nunique() > 1:
        raise UsageError(
            f"{path} holds forecasts of {frame['user_id'].nunique()} people: keep the rows of one"
        )
    if "fcast_type" in frame:
        left = set(frame.loc[frame["fcast_type"].astype(str).str.strip() == "4", "ifp_id"])
        frame = frame[~frame["ifp_id"].isin(left)]
    came = dict(
        zip(questions["ifp_id"], questions["outcome"].astype(str).str.strip().str.casefold(), strict=True)
    )
    options = frame.groupby("ifp_id")["answer_option"].nunique()
    rows = []
    for row in frame.to_dict("records"):
        option, outcome = str(row["answer_option"]).strip().casefold(), came.get(row["ifp_id"], "")
        if options[row["ifp_id"]] == 2 and option != "a":
            continue
        resolution = "" if not re.fullmatch("[a-z]", outcome) else "yes" if outcome == option else "no"
        day = _american_day(str(row.get("fcast_date", "")))
        question = f"{row['ifp_id']} {option}"
        rows.append({"question": question, "p": row["value"], "resolution": resolution, "day": day})
    return pd.DataFrame(rows, columns=["question", "p", "resolution", "day"])


def _american_day(text: str) -> str:
    """A day as the project writes it, ``9/5/2011``, as one that sorts; anything else as it is."""
    written = re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})", text.strip())
    if written is None:
        return text
    month, day, year = map(int, written.groups())
    return f"{year if year > 99 else 2000 + year}-{month:02}-{day:02}"


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
