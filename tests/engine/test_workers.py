"""Leaves grounded by workers of a Dask cluster: the same result, ledger and bill as in this process, also after a kill."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask
import psutil
import pytest
from distributed import Scheduler

from proxies.asof.clock import Cutoff
from tests.command_line import cli_environment, run_process
from tests.fakes.cluster import TLS, Cluster, certificate, cluster
from tests.fakes.upstream import Sent, Upstream
from tests.test_stranger_package import PACKAGE, PARTS, STATEMENT, catalogue, package
from workbench.engine.access.model_gateway import spending
from workbench.engine.assembly import open_engine
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import UsageError
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.runner import StudyRunner
from workbench.studies.study_file import study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_table import tidy_table
from workbench.workers import cluster as cluster_module
from workbench.workers import worker_facts as facts_module
from workbench.workers.job_service import JobService
from workbench.workers.worker_choice import workers_at

__all__ = ["catalogue", "package"]  # fixtures

pytestmark = pytest.mark.long

DAYS = [{"day": "2018-06-01", "price": 10.0}, {"day": "2018-06-28", "price": 12.0}]
SCRIPTED = {"grounder": "stranger-steps", "leaves": 5}
NOTEBOOK = {"grounder": "notebook", "leaves": 2}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(lambda seen: Sent(DAYS)) as server:
        yield server


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, upstream: Upstream) -> Iterator[Cluster]:
    """Three workers: each of the two runs below kills one."""
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(folder, workers=3, paths=[PACKAGE], WORKBENCH_UPSTREAM_STRANGER=upstream.url) as started:
        yield started


def settings_of(grounder: str, leaves: int) -> RunSettings:
    parts: dict[str, Any] = {**PARTS, "model": "stranger/priced", "grounder": grounder}
    return with_preset("product", **parts, options={"analyzer": {"reasons": leaves}})


async def work(
    home: Path,
    settings: RunSettings,
    environ: dict[str, str],
    *,
    workers: WorkerPlace | None = None,
    kill_after: int | None = None,
) -> tuple[Store, RunState, list[str]]:
    """One run; the worker that holds P1 is killed when P1's so many replies are on the log."""
    store, killed = Store(home), []
    holders: dict[str, str] = {}
    lease_to, replies = JobService.lease_to, 0

    def leased(self: JobService, line: Any, worker: str) -> None:
        holders[self.job.node] = worker
        lease_to(self, line, worker)

    def listener(state: RunState, stored: Any) -> None:
        nonlocal replies
        if isinstance(stored.event, ev.LeafStep) and stored.event.node == "P1":
            replies += 1
            if replies == kill_after:
                os.kill(pid_of(holders["P1"]), signal.SIGKILL)
                killed.append(holders["P1"])

    engines = open_engine(store, settings, environ=environ, listener=listener, workers=workers_at(workers))
    with patch.object(JobService, "lease_to", leased):
        async with engines as engine:
            run_id = new_run(store, STATEMENT, Cutoff.parse("2018-06-30"), settings)
            await engine.work(run_id)
    return store, load_state(store, run_id), killed


def pid_of(worker: str) -> int:
    """The process that listens at an address of this machine."""
    port = int(worker.rpartition(":")[2])
    (pid,) = {
        each.pid
        for each in psutil.net_connections("tcp")
        if each.status == "LISTEN" and each.laddr.port == port and each.pid is not None
    }
    return pid


def records(store: Store, state: RunState) -> dict[str, Any]:
    """All of a run that must not depend on where it was grounded: result, ledgers, bill, kinds of events.

    A request that was on the wire when its worker was killed has been asked and not answered, and is asked again: it stands
    under ``unanswered`` and is taken off the calls.
    """
    place = "node, trial, attempt, stage, step, retry, request_hash"
    models = store.query(
        f"SELECT {place}, cost_usd, reply FROM model_calls WHERE run_id = ?", (state.run_id,)
    )
    data = store.query(
        f"SELECT {place}, path, asked, answer FROM api_calls WHERE run_id = ?", (state.run_id,)
    )
    spent = spending(store, state.run_id)
    return {
        "p": {node: state.tree[node].p for node in state.tree.ids()},
        "reports": {node: b.report for node in state.tree.ids() if (b := state.tree[node].belief)},
        "verified": [state.verified(leaf) for leaf in state.tree.leaves()],
        "models": sorted(tuple(row) for row in models),
        "data": sorted(tuple(row) for row in data),
        "bill": (round(spent.usd, 12), spent.calls - spent.unanswered),
        "unanswered": spent.unanswered,
        "events": Counter(stored.event.kind for stored in store.events(state.run_id))
        - Counter({"call.asked": spent.unanswered}),
    }


