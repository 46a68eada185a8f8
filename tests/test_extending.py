"""The examples of docs/develop/extending.md, each installed as a package on ``sys.path`` and used."""

import asyncio
import importlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from workbench.engine.assembly import open_engine
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import put_tree
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import with_preset
from workbench.models.base import Message, ModelRequest
from workbench.models.errors import UnknownModel
from workbench.models.registry import open_model
from workbench.propositions import Tree
from workbench.reports.note_page import write_report
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis.rules import rule_registry as registry

PAGE = (Path(__file__).parents[1] / "docs/develop/extending.md").read_text(encoding="utf-8")
CODE = dict(re.findall(r"```python\n# example/(\w+)\.py\n(.*?)```", PAGE, re.S))
GROUPS = re.findall(r"```toml\n(.*?)```", PAGE, re.S)[1:]


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "example"]:
        del sys.modules[name]
    registry._loaded.clear()
    importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package ``example`` with the modules of the page, installed; its source only where sources can be added."""
    forget()
    site = tmp_path / "site"
    (site / "example").mkdir(parents=True)
    (site / "example" / "__init__.py").touch()
    for name, code in CODE.items():
        (site / "example" / f"{name}.py").write_text(code)
    info = site / "example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    lines: list[str] = []
    for text in GROUPS:
        for group, points in tomllib.loads(text)["project"]["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(site))
    yield site
    forget()


def planned(home: Path, **parts: Any) -> RunState:
    """A run of two leaves that was planned by hand, worked on with these parts."""

    async def work() -> RunState:
        store = Store(home / "home")
        settings = with_preset("product", **parts)
        run_id = new_run(store, "The claim holds", Cutoff.parse("2018-06-30"), settings)
        tree = Tree.root_only("The claim holds").expand("P0", {"P1": "One reason", "P2": "Another reason"})
        store.append(run_id, ev.TreePlanned(tree=put_tree(store, tree)))
        async with open_engine(store, settings, environ={}, note=write_report) as engine:
            await engine.work(run_id)
        state = load_state(store, run_id)
        store.close()
        return state

    return asyncio.run(work())


def test_every_example_is_there_and_short() -> None:
    assert set(CODE) == {"operation", "grounder", "synthesis", "model", "source"} and len(GROUPS) == 5
    for name, code in CODE.items():
        assert len([line for line in code.splitlines() if line.strip()]) < 40, name


def test_the_grounder_and_the_rule_ground_and_combine_a_run(site: Path, tmp_path: Path) -> None:
    options = {"grounder": {"days": 20}}
    state = planned(tmp_path, grounder="rising", rule="weakest", options=options)
    assert state.finished and state.verified("P1") and state.verified("P2")
    first, second, root = (state.tree[node].p for node in ("P1", "P2", "P0"))
    assert first and second and root == min(first, second)
    assert not (tmp_path / "home" / "runs" / state.run_id / "sessions").exists()
    done = run_cli(tmp_path, "whatif", state.run_id, "--set", "P1=0.05", "--json")
    assert done.returncode == 0 and '"after": 0.05' in done.stdout
    assert "min(P1" in run_cli(tmp_path, "show", state.run_id).stdout
    decided = run_cli(tmp_path, "decided", state.run_id, "--most", "1", "--json", PYTHONPATH=str(site))
    assert json.loads(decided.stdout)[0].keys() == {"id", "p", "statement"}, decided.stderr


async def test_the_model_answers_by_name(site: Path) -> None:
    request = ModelRequest(messages=(Message(role="user", content="hello"),), stage="x", cutoff="2018-06-30")
    assert (await open_model("example/echo").complete(request)).text == "hello"
    with pytest.raises(UnknownModel, match="the package example brings"):
        open_model("example/other")


async def test_the_source_is_in_the_catalogue(site: Path) -> None:
    plugins = pytest.importorskip(
        "proxies.catalogue.plugins", reason="sources of other packages come with a later version"
    )
    from proxies.catalogue import api_doc, load_catalogue

    load_catalogue.cache_clear()
    plugins.installed_plugins.cache_clear()
    try:
        assert "One row per day." in api_doc(load_catalogue(), ["example/prices"])
    finally:
        load_catalogue.cache_clear()
        plugins.installed_plugins.cache_clear()
