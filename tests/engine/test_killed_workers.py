"""Two owners with workers of their own on one home, workers and an owner killed: both runs are done, nothing is asked twice or left running."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.command_line import cli_environment, run_process
from workbench.audit.home_check import check_home
from workbench.engine.record.fold import load_state
from workbench.store import Store

CLAIM = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30")


def workers_of(owner: subprocess.Popen[str]) -> list[psutil.Process]:
    return [
        each
        for each in psutil.Process(owner.pid).children()
        if any("spawn_main" in word for word in each.cmdline())
    ]


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_killed_workers_and_a_killed_owner_lose_nothing(tmp_path: Path) -> None:
    owners = [
        subprocess.Popen(
            [sys.executable, "-m", "workbench.cli.main", "analyze", *CLAIM, "--workers", "2"],
            env=cli_environment(tmp_path), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    first, second = owners
    assert first.stderr is not None and second.stderr is not None
    run_id, begun = "", []
    for line in first.stderr:
        if line.startswith("run "):
            run_id = line.split()[1]
        if "has its evidence (1 of" in line:
            workers_of(first)[0].kill()
        if "has its evidence (3 of" in line:
            begun = psutil.Process(first.pid).children(recursive=True)
            os.kill(first.pid, signal.SIGKILL)
            break
    first.wait()
    first.stderr.close()
    assert begun, "the owner ended before it was killed"
    deadline = time.monotonic() + 60
    while any(each.is_running() and each.status() != "zombie" for each in begun):
        assert time.monotonic() < deadline, "processes of the killed owner are left"
        time.sleep(0.2)
    said = second.stderr.read()
    second.stderr.close()
    assert second.wait() == 0 and "gets no work" not in said and "Traceback" not in said, said
    done = run_process(tmp_path, "resume", run_id, "--workers", "2", timeout=900)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    with closing(Store(tmp_path / "home")) as store:
        assert check_home(store) == []
        states = [load_state(store, each) for each in store.run_ids()]
        assert len(states) == 2 and all(state.finished for state in states)
        assert states[0].tree.root.p == states[1].tree.root.p
        rows = store.query("SELECT run_id, node, trial, attempt, stage, step, retry FROM model_calls")
        assert len({tuple(row) for row in rows}) == len(rows)