@pytest.mark.parametrize(
    "parts",
    # the same law where the cells of the killed worker's leaf run again, with a fork server for each worker: `make soak`
    [pytest.param(SCRIPTED, id="scripted"), pytest.param(NOTEBOOK, id="notebook", marks=pytest.mark.soak)],
)
def test_a_killed_worker_changes_neither_result_nor_ledger_nor_bill(
    parts: dict[str, Any],
    package: object,
    catalogue: object,
    running: Cluster,
    upstream: Upstream,
    tmp_path: Path,
) -> None:
    settings = settings_of(**parts)
    environ = {"WORKBENCH_UPSTREAM_STRANGER": upstream.url}

    async def both() -> list[dict[str, Any]]:
        sides = []
        for name, more in (("alone", {}), ("spread", {"workers": running.place, "kill_after": 1})):
            store, state, killed = await work(
                tmp_path / name,
                settings,
                environ,
                **more,  # type: ignore[arg-type]
            )
            assert state.finished and len(killed) == len(more) // 2
            sides.append(records(store, state))
            store.close()
        return sides

    alone, spread = asyncio.run(both())
    assert alone.pop("unanswered") == 0 and spread.pop("unanswered") <= 1
    assert alone == spread
    assert all(spread["verified"]) and spread["bill"][0] > 0 and spread["data"]


def study_table(home: Path, environ: dict[str, str], **runner: Any) -> Any:
    """The tidy table of a study with an arm of runs and one without; less the names of runs and the clocks."""
    home.mkdir()
    rows = "".join(
        f"a{n},a{n},fred,market,{n},0.4,2018-06-30,The small claim {n} comes true\n" for n in range(2)
    )
    head = "event_id,question_key,source,question_type,outcome,crowd,forecast_due_date,question\n"
    (home / "e.csv").write_text(head + rows)
    tree = {**PARTS, "arm": "grounder", "grounder": "stranger-steps", "model": "stranger/priced"}
    study = study_of({"name": "s", "exam": {"events": "e.csv"}, "arms": ["market", tree]}, home)
    store = Store(home / "home")
    try:
        plan = plan_study(store, study)
        state = asyncio.run(StudyRunner(store, plan, environ=environ, **runner).work())
        return tidy_table(study, plan.exam, state).drop(columns=["run", "seconds"])
    finally:
        store.close()


async def refusal(home: Path, where: str) -> str:
    with pytest.raises(UsageError) as caught:
        async with open_engine(
            Store(home),
            settings_of(**SCRIPTED),
            environ={},
            workers=workers_at(WorkerPlace(where)),
        ):
            raise AssertionError("workers were opened")
    return str(caught.value)


def test_a_worker_of_another_version_is_refused(
    package: object, catalogue: object, running: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts_module, "__version__", "99.0")
    line = asyncio.run(refusal(tmp_path, running.where))
    assert "no worker may work" in line and "this is 99.0: install the same" in line and "\n" not in line


def test_without_certificates_no_cluster_is_used(
    package: object, catalogue: object, running: Cluster, tmp_path: Path
) -> None:
    with dask.config.set({f"distributed.comm.tls.{name}": None for name in TLS}):
        line = asyncio.run(refusal(tmp_path, running.where))
    assert "with certificates only" in line and "distributed.comm.tls.ca-file" in line and "\n" not in line


def test_a_key_that_others_can_read_is_refused(
    package: object, catalogue: object, running: Cluster, tmp_path: Path
) -> None:
    tls = certificate(tmp_path)
    (tmp_path / "key.pem").chmod(0o640)
    with dask.config.set(tls):
        assert "others can read the key" in asyncio.run(refusal(tmp_path, running.where))


def test_a_scheduler_without_tls_is_refused(
    package: object, catalogue: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT", 2.0)

    async def plain() -> str:
        async with Scheduler(
            host="127.0.0.1", port=0, protocol="tcp", dashboard=False, dashboard_address="127.0.0.1:0"
        ) as scheduler:
            return await refusal(tmp_path, scheduler.address.replace("tcp://", "dask://"))

    with dask.config.set(certificate(tmp_path)):
        line = asyncio.run(plain())
    assert "no scheduler speaks TLS with these certificates" in line and "\n" not in line


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_processes_of_this_machine_ground_what_one_does(demo: Any, tmp_path: Path) -> None:
    """The demo's claim with ``--workers 2``, stopped by Ctrl-C midway and gone on with: the same root, no traceback."""
    words = ["analyze", demo.document["statement"], "--cutoff", demo.document["cutoff"], "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench.cli.main", *words],
        env=cli_environment(tmp_path),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = []
    with process.stderr as stream:
        for line in stream:
            said.append(line)
            if "has its evidence (2 of" in line:
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    assert process.wait() == 3, said
    assert "stopped by hand" in said[-1] and not [line for line in said if "Traceback" in line]
    done = run_process(tmp_path, "resume", "last", "--workers", "2", "--json", timeout=1200)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    document = json.loads(done.stdout)
    assert document["root"]["p"] == demo.document["root"]["p"]
    assert document["model_calls"] == demo.document["model_calls"]
