"""Sittings of a run in processes of their own, forked from one that has imported everything: a second each, not five."""

import asyncio
import multiprocessing
import os
import sys
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from tests.fakes.asking_run import Provider, work
from workbench.engine.record.progress import print_progress
from workbench.resources import ResourceStop, is_resource_error, resource_line
from workbench.store import Store


def context() -> ForkServerContext:
    """The server is started by the first process of a test run, without the test's own threads and descriptors."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["tests.fakes.warm_sittings"])
    return forks


def sitting(home: Path, run_id: str, *, leaves: int, provider: Provider | None = None, **more: Any) -> None:
    """One sitting, in this process."""
    store = Store(home)
    try:
        asyncio.run(work(store, run_id, provider or Provider(), leaves=leaves, **more))
    finally:
        store.close()


def sitting_told(home: Path, run_id: str, leaves: int, answer: Any, before: Any = None) -> None:
    """A sitting whose end goes through a pipe: ``done``, or kind, exit code and line of what it raised."""
    try:
        if before is not None:
            before()
        sitting(home, run_id, leaves=leaves, listener=print_progress)
    except BaseException as error:
        stop = error
        if isinstance(error, OSError) and is_resource_error(
            error
        ):  # before the run was in work: the command says it
            stop = ResourceStop(resource_line(error))
        answer.send((type(stop).__name__, getattr(stop, "exit_code", None), str(stop)))
    else:
        answer.send("done")
    finally:
        answer.close()


def told(home: Path, run_id: str, leaves: int, before: Any = None) -> Any:
    """What `sitting_told` says in a process of its own."""
    forks = context()
    ours, theirs = forks.Pipe(duplex=False)
    process = forks.Process(target=sitting_told, args=(home, run_id, leaves, theirs, before))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        process.join()
        return f"died with {process.exitcode}"
    finally:
        process.join()
        ours.close()


def quiet() -> None:
    """Send this process's progress lines nowhere."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (until the process ends)
