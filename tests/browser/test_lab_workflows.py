"""The workflows W1, W2, W3 and W6 (FEATURES, section 4) in JupyterLab: from a launcher's card to a file, two edits each.

What axe-core is asked about, and what may log no error, is ours: the outputs of our cells. JupyterLab's own frame is not.
W1 states a claim and grounds it, which takes long; W3 goes by the keyboard alone, from the card on.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_workflows import saved
from tests.command_line import run_cli
from tests.fakes.browser import TOKEN, Lab, Watched, axe_findings, open_tab, shot, type_in
from tests.fakes.screens import demo_tree, make_run
from workbench.cli.servers.lab import TUTORIALS
from workbench.formatting import percent
from workbench.synthesis import resynthesize

pytestmark = [pytest.mark.browser, pytest.mark.long]

#: Whether every code cell of a notebook has been run.
ALL_RUN = """() => { const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map((each) => each.textContent);
return prompts.length > 0 && prompts.every((each) => /\\d/.test(each)); }"""
OURS = (".wb-app", ".wb-tree", ".wb-static")


def from_card(lab: Lab, page: Any, card: str) -> None:
    """Click a card of the launcher and wait for its notebook and kernel."""
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset")
    page.locator(f'.jp-LauncherCard[title="{card}"]').click(timeout=90_000)
    ready(page)


def ready(page: Any) -> None:
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)  # a cell run before the kernel is connected is lost


def run_all(page: Any) -> None:
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def scenarios(home: Path, run: str) -> dict[str, Any]:
    """What ``workbench scenarios RUN --json`` prints about the Lab's data folder."""
    done = run_cli(home.parent, "scenarios", run, "--json", WORKBENCH_HOME=str(home))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def outputs_of(path: Path) -> list[Any]:
    """The outputs in a notebook's file; none while it is not saved."""
    return [output for cell in json.loads(path.read_text())["cells"] for output in cell.get("outputs", [])]


def tab_to(page: Any, wanted: str) -> None:
    """Press Tab until the focus is on an element of this selector."""
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"no number of Tabs leads to {wanted}")


@pytest.mark.soak
def test_w1_a_claim_is_stated_grounded_edited_and_taken_away_as_a_note(
    lab: Lab, watched: Watched, themed: str, tmp_path: Path
) -> None:
    page = watched.page
    from_card(lab, page, "State a claim")
    page.locator(".jp-CodeCell .cm-content", has_text="%%proposition").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(
        "%%proposition --cutoff 2018-11-01 --max-leaves 3\nVIX closes above 20 on 2018-12-31"
    )
    run_all(page)
    page.get_by_text("drivers have evidence").first.wait_for(timeout=60_000)
    page.locator(".wb-row").first.wait_for(timeout=240_000)
    page.locator(".wb-taking select").wait_for(timeout=60_000, state="attached")
    assert page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').count() == 0
    leaves = page.locator('.wb-row[data-kind="leaf"]')
    for place, text in ((0, "0.3"), (1, "60%")):
        type_in(page, leaves.nth(place).get_attribute("data-id"), text)
    note = saved(page, "note, HTML", tmp_path).read_text()
    assert "VIX closes above 20 on 2018-12-31" in note and "draft" in note
    shot(page, "lab-w1")
    assert axe_findings(page, *OURS) == []
    watched.clean()


@pytest.mark.soak
@pytest.mark.parametrize("themed", ["dark"], indirect=True)
def test_w2_an_economist_compares_scenarios_in_cells_and_takes_the_note(
    lab: Lab, watched: Watched, themed: str, tmp_path: Path
) -> None:
    run, base, page = make_run(lab.home, "20180630-120000-1ab2"), demo_tree(), watched.page
    page.set_viewport_size({"width": 1280, "height": 2000})
    from_card(lab, page, "Scenarios")  # its cells run by themselves
    page.locator(".wb-taking select").wait_for(timeout=60_000)

    def act(button: str, *, scenario: str = "", said: str, **typed: str) -> None:
        if scenario:
            page.locator(".wb-scenarios select").select_option(scenario)
        for placeholder, text in typed.items():
            page.get_by_placeholder(placeholder.replace("_", " ")).fill(text)
        page.locator(".wb-scenarios").get_by_role("button", name=button, exact=True).click()
        page.get_by_text(said).wait_for()

    page.get_by_placeholder("your name").fill("Ada")
    page.get_by_placeholder("reason for the next edits").fill("spreads turn first")
    type_in(page, "P2.1", "0.9")
    act("Save scenario", said="Saved as soft.", name_of_a_scenario="soft")
    act("Weigh", scenario="soft", said="soft is held 30% likely", how_likely="30%")
    act("Duplicate", scenario="soft", said="copy holds the edits", name_of_a_scenario="copy")
    act("Rename", scenario="copy", said="is called hard now", name_of_a_scenario="hard")
    act("Open", scenario="hard", said="hard is open")
    act("Annotate", scenario="hard", said="says what it supposes", what_it_supposes="A hard landing")
    act("Weigh", scenario="hard", said="hard is held 0.2 likely", how_likely="0.2")
    type_in(page, "P3", "20%")
    page.get_by_text("saved as hard").wait_for()
    act("Open", scenario="soft", said="soft is open")
    table = scenarios(lab.home, run)
    shown = {
        row.get_attribute("data-scenario"): row.locator("[data-field]").get_attribute("data-value")
        for row in page.locator(".wb-compare tbody tr").all()
    }
    rows = {row["name"]: row for row in table["scenarios"]}
    assert sorted(rows) == ["hard", "soft"]
    for name, edits in (("soft", {"P2.1": 0.9}), ("hard", {"P2.1": 0.9, "P3": 0.2})):
        assert float(str(shown[name])) == rows[name]["root"] == resynthesize(base, edits).after
    assert float(str(shown["mix"])) == table["mix"]["root"]
    shot(page, "lab-scenarios")
    assert axe_findings(page, *OURS) == []
    note = saved(page, "note, Markdown", tmp_path).read_text()
    assert "soft" in note and "A hard landing" in note and percent(table["mix"]["root"]) in note
    assert "Ada" in note and "spreads turn first" in note
    act("Close", scenario="hard", said="hard is closed")
    watched.clean()


