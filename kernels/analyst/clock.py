"""Set the clock of a kernel back to an instant, for `time`, `datetime` and pandas.

For proofs that are run again, not for safety: a cell that wants the true time still finds it (`time.clock_gettime`,
numpy's ``datetime64('now')``, any program it starts).
"""

import ctypes
import datetime
import gc
import time
from typing import Any

_WITH_DEFAULT = ("localtime", "gmtime", "ctime")


def freeze(instant: float) -> None:
    """Start the time of this process at `instant` (seconds since 1970, UTC) now."""
    real, real_ns = time.time, time.time_ns
    moved = instant - real()
    moved_ns = int(instant * 1e9) - real_ns()

    def now() -> float:
        return real() + moved

    replaced: Any = time
    replaced.time = now
    replaced.time_ns = lambda: real_ns() + moved_ns
    for name in _WITH_DEFAULT:
        setattr(replaced, name, _from(getattr(time, name), now))
    strftime, localtime, asctime = time.strftime, time.localtime, time.asctime
    replaced.strftime = lambda pattern, when=None: strftime(pattern, localtime() if when is None else when)
    replaced.asctime = lambda when=None: asctime(localtime() if when is None else when)
    # The class itself is changed, not its name in the module: pandas and all that is imported hold the class already.
    # Python lets nobody set attributes of a class written in C, hence its dictionary by way of `gc`. `today` asks
    # time.time.
    attributes = gc.get_referents(datetime.datetime.__dict__)[0]
    attributes["now"] = classmethod(lambda cls, tz=None: cls.fromtimestamp(now(), tz))
    attributes["utcnow"] = classmethod(
        lambda cls: cls.fromtimestamp(now(), datetime.UTC).replace(tzinfo=None)
    )
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))


def freeze_at_first_cell(instant: float, events: Any) -> None:
    """Call `freeze` when the first cell begins: a kernel may have waited long for its session."""
    waiting = [instant]

    def begin(*_: Any) -> None:
        # it stays among the events: one that goes would pass for a cell's doing (`supplied_names`)
        if waiting:
            freeze(waiting.pop())

    events.register("pre_run_cell", begin)


def _from(function: Any, now: Any) -> Any:
    return lambda seconds=None: function(now() if seconds is None else seconds)
