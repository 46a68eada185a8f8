"""Read the dates of a table's column and their grain: strictly, never guessing between two readings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias

from proxies.vendors.own.own_manifest import GRAIN, MONTHS, days_alone
from workbench.errors import Option, TwoReadings, UsageError, sentence

if TYPE_CHECKING:
    import pandas as pd

    Cells: TypeAlias = pd.Series[Any]

#: Of a row's date. A table that writes 9999-12-31 for "still open" has no date there, and no calendar has the year 0.
_FIRST_YEAR, _LAST_YEAR = 1, 2999
DEFAULT_ZONE = "America/New_York"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?\s?(Z|[+-]\d{2}(:?\d{2})?)?)?")
_ZONED = re.compile(r"(.*[T ].*?)\s?(Z|[+-]\d{2}(:?\d{2})?)")
_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
#: Days as pandas reads them, then labels and spelled days by their parts: year, month, name of a month, half, quarter, week, day.
_DAYS = (
    (re.compile(r"\d{4}/\d{2}/\d{2}"), "%Y/%m/%d"),
    (re.compile(r"(18|19|20|21)\d{2}[01]\d[0-3]\d"), "%Y%m%d"),
)
_YEAR, _NAME = r"(?P<y>\d{4})", r"(?P<b>[A-Za-z]{3,9})\.?"
_LABELS: Mapping[str, tuple[re.Pattern[str], ...]] = {
    grain: tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
    for grain, patterns in {
        "year": (r"(?P<y>(18|19|20|21)\d{2})",),
        "half-year": (rf"{_YEAR}[- ]?[HS](?P<h>[12])", rf"[HS](?P<h>[12])[- ]{_YEAR}"),
        "quarter": (rf"{_YEAR}[-: ]?Q(?P<q>[1-4])", rf"Q(?P<q>[1-4])[- /]?{_YEAR}", rf"(?P<q>[1-4])Q[- ]?{_YEAR}"),
        "month": (
            rf"{_YEAR}[-/:](?P<m>\d{{1,2}})", rf"{_YEAR}-?M(?P<m>\d{{1,2}})", rf"(?P<m>\d{{1,2}})/{_YEAR}",
            rf"{_NAME}[- ]{_YEAR}", rf"{_YEAR}[- ]{_NAME}",
        ),
        "week": (rf"{_YEAR}[- ]?W(?P<w>\d{{1,2}})", rf"W(?P<w>\d{{1,2}})[- /]{_YEAR}"),
        "day": (rf"(?P<d>\d{{1,2}})[- ]{_NAME}[- ,]{_YEAR}", rf"{_NAME} (?P<d>\d{{1,2}}),? {_YEAR}"),
    }.items()
}  # fmt: skip
_NAMES = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")  # fmt: skip
#: Places whose midnights in UTC are not the hour at which markets close.
_MIDNIGHTS = ("Europe/London", "Europe/Berlin", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "America/Sao_Paulo")  # fmt: skip
#: What dates stand for until their zone is asked: times of a clock.
_CLOCK = "clock"
#: Cells of a date's column that hold none.
_NO_DATE = ("", "nan", "nat", "none", "<na>", "na", "n/a", "null", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class DateReading:
    """How the dates of a table are read."""

    zone: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)
    last_year: int = 0
    today: date | None = None

    @property
    def place(self) -> str:
        """The zone, New York by default."""
        return self.zone or DEFAULT_ZONE


@dataclass(frozen=True, slots=True)
class DatedColumn:
    """A column of dates with their grain."""

    values: Cells
    grain: str
    ahead: Cells | None = None


def two_readings(option: str, words: str, choices: dict[str, str]) -> TwoReadings:
    """Build the question which of two values of an option is meant; ``choices`` has what each of them means."""
    first, second = (Option(option.replace("_", "-"), value) for value in choices)
    return TwoReadings(f"{words} with ", first, " or ", second, option=option, choices=choices)


def read_dates(column: Cells, name: str, reading: DateReading) -> DatedColumn:
    """Read a column's dates as they are written: labels keep their period, midnights of a zone are its days.

    Raises `UsageError`: Names row and cell that cannot be read, or says that zones are mixed or day and month cannot be told apart.
    """
    import pandas as pd

    column = column.reset_index(drop=True)
    if isinstance(column.dtype, pd.PeriodDtype):
        dates = _periods(column, name)
    elif isinstance(column.dtype, pd.DatetimeTZDtype):
        utc, local = column.dt.tz_convert("UTC").dt.tz_localize(None), column.dt.tz_localize(None)
        dates = _zoned(local.astype("datetime64[us]"), utc.astype("datetime64[us]"), reading.place)
    elif pd.api.types.is_datetime64_any_dtype(column):
        dates = _naive(column.astype("datetime64[us]"))
    else:
        dates = _written_dates(column, name, reading)
    return _within_years(_told(dates, name, reading), name)


def _written_dates(column: Cells, name: str, reading: DateReading) -> DatedColumn:
    import pandas as pd

    if pd.api.types.is_float_dtype(column) and bool((column.dropna() % 1 == 0).all()):
        column = column.astype("Int64")
    # equal texts are read once: a day of a million rows is one text
    places, distinct = pd.factorize(column.astype("str").str.strip().where(column.notna(), ""))
    texts = pd.Series(distinct, dtype="object")
    filled = texts[~texts.str.casefold().isin(_NO_DATE)]
    if filled.empty:
        raise UsageError(f"the column {name} holds no date")
    try:
        dates = _parsed(_Texts(filled, name, lambda index: int((places == index).argmax()) + 1), reading)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"the column {name} holds no readable dates ({' '.join(str(error).split())[:120]})"
        ) from None

    def spread(values: Cells) -> Cells:
        return pd.Series(values.reindex(range(len(texts))).to_numpy()[places])

    ahead = None if dates.ahead is None else spread(dates.ahead)
    dates = DatedColumn(spread(dates.values.astype("datetime64[us]")), dates.grain, ahead)
    if dates.grain == "instant" and not reading.zone and ahead is not None and not ahead.any():
        _refuse_unnamed(dates.values.dropna(), name)
    return dates


def _refuse_unnamed(utc: Cells, name: str) -> None:
    for zone in _MIDNIGHTS:
        if len(utc) > 1 and _midnights(clock_in(utc, zone)):
            raise two_readings(
                "zone",
                f"all times of the column {name} are midnights in {zone} (row 1 is {utc.iloc[0].isoformat()}Z): say which is meant",
                {zone: f"a row stands for its day in {zone}", "UTC": "a row is known at its time"},
            )


@dataclass(frozen=True, slots=True)
class _Texts:
    """The distinct texts of a column, by index, and the first row of each."""

    cells: Cells
    name: str
    row_of: Callable[[int], int]

    def all_match(self, *patterns: re.Pattern[str]) -> bool:
        return all(any(pattern.fullmatch(text) for pattern in patterns) for text in self.cells)

    def refuse(self, index: Any, why: str, *remedies: str | Option) -> UsageError:
        text = str(self.cells[index])[:40]
        return UsageError(
            f"the column {self.name} holds {text!r} in row {self.row_of(index)}, {why}", *remedies
        )

    def complete(self, parsed: Cells) -> Cells:
        """Return parsed dates; refuse the first unparsed cell."""
        if parsed.isna().any():
            raise self.refuse(
                parsed.isna().idxmax(),
                "which is no date of the calendar: mend it, or name the form with ",
                Option("date-format", "%d/%m/%Y"),
            )
        return parsed.astype("datetime64[us]")


def _parsed(texts: _Texts, reading: DateReading) -> DatedColumn:
    import pandas as pd

    cells = texts.cells
    form = reading.forms.get(texts.name) or reading.forms.get("", "")
    if form and (texts.name in reading.forms or bool(_by_form(cells, form).notna().any())):
        return _formed(texts, form, reading)
    for pattern, day_form in _DAYS:
        if texts.all_match(pattern):
            return DatedColumn(texts.complete(pd.to_datetime(cells, format=day_form, errors="coerce")), "day")
    for grain, patterns in _LABELS.items():
        if texts.all_match(*patterns):
            days = {index: _first_day(text, patterns) for index, text in cells.items()}
            return DatedColumn(texts.complete(pd.Series(days, dtype="datetime64[us]")), grain)
    if texts.all_match(_ISO):
        return _iso(texts, reading)
    numbers = cells.map(_NUMBERS.fullmatch)
    if numbers.notna().all():
        return DatedColumn(texts.complete(_by_numbers(cells, numbers, texts.name)), "day")
    grains = cells.map(_grain_written)
    if grains.notna().all():
        usual = grains.mode().iloc[0]
        odd: Any = (grains != usual).idxmax()
        raise texts.refuse(
            odd,
            f"which stands for a {grains[odd]} beside dates that stand for a {usual}: keep those of one kind",
        )
    raise texts.refuse(
        grains.isna().idxmax(),
        "which is no date that is read: write YYYY-MM-DD, or name the form with ",
        Option("date-format", "%d/%m/%Y"),
    )


def _grain_written(text: str) -> str | None:
    if _ISO.fullmatch(text):
        return "day" if len(text) == 10 else "instant"
    found = (
        grain for grain, patterns in _LABELS.items() if any(pattern.fullmatch(text) for pattern in patterns)
    )
    return next(found, "day" if _NUMBERS.fullmatch(text) else None)


def _first_day(text: str, patterns: tuple[re.Pattern[str], ...]) -> Any:
    """Return the first day of a label such as 2018Q4, Mar 2018 or 2018-W05, NaT if the calendar has none."""
    import pandas as pd

    match = next(found for pattern in patterns if (found := pattern.fullmatch(text)))
    part = match.groupdict()
    year, month, day = int(part["y"]), 1, int(part.get("d") or 1)
    if part.get("w"):
        try:
            return pd.Timestamp(date.fromisocalendar(year, int(part["w"]), 1))
        except ValueError:
            return pd.NaT
    if part.get("b"):
        word = part["b"].casefold()
        named = [
            n for n, full in enumerate(_NAMES, 1) if word in (full, full[:3]) or (word, n) == ("sept", 9)
        ]
        month = named[0] if named else 0
    month = int(part.get("m") or month)
    month = 3 * int(part["q"]) - 2 if part.get("q") else 6 * int(part["h"]) - 5 if part.get("h") else month
    try:
        return pd.Timestamp(date(year, month, day))
    except ValueError:
        return pd.NaT


def _by_form(cells: Cells, form: str) -> Cells:
    import pandas as pd

    if "%V" in form and not re.search("%[uaAw]", form):
        cells, form = cells + "-1", f"{form}-%u"
    try:
        return pd.to_datetime(cells, format=form, errors="coerce", utc="%z" in form)
    except ValueError as error:
        raise UsageError(
            Option("date-format", form), f" is no form of dates ({' '.join(str(error).split())[:80]})"
        ) from None


def _formed(texts: _Texts, form: str, reading: DateReading) -> DatedColumn:
    """Parse dates by a strftime form; their grain follows from its parts."""
    parsed = texts.complete(_by_form(texts.cells, form).dt.tz_localize(None))
    if "%y" in form:
        if reading.last_year:
            parsed = parsed.map(lambda day: _not_after(day, reading.last_year))
        elif reading.today is not None and bool((after := parsed.dt.date > reading.today).any()):
            index: Any = after.idxmax()
            year = parsed[index].year
            raise two_readings(
                "last_year",
                f"the column {texts.name} holds {texts.cells[index]!r:.40} in row {texts.row_of(index)}, which may be {year} "
                f"or {year - 100}: name the last year",
                {str(reading.today.year): f"{year - 100}", str(max(year, *parsed.dt.year)): f"{year}"},
            )
    if "%z" in form:
        return _zoned(parsed, parsed, reading.place)
    if re.search("%[HIMSpfcXs]", form):
        return _naive(parsed)
    grains = {"day": "%[djxDeuaAw]", "week": "%[VUW]", "month": "%[mbBh]"}
    return DatedColumn(
        parsed, next((grain for grain, part in grains.items() if re.search(part, form)), "year")
    )


def _not_after(day: Any, last_year: int) -> Any:
    """Move a day back by whole centuries until its year is at most the last one; 29 February may become the 28th."""
    import pandas as pd

    return day - pd.DateOffset(years=max(0, -(-(day.year - last_year) // 100)) * 100)


def _iso(texts: _Texts, reading: DateReading) -> DatedColumn:
    import pandas as pd

    cells = texts.cells
    zoned = cells.map(lambda text: _ZONED.fullmatch(text) is not None)
    if not zoned.any():
        return _naive(texts.complete(pd.to_datetime(cells, format="ISO8601", errors="coerce")))
    local = pd.to_datetime(cells.str.replace(_ZONED, r"\1", regex=True), format="ISO8601", errors="coerce")
    local = texts.complete(local)
    if not zoned.all() and not reading.zone:
        first: Any = zoned.idxmax()
        unzoned_row: Any = (~zoned).idxmax()
        raise UsageError(
            f"the column {texts.name} mixes zones: row {texts.row_of(first)} ({cells[first]}) names one and row "
            f"{texts.row_of(unzoned_row)} ({cells[unzoned_row]}) names none: write all of them alike, or say the others' zone with ",
            Option("zone", "UTC"),
        )
    utc = pd.to_datetime(cells.where(zoned, "1970-01-01T00:00Z"), format="ISO8601", utc=True).dt.tz_localize(
        None
    )
    utc = utc.where(zoned, in_utc(local, reading.place))
    return _zoned(local, utc.astype("datetime64[us]"), reading.place)


def _by_numbers(texts: Cells, numbers: Cells, name: str) -> Cells:
    """Parse dates such as 31/12/2018; the column itself must show which number is the day."""
    import pandas as pd

    first = max(int(match[1]) for match in numbers)
    second = max(int(match[3]) for match in numbers)
    plain = texts.str.replace(r"[.-]", "/", regex=True)
    if first > 12 and second <= 12:
        return pd.to_datetime(plain, format="%d/%m/%Y", errors="coerce")
    if second > 12 and first <= 12:
        return pd.to_datetime(plain, format="%m/%d/%Y", errors="coerce")
    sign = numbers.iloc[0][2]
    forms = (f"%d{sign}%m{sign}%Y", f"%m{sign}%d{sign}%Y")
    raise two_readings(
        "date_format",
        f"the column {name} holds dates such as {texts.iloc[0]}, which can be read in two ways: say which",
        {forms[0]: "the day stands first", forms[1]: "the month stands first"},
    )


def _periods(column: Cells, name: str) -> DatedColumn:
    code, _, anchor = str(column.dtype)[len("period[") : -1].partition("-")
    grains = {"Y": "year", "Q": "quarter", "M": "month", "W": "week", "D": "day", "B": "day", "h": "1h", "min": "1min"}  # fmt: skip
    starts = column.dt.start_time.astype("datetime64[us]")
    if code in ("s", "ms", "us", "ns"):
        return DatedColumn(starts, "instant")
    if code not in grains:
        raise UsageError(
            f"the column {name} holds periods of {code}: give years, quarters, months, weeks, days or hours"
        )
    return DatedColumn(starts, "7d" if code == "W" and anchor not in ("SUN", "SAT") else grains[code])


def in_utc(local: Cells, zone: str, *, first: bool = False) -> Cells:
    """Convert clock times of a zone to UTC; in a repeated hour take the later one, or the first."""
    import numpy as np

    ambiguous = np.full(len(local), first)
    stamps = local.dt.tz_localize(zone, ambiguous=ambiguous, nonexistent="shift_forward")
    utc: Cells = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
    return utc


def clock_in(utc: Cells, zone: str) -> Cells:
    """Return what the clocks of a zone show at some instants."""
    local: Cells = utc.dt.tz_localize("UTC").dt.tz_convert(zone).dt.tz_localize(None)
    return local.astype("datetime64[us]")


def set_back(utc: Cells, zone: str) -> Cells:
    """Return which instants lie in the second of two hours that a zone's clocks show alike."""
    return in_utc(clock_in(utc, zone), zone, first=True) < utc


