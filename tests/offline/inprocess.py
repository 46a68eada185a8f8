"""A whole run without kernels: the real agents, the real model, cells executed in this process."""

import contextlib
import importlib.util
import io
import json
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from proxies.asof.clock import Cutoff
from sandbox.kernels.view import kernel_folder
from sandbox.types import CellResult, SessionSpec
from tests.fakes.leaf import FakeGuide, make_leaf_task
from tests.fakes.sandbox import FakeSession, printed, raised
from tests.offline.embedded import visible_rows
from workbench.agents.analyzers.rounds import RoundsAnalyzer
from workbench.agents.base import AgentSettings, Grounding
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.agents.synthesizers.model_synthesizers import LinearSynthesizer
from workbench.engine.leaves.forecast_library import forecast_library
from workbench.models.base import Model, ModelReply, ModelRequest, NodeRef
from workbench.offline.offline_model import OfflineAnalyst
from workbench.propositions import Belief, Tree

Reader = Callable[[str, date], list[dict[str, Any]]]


def analyst(reader: Reader = visible_rows) -> OfflineAnalyst:
    """The offline analyst over a plain reader."""

    async def observe(series_id: str, cutoff: Cutoff) -> Sequence[dict[str, Any]]:
        return reader(series_id, cutoff.last_moment_day)

    return OfflineAnalyst(observe)


@cache
def mount_library() -> None:
    """Let cells that run in this process import the forecaster, by the finder that a kernel has."""
    path = kernel_folder() / "mounted_library.py"
    spec = importlib.util.spec_from_file_location("mounted_library", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.meta_path.append(module.LibraryFinder(json.loads(forecast_library().text)))


class Kernel:
    """Executes cells in one namespace; ``calls`` keeps what they asked for."""

    def __init__(self, reader: Reader, last_day: date) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.figures: list[Any] = []

        def call_api(path: str, params: dict[str, Any]) -> list[dict[str, Any]]:
            self.calls.append((path, params))
            return reader(params["series_id"], last_day)

        self.namespace: dict[str, Any] = {"CALL_API": call_api}
        mount_library()

    def __call__(self, session: FakeSession, source: str) -> CellResult:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*non-interactive.*")
                exec(compile(source, "<cell>", "exec"), self.namespace)
        except Exception as error:
            traceback.print_exc()
            return raised(type(error).__name__, str(error))
        finally:
            for number in plt.get_fignums():
                self.figures.append(_look(plt.figure(number)))
            plt.close("all")
        return printed(out.getvalue().rstrip("\n"), image="figure" in source)


@dataclass(frozen=True)
class Axes:
    """What a reader sees of one panel."""

    xlabel: str
    ylabel: str
    labels: tuple[str, ...]


def _look(figure: Any) -> tuple[str, tuple[Axes, ...]]:
    panels = tuple(
        Axes(axes.get_xlabel(), axes.get_ylabel(), tuple(line.get_label() for line in axes.get_lines()))
        for axes in figure.axes
    )
    return figure.get_suptitle(), panels


@dataclass
class Leaf:
    """A grounded leaf: belief, executed sources, printed texts, kernel."""

    p: float
    report: str
    sources: list[str]
    printed: list[str]
    kernel: Kernel


@dataclass
class Run:
    """A finished run."""

    tree: Tree
    leaves: dict[str, Leaf] = field(default_factory=dict)
    rounds: list[Tree] = field(default_factory=list)


class RecordingAsker:
    """What an agent asks in place of the engine: passes requests to the model and records them with the replies."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.replies: list[tuple[ModelRequest, ModelReply]] = []

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        reply = await self.model.complete(request)
        self.replies.append((request, reply))
        return reply


async def grow(model: Model, statement: str, cutoff: str, settings: AgentSettings | None = None) -> Run:
    """Analysis only."""
    run = Run(tree=Tree.root_only(statement))

    async def on_round(tree: Tree) -> None:
        run.rounds.append(tree)

    run.tree = await RoundsAnalyzer(settings).analyze(
        run.tree, cutoff=Cutoff.parse(cutoff), ask=RecordingAsker(model), on_round=on_round
    )
    return run


async def ground(
    model: Model,
    node: NodeRef,
    cutoff: str,
    reader: Reader = visible_rows,
    asker: RecordingAsker | None = None,
) -> Leaf:
    """One leaf."""
    when = Cutoff.parse(cutoff)
    kernel = Kernel(reader, when.last_moment_day)

    async def no_calls(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("cells call in-process here")

    spec = SessionSpec(
        name=f"{node.id}.1.1",
        journal=Path("unused.jsonl"),
        notebook=Path("unused.ipynb"),
        title=node.statement,
    )
    session = FakeSession(spec, no_calls, [kernel] * 40)
    task = make_leaf_task(
        node,
        cutoff=when,
        ask=asker or RecordingAsker(model),
        session=session,
        data=FakeGuide("embedded/series/observations"),
    )
    outcome = await NotebookGrounder().ground(task)
    assert isinstance(outcome, Grounding), outcome
    code = [cell for cell in session.cells if cell.kind == "code"]
    return Leaf(
        p=outcome.belief.p,
        report=outcome.belief.report,
        sources=[cell.source for cell in code],
        printed=[cell.result.text(10**6) for cell in code if cell.result],
        kernel=kernel,
    )


async def analyze(
    statement: str, cutoff: str, *, model: Model | None = None, reader: Reader = visible_rows
) -> Run:
    """Analysis, grounding of every leaf, synthesis bottom-up."""
    model = model or analyst(reader)
    run = await grow(model, statement, cutoff)
    tree = run.tree
    for node in tree.leaves():
        leaf = await ground(model, NodeRef(id=node, statement=tree[node].statement), cutoff, reader)
        run.leaves[node] = leaf
        tree = tree.with_belief(node, Belief(p=leaf.p, key_factor="", report=leaf.report))
    for node in sorted(tree.inner(), key=lambda name: (-name.count("."), name == "P0")):
        rule, belief = await LinearSynthesizer().synthesize(
            tree[node],
            [tree[child] for child in tree[node].children],
            cutoff=Cutoff.parse(cutoff),
            ask=RecordingAsker(model),
        )
        tree = tree.with_rule(node, rule, belief)
    run.tree = tree
    return run
