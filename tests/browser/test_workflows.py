"""The workflow W1 (FEATURES, section 4) in a real browser, and what every page of a run holds to; W2 to W6: test_keyboard.py.

W1 states a claim and grounds it, which takes long: it is a soak test.
"""

import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest

from tests.browser.conftest import Served, serving, start
from tests.fakes.browser import (
    ROOT,
    Watched,
    axe_findings,
    editor,
    open_run_page,
    open_tab,
    save_download,
    shot,
    type_in,
    wait_for_text,
)
from tests.fakes.screens import RUN
from workbench.formatting import percent
from workbench.synthesis import resynthesize
from workbench.views.run_view import load_run
from workbench.widgets.run_tabs import TABS

pytestmark = [pytest.mark.browser, pytest.mark.long]


def opened(served: Served, watched: Watched, scenario: str) -> Any:
    """The run's page with a scenario of its own."""
    page = watched.page
    open_run_page(page, f"{served.url}&{urlencode({'scenario': scenario})}")
    page.wait_for_selector(".wb-badge[data-verdict]")
    return page


def saved(page: Any, form: str, folder: Path) -> Path:
    """Download the run in a form and return the file."""
    if page.get_by_role(
        "tab", name="Review", exact=True
    ).count():  # a card of JupyterLab shows parts of the page alone
        open_tab(page, "Review")
    page.locator(".wb-taking select").select_option(form)
    return save_download(page, page.get_by_role("button", name="Download").click, folder)


@pytest.mark.soak
def test_w1_a_claim_is_stated_planned_grounded_edited_and_taken_away_as_a_note(
    tmp_path: Path, watched: Watched
) -> None:
    page = watched.page
    with serving(tmp_path / "home", page=page) as served:
        page.goto(served.url)
        page.get_by_role("textbox", name="claim", exact=True).fill("VIX closes above 20 on 2018-12-31")
        page.get_by_label("cutoff: a date, or now").fill("2018-11-01")
        page.get_by_role("button", name="Plan").click()
        page.wait_for_selector('[role="treeitem"]', timeout=120_000)  # the page of the run opens by itself
        page.get_by_role("button", name="Collect evidence").click()
        page.wait_for_selector(".wb-badge[data-verdict]", timeout=240_000)
        leaves = page.locator('[role="treeitem"][data-kind="leaf"]')
        for place, text in ((0, "0.3"), (1, "60%")):
            type_in(page, leaves.nth(place).get_attribute("data-id"), text)
        note = saved(page, "note, HTML", tmp_path).read_text()
        assert "VIX closes above 20 on 2018-12-31" in note
        watched.clean()


@pytest.mark.parametrize(
    ("theme", "width"),
    [
        ("dark", 390),
        pytest.param("light", 390, marks=pytest.mark.soak),
        *(
            pytest.param(theme, width, marks=pytest.mark.soak)
            for theme in ("light", "dark")
            for width in (1440, 1024, 720)  # 720 is 1440 at a zoom of 200 %
        ),
    ],
)
def test_axe_finds_nothing(served: Served, watched: Watched, theme: str, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 844 if width < 600 else 800})
    watched.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    watched.page.goto(f"{served.url}&{urlencode({'scenario': f'axe {theme} {width}'})}")
    page = watched.page
    page.wait_for_selector(".wb-badge[data-verdict]")
    type_in(page, "P2.1", "0.2")
    page.wait_for_selector(".wb-what-if tbody tr", state="attached")
    for _, name in TABS:
        open_tab(page, name)
        assert axe_findings(page) == [], name
        assert page.evaluate("document.getAnimations().length") == 0, "motion that was asked to be reduced"
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert (
            page.evaluate(
                "[...document.querySelectorAll('.wb-app *')].filter((each) => each.scrollHeight > each.clientHeight + 1 &&"
                " /auto|scroll/.test(getComputedStyle(each).overflowY) && each.clientHeight > 60).map((each) => each.className)"
            )
            == []
        ), f"{name}: the page is the one scroll area"
        shot(page, f"{name.lower()}-{theme}-{width}")
    watched.clean()


def test_s2_phone_layout_cuts_no_statement_and_keeps_every_button_on_the_screen(
    served: Served, watched: Watched
) -> None:
    watched.page.set_viewport_size({"width": 390, "height": 844})
    page = opened(served, watched, "phone")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate(
        "[...document.querySelectorAll('.wb-statement')].every((each) => each.scrollHeight <= each.clientHeight + 1)"
    )
    beyond = (
        "[...document.querySelectorAll('.wb-app :is(button, input, select, textarea)')].filter((each) => each.offsetParent &&"
        " each.getBoundingClientRect().right > 391).map((each) => each.outerHTML.slice(0, 120))"
    )
    for _, name in TABS:
        open_tab(page, name)
        assert page.evaluate(beyond) == [], name
    watched.clean()


def test_a_page_whose_kernel_was_killed_says_reload_and_makes_the_edit_then(
    run_home: Path, watched: Watched
) -> None:
    scenario, page = f"anew {time.monotonic_ns()}", watched.page
    with serving(run_home, RUN, page=page) as running:
        open_run_page(page, f"{running.url}&{urlencode({'scenario': scenario})}")
        name = page.evaluate(
            "JSON.parse(document.getElementById('jupyter-config-data').textContent).kernelId"
        )
        for child in psutil.Process(running.process.pid).children(recursive=True):
            if any(name in word for word in child.cmdline()):
                child.kill()
        editor(page, "P3").fill("0.5")
        editor(page, "P3").press("Enter")  # the kernel that was begun anew knows nothing of it
        page.locator(".wb-banner").wait_for(state="visible")
        assert "Reload the page" in page.locator(".wb-banner").inner_text()
        assert "One edit is kept and made again" in page.locator(".wb-banner").inner_text()
        page.reload()
        page.wait_for_selector('[role="treeitem"]')
        wait_for_text(page, ROOT, percent(resynthesize(load_run(run_home, RUN).tree, {"P3": 0.5}).after))


def test_s1_a_page_that_lost_its_server_ignores_no_edit_though_it_was_killed_in_the_middle_of_one(
    run_home: Path, watched: Watched
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    # Another one at each try: what an earlier try kept would be no edit any more.
    scenario = f"killed {time.monotonic_ns()}"
    running = start(run_home, RUN, "--port", port)
    page = watched.page
    url = f"{running.url}&{urlencode({'scenario': scenario})}"
    open_run_page(page, url)
    type_in(page, "P2.1", "0.2")
    page.get_by_text(f"saved as {scenario}").wait_for()
    running.process.kill()
    running.process.wait(timeout=90)
    editor(page, "P3").fill("0.5")
    editor(page, "P3").press("Enter")  # nobody answers it
    page.locator(".wb-banner").wait_for(state="visible")
    assert "The workbench does not answer" in page.locator(".wb-banner").inner_text()
    assert "One edit is kept and made again" in page.locator(".wb-banner").inner_text()
    assert editor(page, "P1").is_disabled()
    running.close()
    with serving(run_home, RUN, "--port", port, page=page) as again:
        open_run_page(page, f"{again.url}&{urlencode({'scenario': scenario})}")
        wanted = resynthesize(load_run(run_home, RUN).tree, {"P2.1": 0.2, "P3": 0.5}).after
        wait_for_text(page, ROOT, percent(wanted))
