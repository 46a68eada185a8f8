"""A whole run against a persona: the real engine, agents, client, ledger and broker; only the kernels are pretended."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import httpx

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.settings import ProxySettings
from tests.fakes.personas import ANSWERS, PersonaServer, Script, silent_wire
from tests.fakes.pretend_sandbox import PretendSandbox
from workbench.engine.access.outage import Timing
from workbench.engine.flow import Engine
from workbench.engine.leaves import grounding as trial_grounding
from workbench.engine.new_run import change_run, new_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.errors import WorkbenchError
from workbench.models.model_options import ONE_TRY
from workbench.models.providers.litellm_client import LiteLLMModel
from workbench.reports.note_page import write_report
from workbench.store import Store

CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"


@dataclass(frozen=True)
class Ending:
    """How a run ended: ``right``, ``leaf error`` or ``stop``, its cause, and the most calls that a leaf took."""

    kind: str
    cause: str
    calls: int = 0
    cells: tuple[str, ...] = ()


class Hurry:
    """A clock that is moved by whoever waits: hours of an outage pass at once."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)
        await asyncio.sleep(0)


@contextmanager
def proofs_count_as_verified() -> Iterator[None]:
    """No kernel ran, so there is nothing to run again."""

    async def verified(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(verified=True, differing=(), unrepeatable=())

    with patch.object(trial_grounding, "verify_trial", verified):
        yield


@cache
def _shared() -> tuple[Any, ProxySettings]:
    """One parsed catalogue for all runs of a process: to read it takes longer than the rest of a run."""
    folder = tempfile.TemporaryDirectory(prefix="personas-", ignore_cleanup_errors=True)
    return folder, ProxySettings.from_environment({}, cache_path=Path(folder.name) / "cache.db")


def settings_for(name: str, url: str, **more: Any) -> RunSettings:
    return with_preset(
        "product",
        model="openai/p",
        api_base=url,
        temperature=0.1 if name == "notemperature" else None,
        patience=60.0,
        **more,
    )


async def run(
    name: str,
    home: Path,
    *,
    resume_well: bool = False,
    changes: dict[str, Any] | None = None,
    script: Script | None = None,
    note: Any = write_report,
    **settings: Any,
) -> tuple[Ending, RunState, PersonaServer]:
    """Work on the claim until the run ends; with ``resume_well`` go on with these changes, the server behaving from then on.

    ``script`` answers in place of the persona of that name, and what it ends in is the caller's to judge.
    """
    store = Store(home)
    broker = open_broker(_shared()[1])
    sandbox = PretendSandbox()
    time = Hurry()
    try:
        with (
            PersonaServer(name, script) as server,
            proofs_count_as_verified(),
            patch.object(httpx.AsyncHTTPTransport, "handle_async_request", silent_wire),
        ):
            engine = Engine(
                store,
                note=note,
                broker=broker,
                catalogue=broker.catalogue,
                sandbox=sandbox,  # type: ignore[arg-type]
                model=model_for(name, server.url, time),
                timing=Timing(time.clock, time.sleep, lambda: 0.5),
            )
            opened = settings_for(name, server.url, **settings)
            run_id = new_run(store, CLAIM, Cutoff.parse("2018-06-30"), opened)
            ending = await ending_of(engine, store, run_id, name, right=script is None)
            calls = max(server.count.values(), default=0)
            sources = tuple(source for session in sandbox.sessions for source in session.sources)
            if resume_well and ending.kind != "right":
                server.behave()
                change_run(store, run_id, changes or {})
                await engine.work(run_id)
            return replace(ending, calls=calls, cells=sources), load_state(store, run_id), server
    finally:
        await broker.aclose()
        store.close()


def model_for(name: str, url: str, time: Hurry) -> Any:
    def client(model: str) -> LiteLLMModel:
        return LiteLLMModel(
            model,
            api_base=url,
            retries=ONE_TRY.with_timeout(60),
            sleep=time.sleep,
            reply_form="schema" if name in ("schema", "noschema", "schemacut") else "auto",
        )

    if name == "fallback":
        from workbench.models.roles import ModelTeam

        return ModelTeam(client("openai/p"), fallback=[client("openai/second")])
    return client("openai/p")


async def ending_of(engine: Engine, store: Store, run_id: str, name: str, *, right: bool = True) -> Ending:
    try:
        state = await engine.work(run_id)
    except WorkbenchError as error:
        state = load_state(store, run_id)
        failures = sorted({trial.failure for trial in state.trials.values() if trial.failure})
        if failures:
            return Ending("leaf error", "; ".join(failures))
        return Ending("stop", str(error))
    if right:
        require_right(state, name)
    return Ending("right", "")


def require_right(state: RunState, name: str = "good") -> None:
    """Assert that the run has the p that the persona's script holds, in every leaf and the root."""
    leaf_p, root_p = ANSWERS.get(name, ANSWERS["good"])
    assert all(abs((state.tree[leaf].p or 0) - leaf_p) < 1e-9 for leaf in state.tree.leaves())
    assert abs((state.tree.root.p or 0) - root_p) < 1e-9
