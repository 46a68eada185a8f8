"""What the machine gives: its cores; and when it gives no more, a full disk or a reader that is gone: the run stops and can be resumed."""

import errno
import os

from workbench.errors import BudgetStop

_WORDS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file may not grow any further",
    errno.EMFILE: "this process may open no more files (see `ulimit -n`)",
    errno.ENFILE: "this machine can open no more files",
    errno.ENOMEM: "no memory is left",
    errno.EAGAIN: "this machine can start no more processes",
    errno.EROFS: "the disk can only be read",
    errno.EPIPE: "nobody reads the output any more",
    errno.EBADF: "the output was closed",
    errno.EIO: "the disk or the terminal is gone",
}


class ResourceStop(BudgetStop):
    """The machine ran out of something; what is done is kept."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_resource_error(error: BaseException) -> bool:
    """Whether an error, or what it came from, says that the machine gives no more."""
    return _shortage_words(error) is not None


def resource_line(error: BaseException) -> str:
    """Return the sentence that says what ran out."""
    return f"{_shortage_words(error)}: mend that"


def _shortage_words(error: BaseException) -> str | None:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, OSError) and cause.errno in _WORDS:
            return _WORDS[cause.errno]
        cause = cause.__cause__ or cause.__context__
    return None
