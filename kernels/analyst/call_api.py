"""Provide `CALL_API`, the one window of a kernel: a request on an inherited socket, a reply from the broker behind it.

A frame is four bytes of length (big endian) and a JSON object. Request ``{"id", "path", "params"}`` or
``{"id", "cutoff"}``; reply ``{"id", "data", "meta"}`` or ``{"id", "error", "message"}`` with error ``refused`` or
``unavailable``. What a cell does to this file changes nothing: the other end checks everything again.
"""

import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any

MAX_REQUEST = 64 << 10
MAX_REPLY = 64 << 20
_CHUNK = 64 << 10  # a larger receive buffer would be mapped and unmapped by every call
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_DATE_COLUMNS = ("date", "datetime", "timestamp", "day", "time")


class ApiError(Exception):
    """A call without data; the message is one line."""


class ApiRefused(ApiError):
    """The request cannot be answered: unknown path, unlisted parameter, or beyond the cutoff."""


class ApiUnavailable(ApiError):
    """The source, or the connection to it, failed; the same call may work later."""


class CallApi:
    """Calls data sources by their catalogue path.

    Examples
    --------
    >>> rows = CALL_API("embedded/series/observations", {"series_id": "SP500"})   # doctest: +SKIP
    >>> CALL_API.meta["as_of"]                                                    # doctest: +SKIP
    >>> CALL_API.frame("embedded/series/observations", {"series_id": "SP500"})    # doctest: +SKIP
    """

    def __init__(self, fd: int | None) -> None:
        self.meta: dict[str, Any] = {}
        self._socket = socket.socket(fileno=fd) if fd is not None else None
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._last = 0
        self._received = bytearray()

    def __repr__(self) -> str:
        return (
            "CALL_API(path, params) -> data; CALL_API.meta of the last call; CALL_API.frame(path, params);"
            " CALL_API.search(words); CALL_API.doc(path, ...)"
        )

    def __call__(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return the data of `path` in the shape its source gives it, as known before the cutoff.

        Raises
        ------
        ApiRefused
            The request cannot be answered as asked.
        ApiUnavailable
            The source failed.
        """
        reply = self._ask({"path": path, "params": dict(params or {})})
        self.meta = reply.get("meta") or {}
        notes = self.notes()
        if notes:
            print(f"CALL_API {path}: {notes}", file=sys.stderr)
        return reply.get("data")

    def search(self, words: str) -> str:
        """Search the catalogue: endpoints, series with their parameters, sources to search in; print the result."""
        return _Text(self._ask({"path": "catalogue/search", "params": {"words": words}}).get("data"))

    def doc(self, *paths: str) -> str:
        """Return the documentation of endpoints by path; print it."""
        return _Text(self._ask({"path": "catalogue/doc", "params": {"paths": list(paths)}}).get("data"))

    def frame(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return the rows of `path` as a pandas DataFrame: nested rows unfolded, columns of dates parsed."""
        import pandas

        return _with_dates(pandas.DataFrame(_flat(_rows(self(path, params)))))

    def notes(self) -> str:
        """Return one line on what the last answer left out, or ""."""
        parts = []
        clamped = self.meta.get("clamped") or []
        if clamped:
            parts.append("clamped " + ", ".join(str(item) for item in clamped))
        undated = self.meta.get("undated") or 0
        if undated:
            parts.append(f"left out {undated} row{'s' if undated != 1 else ''} without a readable date")
        return " ".join("; ".join(parts).split())

    def declare_cutoff(self, text: str) -> Any:
        """Declare the knowledge cutoff where none is pinned; a later declaration can only be earlier."""
        return self._ask({"cutoff": text}).get("data")

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        link = self._socket
        if link is None:
            raise ApiUnavailable("this kernel was started without a data broker")
        # a forked child has the same socket: two readers would take parts of each other's replies
        if os.getpid() != self._owner:
            raise ApiUnavailable("CALL_API works in the notebook's own process only, not in one it started")
        with self._lock:
            self._last += 1
            number = self._last
            try:
                body = _encode({"id": number, **request}).encode()
            except (TypeError, ValueError) as error:
                raise ApiRefused(f"path and params must be plain JSON values: {error}") from None
            if len(body) > MAX_REQUEST:
                raise ApiRefused(f"the request has {len(body)} bytes; at most {MAX_REQUEST} are taken")
            try:
                link.sendall(struct.pack(">I", len(body)) + body)
                reply = self._reply(link, number)
            except OSError as error:
                raise ApiUnavailable(f"the data broker is gone ({error})") from None
        kind = reply.get("error")
        if kind:
            raise (ApiRefused if kind == "refused" else ApiUnavailable)(reply.get("message") or kind)
        return reply

    def _reply(self, link: socket.socket, number: int) -> dict[str, Any]:
        # bytes stay in self._received when an interrupt cuts a read short; replies to interrupted calls are passed over
        while True:
            self._fill(link, 4)
            (length,) = struct.unpack_from(">I", self._received)
            if length > MAX_REPLY:
                raise OSError(f"a reply of {length} bytes")
            self._fill(link, 4 + length)
            reply: dict[str, Any] = json.loads(self._received[4 : 4 + length])
            del self._received[: 4 + length]
            if reply.get("id") == number:
                return reply

    def _fill(self, link: socket.socket, size: int) -> None:
        while len(self._received) < size:
            chunk = link.recv(_CHUNK)
            if not chunk:
                raise OSError("connection closed")
            self._received += chunk


class _Text(str):
    """A text that a notebook shows line by line as a cell's last value."""

    __repr__ = str.__str__


def _rows(data: Any) -> Any:
    """Find the rows of an answer at any depth; an answer without rows is one row."""
    if not isinstance(data, dict):
        return data
    if isinstance(data.get("chart"), dict):
        return _chart_rows(data["chart"])
    if isinstance(data.get("timeseries"), dict):
        results = data["timeseries"].get("result") or []
        return [
            row
            for result in results
            for value in result.values()
            if isinstance(value, list)
            for row in value
            if isinstance(row, dict)
        ]
    lists = {name: value for name, value in data.items() if isinstance(value, list)}
    if lists:
        first = next(iter(lists.values()))
        if len(lists) == 1 or not first or all(isinstance(row, dict) for row in first):
            return _unfolded(first)
        return [data]
    inside = [value for value in data.values() if isinstance(value, dict)]
    # an object around the rows (and totals beside them); several objects are a row themselves
    return _rows(inside[0]) if len(inside) == 1 and len(data) <= 2 else [data]


def _unfolded(rows: list[Any]) -> list[Any]:
    out: list[Any] = []
    for row in rows:
        points = None
        if isinstance(row, dict):
            name = next((n for n in ("values", "candlesticks") if isinstance(row.get(n), list)), "")
            if name and all(isinstance(point, dict) for point in row[name]):
                points = row[name]
            elif isinstance(row.get("period"), list):
                name = ""
                columns = {
                    n: v for n, v in row.items() if isinstance(v, list) and len(v) == len(row["period"])
                }
                points = [
                    dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
                ]
        if points is None:
            out.append(row)
            continue
        # the series' own description stands in each of its rows
        about = {n: v for n, v in row.items() if not isinstance(v, (list, dict))}
        out += [{**about, **point} for point in points]
    return out


def _chart_rows(chart: dict[str, Any]) -> list[dict[str, Any]]:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    rows = []
    for result in chart.get("result") or []:
        try:
            zone: Any = ZoneInfo((result.get("meta") or {}).get("exchangeTimezoneName") or "UTC")
        except (KeyError, ValueError):
            zone = UTC
        indicators = result.get("indicators") or {}
        columns = dict((indicators.get("quote") or [{}])[0])
        columns |= (indicators.get("adjclose") or [{}])[0]
        for place, stamp in enumerate(result.get("timestamp") or []):
            values = {n: v[place] for n, v in columns.items() if isinstance(v, list) and place < len(v)}
            rows.append({"timestamp": datetime.fromtimestamp(stamp, tz=zone), **values})
    return rows


def _flat(rows: Any) -> Any:
    if not isinstance(rows, list) or not any(
        isinstance(value, dict) for row in rows if isinstance(row, dict) for value in row.values()
    ):
        return rows
    out = []
    for row in rows:
        flat: dict[str, Any] = {}
        for name, value in row.items() if isinstance(row, dict) else ():
            if isinstance(value, dict) and value:
                flat |= {f"{name}.{inner}": item for inner, item in value.items()}
            else:
                flat[name] = value
        out.append(flat if isinstance(row, dict) else row)
    return out


def _with_dates(table: Any) -> Any:
    """Parse columns of dates, and numbers that a vendor writes as text; other columns stay."""
    import pandas

    for name in table.columns:
        lowered, column = str(name).lower(), table[name]
        dated = lowered in _DATE_COLUMNS or lowered.endswith(("_date", "date", "_start", "_end", "_at"))
        if not (dated or lowered == "value") or column.isna().any():
            continue
        if pandas.api.types.infer_dtype(column, skipna=False) != "string":
            continue
        if not dated:
            table[name] = pandas.to_numeric(column, errors="coerce")
            continue
        # dates repeat from row to row, and reading one costs more than looking it up
        places, texts = pandas.factorize(column)
        parsed = pandas.to_datetime(pandas.Series(texts), errors="coerce", format="ISO8601")
        if not parsed.isna().any():
            table[name] = parsed.array.take(places)
    return table


def cutoff_magic(api: CallApi) -> Callable[[str], None]:
    """Return the line magic ``%cutoff DATE``."""

    def cutoff(line: str) -> None:
        """Declare the knowledge cutoff of this session: %cutoff 2018-06-30, or %cutoff live."""
        print(f"cutoff: {api.declare_cutoff(line.strip())}")

    return cutoff
