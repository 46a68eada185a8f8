"""Every arm on a scripted server, through the real engine: calls, costs, equal contexts, resuming to the call."""

import asyncio
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.studies.test_study_files import events_file
from workbench.errors import BudgetStop
from workbench.store import Store
from workbench.studies.arms.base import ArmContext
from workbench.studies.arms.run_arms import RUN_KINDS, run_arm
from workbench.studies.leak_audit import audit_study
from workbench.studies.runner import StudyRunner
from workbench.studies.study_file import ArmSpec, study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_report import write_study
from workbench.studies.study_state import load_study

PLAN = {"P0": {"P1": ("The first part holds", "Positive"), "P2": ("The second part holds", "Positive")}}
KEY = {"OPENAI_API_KEY": "sk-none"}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Policy(plan=PLAN)) as running:
        yield running


def arm(server: OpenAIServer, kind: str, **settings: Any) -> dict[str, Any]:
    model = {"model": "openai/x", "api_base": server.url, "prices": {"openai/x": [1.0, 2.0]}}
    return {"arm": kind, "name": settings.pop("name", kind), **model, **settings}


def study(store: Store, folder: Path, arms: list[Any], **document: Any) -> Any:
    if not (folder / "e.csv").exists():
        events_file(folder)
    exam = {"exam": {"events": "e.csv"}, "size": 2}
    return plan_study(store, study_of({"name": "s", "arms": arms, **exam, **document}, folder))


def work(store: Store, plan: Any) -> Any:
    return asyncio.run(StudyRunner(store, plan, environ=KEY).work())


@pytest.mark.long
def test_analytica_v_s_and_l_over_a_grounder_and_the_report(
    store: Store, server: OpenAIServer, tmp_path: Path
) -> None:
    arms = [
        arm(server, "zero-shot", name="alone"),
        *[
            arm(server, "zero-shot", name=f"tree-{letter}", analytica=letter, critic=False)
            for letter in "VSL"
        ],
        "market",
    ]
    plan = study(store, tmp_path, arms, reference="market")
    state = work(store, plan)
    assert not state.missing
    calls = {cell.arm: made.calls for cell, made in state.forecasts.items()}
    # two rounds of the analyzer, two leaves, one synthesis
    assert calls == {"alone": 1, "tree-V": 5, "tree-S": 5, "tree-L": 5, "market": 0}
    state = audit_study(store, plan, state)
    assert any("Hindsight" in line for line in state.audited.findings)
    assert len(state.audited.findings) == len({line.partition(": ")[2] for line in state.audited.findings})
    results = write_study(store, plan, state, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "tree-L" in page and "<script" not in page and "Weights of the linear rules" in page
    assert {"table.csv", "table.parquet", "events.csv", "forecasts.csv", "report.ipynb", "weights.png"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert results["arms"]["tree-L"]["calls"] == 10 and results["missing"] == []
    manifest = f"sha256:{hashlib.sha256((tmp_path / 'out' / 'manifest.json').read_bytes()).hexdigest()}"
    captions = re.findall("<figcaption>.*?</figcaption>", page, re.DOTALL)
    assert manifest in page and captions and all(manifest[:19] in caption for caption in captions)
    assert manifest in (tmp_path / "out" / "report.ipynb").read_text()
    for path in (tmp_path / "out").glob("*.png"):
        with Image.open(path) as picture:
            assert picture.info["Source"] == f"manifest {manifest}", path.name


def test_a_budget_stops_a_study_and_more_lets_it_go_on(
    store: Store, server: OpenAIServer, tmp_path: Path
) -> None:
    priced = arm(server, "zero-shot", prices={"openai/x": [50.0, 50.0]}, max_tokens=200)
    small = study(store, tmp_path, [priced], size=6, budget_usd=0.125, concurrency=1)
    with pytest.raises(BudgetStop):
        work(store, small)
    state = load_study(store, "s")
    spent = state.cost_usd
    assert spent is not None and spent <= 0.125 and 0 < len(state.forecasts) < 6
    larger = study(store, tmp_path, [priced], size=6, budget_usd=50.0, concurrency=1)
    assert len(work(store, larger).forecasts) == 6


@pytest.mark.parametrize(
    ("kind", "calls"),
    [("statistical", 0), ("belief-no-tools", 1), ("belief-batch", 2), ("zero-shot", 1), ("belief", 7)],
)
def test_an_arm_is_priced_by_what_its_definition_asks(kind: str, calls: int) -> None:
    spec = ArmSpec(name="a", kind=kind, settings={"model": "openai/x", "prices": {"openai/x": [1.0, 2.0]}})
    price = run_arm(spec, ArmContext(folder=Path())).price()
    assert price.calls == calls and (price.usd == 0) == (calls == 0)


def test_ablations_of_paper_b_have_its_limits_and_no_stop_of_ours() -> None:
    for kind in (kind for kind in RUN_KINDS if kind.startswith("belief")):
        spec = ArmSpec(name="a", kind=kind, settings={"model": "openai/x"})
        options = run_arm(spec, ArmContext(folder=Path())).base.options["grounder"]
        assert (options["errors"], options["clamp"], options["start"]) == (None, [0.05, 0.95], "even"), kind
