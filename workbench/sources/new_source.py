"""Build a source that is about to be added: the request, the rows to store, and what cutoffs would see of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator

from proxies.asof.clock import Cutoff
from proxies.json_text import Fields, Row
from proxies.vendors.own.own_manifest import (
    DATE,
    KNOWN,
    NAME,
    PLACE,
    OwnColumn,
    OwnManifest,
    OwnPolicy,
    PolicyKind,
    Share,
    days_alone,
)
from workbench.errors import Option, UsageError, sentence
from workbench.forecasts.source_rows import LARGEST
from workbench.requests import Request
from workbench.sources.known_times import known_times, lag_of
from workbench.sources.row_dates import (
    DatedColumn,
    DateReading,
    frequency_of,
    read_dates,
    set_back,
    with_grain,
)
from workbench.sources.table_files import MISSING, CellReading, check_columns, is_missing, typed_columns

if TYPE_CHECKING:
    import pandas as pd

    from workbench.sources.row_dates import Cells

_EXCEL_ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")
#: Names of columns that date rows, where nobody names one.
_DATE_COLUMNS = {"date", "day", "week", "month", "quarter", "year", "period", "time", "timestamp", "datetime", "observation_date"}  # fmt: skip
#: The ways to say when a row became known, each an option.
_DATED_BY: tuple[PolicyKind, ...] = ("known", "vintage", "lag", "releases", "static")
#: What a person says of how a file is read; kept with a version, for the next one.
_READING = ("zone", "date_format", "grain", "last_year", "decimal", "thousands", "skip", "comment")


def _read_forms(value: object) -> object:
    """Read how dates are written: a form, ``{column: form}``, or typed words ``COLUMN=FORM``; without a column it is the date's."""
    if isinstance(value, str):
        return {"": value} if value else {}
    if isinstance(value, list):
        return {column: form for column, _, form in (str(each).rpartition("=") for each in value)}
    return value


class SourceRequest(Request):
    """A person's description of a source. Exactly one of ``known``, ``vintage``, ``lag``, ``releases`` and ``static`` is set."""

    name: str
    """What to call it: own:NAME in claims, own/NAME/rows in calls."""
    date: str = ""
    """Column that says what a row is about."""
    value: str = ""
    """Column that claims mean."""
    known: str = ""
    """Column of when a row became known."""
    vintage: str = ""
    """As --known, where a date has several rows."""
    lag: str = ""
    """How long after its date a row was known: 3d, 12h."""
    releases: Path | None = None
    """File of dates and their releases."""
    static: bool = False
    """Every row at every cutoff."""
    unit: str = ""
    """Unit of the values."""
    share: Share = "models"
    """Who may see it."""
    by: str = ""
    """Column that tells rows of one date apart."""
    residual: Literal["none", "low", "medium", "high"] = "high"
    """Risk of later knowledge."""
    zone: str = ""
    """Zone of times without one; New York by itself."""
    date_format: Annotated[list[str] | dict[str, str] | str, BeforeValidator(_read_forms)] = {}
    """How dates are written, such as %d/%m/%Y; COLUMN=%d/%m/%Y for one column."""
    grain: str = ""
    """What a date stands for: year, half-year, quarter, month, week, day, instant, 1h."""
    last_year: str = ""
    """The last year that two digits may mean, such as 2026."""
    decimal: str = ""
    """The sign before decimals, . or ,."""
    thousands: str = ""
    """The sign between thousands."""
    skip: int = 0
    """Lines before the header."""
    comment: str = ""
    """How lines begin that are no rows."""

    @property
    def dates(self) -> DateReading:
        """How the dates are read."""
        assert isinstance(self.date_format, dict), "`_read_forms` made one"
        return DateReading(zone=self.zone, forms=self.date_format, last_year=int(self.last_year or 0))

    @property
    def cells(self) -> CellReading:
        """How the file is read."""
        return CellReading(
            decimal=self.decimal, thousands=self.thousands, skip=self.skip, comment=self.comment
        )

    def policy(self) -> OwnPolicy:
        """Return the policy; raises ``UsageError`` if none or several are named."""
        chosen = [kind for kind in _DATED_BY if getattr(self, kind)]
        if len(chosen) != 1:
            raise UsageError(
                f"say{'' if not chosen else ' in one way'} when a row of {self.name} became known: so long after its date (",
                Option("lag", "3d"), "), in a column (", Option("known", "COLUMN"), "), in a column where rows were revised (",
                Option("vintage", "COLUMN"), "), in a file of releases (", Option("releases", "FILE"),
                "), or at every cutoff (", Option("static", True), ")",
            )  # fmt: skip
        releases = self.releases.name if self.releases else ""
        return OwnPolicy(kind=chosen[0], column=self.known or self.vintage, lag=self.lag, releases=releases)

    def check(self) -> None:
        """Refuse faults that need no file to be seen; raises ``UsageError``."""
        if not NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r:.60} cannot name a source: use at most 40 small letters, digits, - and _, beginning with a letter"
            )
        zone_of_name(self.dates.place)
        if not re.fullmatch(r"(\d{4})?", self.last_year):
            raise UsageError(Option("last-year"), f" is a year such as 2026, not {self.last_year!r:.20}")
        self.cells.check()
        if self.policy().kind == "lag":
            lag_of(self.lag)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """A source that was read and dated and is not stored yet."""

    manifest: OwnManifest
    rows: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()

    def preview(self, now: datetime) -> Row:
        """Return the first rows, and the view of cutoffs today, a year and five years ago, for a person to confirm."""
        shown = [column.name for column in self.manifest.columns][:8]
        return {
            "name": self.manifest.name,
            "columns": [column.name for column in self.manifest.columns],
            "rows": self.manifest.rows,
            "counted": self.manifest.counted,
            "first": self.manifest.first,
            "last": self.manifest.last,
            "frequency": self.manifest.frequency,
            "value": self.manifest.value or None,
            "policy": self.manifest.policy.words(),
            "share": self.manifest.share,
            "residual": self.manifest.residual,
            "notes": list(self.notes),
            "head": [
                {
                    "date": day_text(row[DATE], self.manifest),
                    **{name: _preview_cell(row[name]) for name in shown},
                }
                for row in self.rows.head(5).to_dict("records")
            ],
            "cutoffs": [self._seen_at(cutoff) for cutoff in _cutoffs(now)],
        }

    def _seen_at(self, cutoff: Cutoff) -> Row:
        import pandas as pd

        rows = self.rows
        if self.manifest.policy.kind != "static":
            rows = rows[rows[KNOWN] <= pd.Timestamp(cutoff.instant.replace(tzinfo=None))]
        if self.manifest.policy.kind == "vintage":
            keys = [DATE, *([self.manifest.by] if self.manifest.by else [])]
            rows = rows.sort_values([DATE, KNOWN, PLACE]).drop_duplicates(keys, keep="last")
        last = rows[rows[DATE] == rows[DATE].max()].iloc[-1] if len(rows) else None
        value = self.manifest.value
        return {
            "cutoff": cutoff.text,
            "rows": len(rows),
            "last": None if last is None else day_text(last[DATE], self.manifest),
            "value": None if last is None or not value else _preview_cell(last[value]),
        }


