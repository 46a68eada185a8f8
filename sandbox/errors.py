"""Errors of the sandbox's machinery. A cell that fails is a value (`CellResult`), never one of these.

SandboxError
├── IsolationUnavailable   this machine refuses the asked level; fatal, mended by hand    exit 5
├── KernelStartFailed      a kernel did not come up; may be tried again
├── KernelDied             the kernel is gone and the call needs a living one
├── SessionClosed          the session was closed; a mistake of the caller
├── AnotherWriter          somebody else appended to the journal; fatal for the run, which has another owner
└── JournalBroken          the journal on disk is not what was written; fatal for that session
"""

from proxies.remedies import Remedied


class SandboxError(Remedied):
    """The sandbox itself failed; the message is one clear line."""


class IsolationUnavailable(SandboxError):
    """The isolation level cannot be had here; the message names the refused step and a remedy."""


class KernelStartFailed(SandboxError):
    """A kernel could not be started."""


class KernelDied(SandboxError):
    """The kernel of a call has ended."""


class SessionClosed(SandboxError):
    """The session was used after it was closed."""


class JournalBroken(SandboxError):
    """A journal's lines do not chain, or are no journal at all."""


class AnotherWriter(SandboxError):
    """A journal grew, or shrank, under its writer: another process works on the same run."""
