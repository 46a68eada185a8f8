"""The hostile corpus in JupyterLab: proofs, runs, tables and file names run nothing, fetch nothing, and show their honest part."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser.test_lab import CELL
from tests.fakes.browser import Lab, patient, running_lab
from tests.fakes.hostile_text import NAME, RUN, SERVICE, active, canary_server, make_hostile_run, write_proof
from tests.fakes.screens import RUN as SHOWN

pytestmark = [pytest.mark.browser, pytest.mark.long]

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
    context = patient(chromium.new_context(viewport={"width": 1280, "height": 2400}))
    page = context.new_page()
    went_off: list[str] = []
    page.on("dialog", lambda dialog: (went_off.append(dialog.message), dialog.dismiss()))
    try:
        page.goto(lab.page(name))
        cells = page.locator(".jp-Notebook .jp-Cell")
        cells.first.wait_for()
        page.locator(".jp-RenderedHTMLCommon, .jp-OutputArea-output").first.wait_for()
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


@pytest.mark.soak
def test_a_proof_of_the_corpus_is_harmless_in_jupyterlab(
    lab: Lab, chromium: Any, canary: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, asked = canary
    went_off, honest = opened(lab, chromium, write_proof(tmp_path, "P1", address), "passive.ipynb")
    assert (went_off, asked) == ([], [])
    assert honest == [True, True]


@pytest.mark.soak
def test_the_same_proof_asks_other_servers_where_its_raw_forms_stand_in_it(
    lab: Lab, chromium: Any, canary: tuple[str, list[str]], tmp_path: Path
) -> None:
    """JupyterLab itself runs nothing of a notebook that it does not trust, and fetches its pictures."""
    address, asked = canary
    opened(lab, chromium, write_proof(tmp_path, "P1", address, passive=False), "raw.ipynb")
    assert asked != []


def test_names_of_files_runs_and_tables_are_text_in_jupyterlab(
    chromium: Any, canary: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, asked = canary
    home = tmp_path / "home"
    make_hostile_run(home, address)
    (home / "catalogue").mkdir()
    (home / "catalogue" / "store.yaml").write_text(
        SERVICE.format(text=json.dumps(active(address)["event handler"]))
    )
    name = f"{NAME}.ipynb"
    cells = (
        CELL.replace(SHOWN, RUN),
        "import workbench as wb\nwb.runs()",
        "wb.apis('store')",
        f"wb.open_run({RUN!r})",
    )
    with running_lab(home) as lab:
        lab.put(name, list(cells), "python3")
        context = patient(chromium.new_context(viewport={"width": 1280, "height": 2400}))
        page = context.new_page()
        went_off: list[str] = []
        page.on("dialog", lambda dialog: (went_off.append(dialog.message), dialog.dismiss()))
        try:
            page.goto(lab.page(quote(name)))
            page.locator(".jp-Notebook .jp-Cell").first.wait_for()
            page.get_by_text("| Idle").wait_for()
            page.locator(".jp-DirListing-item", has_text="onerror").first.wait_for()
            page.locator(".jp-Notebook .jp-Cell").first.click()
            for _ in cells:
                page.keyboard.press("Shift+Enter")
            page.wait_for_selector('[role="treeitem"]')
            page.locator(".jp-OutputArea-output table").first.wait_for()
            page.wait_for_function(
                "() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].slice(0, 4).every((each) => /\\d/.test(each.textContent))",
            )
            page.evaluate(PRESS)
            page.wait_for_timeout(400)
            went_off += [part.url for part in page.frames if part.evaluate("() => self.struck === 1")]
            assert (went_off, asked) == ([], [])
            assert page.locator(".jp-OutputArea-output", has_text="onerror").count() >= 2
            page.evaluate(
                "text => { document.querySelector('.jp-Notebook').insertAdjacentHTML('beforeend', text); }",
                active(address)["event handler"],
            )
            page.wait_for_timeout(300)
            assert page.evaluate("() => self.struck === 1"), "the same text as HTML goes off"
        finally:
            context.close()