def _naive(values: Cells) -> DatedColumn:
    """Return days if no time is given, else times of a clock (`_told`)."""
    return DatedColumn(values, "day" if _midnights(values) else _CLOCK)


def _told(dates: DatedColumn, name: str, reading: DateReading) -> DatedColumn:
    """Convert a clock's times to instants; in a repeated hour the order of the rows decides."""
    if dates.grain != _CLOCK:
        return dates
    local = dates.values
    utc = in_utc(local, reading.place)
    left_out = local.notna() & (clock_in(utc, reading.place) != local)
    if left_out.any() and not reading.zone:
        row = int(left_out.to_numpy().argmax())
        raise UsageError(
            f"the column {name} holds {local[row]:%Y-%m-%d %H:%M} in row {row + 1}, which no clock in {reading.place} "
            "showed: say where such clocks stand with ",
            Option("zone", "UTC"),
        )
    first, twice = in_utc(local, reading.place, first=True), set_back(utc, reading.place)
    if twice.any():  # the oldest row may stand first or last
        early = _first_time(local, twice) | _first_time(local[::-1], twice[::-1])
        utc = utc.mask(early, first)
    return DatedColumn(utc, "instant")


def _first_time(local: Cells, twice: Cells) -> Cells:
    """Return which rows lie in the first of two equal hours, for ordered rows whose clock is set back once a night."""
    steps = local.diff().dt.total_seconds()
    begins = twice & ~twice.shift(1, fill_value=False)
    night = begins.cumsum().where(twice)
    back = twice & ~begins & (steps <= 0)
    in_order = bool((steps.dropna()[~back] > 0).all()) and bool((back.groupby(night).sum() <= 1).all())
    if not in_order:
        return twice & False
    early: Cells = back.groupby(night).transform("any") & (back.groupby(night).cumsum() == 0)
    return twice & early


