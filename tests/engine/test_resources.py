"""A full disk, few descriptors, a reader that is gone: the run stops with one line, and a later sitting ends it right."""

import asyncio
import ctypes
import errno
import os
import resource
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.fakes import sittings
from tests.fakes.asking_run import Provider, open_run, undisturbed, work
from workbench.engine.flow import _stop_on_record
from workbench.engine.record import run_files as files
from workbench.engine.record.fold import load_state
from workbench.engine.record.recorder import Recorder
from workbench.errors import BudgetStop
from workbench.resources import ResourceStop
from workbench.store import Store, StoreFull

pytestmark = pytest.mark.long

LEAVES = 7
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18


def few_descriptors(number: int) -> None:
    sittings.quiet()
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + number, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def small_files(size: int) -> None:
    sittings.quiet()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def closed_terminal() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    sys.stderr = open(writing, "w", buffering=1)  # noqa: SIM115  (until the process ends)


def small_disk(folder: Path, size: int) -> None:
    """Copy the home onto a small file system of its own, at the same place, seen by this process alone."""
    sittings.quiet()
    libc = ctypes.CDLL(None, use_errno=True)
    data = (folder / "workbench.db").read_bytes()
    if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
        raise PermissionError("no mounts here")
    if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=%d" % size):
        raise PermissionError("no mounts here")
    (folder / "workbench.db").write_bytes(data)


def stopped(home: Path, before: Any) -> Any:
    """What a sitting under these conditions said; afterwards the run is ended without them."""
    right = undisturbed(home.parent / "undisturbed", LEAVES)
    store = Store(home)
    run_id = open_run(store)
    store.query("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    said = sittings.told(home, run_id, LEAVES, before)
    sittings.sitting(home, run_id, leaves=LEAVES, provider=Provider())
    store = Store(home)
    state = load_state(store, run_id)
    assert state.finished and state.tree.root.p == right
    assert len(store.query("SELECT DISTINCT node, step FROM model_calls")) == 3 * LEAVES
    store.close()
    return said


@pytest.mark.parametrize("number", [1, 5, 12])
def test_few_descriptors_stop_a_run_that_can_be_resumed(tmp_path: Path, number: int) -> None:
    said = stopped(tmp_path / "home", partial(few_descriptors, number))
    assert said == "done" or (said[1] in (2, 3) and "\n" not in said[2]), said
    assert number > 5 or said != "done"


@pytest.mark.parametrize("size", [20_000, 100_000])
def test_files_that_may_not_grow_stop_a_run_that_can_be_resumed(tmp_path: Path, size: int) -> None:
    said = stopped(tmp_path / "home", partial(small_files, size))
    assert said[1] in (2, 3) and "\n" not in said[2], said


def test_a_full_disk_stops_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    said = stopped(tmp_path / "home", partial(small_disk, tmp_path / "home", 200_000))
    if said[0] == "PermissionError":
        pytest.skip(said[2])
    assert said[1] == 3 and "full" in said[2] and "\n" not in said[2], said


def test_a_terminal_that_is_gone_stops_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    said = stopped(tmp_path / "home", closed_terminal)
    assert said[0] == "ResourceStop" and said[1] == 3 and "\n" not in said[2], said


def test_a_file_that_the_disk_does_not_take_stops_the_run(tmp_path: Path) -> None:
    """The database takes its rows, ``tree.json`` finds no room: one line, and the next sitting ends the run."""
    with closing(Store(tmp_path)) as store:
        run_id = open_run(store)
        full = OSError(errno.ENOSPC, "no space")
        with patch.object(files, "replace_file", side_effect=full), pytest.raises(ResourceStop) as caught:
            asyncio.run(work(store, run_id, Provider(), leaves=3))
        assert caught.value.exit_code == 3 and "the disk is full" in str(caught.value)
        assert asyncio.run(work(store, run_id, Provider(), leaves=3)).finished


@pytest.mark.parametrize(
    ("error", "raised", "why", "words"),
    [
        (StoreFull("the database cannot be written"), StoreFull, "resources", "cannot be written"),
        (OSError(errno.ENOSPC, "no space"), ResourceStop, "resources", "the disk is full: mend that"),
        (OSError(errno.EMFILE, "too many"), ResourceStop, "resources", "may open no more files"),
        (BudgetStop("the budget is used up"), BudgetStop, "budget", "used up"),
        (OSError(errno.ENOENT, "no such file"), FileNotFoundError, None, ""),
        (KeyError("a bug of ours"), KeyError, None, ""),
    ],
)
def test_what_ran_out_is_on_the_log_and_a_bug_is_not_taken_for_it(
    tmp_path: Path, error: Exception, raised: type[Exception], why: str | None, words: str
) -> None:
    with closing(Store(tmp_path)) as store:
        run_id = open_run(store)

        async def sitting() -> None:
            async with (
                Recorder(store, run_id, lambda state, event: None) as recorder,
                _stop_on_record(recorder),
            ):
                raise error

        with pytest.raises(raised) as caught:
            asyncio.run(sitting())
        assert type(caught.value) is raised
        stop = load_state(store, run_id).stopped
        assert (stop.why if stop else None) == why and words in (stop.detail if stop else "")
