"""The dashboard in a real browser, served by the real command."""

from collections.abc import Iterator
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import Served
from tests.command_line import run_json
from tests.fakes.browser import ROOT, Watched, editor, open_run_page, open_tab, shot, wait_for_text, watching
from tests.fakes.screens import RUN
from workbench.formatting import percent
from workbench.synthesis import resynthesize
from workbench.views.run_view import load_run

pytestmark = [pytest.mark.browser, pytest.mark.long]

_NUMBERS = count(1)


def opened(watched: Watched, url: str, *, scenario: str | None = None) -> Any:
    """The page on a scenario of its own, since a page keeps its edits for the next one."""
    name = scenario or f"scenario {next(_NUMBERS)}"
    open_run_page(watched.page, f"{url}&{urlencode({'scenario': name})}")
    return watched.page


@pytest.fixture(scope="module")
def one_page(chromium: Any) -> Iterator[Watched]:
    """A page for all tests that edit a tree and look at it: to open one is nine tenths of what such a test costs."""
    with watching(chromium) as seen:
        yield seen


@pytest.fixture
def unedited(served: Served, one_page: Watched, request: pytest.FixtureRequest) -> Watched:
    """That page without an edit; opened anew for a test that is tried again."""
    if getattr(request.node, "execution_count", 1) > 1 or not one_page.page.url.startswith(served.url):
        one_page.outside.clear()
        one_page.errors.clear()
        opened(one_page, served.url)
    # Again and again: the button comes a moment after the edit, when the page rests, and vanishes with it.
    one_page.page.wait_for_function(
        "(root) => { document.querySelector('.wb-reset:not([disabled])')?.click();"
        " return document.querySelector('.wb-what-if .wb-empty') !== null"
        " && document.querySelector(root)?.textContent === '65.8%'; }",
        arg=ROOT,
        polling=300,
    )
    return one_page


def by_command(served: Served, node: str, p: float) -> float:
    """The root's value as ``workbench whatif`` prints it."""
    done = run_json(served.home.parent, "whatif", RUN, "--set", f"{node}={p}")
    after: float = done["after"]
    return after


def by_hand(served: Served, node: str, p: float) -> str:
    return percent(resynthesize(load_run(served.home, RUN).tree, {node: p}).after)


def test_two_edits_of_a_leaf_move_the_root_to_the_numbers_that_whatif_prints(
    served: Served, watched: Watched
) -> None:
    page = opened(watched, served.url)
    assert page.locator(ROOT).inner_text() == "65.8%"
    texts = []
    for p in (0.0, 0.9):
        expected = by_hand(served, "P2.1", p)
        editor(page, "P2.1").fill(str(p))
        editor(page, "P2.1").press("Enter")
        wait_for_text(page, ROOT, expected)
        wait_for_text(page, '.wb-header [data-field="root"]', expected)
        assert expected == percent(by_command(served, "P2.1", p))
        texts.append(expected)
    assert texts == ["55.8%", "73.8%"]
    assert page.locator('[data-id="P0"] [data-field="base"]').inner_text() == "65.8%"
    page.locator('[data-id="P2.1"] .wb-statement').click()
    page.frame_locator("iframe.wb-frame").locator("img").wait_for()
    shot(page, "dashboard-sample")
    watched.clean()


def test_dragging_a_bar_edits_and_a_click_on_it_does_not(unedited: Watched) -> None:
    page = unedited.page
    track = page.locator('[data-id="P3"] .wb-track')
    track.hover()  # waits until the page around it has come to rest
    box = track.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.click(box["x"] + 5, middle)
    page.mouse.move(box["x"] + 0.74 * box["width"], middle)
    page.mouse.down()
    for share in (0.6, 0.4, 0.25):
        page.mouse.move(box["x"] + share * box["width"], middle)
    page.mouse.up()
    page.wait_for_selector('[data-id="P3"][data-edited="true"]')
    page.wait_for_function(
        "() => Math.abs(document.querySelector('[aria-label=\"probability of P3\"]').value - 0.25) < 0.02"
    )
    unedited.clean()


