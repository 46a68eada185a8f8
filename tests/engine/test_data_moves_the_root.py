"""The answer hangs on the last visible close, and on nothing after it."""

import asyncio
import gzip
import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

from proxies.asof.clock import Cutoff
from tests.conftest import FinishedRun
from workbench.engine.assembly import open_engine
from workbench.engine.new_run import new_run
from workbench.engine.run_settings import with_preset
from workbench.reports.note_page import write_report
from workbench.store import Store
from workbench.views.run_view import view

pytestmark = pytest.mark.long

CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"


def embedded_copy(folder: Path, day: str, factor: float) -> Path:
    """A copy of the embedded series in which every price of one S&P row is multiplied."""
    spec = importlib.util.find_spec("arch")
    assert spec is not None and spec.origin is not None
    copy = folder / "data"
    shutil.copytree(Path(spec.origin).parent / "data", copy)
    path = copy / "sp500" / "sp500.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    changed = 0
    for number, line in enumerate(lines):
        if line.startswith(day):
            date, *values, volume = line.split(",")
            lines[number] = ",".join([date, *(f"{float(value) * factor:.6f}" for value in values), volume])
            changed += 1
    assert changed == 1
    path.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
    return copy


def analyzed(folder: Path, embedded: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The document of the demo's claim on other data, and the outputs of each leaf's notebook as text."""

    async def job() -> dict[str, Any]:
        store = Store(folder / "home")
        try:
            settings = with_preset("product")
            async with open_engine(
                store,
                settings,
                environ={"PATH": os.environ["PATH"]},
                embedded_root=embedded,
                note=write_report,
            ) as engine:
                run_id = new_run(store, CLAIM, Cutoff.parse("2018-06-30"), settings)
                await engine.work(run_id)
            return view(store, run_id).document()
        finally:
            store.close()

    document = asyncio.run(job())
    return document, outputs_of(document)


def outputs_of(document: dict[str, Any]) -> dict[str, str]:
    outputs = {}
    for node in document["nodes"]:
        if node["notebook"]:
            notebook = nbformat.read(node["notebook"], as_version=4)
            outputs[node["id"]] = json.dumps([cell.get("outputs") for cell in notebook.cells], sort_keys=True)
    return outputs


@pytest.fixture(scope="module")
def base(demo: FinishedRun) -> tuple[dict[str, Any], dict[str, str]]:
    """The demo itself, on the data as they are."""
    return demo.document, outputs_of(demo.document)


def values(document: dict[str, Any]) -> dict[str, float]:
    return {node["id"]: node["p"] for node in document["nodes"]}


def test_the_last_visible_close_moves_notebook_leaf_and_root(
    tmp_path: Path, base: tuple[dict[str, Any], dict[str, str]]
) -> None:
    document, outputs = analyzed(tmp_path, embedded_copy(tmp_path, "6/29/2018", 0.985))
    before, after = values(base[0]), values(document)
    assert after["P0"] != before["P0"]
    leaves = [node["id"] for node in document["nodes"] if node["notebook"]]
    on_the_index = [
        node["id"] for node in document["nodes"] if node["notebook"] and "S&P 500" in node["statement"]
    ]
    assert len(on_the_index) >= 4
    for leaf in on_the_index:
        assert after[leaf] != before[leaf], leaf
        assert outputs[leaf] != base[1][leaf], leaf
    assert set(leaves) == set(outputs)


def test_a_row_after_the_cutoff_changes_not_a_byte(
    tmp_path: Path, base: tuple[dict[str, Any], dict[str, str]]
) -> None:
    document, outputs = analyzed(tmp_path, embedded_copy(tmp_path, "7/2/2018", 0.5))
    assert values(document) == values(base[0])
    assert outputs == base[1]
