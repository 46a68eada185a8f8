"""Proofs that no model wrote: the same parts as all others, a figure with its words, all of it made again from the records."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.broker import open_broker
from proxies.settings import ProxySettings
from sandbox.jupyter.sanitize import clean_output
from tests.agents.test_statistical import LAST_DAY, UP, grounded
from tests.fakes.grounding import GroundedLeaf, ground_leaf
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.offline.embedded import visible_rows
from workbench.agents.base import AgentSettings
from workbench.agents.evidence.base import Drawing, MissingEvidence
from workbench.agents.evidence.notebook import proof_notebook, svg_of
from workbench.agents.grounders.market_grounder import MarketGrounder
from workbench.questions.series.series_figure import series_figure
from workbench.questions.series.series_leaf import read_series_leaf

DAY, CUTOFF_S = 86_400, 1_530_331_200  # 2018-06-30
PARTS = ["trace-claim", "trace-plan", "trace-figure", "trace-sources", "trace-conclusion"]


@pytest.fixture
def prices() -> Iterator[Upstream]:
    def answer(seen: Seen) -> Sent:
        if "candlesticks" in seen.path:
            days = range(40, -2, -1)  # the last one is of after the cutoff
            rows = [
                {
                    "end_period_ts": CUTOFF_S - day * DAY,
                    "yes_bid": {"close": 60 - day},
                    "yes_ask": {"close": 64 - day},
                }
                for day in days
            ]
            return Sent({"ticker": "INX-18SEP-UP", "candlesticks": rows})
        if seen.path.endswith("historical/cutoff"):
            return Sent({})
        market = {"ticker": "INX-18SEP-UP", "title": "S&P up by <b>September</b>?", "open_time": "2018-01-01T00:00:00Z",
                  "created_time": "2018-01-01T00:00:00Z", "close_time": "2018-09-28T00:00:00Z", "result": "yes"}  # fmt: skip
        return Sent({"market": market, "markets": [market], "cursor": ""})

    with Upstream(answer) as upstream:
        yield upstream


async def of_a_market(prices: Upstream, folder: Path) -> GroundedLeaf:
    broker = open_broker(ProxySettings(upstreams={"kalshi": prices.url}))
    statement = "The S&P rises by September (kalshi/INX-18SEP-UP)"
    return await ground_leaf(
        MarketGrounder(AgentSettings(), {}), statement, "2018-06-30", folder, broker=broker
    )


def shown(leaf: GroundedLeaf) -> dict[str, Any]:
    book: Any = proof_notebook(leaf.grounding.evidence, leaf.proof())
    return {cell.id: cell for cell in book.cells}


def figure_of(cells: dict[str, Any]) -> tuple[str, str]:
    data = cells["trace-figure"].outputs[0].data
    return data["image/svg+xml"], data["text/plain"]


async def test_a_statistical_proof_shows_its_series_reference_and_forecast(tmp_path: Path) -> None:
    leaf = await grounded(UP, tmp_path)
    cells = shown(leaf)
    assert [name for name in PARTS if name not in cells] == []
    svg, words = figure_of(cells)
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img" and root.get("aria-label") == words
    assert svg.count("<polygon") == 2 and "measured from 2718.37" in svg
    assert "embedded/SP500" in words and "measured from 2718.37" in words and "on 2018-09-28" in words
    assert "| D1 | 2018-06-29 |" in cells["trace-sources"].source
    # a page shows it as a picture with these words, and nothing in it runs
    clean = clean_output(cells["trace-figure"].outputs[0])
    assert clean is not None
    assert "<img" in clean["data"]["text/html"] and "measured from 2718.37" in clean["data"]["text/html"]


async def test_a_market_proof_shows_its_prices_up_to_the_cutoff(prices: Upstream, tmp_path: Path) -> None:
    leaf = await of_a_market(prices, tmp_path)
    evidence = leaf.grounding.evidence
    assert evidence.drawing is not None
    cutoff = date(2018, 6, 30).toordinal()
    assert len(evidence.drawing.points) == 41
    assert (
        max(evidence.drawing.points)
        == evidence.drawing.points[-1]
        == (pytest.approx(cutoff + 4 / 24), pytest.approx(0.62))
    )
    cells = shown(leaf)
    assert [name for name in PARTS if name not in cells] == []
    svg, words = figure_of(cells)
    assert ElementTree.fromstring(svg).get("aria-label") == words
    assert "41 prices between 0.22 and 0.62" in words and "2018-07" not in svg
    assert "<b>" not in "".join(cell.source for cell in cells.values())
    assert (await leaf.verified()).verified


@pytest.mark.parametrize(
    "change",
    [{"points": []}, {"points": [[4e6, 1.0]]}, {"fan": [1.0]}, {"points": "x"}, {"end": "2018-13-01"}],
)
async def test_a_forged_figure_is_refused_when_it_is_read(change: dict[str, Any], tmp_path: Path) -> None:
    leaf = await grounded(UP, tmp_path)
    with pytest.raises(MissingEvidence, match="the stored evidence cannot be read"):
        leaf.stored(lambda data: data["drawing"].update(change))


def test_the_figure_of_fewer_rows_looks_no_further_than_they_do() -> None:
    """What is drawn as of a day does not change with what came after it."""
    leaf = read_series_leaf(UP)
    rows = visible_rows("SP500", LAST_DAY)
    later = [*rows, {"date": "2018-07-02", "value": 9999.0}]
    cut = [row for row in later if row["date"] <= LAST_DAY.isoformat()]
    assert series_figure(leaf, [rows]) == series_figure(leaf, [cut]) != series_figure(leaf, [later])
    figure = series_figure(leaf, [rows])
    assert figure.values[-1] == rows[-1]["value"] and list(figure.forecast) == sorted(figure.forecast)
    assert len(figure.days) <= 200


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30),
    st.text(max_size=60),
    st.lists(st.floats(-1e9, 1e9), min_size=5, max_size=5),
)
def test_any_drawing_is_well_formed_and_says_what_it_shows(
    values: list[float], words: str, fan: list[float]
) -> None:
    said = "".join(char for char in words if char.isprintable())
    points = tuple((730_000.0 + place, value) for place, value in enumerate(values))
    drawing = Drawing(
        title=said, words=said, points=points, end=730_100, fan=tuple(sorted(fan)), marks=((0.0, said),)
    )
    root = ElementTree.fromstring(svg_of(drawing))
    assert root.get("aria-label") == said and svg_of(drawing) == svg_of(drawing)
