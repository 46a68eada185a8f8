"""Jobs on the cores of this machine, each result as it comes; whoever stops listening ends the work."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import Any, TypeVar

from proxies.process_pool import process_pool

J = TypeVar("J")
R = TypeVar("R")


def run_jobs(
    function: Callable[[J], R], jobs: Sequence[J], *, processes: int, gentle: bool = False
) -> Iterator[R]:
    """Yield the result of every job, in the order in which they end; an error of one is raised and ends the others."""
    if processes == 1 or len(jobs) < 2:
        yield from map(function, jobs)
        return
    pool = process_pool(min(processes, len(jobs)))
    try:
        waiting = [pool.submit(_perform, function, job, gentle=gentle) for job in jobs]
        for finished in as_completed(waiting):
            yield finished.result()
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def _perform(function: Callable[[Any], Any], job: Any, *, gentle: bool) -> Any:
    if gentle and os.nice(0) < 10:
        os.nice(10)
    return function(job)
