"""Who asked what and what came back: the broker's record, by address.

An answer is read from the ledger only at the address it was recorded under, with the hash of its request
beside it as a check, so that trials stay independent and a resumed run asks for nothing twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from proxies.columns import Columns, to_columns
from proxies.errors import LedgerMismatch


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Address:
    """Where in a run a call stands.

    For calls out of a cell: ``stage`` is ``cell``, ``step`` the 0-based index of the code cell in its session,
    ``retry`` the 0-based count of the cell's calls.
    """

    run: str
    node: str
    trial: int
    attempt: int
    stage: str
    step: int
    retry: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the broker lets out: data in the upstream's shape, and what was done to it.

    Attributes
    ----------
    data : JSON value
        Shared between equal calls: read it, do not change it.
    meta : dict
        ``as_of, policy, clamped, rows_dropped, dropped_why, residual, source, endpoint, fetched_at,
        content_hash, notes``.
    body : bytes or None
        The data as JSON, when already encoded.
    """

    data: Any
    meta: dict[str, Any]
    body: bytes | None = field(default=None, repr=False, compare=False)
    _columns: list[Columns | None] = field(default_factory=list, init=False, repr=False, compare=False)

    def encoded(self) -> bytes:
        """The data as JSON bytes, in the upstream's key order, without encoding twice."""
        return self.body if self.body is not None else orjson.dumps(self.data)

    def columns(self) -> Columns | None:
        """The data's rows as columns, made once; None where it has no rows."""
        if not self._columns:
            self._columns.append(to_columns(self.data))
        return self._columns[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One call: who asked, what was asked and sent (never a key), and the answer or the refusal."""

    address: Address
    at_utc: str
    path: str
    asked: dict[str, Any]
    sent: list[dict[str, Any]]
    cutoff: str
    answer: Answer | None
    refused: str | None
    request_hash: str


class Ledger(Protocol):
    """Where the broker records; the store implements it."""

    def recall(self, address: Address, request_hash: str) -> LedgerRow | None:
        """The row at this address, or None; a row with another hash raises LedgerMismatch."""
        ...

    def record(self, row: LedgerRow) -> None:
        """Keep a row, durably, before the answer is told."""
        ...


class MemoryLedger:
    """A ledger that lives as long as its process."""

    def __init__(self) -> None:
        self.rows: dict[Address, LedgerRow] = {}

    def recall(self, address: Address, request_hash: str) -> LedgerRow | None:
        """The row at this address, or None; a row with another hash raises LedgerMismatch."""
        row = self.rows.get(address)
        if row is not None and row.request_hash != request_hash:
            raise mismatch(address, row.path)
        return row

    def record(self, row: LedgerRow) -> None:
        """Keep a row."""
        self.rows[row.address] = row


def mismatch(address: Address, path: str) -> LedgerMismatch:
    """The error of an address that holds another request."""
    return LedgerMismatch(
        f"another request ({path}) is recorded at {address.node}, trial {address.trial}, cell {address.step}, "
        f"call {address.retry}: the code has changed since, start a new attempt"
    )


def canonical(value: Mapping[str, Any] | Any) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8. What hashes are taken of."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
