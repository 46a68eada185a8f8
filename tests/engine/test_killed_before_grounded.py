"""A kill after a leaf's journal was closed and before its event: the run goes on, and nothing is asked twice."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.record.journal import read_lines
from tests.command_line import cli_environment, run_cli
from workbench.store import Store
from workbench.store import events as ev

pytestmark = pytest.mark.long

#: The command line, killed where it would put the first grounding on record.
_KILLED = """
import os, sys
from workbench.engine.leaves.grounding import TrialGrounding
TrialGrounding._record_grounding = lambda *_: os._exit(137)
from workbench.cli.main import main
main()
"""


@pytest.mark.soak
def test_a_closed_journal_without_its_event_is_taken_up_and_the_run_goes_on(tmp_path: Path) -> None:
    words = ("analyze", "VIX above 20 on 2018-12-31", "--cutoff", "2018-11-01", "--max-leaves", "2")
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, *words],
        env=cli_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        timeout=200,
    )
    assert killed.returncode == 137, killed.stderr.decode()[-500:]
    home = tmp_path / "home"
    (folder,) = (home / "runs").iterdir()
    closed = [path for path in folder.glob("sessions/*.jsonl") if read_lines(path)[-1]["kind"] == "close"]
    assert closed, "the moment of the kill"
    before = {path: path.read_bytes() for path in closed}

    done = run_cli(tmp_path, "resume", "last", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "done"
    for path, content in before.items():
        assert path.read_bytes().startswith(content), "a journal is only appended to"
        ids = [line["id"] for line in read_lines(path) if line["kind"] in ("markdown", "code")]
        assert len(ids) == len(set(ids)), "no cell is there twice"
    with closing(Store(home)) as store:
        (run_id,) = store.run_ids()
        events = [row.event for row in store.events(run_id)]
        for table in ("model_calls", "api_calls"):
            where = "node, trial, attempt, stage, step, retry"
            counts = store.query(
                f"SELECT count(*) AS n FROM {table} WHERE run_id = ? GROUP BY {where}", (run_id,)
            )
            assert counts and all(row["n"] == 1 for row in counts), "nothing is asked twice"
    grounded = [event for event in events if isinstance(event, ev.LeafGrounded)]
    assert {event.attempt for event in grounded} == {1}
    for event in grounded:
        path = folder / "sessions" / f"{event.node}.1.1.jsonl"
        assert read_lines(path)[-1]["hash"] == event.journal_head
    verified = [event for event in events if isinstance(event, ev.LeafVerified)]
    assert len(verified) == len(grounded) and all(event.verified for event in verified)