def _zoned(local: Cells, utc: Cells, zone: str) -> DatedColumn:
    """Return days if all stamps are midnights of the table's zone, of their own clocks or of UTC; else instants."""
    there = clock_in(utc, zone)
    if _midnights(there):
        return DatedColumn(there, "day")
    for days in (local, utc):
        if _midnights(days):
            return DatedColumn(days, "day", days - utc)
    return DatedColumn(utc, "instant", local - utc)


def _midnights(values: Cells) -> bool:
    present = values.dropna()
    return bool((present == present.dt.normalize()).all())


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


def with_grain(dates: DatedColumn, grain_option: str, zone: str = "") -> tuple[DatedColumn, str]:
    """Return the dates with their grain, and a note if the grain was inferred from the dates.

    Days that all begin months stand for months, or for the longer periods by which they are apart; days that all begin weeks stand
    for weeks; instants at a steady pace are the beginnings of bars.

    Raises `TwoReadings`: Only some of the dates begin such periods, or there is one date. Raises `UsageError`: ``said`` is no grain, or
    not one that these dates can have.
    """
    if grain_option:
        return _as_said(dates, grain_option, zone), ""
    days = dates.values.drop_duplicates().sort_values()
    if dates.grain == "instant":
        _refuse_midnights(dates.values + _ahead(dates, zone))
        return _bars(dates, days)
    if dates.grain != "day":
        return dates, ""
    grain = _whole_periods(days)
    if grain != "day":
        words = f"{grain}s" if grain in (*MONTHS, "week") else f"periods of {grain}"
        return replace(dates, grain=grain), sentence(
            f"dates are the first days of {words}: a row stands for all of it, and the lag counts from its end (",
            Option("grain", "day"),
            ": for that day alone)",
        )
    _refuse_mixed(dates.values, days)
    return dates, ""


