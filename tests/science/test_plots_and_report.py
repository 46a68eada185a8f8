"""The pictures hold the numbers they show; the report notebook runs with and without real data."""

import io
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from workbench.science import plots
from workbench.science.errors import DomainError
from workbench.science.scoring.calibration_error import reliability

pytestmark = pytest.mark.long

REPORT = Path(__file__).resolve().parents[2] / "notebooks" / "science_report.ipynb"


def test_a_reliability_diagram_shows_its_points() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    o = (rng.random(300) < p).astype(float)
    figure = plots.reliability_plot({"a": (p, o)})
    drawn = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == 10)
    wanted = reliability(p, o)
    assert np.allclose(drawn.get_xdata(), wanted.forecast) and np.allclose(drawn.get_ydata(), wanted.observed)


def test_bars_and_heatmaps_show_their_values() -> None:
    figure = plots.bars_plot({"a": (60.0, 55.0, 66.0), "b": (70.0, 69.0, 71.0)}, baseline=50.0)
    assert [bar.get_width() for bar in figure.axes[0].patches] == [
        10.0,
        20.0,
    ]  # from 50, what always 0.5 gets
    low, high = figure.axes[0].get_xlim()
    assert low <= 50 and high > 71
    heat = plots.heatmap_plot(["a", "b"], [[1.0, float("nan")], [0.25, 1.0]], title="t")
    assert [text.get_text() for text in heat.axes[0].texts] == ["1.00", "0.25", "1.00"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_the_frontier_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    cost, score = np.array(points, dtype=float).T
    best = plots.efficient(cost, score) > 0
    assert best.any()
    for i in range(len(points)):
        beaten = any(
            cost[j] <= cost[i] and score[j] >= score[i] and (cost[j] < cost[i] or score[j] > score[i])
            for j in range(len(points))
        )
        assert best[i] != beaten


@pytest.mark.parametrize("arms", [3, 12, 27, 60])
def test_every_point_of_a_cost_figure_can_be_told_apart(arms: int) -> None:
    """Few have their names beside them; of many each has a number, whose name stands in the key, outside the axes."""
    names = [f"grounder {n % 3} analyzer {n % 5} synthesizer {n}" for n in range(arms)]
    figure = plots.frontier_plot(
        {name: [(0.01 * n, 60.0 + n % 7)] for n, name in enumerate(names)}, cost="US dollars"
    )
    figure.draw_without_rendering()
    (axes,) = figure.axes
    box = axes.get_window_extent()
    assert box.width > 0.35 * figure.bbox.width and box.height > 0.5 * figure.bbox.height
    labels = [text.get_text() for text in axes.texts]
    if arms <= 12:
        assert labels == names and not figure.legends
    else:
        key = figure.legends[0]
        assert labels == [str(n) for n in range(1, arms + 1)]
        assert [text.get_text() for text in key.get_texts()] == [
            *(f"{n}  {name}" for n, name in enumerate(names, 1)),
            "frontier",
        ]
        assert key.get_window_extent().x0 >= box.x1 and key.get_window_extent().y0 >= 0


def test_what_cannot_be_drawn_is_refused() -> None:
    words = {"x": "x", "y": "y", "title": "t"}
    for draw in (
        plots.reliability_plot,
        plots.bars_plot,
        plots.frontier_plot,
        plots.traces_plot,
        partial(plots.boxes_plot, label="p"),
        partial(plots.curves_plot, **words),
    ):
        with pytest.raises(DomainError):
            draw({})  # type: ignore[operator]
    with pytest.raises(DomainError):
        plots.heatmap_plot(["a"], [[1, 2]], title="t")
    with pytest.raises(DomainError):
        plots.market_plot([0.5], [0.5, 0.6], [1])


def run_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: Path | None) -> str:
    import nbformat
    from nbclient import NotebookClient

    if data is None:
        monkeypatch.delenv("WORKBENCH_TEST_DATA", raising=False)
    else:
        monkeypatch.setenv("WORKBENCH_TEST_DATA", str(data))
    checkout = str(REPORT.parents[1])
    monkeypatch.setenv("PYTHONPATH", checkout)
    notebook = nbformat.read(REPORT, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    cells: list[Any] = [cell for cell in notebook.cells if cell.cell_type == "code"]
    pictures = sum("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs)
    assert pictures == 8
    return "".join(
        output.get("text", "") + str(output.get("data", "")) for cell in cells for output in cell.outputs
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_report_runs_without_real_data_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = run_report(monkeypatch, tmp_path, None)
    assert "everything below is simulated" in text and "400 events, 200 questions, 3 methods" in text


@pytest.mark.realdata
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_report_runs_on_the_real_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, test_data: Path
) -> None:
    text = run_report(monkeypatch, tmp_path, test_data)
    assert (
        "791 events, 400 questions" in text
        and "best method that cannot see the future: pro-high-brave-c1" in text
    )


def test_the_report_ships_without_outputs() -> None:
    import nbformat

    notebook = nbformat.read(REPORT, as_version=4)
    nbformat.validate(notebook)
    assert all(
        not cell.get("outputs") and cell.get("execution_count") is None
        for cell in notebook.cells
        if cell.cell_type == "code"
    )


@pytest.mark.parametrize("name", [r"$5 a_b to $\frac{1}$", r"\$1 and \alpha"])
def test_a_name_in_a_figure_is_text_and_never_a_formula(name: str) -> None:
    """Drawn after the function returned, tight as notebooks draw it: the ticks are made only then."""
    p, o = [0.2, 0.8], [0, 1]
    figures = [
        plots.reliability_plot({name: (p, o)}),
        plots.heatmap_plot([name, "b"], [[1.0, 0.5], [0.25, 1.0]], title=name),
        plots.frontier_plot({f"{name} {n}": [(n, 60.0)] for n in range(20)}, cost=name),
    ]
    for figure in figures:
        figure.savefig(io.BytesIO(), format="png", dpi=40, bbox_inches="tight")
        words = [text for text in figure.findobj(Text) if name in text.get_text()]
        assert words and not any(text.get_parse_math() for text in words)
