"""Runs that work by themselves: detached, watched, stopped; one owner each; every stop signal is one line and exit 3."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import cli_environment, run_cli, run_process
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.engine import detached

pytestmark = pytest.mark.long

CLAIM = "The three series close as expected in 2018"
ANALYZE = ("analyze", CLAIM, "--cutoff", "2018-06-30", "--model", "openai/x")


def analyze(home: Path, server: OpenAIServer, *more: str) -> subprocess.CompletedProcess[str]:
    return run_process(home, *ANALYZE, "--api-base", server.url, *more)


def wait_until(true: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


def test_a_detached_run_is_watched_stopped_and_taken_up_again(tmp_path: Path) -> None:
    gate = threading.Event()
    with OpenAIServer(Policy(steps=1, hold={"conclude P2": gate})) as server:
        begun = analyze(tmp_path, server, "--detach")
        assert begun.returncode == 0, begun.stderr
        (run_id,) = begun.stdout.split()
        wait_until(lambda: server.held)
        # A second process is told who works, and does not touch the run.
        refused = run_cli(tmp_path, "resume", run_id)
        assert refused.returncode == 2, refused.stderr
        assert "is running: process" in last_line(refused) and "since 20" in last_line(refused)
        assert run_cli(tmp_path, "resume", run_id, "--budget-calls", "90").returncode == 2
        watching = subprocess.Popen(
            [sys.executable, "-m", "workbench.cli.main", "watch", run_id],
            env=cli_environment(tmp_path),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_until(lambda: b"is running" in watching.stderr.readline())  # type: ignore[union-attr]
        stopped = run_cli(tmp_path, "stop", "last")
        assert stopped.returncode == 0, stopped.stderr
        assert "is stopped" in stopped.stderr
        watching.communicate(timeout=60)
        assert watching.returncode == 3  # the exit code of the run
        state = json.loads(run_cli(tmp_path, "show", run_id, "--json").stdout)
        assert (state["status"], state["state"]) == ("partial", "stopped")
        gate.set()
        server.policy.hold.clear()
        assert run_cli(tmp_path, "resume", run_id, "--detach").stdout.split() == [run_id]
        done = run_cli(tmp_path, "watch", run_id, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["state"] == "done"
    assert "nobody works" in run_cli(tmp_path, "stop", run_id).stderr


@pytest.mark.parametrize(("code", "exits"), [(4, 4), (6, 6), (-9, 3)])
def test_a_detached_process_that_ends_at_once_hands_on_its_exit_code(
    code: int, exits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30")
    assert run_cli(tmp_path, "analyze", *claim, "--plan-only").returncode == 0
    child = f"import os, sys\nprint('workbench: it is over', file=sys.stderr, flush=True)\nos.{f'_exit({code})' if code > 0 else 'kill(os.getpid(), 9)'}"
    monkeypatch.setattr(detached, "_COMMAND", (sys.executable, "-c", child))
    done = run_cli(tmp_path, "resume", "last", "--detach")
    assert done.returncode == exits and "workbench: it is over" in done.stderr and done.stdout == ""


def test_a_claim_that_is_refused_is_refused_before_anything_is_detached(tmp_path: Path) -> None:
    done = run_cli(tmp_path, "analyze", "It will rain", "--cutoff", "2018-06-30", "--detach")
    assert done.returncode == 2 and done.stdout == ""
    assert json.loads(run_cli(tmp_path, "runs", "--json").stdout) == []


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.soak)]
)
def test_every_stop_signal_is_one_line_a_stop_event_and_exit_3(
    tmp_path: Path, number: signal.Signals
) -> None:
    gate = threading.Event()
    with OpenAIServer(Policy(steps=1, hold={"analyze P0": gate})) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "workbench.cli.main", *ANALYZE, "--api-base", server.url],
            env=cli_environment(tmp_path),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # a suite that `nohup` started would pass on that the signal is ignored, and the command would obey
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        )
        wait_until(lambda: server.held)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err.decode()
    assert b"Traceback" not in err and b"stopped by hand" in err.strip().splitlines()[-1]
    state = json.loads(run_cli(tmp_path, "show", "last", "--json").stdout)
    assert state["state"] == "stopped"


@pytest.mark.parametrize("delay", [0.05, 1.0])
def test_a_signal_while_the_command_loads_is_no_traceback(tmp_path: Path, delay: float) -> None:
    """Before the interpreter has come to our code it ends as the system says, without a word."""
    program = Path(sys.executable).with_name("workbench")
    process = subprocess.Popen(
        [program, "call", "embedded/series/list", "--json"],
        env=cli_environment(tmp_path),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(delay)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 3, -signal.SIGTERM), err.decode()
    assert b"Traceback" not in err


def test_a_kill_leaves_a_run_that_says_nobody_works_on_it(tmp_path: Path) -> None:
    gate = threading.Event()
    with OpenAIServer(Policy(steps=1, hold={"step P3": gate})) as server:
        begun = analyze(tmp_path, server, "--detach")
        (run_id,) = begun.stdout.split()
        wait_until(lambda: server.held)
        pid = json.loads((tmp_path / "home" / "runs" / run_id / "owner.lock").read_text())["pid"]
        os.kill(pid, signal.SIGKILL)
        watched = run_cli(tmp_path, "watch", run_id)
        assert watched.returncode == 3 and "is gone" in last_line(watched)
        gate.set()
        server.policy.hold.clear()
        assert run_cli(tmp_path, "resume", run_id).returncode == 0
