"""What a run of many leaves writes and how long it holds the event loop, with and without the files beside the database.

    python -m benchmarks.engine_scale [--leaves 1000] [--report-bytes 4000]

The leaves are scripted: no model, no kernel, no data. What is left is the engine's own work: events, bodies, folds, files.
Before ``tree.json`` was written at most every two seconds, 1,000 leaves wrote 2,424 MB and held the loop for 20.2 of 21.2 s.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from benchmarks.arguments import parse
from proxies.asof.clock import Cutoff
from proxies.atomic import replace_file
from proxies.catalogue import load_catalogue
from proxies.settings import ProxySettings
from workbench.agents.base import Grounding
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.engine import flow as engine_module
from workbench.engine.flow import Engine
from workbench.engine.new_run import Agents, new_run
from workbench.engine.record import run_files as files_module
from workbench.engine.record.recorder import RunFiles
from workbench.engine.run_settings import RunSettings
from workbench.propositions import Belief, Tree
from workbench.reports.note_page import write_report
from workbench.store import Store

CLAIM = "The wide claim holds"


class WideAnalyzer:
    """Hangs the leaves under inner nodes of at most ten children each; asks nobody."""

    def __init__(self, leaves: int) -> None:
        self.leaves = leaves
        self.tree = self._grow()

    def _grow(self) -> Tree:
        tree, level = Tree.root_only(CLAIM), ["P0"]
        while len(level) * 10 < self.leaves:
            for node in level:
                below = {self._child(node, n): f"{node} part {n} holds" for n in range(1, 11)}
                tree = tree.expand(node, below)
            level = [child for node in level for child in tree[node].children]
        share, more = divmod(self.leaves, len(level))
        for place, node in enumerate(level):
            count = share + (place < more)
            below = {self._child(node, n): f"{node} leaf {n} holds" for n in range(1, count + 1)}
            tree = tree.expand(node, below)
        return tree

    async def analyze(self, tree: Any, *, cutoff: Any, ask: Any, on_round: Any) -> Tree:
        await on_round(self.tree)
        return self.tree

    def _child(self, node: str, number: int) -> str:
        return f"P{number}" if node == "P0" else f"{node}.{number}"


class ScriptedGrounder:
    """Says a half with a report of some size; yields to the loop once, as one that asks a model would."""

    def __init__(self, report_bytes: int) -> None:
        self.report_bytes = report_bytes

    async def ground(self, task: Any) -> Grounding:
        await asyncio.sleep(0)
        report = f"{task.node.id}: {task.node.statement}. ".ljust(self.report_bytes, ".")
        evidence = Evidence(steps=(TraceStep(title="Say it", text="", p=0.5),))
        return Grounding(belief=Belief(p=0.5, key_factor="scripted", report=report), evidence=evidence)


class NoSandbox:
    """A sandbox that starts nothing."""

    async def probe(self) -> Any:
        return SimpleNamespace(refused=())

    async def level(self) -> str:
        return "none"


@dataclass(kw_only=True)
class Scale:
    """What one run took."""

    seconds: float
    held: float
    longest: float
    written: int
    written_files: int
    files: int
    database: int


@contextmanager
def counted_files(found: list[int]) -> Iterator[None]:
    """Note the size of every file that is replaced, each time."""

    def count(path: Path, data: bytes, **how: bool) -> None:
        found.append(len(data))
        replace_file(path, data, **how)

    with patch.object(files_module, "replace_file", count):
        yield


@contextmanager
def loop_watch(found: dict[str, float]) -> Iterator[None]:
    """Note the processor time of every callback that the loop runs: the sum, and the longest."""
    found |= {"sum": 0.0, "longest": 0.0}
    real = asyncio.Handle._run

    def run(handle: asyncio.Handle) -> None:
        begun = time.thread_time()
        real(handle)
        took = time.thread_time() - begun
        found["sum"] += took
        found["longest"] = max(found["longest"], took)

    with patch.object(asyncio.Handle, "_run", run):
        yield


def written_bytes() -> int:
    """Bytes that this process has written so far, to anything (``/proc/self/io``)."""
    line = next(line for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("wchar:"))
    return int(line.split()[1])


async def measure(home: Path, *, leaves: int, report_bytes: int = 4000, files: bool = True) -> Scale:
    """Work on one run of this many leaves in a new home and return what it took; without files none are written."""
    store = Store(home)
    agents = SimpleNamespace(
        analyzer=WideAnalyzer(leaves),
        grounder=ScriptedGrounder(report_bytes),
        synthesizer=Agents(RunSettings(rule="average")).synthesizer,
    )
    no_model: Any = SimpleNamespace(name="none")
    no_broker: Any = SimpleNamespace(session=lambda *_, **__: None, settings=ProxySettings(keys={}))
    sandbox: Any = NoSandbox()
    engine = Engine(
        store,
        broker=no_broker,
        catalogue=load_catalogue(),
        sandbox=sandbox,
        model=no_model,
        note=write_report if files else None,
    )
    run_id = new_run(store, CLAIM, Cutoff.parse("2018-06-30"), RunSettings(rule="average"))
    watch: dict[str, float] = {}
    replaced: list[int] = []
    with ExitStack() as stack:
        stack.enter_context(patch.object(engine_module, "Agents", lambda settings: agents))
        if not files:
            stack.enter_context(patch.object(RunFiles, "follow", lambda *_: None))
            stack.enter_context(patch("workbench.engine.leaves.grounding.write_notebook", lambda *_: None))
        stack.enter_context(loop_watch(watch))
        stack.enter_context(counted_files(replaced))
        await asyncio.sleep(0)  # from here on the loop is watched
        before, begun = written_bytes(), time.perf_counter()
        state = await engine.work(run_id)
        seconds, written = time.perf_counter() - begun, written_bytes() - before
    assert state.finished and len(state.pooled) == leaves
    store.close()
    return Scale(
        seconds=seconds,
        held=watch["sum"],
        longest=watch["longest"],
        written=written,
        written_files=sum(replaced),
        files=sum(path.stat().st_size for path in store.folder(run_id).rglob("*") if path.is_file()),
        database=sum(path.stat().st_size for path in home.glob("workbench.db*")),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=1000)
    parser.add_argument("--report-bytes", type=int, default=4000)
    options = parse(parser, leaves=5)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(
            measure(Path(folder), leaves=3)
        )  # the first run of a process imports what renders notebooks
    for files in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            scale = asyncio.run(
                measure(Path(folder), leaves=options.leaves, report_bytes=options.report_bytes, files=files)
            )
        print(
            f"{options.leaves} leaves, files {'yes' if files else 'no '}: {scale.seconds:.2f} s, loop held {scale.held:.2f} s,"
            f" longest {1000 * scale.longest:.0f} ms; files written {scale.written_files / 1e6:.1f} MB,"
            f" database {scale.database / 1e6:.1f} MB; with SQLite's log and checkpoints {scale.written / 1e6:.1f} MB in all"
        )


if __name__ == "__main__":
    main()
