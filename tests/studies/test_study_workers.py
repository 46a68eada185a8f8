"""A study on a Dask cluster whose worker is killed midway: it costs time and nothing else.

That an undisturbed study gives the same table stands in `tests/engine/test_workers.py`, beside the cluster it shares.
"""

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.fakes.cluster import Cluster, cluster
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.studies.test_study_files import events_file
from workbench.store import Store
from workbench.studies.leak_audit import audit_study
from workbench.studies.runner import StudyRunner
from workbench.studies.study_file import study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_report import write_study

pytestmark = pytest.mark.long

KEY = {"OPENAI_API_KEY": "sk-none"}
PLAN = {"P0": {"P1": ("The first part holds", "Positive"), "P2": ("The second part holds", "Positive")}}
#: What of a row depends on the machine and not on the study: names of runs and clocks.
OF_THE_MACHINE = ["run", "seconds"]


def work(home: Path, server: OpenAIServer, arms: list[Any], *, size: int, **runner: Any) -> pd.DataFrame:
    """Run a study to its audited table, as `experiment run` does."""
    home.mkdir()
    events_file(home)
    model = {"model": "openai/x", "api_base": server.url, "prices": {"openai/x": [1.0, 2.0]}}
    named = [{**model, **each} if isinstance(each, dict) else each for each in arms]
    document = {"name": "s", "exam": {"events": "e.csv"}, "size": size, "arms": named, "resamples": 100}
    store = Store(home / "home")
    try:
        plan = plan_study(store, study_of(document, home))
        state = asyncio.run(StudyRunner(store, plan, **runner).work())
        write_study(store, plan, audit_study(store, plan, state), home / "out")
    finally:
        store.close()
    return pd.read_csv(home / "out" / "table.csv").drop(columns=OF_THE_MACHINE)


def asked_of(server: OpenAIServer) -> Counter[str]:
    return Counter(one.key() for one in server.asked)


class Killer(threading.Thread):
    """Kills the cluster's first worker when the server has answered so many requests; ``killed`` says how many it had then."""

    def __init__(self, server: OpenAIServer, running: Cluster, *, after: int) -> None:
        super().__init__(daemon=True)
        self.server, self.running, self.after, self.killed = server, running, after, 0

    def run(self) -> None:
        while len(self.server.asked) < self.after:
            time.sleep(0.005)
        self.killed = len(self.server.asked)
        os.killpg(self.running.processes[1].pid, signal.SIGKILL)  # 0 is the scheduler


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_worker_killed_midway_costs_only_time(tmp_path: Path) -> None:
    arms = [
        "market",
        {"arm": "tot"},
        {"arm": "got", "name": "got in a tree", "analytica": "L", "critic": False},
    ]
    with (
        OpenAIServer(Policy(plan=PLAN, delay=0.05)) as server,
        cluster(tmp_path, workers=2, **KEY) as running,
    ):
        alone = work(tmp_path / "alone", server, arms, size=6, environ=KEY)
        once = asked_of(server)
        before = len(server.asked)
        killer = Killer(server, running, after=before + before // 3)
        killer.start()
        spread = work(tmp_path / "spread", server, arms, size=6, environ=KEY, workers=running.place)
        assert before < killer.killed < 2 * before, "the worker was to be killed midway"
        assert running.processes[1].poll() == -signal.SIGKILL and running.processes[2].poll() is None
        again = asked_of(server) - once - once
    # A request on the wire at the kill is asked again and charged; the worker with one thread had at most one.
    assert sum(again.values()) <= 1
    bill = ["calls", "tokens", "cost_usd"]
    assert alone.drop(columns=bill).equals(spread.drop(columns=bill)) and not spread["missing"].notna().any()
    more = spread["calls"].sum() - alone["calls"].sum()
    assert 0 <= more <= 1 and (more == 1) == (not alone[bill].equals(spread[bill]))