def new_source(request: SourceRequest, frame: pd.DataFrame, *, origin: str, now: datetime) -> NewSource:
    """Build a source from a table, dated by its policy; nothing is written.

    `origin`: What it was made of, for people: the name of a file, a query's name; never a path, an address or a password.

    Raises `UsageError`: One line: a column is missing, dates cannot be read, a date occurs twice, nothing says when a row was known.
    """
    import pandas as pd

    request.check()
    policy = request.policy()
    frame = check_columns(frame.reset_index(drop=True), origin)
    if not request.date:
        request = request.model_copy(update={"date": _date_column(frame, origin)})
    for option, column in (("date", request.date), ("value", request.value), ("by", request.by)):
        if column and column not in frame:
            skip = ("; lines before the header are left out with ", Option("skip", "3"))
            raise UsageError(
                f"{origin} has no column {column!r:.60} (--{option}): its columns are {', '.join(frame.columns[:12])}",
                *(skip if frame.attrs.get("written") else ()),
            )
    reading = replace(request.dates, today=now.date())
    dates = read_dates(frame[request.date], request.date, reading)
    empty = dates.values.isna()
    if empty.any():
        raise UsageError(f"{origin}: row {int(empty.argmax()) + 1} has no {request.date}")
    if request.by:
        frame[request.by] = _names(frame[request.by])
    # before what a row stands for: of a clock's hour that stands twice the distances say nothing
    if policy.kind != "vintage":
        _refuse_repeated(frame, dates, None, request, origin)
    written = dates.values
    dates, note = with_grain(dates, request.grain, reading.zone)
    times = known_times(frame, dates, policy, reading=reading, releases=request.releases)
    notes = [remark for remark in (*frame.attrs.get("notes", ()), note, times.note) if remark]
    # what dates rows or tells them apart is text; DuckDB and pandas know the rest
    text = {request.date, request.by, policy.column}
    frame = typed_columns(frame, request.cells, text=text, value=request.value)
    if policy.kind == "vintage" or dates.values is not written:
        _refuse_repeated(frame, dates, times.values if policy.kind == "vintage" else None, request, origin)
    names = [name for name in frame.columns if name != request.date]
    if reserved := next((name for name in names if name.casefold() == "date"), None):
        raise UsageError(f"{origin}: the column {reserved!r} has a reserved name: rename the column")
    table = pd.DataFrame({DATE: dates.values, KNOWN: times.values, PLACE: range(len(frame))})
    columns: list[OwnColumn] = []
    for name in names:
        cells, kind = _typed_cells(frame[name])
        if kind == "number" and (odd := int((frame[name].notna() & cells.isna()).sum())):
            notes.append(
                f"{odd} cells of {name} hold no finite number below {LARGEST:g}: they count as missing"
            )
        columns.append(OwnColumn(name=name, type=kind))
        table[name] = cells
    if policy.kind != "static":
        table = table[table[KNOWN].notna()]
        if table.empty:
            raise UsageError(f"{origin}: no row has a date on which it became known")
        first_known = {name: table[KNOWN][table[name].notna()].min() for name in names}
        first = table[KNOWN].min()
        columns = [
            column.model_copy(update={"since": first_known[column.name].to_pydatetime()})
            if first_known[column.name] > first
            else column
            for column in columns
        ]
    value, note = _value_column(request, columns, frame, origin, {policy.column})
    notes += [note] if note else []
    table = table.sort_values([DATE, KNOWN, PLACE], kind="stable")
    content = hashlib.sha256(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes()).hexdigest()
    manifest = OwnManifest(
        name=request.name,
        version=hashlib.sha256(f"{content} {request} {now.isoformat()}".encode()).hexdigest(),
        added_at=now,
        origin=origin,
        policy=policy,
        date=request.date,
        grain=dates.grain,
        zone=reading.place,
        reading={name: setting for name in _READING if (setting := getattr(request, name))},
        value=value,
        by=request.by,
        unit=request.unit,
        frequency=frequency_of(dates),
        share=request.share,
        residual=request.residual,
        columns=tuple(columns),
        rows=len(table),
        data_hash=content,
    )
    manifest = manifest.model_copy(
        update={
            "first": day_text(table[DATE].iloc[0], manifest),
            "last": day_text(table[DATE].iloc[-1], manifest),
        }
    )
    return NewSource(manifest=manifest, rows=table, notes=tuple(notes))


