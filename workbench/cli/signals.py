"""How a command ends early: the signals that stop it with one line and exit 3, closed streams, a reader that goes away."""

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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


def stop_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that stop a command here; one that the caller ignores (`nohup`) is left ignored."""
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return tuple(number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Let every stop signal raise ``KeyboardInterrupt`` in the block; used around everything a command does.

    While an operation waits, the event loop has handlers of its own that cancel the work (``cli.operation_command``).
    """
    if threading.current_thread() is not threading.main_thread():  # only there may handlers be set
        yield
        return
    before = {number: signal.signal(number, _interrupt) for number in stop_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
