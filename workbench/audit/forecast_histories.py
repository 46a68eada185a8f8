"""Forecasts that a person made elsewhere: histories of Metaculus, Good Judgment, Manifold, or a plain CSV, scored beside the own record.

They are scored apart from the runs of this home, and never teach it anything.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from math import fsum, isfinite, log, nan
from operator import itemgetter
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
_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_DAY = re.compile(
    r"(?P<one>\d{1,2})(?P<sign>[./-])(?P<two>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})(?!\d)", re.ASCII
)
_ISO_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)", re.ASCII)
_WORDED = tuple(
    f"{day}{clock}"
    for day in ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y")
    for clock in ("", " %H:%M", " %H:%M:%S")
)
#: Of a Metaculus download with several aggregations the one that counts as the crowd, the first of these that is there.
_AGGREGATIONS = ("recency_weighted", "metaculus_prediction", "unweighted", "single_aggregation")


def history_scores(path: Path) -> dict[str, Any]:
    """Score a history of forecasts: the last forecast of each resolved question counts.

    ``peer`` is the mean of 100 ln(p / crowd's p) of what came, where the file has the crowd's, and ``stated_peer`` the mean
    of the peer scores that the platform states; both None where the file allows neither. Higher is better.

    Raises `UsageError`: A column that is needed is missing, or a probability is none.
    """
    frame = _in_one_table(path, read_cells(path))
    names = {"".join(filter(str.isalnum, str(column))).casefold(): column for column in frame.columns}
    columns = {
        field: next((names[spelling] for spelling in spellings if spelling in names), None)
        for field, spellings in COLUMNS.items()
    }
    for field in _NEEDED:
        if columns[field] is None:
            raise UsageError(
                f"{path} has no column for {field}: name one {', '.join(COLUMNS[field])}; it has {', '.join(map(str, frame.columns))[:200]}"
            )
    listed = _rows_of_history(path, frame, columns)
    resolved = [row for row in listed if row["outcome"] is not None]
    unresolved = len(listed) - len(resolved)
    rows = _last_of_each(path, resolved)
    if not rows:
        raise UsageError(f"{path} has no forecast of a question that came out yes or no")
    crowds = [row for row in rows if row["crowd"] is not None]
    peer_scores = [row["peer"] for row in rows if row["peer"] is not None]
    return {
        "file": str(path),
        "n": len(rows),
        "unresolved": unresolved,
        "brier": mean_of([(row["p"] - row["outcome"]) ** 2 for row in rows]),
        "crowd": {
            "n": len(crowds),
            "brier": mean_of([(row["crowd"] - row["outcome"]) ** 2 for row in crowds]),
            "own_brier": mean_of([(row["p"] - row["outcome"]) ** 2 for row in crowds]),
        },
        "peer": mean_of([peer_score(row["p"], row["crowd"], row["outcome"]) for row in crowds]),
        "stated_peer": mean_of(peer_scores),
        "rows": rows,
    }


def _last_of_each(path: Path, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pick the last row of each question; days whose order depends on whether the month comes first are refused."""
    days = [row["day"] for row in rows]
    chosen: list[list[dict[str, Any]]] = []
    for month_first in (True, False):
        instants = [_instant(day, month_first=month_first) for day in days]
        if None not in instants:
            # of several at one instant the last in the file
            dated = sorted(zip(instants, rows, strict=True), key=itemgetter(0))
            last = {row["question"]: row for _, row in dated}
            chosen.append([last[question] for question in dict.fromkeys(row["question"] for row in rows)])
    if not chosen:
        unread = (day for day in days if _instant(day) is None and _instant(day, month_first=False) is None)
        raise _no_instant(next(unread, days[0]), str(path))
    if any(one is not other for one, other in zip(chosen[0], chosen[-1], strict=True)):
        raise UsageError(
            f"{path}: days such as {days[0]!r} may name the month first or the day, and which forecast is a question's last"
            " depends on that: write them as 2026-09-01"
        )
    return chosen[0]


def _no_instant(text: str, where: str) -> UsageError:
    return UsageError(
        f"{where}: {text!r:.40} is no day or instant: write it as 2026-09-01 or 2026-09-01T12:00Z"
    )


def _instant(text: str, *, month_first: bool = True) -> datetime | None:
    """Read an instant, without a zone in UTC; one that is not stated lies before all others. None for another text."""
    if text.casefold() in ("", "nan", "nat", "none", "n/a"):
        return datetime.min.replace(tzinfo=UTC)
    if day := _DAY.match(text):
        month, number = ("two", "one") if day["sign"] == "." or not month_first else ("one", "two")
        full = day["year"] if len(day["year"]) == 4 else f"20{day['year']}"
        text = f"{full}-{int(day[month]):02}-{int(day[number]):02}{text[day.end() :]}"
    elif iso := _ISO_DAY.match(text):
        text = f"{iso[1]}-{int(iso[2]):02}-{int(iso[3]):02}{text[iso.end() :]}"
    # UTC, as all that bear no zone
    for read in (datetime.fromisoformat, *(lambda text, form=form: datetime.strptime(text, form) for form in _WORDED)):  # noqa: DTZ007  # fmt: skip
        try:
            instant = read(text)
        except ValueError:
            continue
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    return None


def _in_one_table(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Join a history with its outcomes, which each platform keeps in a table of its own beside the forecasts.

    Metaculus' download has ``forecast_data.csv`` and ``question_data.csv``, the Good Judgment Project's data ``survey_fcasts.yrN.csv``
    and ``ifps.csv``; of Manifold, bets and markets as its interface gives them are taken as ``bets.csv`` and ``markets.csv``.
    """
    there = set(frame.columns)
    if {"Question ID", "Probability Yes"} <= there and "Resolution" not in there:
        return _metaculus(path, frame)
    if {"ifp_id", "answer_option", "value"} <= there:
        return _good_judgment(path, frame)
    if {"contractId", "probAfter"} <= there and "resolution" not in there:
        came = _what_came(path, "markets.csv", "id", "resolution")
        bets = frame.drop(columns="outcome", errors="ignore")
        return bets.assign(resolution=[came.get(str(market), "") for market in bets["contractId"]])
    return frame


def _what_came(path: Path, name: str, key: str, outcome: str) -> dict[str, str]:
    """Read the outcome of each question from the table beside a history; looked up, so that no row of either is multiplied."""
    table = path.with_name(name)
    if not table.is_file():
        raise UsageError(
            f"{path} has forecasts but no outcomes: put {name} of the same download in the same folder"
        )
    frame = read_cells(table).astype(str)
    _require(table, frame, key, outcome)
    came = frame[[key, outcome]].drop_duplicates()
    answers = dict(zip(came[key], came[outcome], strict=True))
    for question, answer in came.itertuples(index=False):
        if answers[question] != answer:
            raise UsageError(f"{table} says of {question!r:.60} both {answer!r:.40} and {answers[question]!r:.40}")  # fmt: skip
    return answers


def _require(path: Path, frame: pd.DataFrame, *columns: str) -> None:
    if missing := [column for column in columns if column not in frame.columns]:
        raise UsageError(f"{path} has no column {missing[0]}")


def _one_person(path: Path, people: "pd.Series[str]") -> None:
    if people.nunique() > 1:
        raise UsageError(f"{path} holds forecasts of {people.nunique()} people: keep the rows of one")


def _metaculus(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    came = _what_came(path, "question_data.csv", "Question ID", "Resolution")
    texts: pd.DataFrame = frame.astype(str).apply(lambda column: column.str.strip())
    forecasts = texts[texts["Probability Yes"] != ""]
    if "Forecaster ID" in forecasts:
        _require(path, frame, "Start Time")
        is_crowd = forecasts["Forecaster ID"] == ""
        crowd, forecasts = forecasts[is_crowd], forecasts[~is_crowd]
        _one_person(path, forecasts["Forecaster ID"])
        if "Forecaster Username" in crowd and crowd["Forecaster Username"].nunique() > 1:
            names = set(crowd["Forecaster Username"])
            chosen = next((name for name in _AGGREGATIONS if name in names), None)
            if chosen is None:
                raise UsageError(
                    f"{path} holds several aggregations ({', '.join(sorted(names))[:120]}): keep the rows of one"
                )
            crowd = crowd[crowd["Forecaster Username"] == chosen]
        forecasts = _beside_crowd(path, forecasts, crowd)
    return forecasts.assign(Resolution=forecasts["Question ID"].map(came).fillna(""))


def _beside_crowd(path: Path, forecasts: pd.DataFrame, crowd: pd.DataFrame) -> pd.DataFrame:
    """Put the crowd's probability as it stood when a forecast was made beside it."""

    def timed(frame: pd.DataFrame) -> pd.DataFrame:
        seconds = [_first_instant(path, text).timestamp() for text in frame["Start Time"]]
        return frame.assign(second=pd.Series(seconds, frame.index, dtype=float)).sort_values("second", kind="stable")  # fmt: skip

    standing = timed(crowd)[["second", "Question ID", "Probability Yes"]]
    standing = standing.rename(columns={"Probability Yes": "crowd"})
    made = timed(forecasts).reset_index(names="row")
    joined: pd.DataFrame = pd.merge_asof(made, standing, on="second", by="Question ID")
    joined["crowd"] = joined["crowd"].fillna("")
    return joined.set_index("row").sort_index()


def _first_instant(path: Path, text: str) -> datetime:
    written = _utc_instant(text, str(path))
    instant = _instant(written) or _instant(written, month_first=False)
    if instant is None:
        raise _no_instant(written, str(path))
    return instant


def _good_judgment(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Make a row for each option of a question, of two options for the first; withdrawn forecasts are left out."""
    came = _what_came(path, "ifps.csv", "ifp_id", "outcome")
    frame = frame.astype(str)
    if "user_id" in frame:
        _one_person(path, frame["user_id"])
    if "fcast_type" in frame:
        left = frame.loc[frame["fcast_type"].str.strip() == "4", "ifp_id"]
        frame = frame[~frame["ifp_id"].isin(left)]
    option = frame["answer_option"].str.strip().str.casefold()
    of_two = frame.groupby("ifp_id")["answer_option"].transform("nunique") == 2
    frame = frame.assign(option=option)[~of_two | (option == "a")]
    rows = []
    for row in frame.to_dict("records"):
        outcome = came.get(row["ifp_id"], "").strip().casefold()
        resolution = "" if not re.fullmatch("[a-z]", outcome) else "yes" if outcome == row["option"] else "no"
        question = f"{row['ifp_id']} {row['option']}"
        day = _american_day(row.get("fcast_date", ""))
        rows.append({"question": question, "p": row["value"], "resolution": resolution, "day": day})
    return pd.DataFrame(rows, columns=["question", "p", "resolution", "day"])


def _american_day(text: str) -> str:
    """Write a day of the project, ``9/5/2011``, as one that sorts; anything else as it is."""
    written = _DAY.fullmatch(text.strip())
    if written is None:
        return text
    year = int(written["year"])
    return f"{year if year > 99 else 2000 + year}-{int(written['one']):02}-{int(written['two']):02}"


def peer_score(p: float, crowd: float, outcome: float) -> float:
    """Return 100 ln of the forecast's probability for the outcome over the crowd's; 0 is as good as the crowd.

    >>> round(peer_score(0.8, 0.4, 1.0), 2), peer_score(0.3, 0.3, 0.0)
    (69.31, 0.0)
    """
    ours, theirs = (x if outcome else 1 - x for x in (p, crowd))
    return 100 * log(max(ours, _LEAST) / max(theirs, _LEAST))


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
                "day": _utc_instant(values["day"], where),
                "crowd": _probability(values["crowd"], where) if values["crowd"] else None,
                "peer": _number(values["peer"], where, "peer score") if values["peer"] else None,
            }
        )
    return listed


def _number(text: str, where: str, what: str) -> float:
    # Not all that Python's float reads: nan and infinity would go into every mean, and 1_0e-1 is a slip of the hand.
    value = float(text) if _DECIMAL.fullmatch(text) else nan
    if not isfinite(value):
        raise UsageError(f"{where}: {text!r:.40} is no {what}")
    return value


def _probability(text: str, where: str) -> float:
    what = "probability from 0 to 1"
    p = _number(text.removesuffix("%"), where, what) / (100 if text.endswith("%") else 1)
    if not 0 <= p <= 1:
        raise UsageError(f"{where}: {text!r:.40} is no {what}")
    return p


def _utc_instant(text: str, where: str) -> str:
    if not _DECIMAL.fullmatch(text):
        return text
    seconds = _number(text, where, "instant")
    try:
        return datetime.fromtimestamp(seconds / (1000 if seconds > _MILLISECONDS else 1), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{where}: {text!r:.40} is no instant") from None


def mean_of(values: Sequence[float]) -> float | None:
    """Return the mean, None of nothing."""
    return fsum(values) / len(values) if values else None
