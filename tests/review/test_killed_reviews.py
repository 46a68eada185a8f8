"""A review whose process is killed with SIGKILL at any stage goes on and asks nothing twice; of two cron lines one reviews."""

import asyncio
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import cli_environment
from tests.review.test_review import finished
from workbench.engine.record.fold import load_state
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.views.kept_changes import kept_changes

pytestmark = pytest.mark.long

CUTOFF = "2018-06-27"


def one_review(home: Path, first: str) -> None:
    """The home holds one review of the run, finished, told, and with every call of it made once."""
    with closing(Store(home)) as store:
        (review,) = [run_id for run_id in store.run_ids() if run_id != first]
        state = load_state(store, review)
        assert state.finished and state.follows is not None and state.follows.run == first
        calls = [(row.address.node, row.path, json.dumps(row.asked)) for row in ApiLedger(store).rows(review)]
        assert len(set(calls)) == len(calls), "nothing twice"
        assert not ModelLedger(store).attempts(review)
        changes = kept_changes(store.folder(review))
        assert changes is not None and changes["runs"] == [first, review]


def test_two_cron_lines_at_once_buy_nothing_twice(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "home")) as store:
        first = asyncio.run(finished(store))
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "workbench.cli.main", "review", "--cutoff", CUTOFF, "--json"],
            env=cli_environment(tmp_path),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    ended = [(*each.communicate(timeout=280), each.returncode) for each in both]
    for out, err, code in ended:
        if code == 2:
            assert "the review of this data folder is in work" in err and "Traceback" not in err
        else:
            assert code in (0, 10) and json.loads(out)["claims"], err
    assert any(code != 2 for _, _, code in ended)
    one_review(tmp_path / "home", first)
