"""W2 to W6 (FEATURES, section 4) by the keyboard alone: only key presses, from the home page to a file; the focus is in sight at each.

The keys of each go to ``out/keys.json``.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Served, serving
from tests.fakes.browser import SCREENSHOTS, Watched, save_download
from tests.fakes.screens import RUN, make_run
from workbench.engine.record.fold import load_state
from workbench.questions.formats.price_questions import read_price_history
from workbench.questions.sets.question_sets import add_questions
from workbench.store import Store
from workbench.synthesis import resynthesize
from workbench.views.run_view import load_run
from workbench.whatif.saved_scenarios import SavedScenarios

pytestmark = [pytest.mark.browser, pytest.mark.long]

OTHER = "20180629-120000-1111"
#: Presses of Tab until a place counts as not reached.
STEPS = 120


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home of their own with two runs of one claim and a set of questions."""
    home = tmp_path_factory.mktemp("keys") / "home"
    make_run(home)
    make_run(home, OTHER)
    rows = [
        {"symbol": "OIL", "date": day, "close": close}
        for day, close in (("2024-01-01", "70"), ("2024-12-31", "80"))
    ]
    with closing(Store(home)) as store:
        add_questions(
            store, "tonight", read_price_history(rows, "2024-01-02"), form="prices", origin="by hand"
        )
    with serving(home) as running:
        yield running


@dataclass
class Keys:
    """A keyboard that counts; it refuses to go on where the focus cannot be seen."""

    page: Any
    count: int = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.count += 1

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.count += len(text)

    def rewrite(self, text: str) -> None:
        """Write over what the field holds."""
        self.press("Control+a")
        self.write(text)

    def has(self, selector: str, words: str = "") -> bool:
        """Whether the focus is on an element of this selector with these words."""
        return bool(
            self.page.evaluate(
                "([selector, words]) => document.activeElement.matches(selector) && document.activeElement.textContent.includes(words)",
                [selector, words],
            )
        )

    def tab_to(self, selector: str, words: str = "", *, back: bool = False) -> None:
        """Press Tab until the focus is there, and see that it shows."""
        for _ in range(STEPS):
            self.press("Shift+Tab" if back else "Tab")
            if self.has(selector, words):
                assert self.page.evaluate("document.activeElement.matches(':focus-visible')"), selector
                return
        stops = self.page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        raise AssertionError(f"Tab does not lead to {selector} {words!r}; it stands at {stops}")

    def field(self, label: str, text: str) -> None:
        self.tab_to(f'[placeholder^="{label}"]')
        self.rewrite(text)

    def button(self, words: str) -> None:
        self.tab_to("button", words)
        self.press("Enter")

    def choose(self, selector: str, value: str) -> None:
        """Go down the options of a choice until it shows this one."""
        self.tab_to(selector)
        for _ in range(20):
            # ipywidgets writes the blanks of an option as such that do not break
            shown = self.page.evaluate("document.activeElement.selectedOptions[0].textContent")
            if " ".join(shown.split()) == value:
                return
            self.press("ArrowDown")
            self.page.wait_for_timeout(100)  # a person's pace
        raise AssertionError(f"no option {value!r}")

    def edit(self, down: int, node: str, text: str) -> None:
        """Walk down the tree from the row that has the focus, and write a value there."""
        self.press(*["ArrowDown"] * down, "Enter")
        assert self.page.evaluate("document.activeElement.closest('[data-id]').dataset.id") == node
        self.rewrite(text)
        self.press("Enter")
        self.page.wait_for_selector(f'[data-id="{node}"][data-edited="true"]')
        assert self.has("input"), "the answer to an edit took the focus away"
        self.press("Escape")
        assert self.has('[role="treeitem"]')

    def download(self, form: str, folder: Path) -> Path:
        self.press("5", "5")
        self.choose(".wb-taking select", form)
        return save_download(self.page, lambda: self.button("Download"), folder)


@pytest.fixture
def keys(watched: Watched, request: pytest.FixtureRequest) -> Iterator[Keys]:
    """A keyboard; what a test pressed is written down when it ends."""
    made = Keys(watched.page)
    yield made
    file = SCREENSHOTS.parent / "keys.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    counted = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(
        json.dumps({**counted, str(request.node.name).partition("_by_")[0]: made.count}, indent=1)
    )


def at_home(keys: Keys, served: Served) -> None:
    keys.page.goto(served.url)
    keys.page.wait_for_selector(".wb-claim textarea", timeout=90_000)


def open_first(keys: Keys, served: Served, words: str = "S&P") -> None:
    """From the home page by search to the run's tree, and the claim's row in it."""
    at_home(keys, served)
    keys.page.wait_for_selector(".wb-claim-table tbody tr", timeout=30_000)
    keys.press("/")
    keys.write(words)
    keys.press("Enter")
    assert keys.has("tr[data-run]")
    keys.press("Enter")
    keys.page.wait_for_selector(".wb-badge[data-verdict]", timeout=60_000)
    keys.press("/", "Enter")
    assert keys.has('[role="treeitem"]')


