"""Errors of the store.

UsageError
├── UnknownRun      no such run in this home
└── EditConflict    an edit was made against an older state of the run
WorkbenchError
└── StoreCorrupt    the database does not hold what its own hashes say
"""

from workbench.errors import UsageError, WorkbenchError


class UnknownRun(UsageError):
    """No run of that id lies in this home."""


class EditConflict(UsageError):
    """Somebody else edited the run since the state this edit was made against."""


class StoreCorrupt(WorkbenchError):
    """A stored body does not have the hash it is filed under."""
