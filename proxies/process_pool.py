"""Open worker processes that get no key: past forecasts are made in them, and a database is asked from one.

loky's `ProcessPoolExecutor` has the interface of the one in `concurrent.futures`, and two things that one lacks: a worker
does not run the caller's ``__main__`` again, and its environment can be set.
"""

import os
import signal
import threading
import time
from typing import Any

_ENVIRONMENT = frozenset(
    {"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONPATH"}
)


def process_pool(workers: int) -> Any:
    """Return loky's executor with processes that get no key, end with their parent, and ignore Ctrl-C."""
    # imported late: it takes 60 ms, and most processes never need one
    from loky import ProcessPoolExecutor

    # an empty text takes the place of every variable that could hold a key; PYTHONSAFEPATH keeps the current folder,
    # which may be somebody else's, off the worker's import path
    empty = {name: "" for name in os.environ if name not in _ENVIRONMENT}
    return ProcessPoolExecutor(
        max_workers=workers,
        # one thread each: two workers whose linear algebra starts two threads wait for one another
        env={**empty, "PYTHONSAFEPATH": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        initializer=_prepare,
        initargs=(os.getpid(),),
    )


def _prepare(parent: int) -> None:
    """Set the worker up: Ctrl-C is for its parent, and a killed parent leaves no orphan."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    # asked once a second: an orphan gets another parent, and a signal at the parent's death is not to be had everywhere
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)