def test_w2_scenarios_are_named_weighed_and_taken_along_by_keys(
    keyed: Served, watched: Watched, keys: Keys, tmp_path: Path
) -> None:
    open_first(keys, keyed)
    keys.edit(4, "P2", "0.9")
    keys.press("4", "4")
    keys.field("name of a scenario", "soft")
    keys.field("what it supposes", "Rates stay low")
    keys.button("Save scenario")
    keys.page.get_by_text("Saved as soft.").wait_for()
    # the button has done its work and is disabled: the focus stays near it
    keys.page.wait_for_function(
        "() => document.activeElement !== document.body && !document.activeElement.disabled"
    )
    keys.press("4")
    keys.field("how likely", "30%")
    keys.button("Weigh")
    keys.page.get_by_text("soft is held 30% likely").wait_for()
    run = keys.page.evaluate("new URL(location.href).searchParams.get('run')")
    (row,) = [each for each in SavedScenarios(keyed.home, run).table()["scenarios"] if each["name"] == "soft"]
    assert row["root"] == resynthesize(load_run(keyed.home, run).tree, {"P2": 0.9}).after
    assert "Rates stay low" in keys.download("note, Markdown", tmp_path).read_text()
    watched.clean()


def test_w3_what_it_would_take_and_two_drivers_by_keys(
    keyed: Served, watched: Watched, keys: Keys, tmp_path: Path
) -> None:
    open_first(keys, keyed)
    keys.edit(2, "P1.1", "55%")
    keys.press("4", "4")
    # what stands folded opens by keys too
    keys.tab_to('[role="button"]', "Change this driver")
    keys.press("Enter")
    keys.page.locator(".wb-editing").first.wait_for()
    keys.field("reach", "50%")
    keys.button("What would it take?")
    keys.page.wait_for_selector("[data-way]")
    assert keys.download("note, Word", tmp_path).read_bytes()[:2] == b"PK"
    watched.clean()


def test_w4_questions_of_a_set_are_read_compared_and_taken_as_a_table_by_keys(
    keyed: Served, watched: Watched, keys: Keys
) -> None:
    at_home(keys, keyed)
    keys.tab_to("summary", "Questions of tournaments")
    keys.press("Enter")
    question = keys.page.locator(".wb-questions [data-select]").first
    question.wait_for()
    keys.tab_to(".wb-questions [data-select]")
    keys.press("Enter")
    keys.page.wait_for_function(
        "words => document.querySelector('.wb-claim textarea').value === words", arg=question.inner_text()
    )
    # watched by a star, sorted, and out as a table
    keys.press("j", "s")
    keys.page.wait_for_selector('.wb-star[aria-pressed="true"]')
    assert keys.has("tr[data-run]"), "what was put on record took the focus away"
    keys.press("Control+k")
    keys.write("csv: claims")
    with keys.page.expect_download() as waiting:
        keys.press("Enter")
    assert "The S&P 500 closes higher" in Path(waiting.value.path()).read_text()
    run = keys.page.locator(".wb-claim-table tbody tr").first.get_attribute("data-run")
    with closing(Store(keyed.home)) as store:
        assert "watch" in load_state(store, run).annotations.tags
    watched.clean()


def test_w5_a_trader_counts_from_another_price_and_cites_by_keys(
    keyed: Served, watched: Watched, keys: Keys
) -> None:
    open_first(keys, keyed)
    keys.press("2", "2")
    keys.tab_to(".wb-tornado .wb-pick")
    keys.press("Enter")
    node = keys.page.evaluate("document.activeElement.textContent.trim()")
    keys.page.wait_for_selector(f'[data-id="{node}"][aria-selected="true"]')
    assert keys.has(".wb-pick"), "the selection took the focus away"
    keys.press("4", "4")
    keys.press("?")
    keys.page.locator("dialog[open]").get_by_text("copy a citation").wait_for()
    keys.press("Escape")
    assert keys.has(".wb-tab-what-if"), "the list of keys did not give the focus back"
    keys.choose(".wb-reference select", "base rate")
    keys.press("Control+k")
    keys.write("copy citation")
    keys.press("Enter")
    # the clipboard, or without the browser's leave the line to copy
    keys.page.wait_for_function(
        "() => document.querySelector('.wb-tab-said').textContent || document.querySelector('dialog[open] .wb-copy')"
    )
    watched.clean()


def test_w6_a_reviewer_reads_the_checks_comments_and_signs_off_by_keys(
    keyed: Served, watched: Watched, keys: Keys, tmp_path: Path
) -> None:
    open_first(keys, keyed)
    keys.tab_to(".wb-checks > summary", "no data from after the cutoff", back=True)
    keys.press("Enter")
    keys.page.locator('[data-badge="Leak audit"] li').first.wait_for()
    # along the tabs by arrows, as a screen reader says it
    keys.tab_to('[role="tab"]', back=True)
    keys.press("ArrowRight", "ArrowRight")
    assert keys.has('[role="tab"][aria-selected="true"]', "Evidence")
    keys.press("5", "5")
    keys.field("comment for whoever", "Why 16?")
    keys.button("Comment")
    keys.page.locator(".wb-review .wb-comments").get_by_text("Why 16?").wait_for()
    for _ in range(keys.page.locator(".wb-checklist input").count()):
        keys.tab_to(".wb-checklist input")
        keys.press("Space")
    keys.field("your name", "Ann")
    keys.button("Sign off")
    keys.page.locator(".wb-signed").first.wait_for()
    assert keys.download("package for a reviewer", tmp_path).read_bytes()[:2] == b"PK"
    run = keys.page.evaluate("new URL(location.href).searchParams.get('run')")
    with closing(Store(keyed.home)) as store:
        said = load_state(store, run).annotations
    assert [each.event.author for each in said.sign_offs] == ["Ann"]
    assert run in (RUN, OTHER)
    watched.clean()
