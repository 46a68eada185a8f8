"""The dates of a table's column: read strictly, never guessed where two readings are possible."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxies.vendors.own.own_manifest import Grain
from workbench.errors import Option, UsageError

if TYPE_CHECKING:
    import pandas as pd

#: Of a row's date. A table that writes 9999-12-31 for "still open" has no date there, and no calendar has the year 0.
_FIRST_YEAR, _LAST_YEAR = 1, 2999
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?\s?(Z|[+-]\d{2}(:?\d{2})?)?")
_ZONED = re.compile(r".*[T ].*(Z|[+-]\d{2}(:?\d{2})?)")
_QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])", re.IGNORECASE)
_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
#: Pattern of a whole column, and how pandas reads it.
_FORMS = (
    (_DAY, "%Y-%m-%d"),
    (re.compile(r"\d{4}-\d{2}"), "%Y-%m"),
    (re.compile(r"\d{4}/\d{2}/\d{2}"), "%Y/%m/%d"),
    (re.compile(r"(18|19|20|21)\d{2}[01]\d[0-3]\d"), "%Y%m%d"),
    (re.compile(r"(18|19|20|21)\d{2}"), "%Y"),
    (re.compile(r"\d{1,2} [A-Za-z]{3} \d{4}"), "%d %b %Y"),
    (re.compile(r"\d{1,2} [A-Za-z]{4,9} \d{4}"), "%d %B %Y"),
    (re.compile(r"[A-Za-z]{3} \d{4}"), "%b %Y"),
)


@dataclass(frozen=True, slots=True)
class DatedColumn:
    """A column of dates: days without a zone, or instants in UTC; both without tzinfo, and NaT where a cell is empty."""

    values: pd.Series[Any]
    grain: Grain


def read_dates(column: pd.Series[Any], name: str, *, zone: str, form: str = "") -> DatedColumn:
    """Return a column's dates.

    Parameters
    ----------
    zone : str
        Where times without a zone are read.
    form : str
        As for strftime, where the column's own form can be read in two ways.

    Raises
    ------
    UsageError
        Names row and cell that cannot be read, or says that zones are mixed or day and month cannot be told apart.
    """
    return _within_years(_read_dates(column, name, zone, form), name)


def _within_years(dates: DatedColumn, name: str) -> DatedColumn:
    years = dates.values.dt.year
    odd = dates.values.notna() & ~years.between(_FIRST_YEAR, _LAST_YEAR)
    if odd.any():
        index = int(odd.to_numpy().argmax())
        raise UsageError(
            f"the column {name} holds a date of the year {int(years.iloc[index])} in row {index + 1}: dates lie in the years "
            f"{_FIRST_YEAR} to {_LAST_YEAR}, leave such rows out"
        )
    return dates


def _read_dates(column: pd.Series[Any], name: str, zone: str, form: str) -> DatedColumn:
    import pandas as pd

    column = column.reset_index(drop=True)
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return DatedColumn(
            column.dt.tz_convert("UTC").dt.tz_localize(None).astype("datetime64[us]"), "instant"
        )
    if pd.api.types.is_datetime64_any_dtype(column):
        return _naive(column.astype("datetime64[us]"), zone)
    if pd.api.types.is_float_dtype(column) and bool((column.dropna() % 1 == 0).all()):
        column = column.astype("Int64")
    # equal texts are read once: a day of a million rows is one text
    places, distinct = pd.factorize(column.astype("str").str.strip().where(column.notna(), ""))
    texts = pd.Series(distinct, dtype="object")
    empty = texts.isin(["", "nan", "NaT", "None", "<NA>"])

    def row_of(index: int) -> int:
        return int((places == index).argmax()) + 1

    filled = texts[~empty]
    if filled.empty:
        raise UsageError(f"the column {name} holds no date")
    try:
        parsed, grain = _strict_dates(filled, name, zone, form, row_of)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"the column {name} holds no readable dates ({' '.join(str(error).split())[:120]})"
        ) from None
    whole = parsed.reindex(range(len(texts))).astype("datetime64[us]")
    return DatedColumn(pd.Series(whole.to_numpy()[places]), grain)


def _strict_dates(
    texts: pd.Series[Any], name: str, zone: str, form: str, row_of: Any
) -> tuple[pd.Series[Any], Grain]:
    import pandas as pd

    if form:
        return _complete_dates(pd.to_datetime(texts, format=form, errors="coerce"), texts, name, row_of, zone)
    for pattern, known in _FORMS:
        if texts.map(lambda text, p=pattern: p.fullmatch(text) is not None).all():
            return _complete_dates(
                pd.to_datetime(texts, format=known, errors="coerce"), texts, name, row_of, zone
            )
    quarters = texts.map(_QUARTER.fullmatch)
    if quarters.notna().all():
        starts = quarters.map(lambda match: f"{match[1]}-{3 * int(match[2]) - 2:02d}-01")
        return pd.to_datetime(starts, format="%Y-%m-%d"), "day"
    if texts.map(lambda text: _ISO.fullmatch(text) is not None or _DAY.fullmatch(text) is not None).all():
        zoned = texts.map(lambda text: _ZONED.fullmatch(text) is not None)
        if zoned.all():
            stamps = pd.to_datetime(texts, format="ISO8601", utc=True).dt.tz_localize(None)
            return stamps, "instant"
        if zoned.any():
            first: Any = zoned.idxmax()
            other: Any = (~zoned).idxmax()
            raise UsageError(
                f"the column {name} mixes zones: row {row_of(first)} ({texts[first]}) names one and row {row_of(other)} "
                f"({texts[other]}) names none: write all of them alike"
            )
        return _complete_dates(pd.to_datetime(texts, format="ISO8601"), texts, name, row_of, zone)
    numbers = texts.map(_NUMBERS.fullmatch)
    if numbers.notna().all():
        return _complete_dates(_by_numbers(texts, numbers, name), texts, name, row_of, zone)
    odd: Any = next(i for i, text in texts.items() if not (_DAY.fullmatch(text) or _ISO.fullmatch(text)))
    raise UsageError(
        f"the column {name} holds {texts[odd][:40]!r} in row {row_of(odd)}, which is no date that is read: write YYYY-MM-DD, or name "
        "the form with ",
        Option("date-format", "%d/%m/%Y"),
    )


def _by_numbers(texts: pd.Series[Any], numbers: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Return dates such as 31/12/2018: which number is the day must follow from the column itself."""
    import pandas as pd

    first = max(int(match[1]) for match in numbers)
    second = max(int(match[3]) for match in numbers)
    plain = texts.str.replace(r"[.-]", "/", regex=True)
    if first > 12 and second <= 12:
        return pd.to_datetime(plain, format="%d/%m/%Y", errors="coerce")
    if second > 12 and first <= 12:
        return pd.to_datetime(plain, format="%m/%d/%Y", errors="coerce")
    raise UsageError(
        f"the column {name} holds dates such as {texts.iloc[0]}, which can be read in two ways: say which with ",
        Option("date-format", "%d/%m/%Y"),
        " or ",
        Option("date-format", "%m/%d/%Y"),
    )


