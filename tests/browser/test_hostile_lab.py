"""The hostile corpus in JupyterLab: a proof that somebody opens there runs nothing, fetches nothing, and shows its honest part."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.browser import Lab
from tests.fakes.hostile_text import canary_server, write_proof

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.long]

SCROLL = "by => document.querySelectorAll('.jp-WindowedPanel-outer').forEach(part => part.scrollBy(0, by))"
PRESS = """() => document.querySelectorAll('.jp-Notebook a, .jp-TrimmedOutputs *').forEach(a => {
    if (/press|more output/i.test(a.textContent)) a.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true})); })"""


@pytest.fixture
def canary() -> Iterator[tuple[str, list[str]]]:
    with canary_server() as server:
        yield server


def opened(lab: Lab, chromium: Any, proof: Path, name: str) -> tuple[list[str], list[bool]]:
    """Open a notebook in JupyterLab, go through all of it, press its links; what was struck, and whether honest parts are there."""
    (lab.home / name).write_bytes(proof.read_bytes())
    context = chromium.new_context(viewport={"width": 1280, "height": 2400})
    page = context.new_page()
    went_off: list[str] = []
    page.on("dialog", lambda dialog: (went_off.append(dialog.message), dialog.dismiss()))
    try:
        page.goto(lab.page(name))
        cells = page.locator(".jp-Notebook .jp-Cell")
        cells.first.wait_for(timeout=90_000)
        page.locator(".jp-RenderedHTMLCommon, .jp-OutputArea-output").first.wait_for(timeout=60_000)
        # only what is near the screen is rendered: go through all of it, and to its end, where the honest outputs are
        honest = [False, False]
        for step in range(60):
            page.evaluate(SCROLL, 2200 if step < 20 else 1_000_000)
            page.wait_for_timeout(150)
            page.evaluate(PRESS)
            honest[0] |= page.locator(".jp-Notebook strong", has_text="bold").count() > 0
            honest[1] |= page.locator(".jp-OutputArea-output td", has_text="2018").count() > 0
            if all(honest) and step > 20:
                break
        page.wait_for_timeout(400)
        went_off += [part.url for part in page.frames if part.evaluate("() => self.struck === 1")]
        return went_off, honest
    finally:
        context.close()


def test_a_proof_of_the_corpus_is_harmless_in_jupyterlab(
    lab: Lab, chromium: Any, canary: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, asked = canary
    went_off, honest = opened(lab, chromium, write_proof(tmp_path, "P1", address), "passive.ipynb")
    assert (went_off, asked) == ([], [])
    assert honest == [True, True]


def test_the_same_proof_asks_other_servers_where_its_raw_forms_stand_in_it(
    lab: Lab, chromium: Any, canary: tuple[str, list[str]], tmp_path: Path
) -> None:
    """JupyterLab itself runs nothing of a notebook that it does not trust, and fetches its pictures."""
    address, asked = canary
    opened(lab, chromium, write_proof(tmp_path, "P1", address, passive=False), "raw.ipynb")
    assert asked != []
