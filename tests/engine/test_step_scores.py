"""Step statistics and the Brier score by step over a home's own runs: real belief runs, resolved; what does not count says why."""

from pathlib import Path
from typing import Any

import pytest

from tests.agents.grounder_cases import CASES
from tests.command_line import run_cli, run_json
from tests.fakes.loop_run import LEAF, ExaOnLoopback, ScriptedModel, open_run, work
from workbench.audit.step_scores import steps_document
from workbench.errors import UsageError
from workbench.store import Store
from workbench.store import events as ev


async def belief_runs(home: Path, count: int) -> tuple[Store, list[str]]:
    case, run_ids = CASES["belief"], []
    store = Store(home, durable=False)
    with ExaOnLoopback() as web:
        for _ in range(count):
            run_ids.append(open_run(store, grounder="belief"))
            await work(store, run_ids[-1], ScriptedModel(case.script), case.make(), web)
    return store, run_ids


def resolve(store: Store, run_id: str, p: float, day: str = "2018-09-01") -> None:
    store.append(run_id, ev.OutcomeRecorded(node=LEAF, p=p, day=day))


async def test_beliefs_by_step_and_medians(tmp_path: Path) -> None:
    store, run_ids = await belief_runs(tmp_path / "home", 3)
    resolve(store, run_ids[0], 1.0)
    resolve(store, run_ids[1], 0.0)
    resolve(store, run_ids[2], 1.0, day="2018-06-29")  # known at the cutoff
    document = steps_document(store)
    (name,) = document["arms"]
    assert name == "belief / openai/x"
    arm = document["arms"][name]
    assert arm["n"] == 3 and arm["statistics"]["steps"] == 4 and arm["statistics"]["pieces of evidence"] == 1
    assert arm["consistent"] == {"n": 3, "same": 3}
    by_step = arm["by_step"]
    assert (by_step["n"], by_step["runs"]) == (2, 2)
    # 0.5, then the script's 0.5, 0.55, 0.6, 0.62; one came true and one did not
    expected = [((1 - p) ** 2 + p**2) / 2 for p in (0.5, 0.5, 0.55, 0.6, 0.62)]
    assert [row["brier"] for row in by_step["steps"]] == pytest.approx(expected)
    assert by_step["steps"][-1]["interval"] is None  # two runs are too few for one
    assert document["left_out"] == [
        {"run_id": run_ids[2], "reason": "P1 was decided on 2018-06-29, before the cutoff"}
    ]
    store.close()
    shown = run_cli(tmp_path, "score", "--own", "--steps")
    assert shown.returncode == 0 and "2 drivers of 2 runs" in shown.stdout and "3 of 3" in shown.stdout
    again: Any = run_json(tmp_path, "score", "--own", "--steps")
    assert again["arms"] == document["arms"]


def test_a_home_without_loops_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "home")
    with pytest.raises(UsageError, match="no run here has a driver that an agent's loop"):
        steps_document(store)
    store.close()
    done = run_cli(tmp_path, "score", "--steps")
    assert done.returncode == 2 and "--steps needs --own" in done.stderr