def test_the_tree_is_worked_from_the_keyboard(unedited: Watched) -> None:
    page = unedited.page
    focused = "() => document.activeElement.dataset.id ?? document.activeElement.getAttribute('aria-label')"
    page.locator('[data-id="P0"]').focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "P1"
    page.keyboard.press("ArrowLeft")
    assert page.locator('[data-id="P1"]').get_attribute("aria-expanded") == "false"
    assert not page.locator('[data-id="P1.1"]').is_visible()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "P2"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("F2")
    assert page.evaluate(focused) == "probability of P2.1"
    page.keyboard.press("ArrowDown")
    wait_for_text(page, '[data-id="P2.1"] [data-field="probability"]', "49.0%")
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "P2.1"
    page.keyboard.press("Delete")
    wait_for_text(page, ROOT, "65.8%")
    page.locator('[data-id="P1"]').focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('[data-id="P1"][aria-expanded="true"]')
    unedited.clean()


def test_a_tree_of_sixty_opens_folded_and_one_of_nine_unfolded(served: Served, watched: Watched) -> None:
    page = opened(watched, served.url + "&run=20180629-120000-6060")
    visible = "() => document.querySelectorAll('[role=treeitem]').length"
    assert page.evaluate(visible) == 6
    page.get_by_role("button", name="Expand all").click()
    assert page.evaluate(visible) == 61
    opened(watched, served.url)
    assert page.evaluate(visible) == 9
    watched.clean()


@pytest.mark.soak
def test_a_page_that_is_being_left_does_not_say_that_the_workbench_has_ended(
    served: Served, watched: Watched
) -> None:
    """The next page may take long to come; until then this one stands there, and its kernel has been given up."""
    page = opened(watched, served.url)
    page.evaluate("dispatchEvent(new Event('beforeunload'))")
    page.wait_for_timeout(16_000)  # it asks after nine seconds of silence, every three seconds
    assert page.locator(".wb-banner").is_hidden()
    watched.clean()


def test_a_dark_theme_reaches_tree_and_notebook(served: Served, watched: Watched) -> None:
    page = opened(watched, served.url + "&theme=dark")
    page.locator('[data-id="P2.1"] .wb-statement').click()
    body = page.frame_locator('iframe[title="proof notebook of P2.1"]').locator("body.dark")
    body.wait_for()
    light = "(element) => getComputedStyle(element).color.match(/\\d+/g).slice(0, 3).every((part) => Number(part) > 150)"
    assert page.locator('[data-id="P1"] .wb-statement').evaluate(light) and body.evaluate(light)
    shot(page, "dashboard-dark")
    watched.clean()


def test_a_narrow_page_shows_the_number_first_and_leads_through_the_evidence_without_a_tree(
    served: Served, watched: Watched
) -> None:
    page = opened(watched, served.url)
    page.set_viewport_size({"width": 900, "height": 768})
    page.wait_for_selector(".wb-walk", state="attached")
    top = {
        part: page.locator(f".wb-header {part}").bounding_box()["y"]
        for part in ("h1", ".wb-number >> nth=0", ".wb-sentence")
    }
    assert list(top) == sorted(top, key=lambda part: top[part])
    facts = page.get_by_text("Cutoff", exact=True)
    assert not facts.is_visible()
    page.get_by_text("Details", exact=True).click()
    assert facts.is_visible()
    whole = page.locator(".wb-header").bounding_box()["height"]
    open_tab(page, "Evidence")
    assert not page.locator(".wb-sentence").is_visible() and page.locator(".wb-number").first.is_visible()
    assert page.locator(".wb-header").bounding_box()["height"] < 0.6 * whole
    for name, node in (("Next driver", "P1"), ("Previous driver", "P0")):
        page.get_by_role("button", name=name).click()
        wait_for_text(page, ".wb-selected .wb-id", node)
    assert page.locator(".wb-tab-tools").get_by_role("button", name="Dark").is_visible()
    open_tab(page, "What-if")
    editor(page, "P1").fill("0.3")
    editor(page, "P1").press("Enter")
    page.locator(".wb-what-if .wb-table").wait_for()
    table, tree = (page.locator(each).bounding_box()["y"] for each in (".wb-what-if .wb-table", ".wb-rows"))
    assert table < tree
    watched.clean()


def test_edits_are_undone_by_keys_and_come_back_after_a_reload(served: Served, watched: Watched) -> None:
    page = opened(watched, served.url, scenario="calm ends")
    changed = by_hand(served, "P2.1", 0.0)
    editor(page, "P2.1").fill("0")
    editor(page, "P2.1").press("Enter")
    wait_for_text(page, ROOT, changed)
    page.keyboard.press("Control+z")
    wait_for_text(page, ROOT, "65.8%")
    page.keyboard.press("Control+Shift+Z")
    wait_for_text(page, ROOT, changed)
    page.get_by_text("saved as calm ends").wait_for()
    assert "scenario=calm+ends" in page.url and "node=P2.1" in page.url
    page.reload()
    page.wait_for_selector('[role="treeitem"]')
    wait_for_text(page, ROOT, changed)
    assert page.locator('[data-id="P2.1"]').get_attribute("aria-selected") == "true"
    watched.clean()


