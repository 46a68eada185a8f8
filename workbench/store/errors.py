"""Errors of the store.

UsageError
└── UnknownRun      no such run in this home
WorkbenchError
├── StoreCorrupt    the database does not hold what its own hashes say     exit 6
└── StoreTooNew     a newer workbench has written the database or an event exit 6
"""

from workbench.errors import UsageError, WorkbenchError


class UnknownRun(UsageError):
    """No run of that id lies in this home."""


class StoreCorrupt(WorkbenchError):
    """A stored body does not have the hash it is filed under."""

    exit_code = 6


class StoreTooNew(WorkbenchError):
    """The database, or an event in it, has a version that this workbench does not know."""

    exit_code = 6
