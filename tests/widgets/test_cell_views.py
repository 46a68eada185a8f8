"""Widgets and progress in a notebook's cell: plain HTML that reads well without a kernel, never a model that is gone."""

import json
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.fakes.screens import RUN, Shell
from workbench.engine.record.fold import apply, fold
from workbench.errors import UsageError
from workbench.magics import load_ipython_extension
from workbench.models.base import PastShare
from workbench.store import Store
from workbench.widgets.proofs.cell_progress import CellProgress, progress_listener


@pytest.mark.parametrize(
    "name",
    [
        "explorer",
        "dashboard",
        "scenario_view",
        "driver_view",
        "export_view",
        "live_view",
        "evidence_view",
    ],
)
def test_a_widget_shows_itself_as_html_that_a_live_one_replaces(analysis: wb.Analysis, name: str) -> None:
    widget = getattr(analysis, name)()
    bundle = widget._repr_mimebundle_()
    assert sorted(bundle) == ["text/html", "text/plain"]
    assert f'class="workbench-in-place-{widget.model_id}"' in bundle["text/html"]
    assert "65.8%" in bundle["text/plain"]
    shown = {
        "explorer": "0.30 × P1",
        "dashboard": "0.30 × P1",
        "scenario_view": "base",
        "driver_view": "wb-tornado",
        "export_view": f"workbench export {RUN}",
        "live_view": "6 of 6 drivers",
    }
    assert shown.get(name, "Momentum") in bundle["text/html"]
    assert "<script" not in bundle["text/html"]


def test_the_evidence_of_an_inner_proposition_is_refused(analysis: wb.Analysis) -> None:
    with pytest.raises(UsageError, match="P2 is combined"):
        analysis.evidence_view("P2")


# --- progress -------------------------------------------------------------------------------------------------------------


class Display:
    def __init__(self) -> None:
        self.bundles: list[dict[str, str]] = []

    def __call__(self, bundle: dict[str, str]) -> None:
        self.bundles.append(bundle)

    @property
    def last(self) -> str:
        return self.bundles[-1]["text/html"]


def replayed(home: Path, display: Display, *, tick: float) -> CellProgress:
    """The progress of a finished run as its listener saw it, ``tick`` seconds between two events."""
    now = [0.0]
    progress = CellProgress(display, clock=lambda: now[0])
    with closing(Store(home)) as store:
        stored = store.events(RUN)
        state = fold(store, stored[:1])
        for event in stored[1:]:
            now[0] += tick
            apply(store, state, event)
            progress(state, event)
    return progress


def test_progress_is_one_output_that_is_renewed_and_folds_at_the_end(home: Path) -> None:
    display = Display()
    progress = replayed(home, display, tick=1.0)
    assert any("of 6 drivers have evidence" in bundle["text/html"] for bundle in display.bundles)
    progress.end("")
    assert (
        "<strong>done</strong> · 6 of 6 drivers have evidence · claim <strong>65.8%</strong>" in display.last
    )
    assert "what happened last" not in display.last


def test_leaves_in_work_are_named_with_their_last_step(home: Path) -> None:
    display, now = Display(), [0.0]
    progress = CellProgress(display, clock=lambda: now[0])
    with closing(Store(home)) as store:
        events = store.events(RUN)
        state = fold(store, events[:3])
        bare = [replace(node, belief=None, rule=None) for node in state.tree.propositions()]
        state.tree = state.tree.with_propositions(bare)
        now[0] = 1.0
        apply(store, state, events[3])
        progress(state, events[3])
    assert "Momentum: the index closes" in display.last and "opening its notebook" in display.last
    assert "<strong>Collecting evidence, 0 of 6 drivers" in display.last
    assert "data to 29 June 2018" in display.last and "History" not in display.last
    state.history = PastShare(0.689, 23.2, 0.643)
    progress.end("stopped")
    for known in ("History: true in 68.9% of past periods", "series: 64.3%"):
        assert known in unescape(display.last)


def test_the_output_is_renewed_when_no_event_comes(home: Path) -> None:
    """A leaf that thinks for a minute writes nothing: the clock and the last events are shown all the same."""
    import asyncio

    display = Display()

    async def wait() -> CellProgress:
        with closing(Store(home)) as store:
            stored = store.events(RUN)
            state = fold(store, stored[:3])
            progress = CellProgress(display, clock=lambda: 0.0)
            progress(state, stored[2])
            before = len(display.bundles)
            async with asyncio.timeout(20):
                while len(display.bundles) == before:
                    await asyncio.sleep(0.01)
        return progress

    asyncio.run(wait()).end("stopped")


def test_what_stopped_a_run_is_said_in_the_cell_and_escaped(home: Path) -> None:
    display = Display()
    replayed(home, display, tick=1.0).end("stopped: <img src=x onerror=alert(1)><script>alert(2)</script>")
    assert "stopped: " in display.last and "<script" not in display.last and "<img" not in display.last


def test_outside_a_notebook_progress_is_lines_on_stderr(home: Path) -> None:
    from workbench.engine.record.progress import print_progress

    with closing(Store(home)) as store:
        with progress_listener(store, quiet=False) as listener:
            assert listener is print_progress
        with progress_listener(store, quiet=True) as listener:
            assert listener is None


# --- magics ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def magics(analysis: wb.Analysis) -> dict[str, Any]:
    shell = Shell()
    load_ipython_extension(shell)
    shell.user_ns["analysis"] = analysis
    return shell.magics


def test_whatif_says_what_the_method_says(analysis: wb.Analysis, magics: dict[str, Any]) -> None:
    assert magics["whatif"]("P2.1=0 P3=40%") == analysis.what_if({"P2.1": 0.0, "P3": 0.4})
    removed = magics["whatif"]("--remove P2.3")
    assert removed["after"] == analysis.what_if(remove=["P2.3"])["after"]
    magics["whatif"]("P2.1=0 --scenario calm --set 'rationale=nothing happens' --set probability=30%")
    (calm,) = analysis.scenarios()["scenarios"]
    assert (calm["name"], calm["rationale"], calm["probability"]) == ("calm", "nothing happens", 0.3)
    held = magics["whatif"]("P2.1=0 --author Ada --set expires=2999-01-01")
    assert [row["expires"][:10] for row in held["overrides"]] == ["2999-01-01"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("whatif", "P2.1"),
        ("whatif", "--colour red"),
        ("proof", ""),
        ("whatif", "P2.1=2"),
        ("whatif", "P2.1=0 --scenario calm --set probability=often"),
        ("proof", "'P1"),
    ],
)
def test_a_magic_that_cannot_be_read_is_one_line(magics: dict[str, Any], name: str, line: str) -> None:
    with pytest.raises(UsageError):
        magics[name](line)


def test_lab_puts_the_tutorials_there_once(tmp_path: Path) -> None:
    from workbench.cli.servers.lab import LAB_EXTENSIONS, TUTORIALS, put_tutorials

    folder = put_tutorials(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == sorted(TUTORIALS)
    (folder / "tutorial.ipynb").write_text("mine")
    put_tutorials(tmp_path)
    assert (folder / "tutorial.ipynb").read_text() == "mine", "a person's own edits stay"
    package = json.loads((LAB_EXTENSIONS / "analyst-workbench" / "package.json").read_text())
    assert (LAB_EXTENSIONS / package["name"] / package["jupyterlab"]["_build"]["load"]).is_file()
