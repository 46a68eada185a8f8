"""The event log and the ledgers: everything that happened, in one SQLite file."""

from workbench.store.database import Store, StoredEvent, utc_now
from workbench.store.errors import StoreCorrupt, UnknownRun
from workbench.store.ledgers import ApiLedger, ModelLedger

__all__ = [
    "ApiLedger",
    "ModelLedger",
    "Store",
    "StoreCorrupt",
    "StoredEvent",
    "UnknownRun",
    "utc_now",
]
