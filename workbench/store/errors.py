"""Errors of the store.

UsageError
├── UnknownRun        no such run in this home                                  exit 2
├── HomeUnusable      the data folder cannot be made, read or written           exit 2
└── PackageRefused    a stranger's file that our export cannot have written     exit 2
WorkbenchError
└── StoreCorrupt      the database does not hold what its own hashes say        exit 6
    ├── EventUnreadable   an event of the log is not of any kind we know        exit 6
    └── OtherVersion      another workbench wrote the database or an event      exit 6
BudgetStop
└── StoreFull         the disk takes no more; what was committed is kept        exit 3
"""

from workbench.errors import BudgetStop, UsageError, WorkbenchError


class UnknownRun(UsageError):
    """No run of that id lies in this home."""


class HomeUnusable(UsageError):
    """The data folder or its database cannot be made, opened or written here."""


class PackageRefused(UsageError):
    """A package that our export cannot have written: malformed, oversized or forged."""


class StoreCorrupt(WorkbenchError):
    """The database is damaged, or a stored body does not have the hash it is filed under."""

    exit_code = 6


class EventUnreadable(StoreCorrupt):
    """A stored event is not what the workbench wrote: no JSON, of no kind, or out of place."""


class OtherVersion(StoreCorrupt):
    """The database, or an event in it, was written by another version of the workbench."""


class StoreFull(BudgetStop):
    """The disk under the database takes no more, or the database is held by others for too long; the run can be resumed."""
