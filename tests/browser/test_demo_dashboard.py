"""The dashboard of the real demo run shows the command line's numbers."""

from typing import Any

import pytest

from tests.browser.conftest import Served, asked
from tests.conftest import FinishedRun
from tests.fakes.browser import Watched, open_tab, shot
from workbench.formatting import percent
from workbench.widgets.panels import short_weight

pytestmark = [pytest.mark.browser, pytest.mark.long]


def opened(watched: Watched, url: str) -> Any:
    watched.page.goto(url)
    watched.page.wait_for_selector('[role="treeitem"]', timeout=90_000)
    return watched.page


def shown(row: Any, field: str) -> tuple[float, str]:
    """The number a cell holds, and the text it shows."""
    cell = row.locator(f'[data-field="{field}"]')
    return float(cell.get_attribute("data-value")), cell.inner_text()


def test_tornado_reach_and_scenarios_are_the_command_lines_numbers(
    served: Served, watched: Watched, shown_run: str, demo: FinishedRun
) -> None:
    page = opened(watched, shown_run)
    page.wait_for_selector(".wb-badge[data-verdict]", timeout=60_000)
    shot(page, "dashboard")
    report = asked(served, "sensitivity", demo.run_id, "--report")
    rows = asked(served, "sensitivity", demo.run_id)
    assert report["tornado"] == rows and len(rows) == len(demo.leaves)
    assert page.locator(".wb-tornado [data-leaf]").evaluate_all(
        "rows => rows.map(row => row.dataset.leaf)"
    ) == [row["id"] for row in rows]
    for row in rows:
        line = page.locator(f'.wb-tornado [data-leaf="{row["id"]}"]')
        assert shown(line, "low") == (row["low"], percent(row["low"]))
        assert shown(line, "high") == (row["high"], percent(row["high"]))
        assert shown(line, "weight") == (row["path_weight"], short_weight(row["path_weight"]))
    pane = page.locator(".wb-sensitivity")
    low, high = report["reachable"]
    assert shown(pane, "reachable-low") == (low, percent(low))
    assert shown(pane, "reachable-high") == (high, percent(high))
    table = asked(served, "scenarios", demo.run_id)
    assert [row["name"] for row in table["scenarios"]] == ["weak record", "firm oil"]
    for row in table["scenarios"]:
        line = page.locator(f'[data-kind="scenario"][data-scenario="{row["name"]}"]')
        assert shown(line, "scenario-root") == (row["root"], percent(row["root"]))
    base, mix = (page.locator(f'.wb-compare [data-kind="{kind}"]') for kind in ("base", "mix"))
    assert shown(base, "scenario-root")[0] == table["base"]["root"] == demo.document["root"]["p"]
    assert shown(mix, "scenario-root")[0] == table["mix"]["root"]
    leaf = next(item["id"] for item in demo.leaves if item["notebook"])
    page.locator(f'[role="treeitem"][data-id="{leaf}"] .wb-statement').click()
    page.frame_locator("iframe.wb-frame").locator("body").wait_for()
    open_tab(page, "What-if")
    page.locator(".wb-scenarios").scroll_into_view_if_needed()
    shot(page, "dashboard-scenarios")
    watched.clean()
