"""A proof notebook that attacks the page it is shown on, with a positive control for the attack and for every wall."""

import json
from html import escape
from pathlib import Path
from typing import Any

import pytest

from sandbox.jupyter.sanitize import clean_html
from tests.browser.conftest import Served
from tests.fakes.browser import Watched, open_run_page
from tests.fakes.screens import RUN
from workbench.views.run_view import load_run
from workbench.widgets.proofs.proof_view import CONTENT_SECURITY_POLICY, frame, proof_document

pytestmark = [pytest.mark.browser, pytest.mark.long]

RUNS = "for (const w of [window, parent, top]) { try { w.struck = true; } catch (refused) {} }"
ATTACK = (
    f"<script>{RUNS}</script>"
    f'<img src=x onerror="{RUNS}">'
    f'<svg xmlns="http://www.w3.org/2000/svg" onload="{RUNS}"><script>{RUNS}</script></svg>'
    f'<iframe srcdoc="{escape(f"<script>{RUNS}</script>")}"></iframe>'
    f'<details open ontoggle="{RUNS}"><summary>x</summary></details>'
    '<img src="https://evil.example/pixel.png">'
    '<link rel="stylesheet" href="https://evil.example/x.css">'
)


def struck(page: Any) -> bool:
    page.wait_for_timeout(500)
    return any(part.evaluate("() => window.struck === true") for part in page.frames)


def blank(watched: Watched, served: Served, html: str) -> Any:
    """The html in a page of the server's own origin."""
    page = watched.page
    page.route(
        "**/blank", lambda route: route.fulfill(body=f"<!doctype html><body>{html}", content_type="text/html")
    )
    page.goto(served.url.split("?")[0] + "blank")
    return page


def test_the_attack_works_on_a_page_without_walls(served: Served, watched: Watched) -> None:
    page = blank(watched, served, ATTACK)
    assert struck(page)
    assert {url.split("/")[2] for url in watched.left} == {"evil.example"}


def test_a_plain_frame_does_not_stop_it(served: Served, watched: Watched) -> None:
    assert struck(blank(watched, served, f'<iframe srcdoc="{escape(ATTACK)}"></iframe>'))


def test_the_sanitizer_alone_stops_it(served: Served, watched: Watched) -> None:
    assert not struck(blank(watched, served, clean_html(ATTACK)))
    watched.clean()


def test_the_policy_alone_stops_scripts_and_fetches(served: Served, watched: Watched) -> None:
    policy = f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
    assert not struck(blank(watched, served, f'<iframe srcdoc="{escape(policy + ATTACK)}"></iframe>'))
    assert watched.left == []


def test_the_sandbox_alone_stops_scripts(served: Served, watched: Watched) -> None:
    assert not struck(blank(watched, served, frame(ATTACK, title="hostile")))


def hostile_notebook(path: Path) -> None:
    outputs = [
        {"output_type": "display_data", "data": {mime: ATTACK}, "metadata": {}}
        for mime in ("text/html", "text/markdown", "text/plain", "image/svg+xml", "application/javascript")
    ]
    cells = [
        {
            "cell_type": "markdown",
            "source": ATTACK + "\n\n[press](javascript:parent.struck=true)",
            "metadata": {},
        },
        {"cell_type": "code", "source": ATTACK, "metadata": {}, "outputs": outputs, "execution_count": 1},
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def test_a_hostile_proof_notebook_runs_nothing_and_fetches_nothing(served: Served, watched: Watched) -> None:
    path = load_run(served.home, RUN).folder / "proofs" / "P1.2.ipynb"
    kept = path.read_bytes()
    hostile_notebook(path)
    try:
        page = watched.page
        open_run_page(page, served.url)
        page.locator('[data-id="P1.2"] .wb-statement').click()
        inside = page.frame_locator("iframe.wb-frame").locator("body")
        inside.get_by_text("press").first.wait_for()
        assert not struck(page)
        watched.clean()
        inside.get_by_text("press").first.click()
        assert not struck(page) and watched.outside == []
    finally:
        path.write_bytes(kept)


def test_a_link_in_a_proof_does_not_take_the_reader_away(
    served: Served, watched: Watched, tmp_path: Path
) -> None:
    path = tmp_path / "P1.ipynb"
    cell = {"cell_type": "markdown", "source": "[source](http://127.0.0.1:9/elsewhere)", "metadata": {}}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    page = blank(watched, served, frame(proof_document(path), title="P1"))
    asked: list[str] = []
    page.on("request", lambda made: asked.append(made.url))
    page.frame_locator("iframe").get_by_text("source").click()
    page.wait_for_timeout(500)
    assert asked == [] and len(page.context.pages) == 1
    assert page.frame_locator("iframe").get_by_text("source").is_visible()
