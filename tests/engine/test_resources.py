"""A full disk, few descriptors, a reader that is gone: the run stops with one line, and a later sitting ends it right."""

import errno
import os
import resource
import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.fakes import sittings
from tests.fakes.asking_run import Provider, open_run, sit, undisturbed
from workbench.engine.record import run_files as files
from workbench.engine.record.fold import load_state
from workbench.errors import BudgetStop
from workbench.resources import ResourceStop
from workbench.store import Store, StoreFull

pytestmark = pytest.mark.long

LEAVES = 7


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


def test_few_descriptors_stop_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    said = stopped(tmp_path / "home", partial(few_descriptors, 1))
    assert said[1] in (2, 3) and "\n" not in said[2], said


def test_files_that_may_not_grow_stop_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    said = stopped(tmp_path / "home", partial(small_files, 20_000))
    assert said[1] in (2, 3) and "\n" not in said[2], said


def test_a_terminal_that_is_gone_stops_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    said = stopped(tmp_path / "home", closed_terminal)
    assert said[0] == "ResourceStop" and said[1] == 3 and "\n" not in said[2], said


def test_a_file_that_the_disk_does_not_take_stops_the_run(store: Store) -> None:
    """The database takes its rows, ``tree.json`` finds no room: one line, and the next sitting ends the run."""
    run_id = open_run(store)
    full = OSError(errno.ENOSPC, "no space")
    with patch.object(files, "replace_file", side_effect=full), pytest.raises(ResourceStop) as caught:
        sit(store, run_id, leaves=3)
    assert caught.value.exit_code == 3 and "the disk is full" in str(caught.value)
    assert sit(store, run_id, leaves=3).finished


class Failing:
    """An analyzer that ends in an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def analyze(self, *_: Any, **__: Any) -> Any:
        raise self.error


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
    store: Store, error: Exception, raised: type[Exception], why: str | None, words: str
) -> None:
    run_id = open_run(store)
    with pytest.raises(raised) as caught:
        sit(store, run_id, analyzer=Failing(error))
    assert type(caught.value) is raised
    stop = load_state(store, run_id).stopped
    assert (stop.why if stop else None) == why and words in (stop.detail if stop else "")
