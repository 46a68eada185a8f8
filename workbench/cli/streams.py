"""The standard streams of a command: one that was closed before it began, and one whose reader goes away (``| head -1``)."""

import os
import select
import sys

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def open_closed_streams() -> None:
    """Point standard streams that are closed (``>&-``) to nowhere; called before a command opens anything.

    The next file to be opened would get a closed stream's number: a program that prints there would write into a database.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:  # what Python makes of a stream that was closed at its start
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def drop_unread_output() -> bool:
    """Send to nowhere whatever this process still prints on streams whose reader is gone; return whether there is one.

    What is in their buffers too: Python flushes them as it ends, and would complain of the pipe once more.
    """
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)
    unread = [number for number, event in poll.poll(0) if event & select.POLLERR]
    if unread:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in unread:
            os.dup2(nowhere, number)
        os.close(nowhere)
    return bool(unread)