def _date_column(frame: pd.DataFrame, origin: str) -> str:
    """Return the one column whose name says that it dates the rows; raises ``UsageError`` for none or several."""
    named = [column for column in frame.columns if column.casefold() in _DATE_COLUMNS]
    if len(named) == 1:
        return str(named[0])
    columns = ", ".join((named or list(frame.columns))[:12])
    raise UsageError(
        "say which column dates the rows: ", Option("date", "COLUMN"), f"; {origin} has {columns}"
    )


def zone_of_name(name: str) -> Any:
    """Return the zone of an IANA name; raises ``UsageError`` for any other."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"{name!r:.60} is no time zone: write one such as America/New_York or UTC") from None


def _refuse_repeated(
    frame: pd.DataFrame,
    dates: DatedColumn,
    revised: Cells | None,
    request: SourceRequest,
    origin: str,
) -> None:
    import pandas as pd

    keys = pd.DataFrame({"date": dates.values})
    if request.by:
        keys["by"] = frame[request.by].fillna("")
    if revised is not None:
        keys["known"] = revised
    twice = keys.duplicated(keep=False)
    if not twice.any():
        return
    first = int(twice.argmax())
    same = (keys == keys.iloc[first]).all(axis=1)
    second = int(same.to_numpy().nonzero()[0][1])
    remedies: Sequence[Any] = (
        ("keep one of them",)
        if revised is not None
        else ("name the column that tells them apart with ", Option("by", "COLUMN"), ", or that of revisions with ", Option("vintage", "COLUMN"))
    )  # fmt: skip
    place = request.dates.place
    clock: Sequence[Any] = ()
    if not days_alone(dates.grain) and set_back(dates.values.iloc[first : first + 1], place).any():
        offset = (
            f", or write the times of the night in which clocks in {place} are set back with their offset"
        )
        clock = (f"{offset}, or all in UTC with ", Option("zone", "UTC"))
    elif not days_alone(dates.grain) and not request.zone:
        clock = (", or say where clocks were set back then with ", Option("zone", "Europe/London"))
    raise UsageError(
        f"{origin}: {frame[request.date].iloc[first]!s:.40} occurs {int(same.sum())} times (rows {first + 1} and {second + 1}): ",
        *remedies,
        *clock,
    )


def _names(column: Cells) -> Cells:
    """Convert names to text, as they are written: NA is one, and 101.0 becomes 101; None for an empty cell."""
    import pandas as pd

    def name(cell: Any) -> str | None:
        if is_missing(cell):
            return None
        is_whole = isinstance(cell, float) and cell.is_integer()
        return str(int(cell) if is_whole else cell).strip()[:10_000] or None

    return pd.Series([name(cell) for cell in column.tolist()], index=column.index, dtype="object")


def _typed_cells(column: Cells) -> tuple[Cells, Any]:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column):
        return column.astype("object").where(column.notna(), None), "boolean"
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        cells = pd.to_numeric(column, errors="coerce").astype("float64")
        return cells.where(cells.abs() < LARGEST), "number"
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return column.dt.tz_convert("UTC").dt.tz_localize(None), "instant"
    if pd.api.types.is_datetime64_any_dtype(column):
        return column, "instant"
    # text in one type for DuckDB, whatever objects a file held
    texts = [
        None if is_missing(cell) or str(cell) in ("", *_EXCEL_ERRORS) else str(cell)[:10_000]
        for cell in column
    ]
    return pd.Series(texts, index=column.index, dtype="object"), "text"


def _value_column(
    request: SourceRequest, columns: Sequence[OwnColumn], frame: pd.DataFrame, origin: str, beside: set[str]
) -> tuple[str, str]:
    numbers = [
        column.name
        for column in columns
        if column.type == "number" and column.name not in {request.by, *beside}
    ]
    if request.value:
        if request.value in numbers:
            return request.value, ""
        raise UsageError(
            f"{origin}: the column {request.value!r} holds {_first_text(frame[request.value])}, which is no number: mend it, or leave the cell empty"
        )
    if len(numbers) == 1:
        return numbers[0], ""
    if not numbers:
        candidates = [name for name in frame if name not in {request.date, request.by, *beside}]
        odd = next(
            (name for name in candidates if frame[name].map(str).str.contains(r"\d").mean() > 0.5), None
        )
        why = "" if odd is None else f" ({odd} holds {_first_text(frame[odd])})"
        return "", f"no column holds numbers only{why}: rows can be read, and no claim be made about them"
    return (
        "",
        sentence(
            f"{len(numbers)} columns hold numbers: name the one that claims mean with ",
            Option("value"),
            f", or write own:{request.name}/COLUMN",
        ),
    )


def _first_text(column: Cells) -> str:
    point = comma = ""
    for place, cell in enumerate(column.tolist()):
        text = "" if is_missing(cell) else str(cell).strip()
        if not re.search(r"\d", text) or not re.fullmatch(r"[+-]?[\d.,]+([eE][+-]?\d+)?", text):
            if text and text.casefold() not in MISSING:
                sign = re.fullmatch(r"[+-]?\d{1,3}(([^\d.,])\d{3})+([.,]\d+)?", text)
                return f"{text[:40]!r} in row {place + 1}" + (
                    sentence(" (", Option("thousands", " " if sign[2].isspace() else sign[2]), " reads it)")
                    if sign
                    else ""
                )
        elif re.search(r"\.\d{1,2}$|\.\d{4,}$|,.*\.", text):
            point = point or f"{text[:40]!r} in row {place + 1}"
        elif re.search(r",\d{1,2}$|,\d{4,}$|\..*,", text):
            comma = comma or f"{text[:40]!r} in row {place + 1}"
    if point and comma:
        return f"decimal points ({point}) and decimal commas ({comma})"
    return "dates, codes with leading zeros, or nothing"


def _cutoffs(now: datetime) -> list[Cutoff]:
    today = now.astimezone(UTC).date()
    return [Cutoff.parse((today - timedelta(days=days)).isoformat()) for days in (0, 365, 5 * 365 + 1)]


def day_text(moment: Any, manifest: OwnManifest) -> str:
    """Write a row's date in the form of answers to calls."""
    return str(moment.date()) if manifest.by_day else f"{moment.isoformat()}Z"


def _preview_cell(value: Any) -> Any:
    if is_missing(value):
        return None
    # numpy's own kinds of number are no JSON
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, int | float) else str(plain)[:200]


def request_of(manifest: OwnManifest, changes: Fields) -> SourceRequest:
    """Return the request that made a version, changed by new options: a changed file needs no option again.

    Raises `UsageError`: Its releases came out of a file, which has to be named again.
    """
    policy = manifest.policy
    options = {name: value for name, value in changes.items() if value}
    as_before: Row = {
        name: getattr(manifest, name) for name in ("name", "date", "value", "by", "unit", "share", "residual")
    } | manifest.reading
    if not {*_DATED_BY} & {*options}:
        if policy.kind == "releases":
            raise UsageError(
                f"{manifest.name} is dated by the releases in {policy.releases}: give them again with ",
                Option("releases", "FILE"),
            )
        as_before[policy.kind] = policy.column or policy.lag or True
    return SourceRequest.read(as_before | options)
