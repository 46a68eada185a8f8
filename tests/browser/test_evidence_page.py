"""From a number on the page to its cell, from the cell to its data call, from the call to the answer."""

import pytest

from tests.browser.conftest import Served
from tests.fakes.browser import Watched, shot

pytestmark = pytest.mark.browser


def test_a_number_of_the_report_leads_to_its_cell_and_the_cell_to_its_rows(
    served: Served, watched: Watched
) -> None:
    """S3: Proof to data row: no jump from number to cell or row from the page; image alt is "figure"."""
    page = watched.page
    page.goto(f"{served.url}&node=P2.1")
    frame = page.frame_locator("iframe.wb-frame")
    number = frame.locator("section.report a.number", has_text="0.5")
    number.wait_for()
    target = number.get_attribute("href").removeprefix("about:srcdoc#")
    assert "p = 0.5" in frame.locator(f'[id="{target}"]').inner_text()
    number.click()
    frame.locator(f'[id="{target}"]:target').wait_for()
    # the cell that read data says what it asked, what was clamped, what came back, and where the answer lies
    frame.locator("nav a", has_text="1").click()
    frame.locator(".work:target").wait_for()
    call = frame.locator("details.call")
    call.locator("summary").first.click()
    text = call.inner_text()
    for part in (
        "series_id=VIX, end=2018-12-31",
        "publication date",
        "end",
        "127 rows known later",
        "sha256:ccc",
    ):
        assert part in text, part
    call.get_by_text("the answer as the cell read it").click()
    assert '{"date":"2018-06-29","value":16.09}' in call.inner_text()
    alt = frame.locator("figure img").get_attribute("alt")
    assert alt.startswith("figure of ") and frame.locator("figcaption").inner_text() == alt
    shot(page, "evidence")
    watched.clean()


def test_a_wrong_token_is_told_where_the_right_one_stands(served: Served, watched: Watched) -> None:
    """S3: wrong token: page tells you to run `jupyter server list`, which listed nothing."""
    page = watched.page
    address = served.url.partition("token=")[0]
    page.goto(f"{address}token=not-the-token")
    text = page.locator("body").inner_text()
    assert "workbench serve" in text and "copy the whole of it from the terminal" in text
    assert "jupyter server list" not in text
    shot(page, "wrong_token")
    page.get_by_label("Or paste the token").fill(served.url.partition("token=")[2].split("&")[0])
    page.get_by_role("button", name="Open").click()
    page.wait_for_selector('[role="treeitem"][data-id="P0"]')
    watched.clean()