def _as_said(dates: DatedColumn, grain_option: str, zone: str) -> DatedColumn:
    if not GRAIN.fullmatch(grain_option):
        raise UsageError(Option("grain"), f" is one of {', '.join((*MONTHS, 'week', 'day', 'instant'))}, or a length such as 15min, 1h or 14d, not {grain_option!r:.40}")  # fmt: skip
    if dates.grain == grain_option:
        return dates
    if dates.grain == "day" and days_alone(grain_option):
        return replace(dates, grain=grain_option)
    if dates.grain == "instant":
        if not days_alone(grain_option):
            return replace(dates, grain=grain_option)
        ahead = _ahead(dates, zone)
        days = (dates.values + ahead).dt.normalize()
        return DatedColumn(days, grain_option, ahead if ahead is dates.ahead else None)
    written_as = "days" if dates.grain == "day" else f"a {dates.grain} each"
    raise UsageError(Option("grain", grain_option), f": the dates are written as {written_as}")


def _ahead(dates: DatedColumn, zone: str) -> Cells:
    """Return how far the clock of instants is ahead of UTC: their own clock, else that of a zone."""
    if dates.ahead is None or (zone and not dates.ahead.any()):
        return clock_in(dates.values, zone or DEFAULT_ZONE) - dates.values
    return dates.ahead


