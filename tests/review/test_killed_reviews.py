"""A review whose process is killed with SIGKILL at any stage goes on and asks nothing twice; of two cron lines one reviews."""

import asyncio
import inspect
import json
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.command_line import cli_environment
from tests.fakes import sittings
from workbench.engine.record.fold import load_state
from workbench.reviews.claim_review import Doors, review
from workbench.reviews.review_request import ReviewRequest
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.views.kept_changes import kept_changes

pytestmark = pytest.mark.long

CUTOFF = "2018-06-27"


def one_review(home: Path) -> None:
    """The home holds one review of the run, finished, told, and with every call of it made once."""
    with closing(Store(home)) as store:
        first, again = store.run_ids()
        state = load_state(store, again)
        assert state.finished and state.follows is not None and state.follows.run == first
        calls = [(row.address.node, row.path, json.dumps(row.asked)) for row in ApiLedger(store).rows(again)]
        assert len(set(calls)) == len(calls), "nothing twice"
        assert not ModelLedger(store).attempts(again)
        changes = kept_changes(store.folder(again))
        assert changes is not None and changes["runs"] == [first, again]


#: What a review calls, in this order, and whether its process dies before that or after it.
STAGES = [
    ("workbench.reviews.claim_review:look", "before"),
    ("workbench.reviews.claim_review:new_run", "after"),
    ("workbench.engine.leaves.grounding:TrialGrounding.ground", "after"),
    ("workbench.reviews.claim_review:run_changes", "before"),
    ("workbench.reviews.claim_review:resolve_when_finished", "before"),
]


def die_at(home: Path, stage: str, when: str) -> None:
    """Review the home in this process, which ends at a stage as by a power cut."""
    whole = pkgutil.resolve_name(stage)

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def dying(*arguments: Any, **named: Any) -> Any:
        if when == "before":
            die()
        made = whole(*arguments, **named)
        if not inspect.isawaitable(made):
            die()

        async def then_die() -> None:
            await made
            die()

        return then_die()

    with patch(stage.replace(":", "."), dying):
        review_of(home)


def review_of(home: Path) -> dict[str, Any]:
    with closing(Store(home)) as store:
        asked = ReviewRequest(cutoff=CUTOFF, alert=0.0)
        return asyncio.run(review(store, asked, Doors(environ={})))


@pytest.mark.parametrize(("stage", "when"), STAGES, ids=lambda part: part.rpartition(":")[2])
def test_a_review_that_is_killed_goes_on_and_asks_nothing_twice(
    tmp_path: Path, watched_claim: Path, stage: str, when: str
) -> None:
    home = Path(shutil.copytree(watched_claim, tmp_path / "home"))
    process = sittings.context().Process(target=die_at, args=(home, stage, when))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    (row,) = review_of(home)["claims"]
    assert (row["status"], row["moved"]) == ("reviewed", True), "a move that nobody was told of is told"
    one_review(home)


def test_two_cron_lines_at_once_buy_nothing_twice(tmp_path: Path, watched_claim: Path) -> None:
    shutil.copytree(watched_claim, tmp_path / "home")
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "workbench.cli.main", "review", "--set", f"cutoff={CUTOFF}", "--json"],
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
            assert "the review of this data folder is running" in err and "Traceback" not in err
        else:
            assert code in (0, 10) and json.loads(out)["claims"], err
    assert any(code != 2 for _, _, code in ended)
    one_review(tmp_path / "home")
