"""Record every call by address: who asked what, and the answer.

An answer is read from the ledger only at the address it was recorded under, with the hash of its request
beside it as a check, so that trials stay independent and a resumed run asks for nothing twice.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from proxies.errors import LedgerMismatch
from proxies.json_text import Fields, Row


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Address:
    """The place of a call in a run.

    For calls out of a cell: ``stage`` is ``cell``, ``step`` the 0-based index of the code cell in its session,
    ``retry`` the 0-based count of the cell's calls. Without a stage it is the place of a whole attempt.
    """

    run: str
    node: str
    trial: int
    attempt: int
    stage: str = ""
    step: int = 0
    retry: int = 0


#: How paths begin that read the catalogue itself and no source.
CATALOGUE = "catalogue/"


class Answer:
    """An answer to a caller: data in the upstream's shape as JSON, and meta on what was done to it."""

    def __init__(
        self,
        *,
        meta: Row,
        data: Any = None,
        body: bytes | None = None,
        dropped: Mapping[str, int] | None = None,
    ) -> None:
        self.meta = meta
        self.body = orjson.dumps(data) if body is None else body
        self.dropped: Mapping[str, int] = dropped or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self.meta == other.meta and self.data == other.data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Answer(data={self.data!r}, meta={self.meta!r})"

    @functools.cached_property
    def data(self) -> Any:
        """The data, shared between equal calls: read it, do not change it.

        Parsed when somebody looks at it, which for a large answer that goes to a kernel is never.
        """
        return orjson.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One call: caller, request as asked and sent (never a key), and the answer or the refusal."""

    address: Address
    at_utc: str
    path: str
    asked: Row
    sent: list[Row]
    cutoff: str
    answer: Answer | None
    refused: str | None
    request_hash: str
    #: ``rows_dropped, dropped_why``: what an agent must not read, since it counts what came after the cutoff.
    audit: Fields = field(default_factory=dict)

    @property
    def rows_dropped(self) -> int:
        """Number of rows left out of the answer."""
        return int(self.audit.get("rows_dropped", 0))

    @property
    def dropped_why(self) -> Mapping[str, int]:
        """Number of rows left out, by reason."""
        why: Mapping[str, int] = self.audit.get("dropped_why", {})
        return why


class Ledger(Protocol):
    """The broker's record; the store implements it."""

    def recall(self, address: Address, request_hash: str) -> LedgerRow | None:
        """Return the row at this address, or None; a row with another hash raises LedgerMismatch."""
        ...

    def record(self, row: LedgerRow) -> None:
        """Store a row, durably: the broker calls this before it returns the answer."""
        ...


class MemoryLedger:
    """A ledger that lives as long as its process."""

    def __init__(self) -> None:
        self.rows: dict[Address, LedgerRow] = {}

    def recall(self, address: Address, request_hash: str) -> LedgerRow | None:
        """Return the row at this address, or None; a row with another hash raises LedgerMismatch."""
        row = self.rows.get(address)
        if row is not None and row.request_hash != request_hash:
            raise mismatch(address, row.path)
        return row

    def record(self, row: LedgerRow) -> None:
        """Store a row."""
        self.rows[row.address] = row


def mismatch(address: Address, path: str) -> LedgerMismatch:
    """Build the error of an address that holds another request."""
    return LedgerMismatch(
        f"another request ({path}) is recorded at {address.node}, trial {address.trial}, cell {address.step}, "
        f"call {address.retry}: the code has changed since, start a new attempt"
    )