def _refuse_midnights(local: Cells) -> None:
    """Refuse instants of which most are midnights: days with an unfinished bar, or with an event among them."""
    midnight = local == local.dt.normalize()
    if midnight.mean() <= 0.5 or len(local) < 3:
        return
    odd, first = int((~midnight).to_numpy().argmax()), int(midnight.to_numpy().argmax())
    raise two_readings(
        "grain",
        f"{int(midnight.sum())} of {len(local)} dates are midnights (row {first + 1}) and row {odd + 1} ({local[odd].isoformat()}) "
        "is not: say what a row stands for",
        {"day": "a row stands for its whole day", "instant": "a row is known at its date"},
    )


def _whole_periods(days: Cells) -> str:
    """Return the period that all these days begin, ``day`` if there is none or only one day."""
    import numpy as np

    if len(days) < 2:
        return "day"
    if bool((days.dt.day == 1).all()):
        months = int(np.gcd.reduce((12 * days.dt.year + days.dt.month).diff().dropna().astype(int)))
        return next(grain for grain, length in MONTHS.items() if months % length == 0)
    gaps = int(np.gcd.reduce(days.diff().dropna().dt.days))
    # Mondays and Sundays begin weeks; other days of the week end them, or are the day on which something was counted
    if gaps % 7 == 0 and days.iloc[0].weekday() in (0, 6):
        return f"{gaps}d" if 7 < gaps <= 35 else "week"
    return "day"