def _complete_dates(
    parsed: pd.Series[Any], texts: pd.Series[Any], name: str, row_of: Any, zone: str
) -> tuple[pd.Series[Any], Grain]:
    broken = parsed.isna()
    if broken.any():
        index: Any = broken.idxmax()
        raise UsageError(
            f"the column {name} holds {texts[index][:40]!r} in row {row_of(index)}, which is no date"
        )
    dated = _naive(parsed.astype("datetime64[us]"), zone)
    return dated.values, dated.grain


def _naive(values: pd.Series[Any], zone: str) -> DatedColumn:
    """Return days where no time is told, else instants: an hour that occurs twice is read as the later one."""
    import numpy as np

    present = values.dropna()
    if bool((present == present.dt.normalize()).all()):
        return DatedColumn(values, "day")
    stamps = values.dt.tz_localize(
        zone, ambiguous=np.zeros(len(values), dtype=bool), nonexistent="shift_forward"
    )
    return DatedColumn(stamps.dt.tz_convert("UTC").dt.tz_localize(None), "instant")


def frequency_of(dates: DatedColumn) -> str:
    """Return daily, weekly, monthly, quarterly, yearly, within a day, or irregular, by the usual distance of two dates."""
    days = dates.values.drop_duplicates().sort_values()
    if len(days) < 3:
        return "irregular"
    steps = days.diff().dropna().dt.total_seconds() / 86_400
    middle = float(steps.median())
    if middle < 0.9:
        return "within a day"
    for name, low, high in (
        ("daily", 0.9, 1.5),
        ("weekly", 6.5, 7.5),
        ("monthly", 27, 32),
        ("quarterly", 88, 93),
        ("yearly", 364, 367),
    ):
        if low <= middle <= high:
            return name
    return "irregular"
