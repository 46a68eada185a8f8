"""Sealed kernels: a session is a kernel without network, keys or files, and an append-only journal of its cells.

Names are loaded when first used, so that importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from sandbox.errors import (
    IsolationUnavailable,
    JournalBroken,
    KernelDied,
    KernelStartFailed,
    SandboxError,
    SessionClosed,
)
from sandbox.types import (
    ApiCaller,
    CellError,
    CellResult,
    IsolationReport,
    JournalCell,
    Limits,
    SessionSpec,
)

if TYPE_CHECKING:
    from sandbox.manager import Sandbox
    from sandbox.record.journal import read_journal
    from sandbox.record.session_notebook import render_notebook
    from sandbox.session import Session

_LAZY = {
    "Sandbox": "sandbox.manager",
    "Session": "sandbox.session",
    "read_journal": "sandbox.record.journal",
    "render_notebook": "sandbox.record.session_notebook",
}

__all__ = [
    "ApiCaller",
    "CellError",
    "CellResult",
    "IsolationReport",
    "IsolationUnavailable",
    "JournalBroken",
    "JournalCell",
    "KernelDied",
    "KernelStartFailed",
    "Limits",
    "Sandbox",
    "SandboxError",
    "Session",
    "SessionClosed",
    "SessionSpec",
    "read_journal",
    "render_notebook",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'sandbox' has no attribute {name!r}")
