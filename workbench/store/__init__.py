"""The event log and the ledgers of all runs, in one SQLite file."""

from workbench.store.database import BodyUse, Store, StoredEvent, utc_now
from workbench.store.errors import (
    EventUnreadable,
    HomeUnusable,
    OtherVersion,
    PackageRefused,
    StoreCorrupt,
    StoreFull,
    UnknownRun,
)
from workbench.store.events import Event
from workbench.store.ledgers import ApiLedger, ModelLedger

__all__ = [
    "ApiLedger",
    "BodyUse",
    "Event",
    "EventUnreadable",
    "HomeUnusable",
    "ModelLedger",
    "OtherVersion",
    "PackageRefused",
    "Store",
    "StoreCorrupt",
    "StoreFull",
    "StoredEvent",
    "UnknownRun",
    "utc_now",
]