@pytest.mark.soak
def test_w3_a_policy_shop_goes_by_the_keyboard_alone_from_the_card_to_the_word_file(
    lab: Lab, watched: Watched, themed: str, tmp_path: Path
) -> None:
    run, page = make_run(lab.home, "20180630-120000-1ab3"), watched.page
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset")
    page.locator('.jp-LauncherCard[title="Scenarios"]').wait_for(timeout=90_000)
    tab_to(page, '.jp-LauncherCard[title="Scenarios"]')
    page.keyboard.press("Enter")
    ready(page)
    page.locator(".wb-taking select").wait_for(timeout=60_000)  # its cells run by themselves
    page.keyboard.press("Escape")
    for _ in range(6):
        page.keyboard.press("ArrowUp")
    tab_to(page, ".wb-row")
    for steps, node, text in ((1, "P1", "0.9"), (6, "P2.3", "60%")):
        for _ in range(steps):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        page.wait_for_selector(f'[data-id="{node}"][data-edited="true"]')
        page.keyboard.press("Escape")
    tab_to(page, '[placeholder^="reach"]')
    page.keyboard.type("50%")
    tab_to(page, "button.wb-action")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-way]")
    options = ("--set", "P1=0.9", "--set", "P2.3=0.6", "--reach", "0.5", "--json")
    asked = run_cli(lab.home.parent, "whatif", run, *options, WORKBENCH_HOME=str(lab.home))
    shown = {
        row.get_attribute("data-way"): row.locator('[data-field="needed"]').get_attribute("data-value")
        for row in page.locator(".wb-ways").first.locator("[data-way]").all()
    }
    assert {node: float(str(value)) for node, value in shown.items()} == {
        way["id"]: way["needed"] for way in json.loads(asked.stdout)["alone"]
    }
    tab_to(page, ".wb-taking select")
    page.keyboard.type("note, Word")
    tab_to(page, ".wb-taking button")
    with page.expect_download(timeout=60_000) as waiting:
        page.keyboard.press("Enter")
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    assert file.suffix == ".docx" and file.read_bytes()[:2] == b"PK"
    assert axe_findings(page, *OURS) == []
    watched.clean()


@pytest.mark.soak
def test_w6_a_reviewer_opens_badges_edits_and_takes_the_package(
    lab: Lab, watched: Watched, themed: str, tmp_path: Path
) -> None:
    run, page = make_run(lab.home, "20180630-120000-1ab6"), watched.page
    from_card(lab, page, "Newest run")  # runs by itself, and is then named after the claim
    page.locator(".jp-mod-current .lm-TabBar-tabLabel", has_text="The S&P 500 closes higher").wait_for(
        timeout=60_000
    )
    assert [each.name for each in (lab.home / "notebooks").glob("The S&P 500 closes higher*.ipynb")]
    page.wait_for_selector(".wb-badge[data-verdict]", timeout=60_000)
    for name in ("Verified", "Leak audit", "Coherence"):
        badge = page.locator(f'[data-badge="{name}"]')
        badge.locator("summary").click()
        assert badge.locator("li").first.is_visible()
    open_tab(page, "Drivers")
    page.locator(".wb-tornado .wb-pick").nth(1).click()  # the second driver
    page.wait_for_selector('[data-id="P2.1"][aria-selected="true"]')
    open_tab(page, "Evidence")
    page.frame_locator("iframe.wb-frame").locator("img").wait_for()
    type_in(page, "P2.1", "0.2")
    type_in(page, "P3", "0.5")
    page.wait_for_selector(".wb-what-if tbody tr", state="attached")
    shot(page, "lab-review")
    assert axe_findings(page, *OURS) == []
    package = saved(page, "package for a reviewer", tmp_path)
    home = tmp_path / "reviewer"
    home.mkdir()
    # the sample's notebooks were written without journals, which an import does not take unasked
    taken = json.loads(run_cli(home, "import", str(package), "--anyway", "--json").stdout)
    assert taken["root"]["p"] == demo_tree().root.p
    (draft,) = scenarios(home / "home", run)["scenarios"]
    assert (draft["name"], draft["edits"]) == ("draft", 2)
    watched.clean()


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in TUTORIALS if name != "live_model.ipynb"])  # needs a server
def test_a_tutorial_opens_and_runs_to_its_end(lab: Lab, watched: Watched, name: str) -> None:
    page = watched.page
    page.goto(lab.page(f"notebooks/{name}"))
    ready(page)
    run_all(page)
    page.wait_for_function(ALL_RUN, timeout=400_000)
    assert page.locator('[data-mime-type="application/vnd.jupyter.error"]').count() == 0
    page.keyboard.press("Control+s")
    path, end = lab.home / "notebooks" / name, time.monotonic() + 60
    while not (cells := outputs_of(path)):
        assert time.monotonic() < end, "it was not saved"
        page.wait_for_timeout(200)
    assert not [output for output in cells if output["output_type"] == "error"]
    assert "widget-view+json" not in path.read_text()
    watched.clean()