def edited(page: Any, served: Served, p: float = 0.2) -> str:
    """Type a value for P2.1 and return the root's value after it."""
    after = by_hand(served, "P2.1", p)
    editor(page, "P2.1").fill(str(p))
    editor(page, "P2.1").press("Enter")
    wait_for_text(page, ROOT, after)
    return after


def shows(page: Any, root: str, field: str) -> None:
    """Tree, headline and field say the same, also after a click that would commit what a field holds."""
    wait_for_text(page, ROOT, root)
    page.locator(".wb-header h1").click()
    page.wait_for_timeout(150)
    assert page.locator(ROOT).inner_text() == root
    wait_for_text(page, '.wb-header [data-field="root"]', root)
    assert editor(page, "P2.1").input_value() == field


@pytest.mark.parametrize("place", ["body", "choice", "number field"])
def test_ctrl_z_undoes_an_edit_wherever_the_focus_is(served: Served, unedited: Watched, place: str) -> None:
    page = unedited.page
    after = edited(page, served)
    if place == "body":
        page.evaluate("document.activeElement.blur()")
    else:
        page.locator(
            {
                "choice": ".wb-scenarios select",
                "number field": '[aria-label="probability of P1"]',
            }[place]
        ).first.focus()
    page.keyboard.press("Control+z")
    shows(page, "65.8%", "0.5")
    assert page.locator('[data-id="P2.1"]').get_attribute("data-edited") == "false"
    page.keyboard.press("Control+y")
    shows(page, after, "0.2")
    page.keyboard.press("Meta+z")
    shows(page, "65.8%", "0.5")
    page.keyboard.press("Control+Shift+Z")
    shows(page, after, "0.2")
    unedited.clean()


def test_keys_in_the_proofs_frame_reach_nothing_on_the_page(served: Served, unedited: Watched) -> None:
    page = unedited.page
    page.locator('[data-id="P2.1"] .wb-statement').click()
    after = edited(page, served)
    page.frame_locator('iframe[title="proof notebook of P2.1"]').locator("body").click()
    assert page.evaluate("document.activeElement.tagName") == "IFRAME"
    page.keyboard.press("Control+z")
    shows(page, after, "0.2")
    page.keyboard.press("Control+z")
    shows(page, "65.8%", "0.5")
    unedited.clean()


def test_the_browsers_own_undo_takes_back_typing_in_a_text_and_never_a_number(
    served: Served, unedited: Watched
) -> None:
    page = unedited.page
    after = edited(page, served)
    open_tab(page, "What-if")
    page.get_by_text("Sign the next edits").click()
    name = page.locator(".wb-what-if .wb-author input").first
    name.click()
    page.keyboard.type("Ann")
    page.keyboard.press("Control+z")
    assert name.input_value() in ("", "A", "An")  # at least the last letter; a browser groups as it likes
    for _ in range(5):  # what was typed into the number field comes next on the browser's list
        page.keyboard.press("Control+z")
    shows(page, after, "0.2")
    page.evaluate("document.execCommand('undo')")  # the browser's menu
    shows(page, after, "0.2")
    # Typed and not sent: the typing alone is taken back.
    editor(page, "P2.1").click()
    page.keyboard.type("0.77")
    page.keyboard.press("Control+z")
    shows(page, after, "0.2")
    page.keyboard.press("Control+z")
    shows(page, "65.8%", "0.5")
    unedited.clean()


def test_a_proposition_is_added_and_removed_on_the_page(served: Served, watched: Watched) -> None:
    page = opened(watched, served.url)
    open_tab(page, "What-if")
    page.get_by_text("Change this driver").click()
    page.get_by_label("new driver below this one").fill("A trade war breaks out")
    page.get_by_label("side it speaks for").select_option("speaks against it")
    page.get_by_label("weight, such as 0.2").fill("0.2")
    page.get_by_label("probability", exact=True).fill("60%")
    page.get_by_role("button", name="Add", exact=True).click()
    # 65.8 - 0.2 * 60
    wait_for_text(page, ROOT, "53.8%")
    assert page.locator('[data-id="P4"] .wb-mark').first.inner_text() == "added"
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_text("P4 drops out").wait_for()
    watched.clean()
