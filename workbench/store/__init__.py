"""The event log and the ledgers: everything that happened, in one SQLite file."""

from workbench.store.database import Store, StoredEvent, utc_now
from workbench.store.errors import StoreCorrupt, StoreTooNew, UnknownRun
from workbench.store.events import Event
from workbench.store.ledgers import ApiLedger, ModelLedger

__all__ = [
    "ApiLedger",
    "Event",
    "ModelLedger",
    "Store",
    "StoreCorrupt",
    "StoreTooNew",
    "StoredEvent",
    "UnknownRun",
    "utc_now",
]
