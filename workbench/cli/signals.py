"""The signals that stop a command: Ctrl-C, SIGTERM and SIGHUP all end it with one line and exit 3."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def stop_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that stop a command here; one that the caller ignores (`nohup`) is left ignored."""
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return tuple(number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Let every stop signal raise ``KeyboardInterrupt`` in the block; used around everything a command does.

    While a run is worked on, the event loop has handlers of its own that cancel the work (``cli.drive``).
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
