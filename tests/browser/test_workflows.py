"""The workflows W1, W2 and W6 (FEATURES, section 4) in a real browser, from the first click to a file, two edits each.

W1 states a claim and grounds it, which takes long: it is a soak test.
"""

import json
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest

from tests.browser.conftest import Served, serving, start
from tests.command_line import run_cli
from tests.fakes.browser import (
    ROOT,
    Watched,
    axe_findings,
    editor,
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
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.widgets.run_tabs import TABS

pytestmark = [pytest.mark.browser, pytest.mark.long]


def opened(served: Served, watched: Watched, scenario: str) -> Any:
    """The run's page with a scenario of its own."""
    page = watched.page
    page.goto(f"{served.url}&{urlencode({'scenario': scenario})}")
    page.wait_for_selector('[role="treeitem"]', timeout=60_000)
    page.wait_for_selector(".wb-badge[data-verdict]", timeout=30_000)
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


def test_w2_an_economist_compares_scenarios_with_the_base_and_takes_the_note(
    served: Served, watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    kept = SavedScenarios(served.home, RUN)
    for row in kept.table()["scenarios"]:
        if row["name"] in ("w2 soft", "w2 copy", "w2 hard", "draft"):
            kept.change("close", row["name"])  # of a try before this one, which would refuse the names
    page.goto(served.url + "&run=")
    # the data folder may hold the demo's run of the same claim too
    page.locator(f'.wb-claims a[href="?run={RUN}"]').first.evaluate("link => link.click()")
    page.wait_for_selector('[role="treeitem"]', timeout=60_000)
    base = load_run(served.home, RUN).tree

    open_tab(page, "What-if")

    def act(button: str, *, scenario: str = "", said: str, **typed: str) -> None:
        if scenario:
            page.locator(".wb-scenarios select").select_option(scenario)
        for placeholder, text in typed.items():
            page.get_by_placeholder(placeholder.replace("_", " ")).fill(text)
        page.locator(".wb-scenarios").get_by_role("button", name=button, exact=True).click()
        page.get_by_text(said).wait_for()

    type_in(page, "P2.1", "0.9")
    act("Save scenario", said="Saved as w2 soft.", name_of_a_scenario="w2 soft")
    act("Weigh", scenario="w2 soft", said="w2 soft is held 30% likely", how_likely="30%")
    act("Duplicate", scenario="w2 soft", said="w2 copy holds the edits", name_of_a_scenario="w2 copy")
    act("Rename", scenario="w2 copy", said="is called w2 hard now", name_of_a_scenario="w2 hard")
    act("Open", scenario="w2 hard", said="w2 hard is open")
    act("Annotate", scenario="w2 hard", said="says what it supposes", what_it_supposes="The w2 hard landing")
    act("Weigh", scenario="w2 hard", said="w2 hard is held 0.2 likely", how_likely="0.2")
    type_in(page, "P3", "20%")
    page.get_by_text("saved as w2 hard").wait_for()
    act("Open", scenario="w2 soft", said="w2 soft is open")
    done = run_cli(served.home.parent, "scenarios", RUN, "--json")
    table = json.loads(done.stdout)
    shown = {
        row.get_attribute("data-scenario"): row.locator("[data-field]").get_attribute("data-value")
        for row in page.locator(".wb-compare tbody tr").all()
    }
    for row in table["scenarios"]:
        if row["name"].startswith("w2"):
            assert float(str(shown[row["name"]])) == row["root"]  # to the last digit
    assert float(str(shown["mix"])) == table["mix"]["root"]
    assert float(str(shown["w2 soft"])) == resynthesize(base, {"P2.1": 0.9}).after
    assert float(str(shown["w2 hard"])) == resynthesize(base, {"P2.1": 0.9, "P3": 0.2}).after
    note = saved(page, "note, Markdown", tmp_path).read_text()
    assert "w2 soft" in note and "The w2 hard landing" in note and percent(table["mix"]["root"]) in note
    open_tab(page, "What-if")
    for name in ("w2 soft", "w2 hard"):
        act("Close", scenario=name, said=f"{name} is closed")
    watched.clean()


def test_w6_a_reviewer_opens_badges_edits_comments_and_takes_the_package(
    served: Served, watched: Watched, tmp_path: Path
) -> None:
    page = opened(served, watched, "w6 review")
    for name in ("Verified", "Leak audit", "Coherence"):
        badge = page.locator(f'[data-badge="{name}"]')
        badge.locator("summary").click()
        assert badge.locator("li").first.is_visible()
    assert "clamped at" in page.locator('[data-badge="Leak audit"]').inner_text()
    open_tab(page, "Drivers")
    page.locator(".wb-tornado .wb-pick").nth(1).click()  # the second driver
    page.wait_for_selector('[data-id="P2.1"][aria-selected="true"]')
    open_tab(page, "Evidence")
    page.frame_locator("iframe.wb-frame").locator("img").wait_for()
    type_in(page, "P2.1", "0.2")
    type_in(page, "P3", "0.5")
    open_tab(page, "Review")
    review = page.locator(".wb-review")
    review.get_by_placeholder("your name").fill("Ann")
    review.get_by_placeholder("comment for whoever reads this run").fill("Why 16?")
    review.get_by_role("button", name="Comment").click()
    review.locator(".wb-comments [data-select]", has_text="P3").wait_for()
    for point in review.get_by_role("checkbox").all():
        point.check()
    review.get_by_role("button", name="Sign off").click()
    page.locator(".wb-signed").wait_for()
    attested = page.locator(".wb-signed .wb-hash").inner_text()
    review.scroll_into_view_if_needed()
    shot(page, "w6-review")
    package = saved(page, "package for a reviewer", tmp_path)
    home = tmp_path / "reviewer"
    home.mkdir()
    # the sample's notebooks were written without journals, which an import does not take unasked
    taken = json.loads(run_cli(home, "import", str(package), "--anyway", "--json").stdout)
    assert taken["root"]["p"] == load_run(served.home, RUN).tree.root.p
    again = json.loads(run_cli(home, "scenarios", RUN, "--json").stdout)
    assert next(row for row in again["scenarios"] if row["name"] == "w6 review")["edits"] == 2
    (signed,) = json.loads(run_cli(home, "sign-off", RUN, "--json").stdout)["sign_offs"]
    assert (signed["author"], signed["attested"], signed["fault"]) == ("Ann", attested, None)
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
    page.wait_for_selector(".wb-badge[data-verdict]", timeout=60_000)
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
        page.goto(f"{running.url}&{urlencode({'scenario': scenario})}")
        page.wait_for_selector('[role="treeitem"]', timeout=60_000)
        name = page.evaluate(
            "JSON.parse(document.getElementById('jupyter-config-data').textContent).kernelId"
        )
        for child in psutil.Process(running.process.pid).children(recursive=True):
            if any(name in word for word in child.cmdline()):
                child.kill()
        editor(page, "P3").fill("0.5")
        editor(page, "P3").press("Enter")  # the kernel that was begun anew knows nothing of it
        page.locator(".wb-banner").wait_for(state="visible", timeout=90_000)
        assert "Reload the page" in page.locator(".wb-banner").inner_text()
        assert "One edit will be made again" in page.locator(".wb-banner").inner_text()
        page.reload()
        page.wait_for_selector('[role="treeitem"]', timeout=60_000)
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
    page.goto(url)
    page.wait_for_selector('[role="treeitem"]', timeout=60_000)
    type_in(page, "P2.1", "0.2")
    page.get_by_text(f"saved as {scenario}").wait_for()
    running.process.kill()
    running.process.wait(timeout=30)
    editor(page, "P3").fill("0.5")
    editor(page, "P3").press("Enter")  # nobody answers it
    page.locator(".wb-banner").wait_for(state="visible", timeout=60_000)
    assert "No answer from the workbench" in page.locator(".wb-banner").inner_text()
    assert "One edit will be made again" in page.locator(".wb-banner").inner_text()
    assert editor(page, "P1").is_disabled()
    running.close()
    with serving(run_home, RUN, "--port", port, page=page) as again:
        page.goto(f"{again.url}&{urlencode({'scenario': scenario})}")
        page.wait_for_selector('[role="treeitem"]', timeout=60_000)
        wanted = resynthesize(load_run(run_home, RUN).tree, {"P2.1": 0.2, "P3": 0.5}).after
        wait_for_text(page, ROOT, percent(wanted))
