"""A review whose process is killed with SIGKILL at any stage goes on and asks nothing twice; of two cron lines one reviews."""

import asyncio
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import cli_environment, run_process
from tests.review.test_review import finished
from workbench.engine.record.fold import load_state
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.views.kept_changes import kept_changes

pytestmark = pytest.mark.long

CUTOFF = "2018-06-27"
#: A function of a review, in the order in which it is called, and whether the process dies before or after it.
STAGES = [
    ("workbench.reviews.claim_review.look", "before"),
    ("workbench.reviews.claim_review._open_review", "before"),
    ("workbench.reviews.claim_review._open_review", "after"),
    ("workbench.engine.leaves.grounding.TrialGrounding.ground", "before"),
    ("workbench.engine.leaves.grounding.TrialGrounding.ground", "after"),
    ("workbench.engine.leaves.traversal.TreeGrounding.ground", "after"),
    ("workbench.reviews.claim_review.run_changes", "before"),
    ("workbench.reviews.claim_review.write_atomically", "before"),
    ("workbench.reviews.claim_review.write_atomically", "after"),
    ("workbench.reviews.claim_review.resolve_when_finished", "before"),
]
#: Runs the command line in a process that kills itself at a stage, as a power cut would.
KILLED = """
import functools, importlib, inspect, os, signal, sys
place, when = sys.argv[1], sys.argv[2]
parts = place.split(".")
for cut in range(len(parts) - 1, 0, -1):
    try:
        owner = importlib.import_module(".".join(parts[:cut]))
    except ModuleNotFoundError:
        continue
    break
for part in parts[cut:-1]:
    owner = getattr(owner, part)
whole = getattr(owner, parts[-1])

def die():
    os.kill(os.getpid(), signal.SIGKILL)

if inspect.iscoroutinefunction(whole):
    @functools.wraps(whole)
    async def dying(*args, **kwargs):
        if when == "before":
            die()
        await whole(*args, **kwargs)
        die()
else:
    @functools.wraps(whole)
    def dying(*args, **kwargs):
        if when == "before":
            die()
        whole(*args, **kwargs)
        die()

setattr(owner, parts[-1], dying)
sys.argv = ["workbench", "review", "--cutoff", sys.argv[3], "--json"]
from workbench.cli.main import main
main()
"""


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


@pytest.mark.parametrize(("stage", "when"), STAGES, ids=lambda part: part.rpartition(".")[2])
def test_a_killed_review_goes_on(tmp_path: Path, stage: str, when: str) -> None:
    with closing(Store(tmp_path / "home")) as store:
        first = asyncio.run(finished(store))
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, stage, when, CUTOFF],
        env=cli_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        timeout=200,
    )
    assert dead.returncode == -9, dead.stderr.decode()
    done = run_process(tmp_path, "review", "--cutoff", CUTOFF, "--alert", "0", "--json")
    document = json.loads(done.stdout)
    told = stage.endswith(("write_atomically", "resolve_when_finished")) and (stage, when) != (
        "workbench.reviews.claim_review.write_atomically",
        "before",
    )
    assert [row["status"] for row in document["claims"]] == ["same" if told else "reviewed"], done.stderr
    assert done.returncode == (0 if told else 10)
    one_review(tmp_path / "home", first)


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