def _refuse_mixed(values: Cells, days: Cells) -> None:
    """Refuse days of which some begin consecutive months or weeks, and some do not."""
    gaps = days.diff().dt.days
    weekday = days.dt.day_of_week
    kinds = {
        "month": (days.dt.day == 1, gaps >= 28),
        "week": ((weekday == 0) | (weekday == 6), (gaps % 7 == 0) & (gaps <= 14)),
    }
    for grain, (first, apart) in kinds.items():
        paired = first & first.shift(1, fill_value=False) & apart
        runs = paired.groupby((~paired).cumsum()).sum()
        begun = first & (paired | paired.shift(-1, fill_value=False))
        if grain == "month" and 2 * first.sum() > len(days):
            begun = first
        # three in a row do not come about by chance, nor do most of all rows
        if runs.max() < 2 and 2 * begun.sum() <= len(days):
            continue
        if grain == "month" and begun.sum() > 1:
            grain = _whole_periods(days[begun])
        begins = values.isin(days[begun])
        odd: Any = begins.idxmin()
        counterexample = (
            "one date tells nothing" if begins.all() else f"row {odd + 1} ({values[odd].date()}) does not"
        )
        first_row: Any = begins.idxmax()
        raise two_readings(
            "grain",
            f"{int(begun.sum())} of {len(days)} dates begin a {grain} (row {first_row + 1}) and {counterexample}: say what a row stands for",
            {grain: f"a row stands for its whole {grain}", "day": "a row stands for its day alone"},
        )


