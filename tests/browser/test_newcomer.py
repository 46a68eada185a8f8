"""A newcomer without a key: ten claims as people type them, each from the home page to an answer that is understood.

Clicks and seconds of each go to ``out/newcomer.json``: what the answer says, its base rate and its record stand in sight without
another click.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import serving
from tests.fakes.browser import SCREENSHOTS, Watched

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.soak]

CLAIMS = (
    "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
    "will oil go over $80 this year?",
    "SPX will be above 3000 by year end 2018",
    "VIX spikes above 30 in the next 3 months",
    "BAA yield above 5% end of 2018",
    "nasdaq beats sp500 in H2 2018",
    "S&P 500 ends Q4 2018 between 2600 and 2800",
    "S&P drops 10% before Christmas",
    "core CPI yoy above 2.3% in October 2018",
    "credit spreads widen to 120bp",
)


def answered(page: Any, url: str, claim: str) -> dict[str, Any]:
    """Type a claim on the home page and go on as the page says, until the answer stands; what it took."""
    clicks = 0
    page.goto(url)
    page.wait_for_selector(".wb-claim textarea")
    began = time.monotonic()
    page.locator(".wb-claim textarea").fill(claim)
    go = page.get_by_role("button", name="Analyze claim", exact=True)
    page.wait_for_function(
        "() => document.querySelector('.wb-readings').textContent || document.querySelector('.wb-warn')",
    )
    if not go.is_enabled():  # several readings, or a hole: the buttons below the claim say which
        page.locator(".wb-readings button").first.click()
        clicks += 1
        page.wait_for_function(
            "() => [...document.querySelectorAll('button')].some((each) => each.textContent === 'Analyze claim' && !each.disabled)",
        )
    go.click()
    clicks += 1
    page.wait_for_selector('[role="treeitem"]', timeout=120_000)
    opened = time.monotonic() - began
    sentence = page.locator('[data-field="sentence"]')
    page.wait_for_function(
        "() => /^(?!History).*%/.test(document.querySelector('[data-field=\"sentence\"]')?.textContent ?? '')",
        timeout=240_000,
    )
    page.wait_for_selector(".wb-badge[data-verdict]", timeout=120_000)
    return {
        "claim": claim,
        "clicks": clicks,
        "run opens": round(opened, 1),
        "answer": round(time.monotonic() - began, 1),
        "sentence": sentence.inner_text(),
    }


def test_ten_claims_of_a_newcomer_from_the_home_page_to_an_answer(tmp_path: Path, watched: Watched) -> None:
    rows = []
    try:
        with serving(tmp_path / "home", page=watched.page) as served:
            for claim in CLAIMS:
                rows.append(answered(watched.page, served.url, claim))
            watched.clean()
    finally:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (SCREENSHOTS.parent / "newcomer.json").write_text(json.dumps(rows, indent=1))
    assert len(rows) == 10 and all(row["clicks"] <= 2 for row in rows)
