"""The launcher of `wb lab`: its cards, and what its data folder shows."""

import pytest

from tests.fakes.browser import TOKEN, Lab, Watched, shot

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_the_launcher_has_cards_for_a_claim_the_newest_run_and_the_tutorial(
    lab: Lab, watched: Watched
) -> None:
    """S3: `wb lab` opens the bare data folder with workbench.db; tutorial is not there."""
    page = watched.page
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset")
    card = page.locator('.jp-LauncherCard[title="State a claim"]')
    card.wait_for()
    assert page.locator('.jp-DirListing-item:has-text("tutorial.ipynb")').count() == 1
    assert page.locator('.jp-DirListing-item:has-text("workbench.db")').count() == 0
    shot(page, "lab_launcher")
    # Other tests of this server have clicked on the card too.
    before = set((lab.home / "notebooks").glob("Untitled*.ipynb"))
    card.click()
    page.get_by_text("%%proposition --cutoff").wait_for()
    assert len(set((lab.home / "notebooks").glob("Untitled*.ipynb")) - before) == 1
    assert watched.outside == []