def _bars(dates: DatedColumn, stamps: Cells) -> tuple[DatedColumn, str]:
    seconds = stamps.diff().dropna().dt.total_seconds()
    within = seconds[seconds < 0.9 * 86_400]
    if within.empty:
        return dates, ""
    pace = float(within.mode().iloc[-1])
    # below a minute nobody minds, and a pace that is kept by chance is none
    if pace < 60 or pace % 60:
        return dates, ""
    length = f"{int(pace // 3600)}h" if pace % 3600 == 0 else f"{int(pace // 60)}min"
    share = float((within % pace == 0).mean())
    if share >= 0.9:
        return replace(dates, grain=length), sentence(
            f"dates are {length} apart: a row stands for the {length} from its date on, and counts from the end of it (",
            Option("grain", "instant"),
            ": from its date)",
        )
    if share <= 0.1 or float((within == pace).mean()) <= 0.1:
        return dates, ""
    odd: Any = (within % pace != 0).idxmax()
    raise two_readings(
        "grain",
        f"most dates are {length} apart and row {int(odd) + 1} ({dates.values[odd].isoformat()}Z) is not: say what a row stands for",
        {length: f"a row stands for the {length} from its date on", "instant": "a row is known at its date"},
    )


def period_ends(values: Cells, grain: str) -> Cells:
    """Return the first moment after each date's period, on the dates' own clock; after an instant the next one.

    A date within a month, quarter, half or year stands for the one of the calendar that holds it.
    """
    import pandas as pd

    if values.isna().any():
        return period_ends(values.dropna(), grain).reindex(values.index)
    if grain == "instant":
        return values + pd.Timedelta(1, unit="us")
    if grain == "week":
        first = values - pd.to_timedelta(values.dt.day_of_week, unit="D")
        starts = values.where(values.dt.day_of_week == 6, first)  # weeks of seven days from a Sunday on
        return starts + pd.Timedelta(7, unit="D")
    if grain not in MONTHS:
        return values + pd.Timedelta("1D" if grain == "day" else grain.replace("d", "D"))
    length = MONTHS[grain]
    month = values.dt.month - 1
    after = month.where(values.dt.day == 1, month // length * length) + length
    parts = {"year": values.dt.year + after // 12, "month": after % 12 + 1, "day": 1}
    return pd.to_datetime(pd.DataFrame(parts)).astype("datetime64[us]")


def known_after(dates: DatedColumn, zone: str) -> Cells:
    """Return when each date's period has ended, in UTC, by the end of its last day in its zone."""
    import pandas as pd

    ends = period_ends(dates.values, dates.grain)
    if not days_alone(dates.grain):
        return ends
    if dates.ahead is None:
        return in_utc(ends, zone)
    # where the next date begins as the period ends, its clock is the one; else a clock may have been set back until then
    offsets = pd.DataFrame(
        {"ahead": dates.ahead.to_numpy(), "end": ends.to_numpy()}, index=dates.values.to_numpy()
    )
    offsets = offsets[offsets.index.notna()].groupby(level=0).first().sort_index()
    after = offsets["ahead"].shift(-1).fillna(offsets["ahead"])
    begins = pd.Series(offsets.index, index=offsets.index).shift(-1) == offsets["end"]
    return ends - dates.values.map(after.where(begins | (after < offsets["ahead"]), offsets["ahead"]))


def frequency_of(dates: DatedColumn) -> str:
    """Name the frequency of dates by their median distance: daily, weekly, ..., within a day, or irregular."""
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
        ("half-yearly", 180, 185),
        ("yearly", 364, 367),
    ):
        if low <= middle <= high:
            return name
    return "irregular"
