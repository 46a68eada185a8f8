"""`CALL_API`, the one window of a kernel: a request on an inherited socket, a reply from the broker behind it.

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
from typing import Any

MAX_REQUEST = 64 << 10
MAX_REPLY = 64 << 20
_CHUNK = 64 << 10  # a larger receive buffer would be mapped and unmapped by every call
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_DATE_COLUMNS = ("date", "datetime", "timestamp", "day", "time")


class ApiError(Exception):
    """A call that brought no data; the message is one line."""


class ApiRefused(ApiError):
    """The request cannot be answered as asked: unknown path, parameter not listed, beyond the cutoff."""


class ApiUnavailable(ApiError):
    """The source, or the way to it, failed; the same call may work later."""


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
        return "CALL_API(path, params) -> data; CALL_API.meta of the last call; CALL_API.frame(path, params)"

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

    def frame(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return the rows of `path` as a pandas DataFrame, columns of dates parsed."""
        import pandas

        return _with_dates(pandas.DataFrame(_rows(self(path, params))))

    def notes(self) -> str:
        """One line on what the last answer left out, or an empty string."""
        parts = []
        clamped = self.meta.get("clamped") or []
        if clamped:
            parts.append("clamped " + ", ".join(str(item) for item in clamped))
        undated = self.meta.get("undated") or 0
        if undated:
            parts.append(f"left out {undated} row{'s' if undated != 1 else ''} without a readable date")
        # only answers recorded by earlier versions count late rows; re-run from the ledger, a cell must show them again
        dropped = self.meta.get("rows_dropped") or 0
        if dropped:
            why = ", ".join(
                f"{count} {reason}" for reason, count in (self.meta.get("dropped_why") or {}).items()
            )
            parts.append(f"dropped {dropped} row{'s' if dropped != 1 else ''}" + (f" ({why})" if why else ""))
        return " ".join("; ".join(parts).split())

    def declare_cutoff(self, text: str) -> Any:
        """Declare the knowledge cutoff where none is pinned; a later one may only be earlier."""
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

    def _fill(self, link: socket.socket, wanted: int) -> None:
        while len(self._received) < wanted:
            chunk = link.recv(_CHUNK)
            if not chunk:
                raise OSError("connection closed")
            self._received += chunk


def _rows(data: Any) -> Any:
    """The rows of an answer: the list itself, or the list in an object; an answer without rows is one row."""
    if isinstance(data, dict):
        lists = [value for value in data.values() if isinstance(value, list)]
        if lists and (len(lists) == 1 or not lists[0] or all(isinstance(row, dict) for row in lists[0])):
            return lists[0]
        return [data]
    return data


def _with_dates(table: Any) -> Any:
    """The table with its columns of dates, and the numbers that a vendor writes as text, parsed; others stay."""
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
    """The line magic ``%cutoff DATE``."""

    def cutoff(line: str) -> None:
        """Declare the knowledge cutoff of this session: %cutoff 2018-06-30, or %cutoff live."""
        print(f"cutoff: {api.declare_cutoff(line.strip())}")

    return cutoff
