"""The hostile corpus on every page we make, in a real browser: nothing runs, fetches or covers, and the honest part is there."""

import csv
import json
import re
import signal
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from sandbox.jupyter.sanitize import clean_html, clean_markdown
from tests.browser.conftest import start
from tests.command_line import run_ok, run_process
from tests.fakes.browser import open_run_page, open_tab, patient
from tests.fakes.hostile_text import (
    COVERING,
    HONEST,
    NAME,
    RUN,
    STRIKE,
    active,
    canary_server,
    hostile_tree,
    links,
    make_hostile_run,
    plant_own_data,
    whole,
    write_proof,
)
from tests.fakes.model_policy import Asked, Policy, fenced
from tests.fakes.openai_server import OpenAIServer
from workbench.engine.record.fold import load_state
from workbench.reports.note_page import report_html
from workbench.store import Store
from workbench.widgets.proofs.proof_view import proof_document
from workbench.widgets.run_tabs import TABS
from workbench.widgets.tree_widget import tree_html

pytestmark = [pytest.mark.browser, pytest.mark.long]


@dataclass
class Detectors:
    """A page, and what went off on it: a dialog, a request to the canary, a window that was struck."""

    page: Any
    canary: str
    asked: list[str]
    dialogs: list[str] = field(default_factory=list)

    def show(self, html: str, wait: int = 400) -> None:
        """Show a page of an origin of its own; ``wait`` is for what is asked and run after loading."""
        body = (
            html if "<!doctype" in html[:100].lower() else f"<!doctype html><meta charset=utf-8><body>{html}"
        )
        self.page.unroute_all()
        self.page.route("**/blank", lambda route: route.fulfill(body=body, content_type="text/html"))
        # a page that leads elsewhere is never loaded
        self.page.goto(f"{self.canary}/blank", wait_until="commit")
        self.page.wait_for_timeout(wait)

    def press_all(self) -> None:
        """Follow every link that says so; what a frame or a new window would run counts too."""
        for part in self.page.frames:
            part.evaluate(
                "() => document.querySelectorAll('a').forEach(a => { if (/press/.test(a.textContent)) a.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true})); })"
            )
        self.page.wait_for_timeout(400)

    def off(self) -> list[str]:
        """What went off."""
        struck = [
            f"struck: {part.url[:60]}"
            for part in self.page.frames
            if part.evaluate("() => self.struck === 1")
        ]
        return [*struck, *self.dialogs, *(path for path in self.asked if path != "/blank")]  # fmt: skip


@pytest.fixture(scope="module")
def canary() -> Iterator[tuple[str, list[str]]]:
    with canary_server() as server:
        yield server


@pytest.fixture
def detectors(chromium: Any, canary: tuple[str, list[str]]) -> Iterator[Detectors]:
    address, asked = canary
    asked.clear()
    context = patient(chromium.new_context(viewport={"width": 1280, "height": 800}))
    made = Detectors(context.new_page(), address, asked)
    made.page.on("dialog", lambda dialog: (made.dialogs.append(dialog.message), dialog.dismiss()))
    # what a viewer itself loads from elsewhere is none of the corpus
    context.route(
        lambda url: not url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:")),
        lambda route: route.abort(),
    )
    yield made  # fmt: skip
    made.page.close()
    context.close()


def boxes(texts: dict[str, str], clean: Any) -> str:
    return "".join(
        f'<div class=box style="width:600px">{clean(whole(text))}</div>' for text in texts.values()
    )


def covers(page: Any) -> list[str]:
    """What lies outside its box: above or left of it, or wider than the page, or taken out of the flow."""
    return page.evaluate("""() => [...document.querySelectorAll('.box')].flatMap(box => [...box.querySelectorAll('*')]
        .filter(part => {
            const inner = part.getBoundingClientRect(), outer = box.getBoundingClientRect(), style = getComputedStyle(part);
            return inner.left < outer.left - 1 || inner.top < outer.top - 1 || inner.right > outer.right + 1
                || style.position !== 'static' || style.boxShadow !== 'none' || style.display === 'none' || style.outlineWidth === '9999px';
        }).map(part => part.outerHTML.slice(0, 80)))""")


def test_a_script_a_handler_and_a_picture_go_off_where_nothing_stops_them(detectors: Detectors) -> None:
    texts = active(detectors.canary)
    for name, off in (
        ("script", "struck:"),
        ("event handler", "struck:"),
        ("dialog", "struck"),
        ("picture", "/pixel.png"),
    ):
        detectors.asked.clear()
        detectors.dialogs.clear()
        detectors.show(texts[name], wait=150)
        for _ in range(100):  # on a busy machine it takes longer to go off
            if any(line.startswith(off) for line in detectors.off()):
                break
            detectors.page.wait_for_timeout(100)
        else:
            pytest.fail(f"{name} did not go off")


@pytest.mark.soak
def test_the_corpus_goes_off_where_nothing_stops_it(detectors: Detectors) -> None:
    struck = 0
    # one by one: a text that ends a frame or leads the page away would hide what the others do
    for text in active(detectors.canary).values():
        detectors.show(whole(text), wait=120)
        struck += any("struck:" in line for line in detectors.off())
    paths = {path.partition("?")[0] for path in detectors.asked}
    assert {"/pixel.png", "/sheet.css", "/import.css", "/back.png", "/frame", "/form", "/script.js"} <= paths
    assert detectors.dialogs == ["struck"]
    assert struck >= 15


def test_the_links_of_the_corpus_go_off_where_nothing_stops_them(detectors: Detectors) -> None:
    detectors.show("".join(links(detectors.canary).values()))
    detectors.press_all()
    assert any("struck" in line for line in detectors.off())


@pytest.mark.parametrize("clean", [clean_html, clean_markdown])
def test_the_sanitiser_lets_nothing_of_it_through(detectors: Detectors, clean: Any) -> None:
    texts = active(detectors.canary) | links(detectors.canary) | COVERING | {"honest": HONEST}
    detectors.show(boxes(texts, clean))
    detectors.press_all()
    assert detectors.off() == []
    assert covers(detectors.page) == []
    if clean is clean_html:
        assert detectors.page.locator("table.dataframe td", has_text="2018").is_visible()
        assert detectors.page.locator("a[href='https://example.org/source']").is_visible()


def test_what_covers_is_found_where_the_sanitiser_is_off(detectors: Detectors) -> None:
    for name, text in COVERING.items():
        detectors.show(boxes({name: text}, lambda raw: raw), wait=0)
        assert covers(detectors.page) != [], name


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, canary: tuple[str, list[str]]) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "home"
    make_hostile_run(folder, canary[0])
    return folder


def test_the_report_and_the_static_tree_show_the_corpus_as_text(detectors: Detectors, home: Path) -> None:
    with closing(Store(home)) as store:
        page = report_html(store, load_state(store, RUN))
    # the policy is a second wall: the first has to hold without it
    without_policy, count = re.subn(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", page)
    assert count == 1
    for html in (page, without_policy, tree_html(hostile_tree(detectors.canary))):
        detectors.show(html)
        detectors.press_all()
        assert detectors.off() == []
        assert detectors.page.locator("td", has_text="onerror").count() > 0
        assert detectors.page.locator("td img, td script, td iframe, td a").count() == 0


def as_html(notebook: str) -> str:
    import nbformat
    from nbconvert.exporters import HTMLExporter

    with warnings.catch_warnings(
        action="ignore"
    ):  # it says aloud which kinds it cannot show: those are the point
        return str(HTMLExporter().from_notebook_node(nbformat.reads(notebook, as_version=4))[0])


def test_a_proof_notebook_is_harmless_in_nbconvert(detectors: Detectors, home: Path) -> None:
    detectors.show(as_html((home / "runs" / RUN / "proofs" / "P1.1.ipynb").read_text()))
    detectors.press_all()
    assert detectors.off() == []
    page = detectors.page
    assert page.locator("table.dataframe td", has_text="2018").first.is_visible()
    assert page.locator("strong", has_text="bold").first.is_visible()
    assert page.locator("a[href='https://example.org/source']").first.is_visible()
    assert page.evaluate("() => [...document.images].some(image => image.naturalWidth > 400)"), "the figure"


@pytest.mark.soak
def test_a_proof_notebook_goes_off_in_nbconvert_where_the_sanitiser_is_off(
    detectors: Detectors, tmp_path: Path
) -> None:
    detectors.show(as_html(write_proof(tmp_path, "P1", detectors.canary, passive=False).read_text()))
    assert detectors.off() != []  # fmt: skip


def test_our_own_page_of_the_proof_needs_no_frame_to_be_harmless(detectors: Detectors, home: Path) -> None:
    page = proof_document(home / "runs" / RUN / "proofs" / "P1.1.ipynb")
    detectors.show(re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", page))
    detectors.press_all()
    assert detectors.off() == []
    assert detectors.page.locator("table.dataframe td", has_text="2018").first.is_visible()


class SaysIt(Policy):
    """Concludes with words of the corpus."""

    def _conclude(self, asked: Asked) -> dict[str, Any]:
        said = {"p_true": 0.4, "key_factor": f"{NAME} decides"}
        return {"role": "assistant", "content": f"{asked.last[:3000]} {NAME}\n\n{fenced(said)}"}


def test_the_page_of_a_round_shows_the_corpus_as_text(detectors: Detectors, tmp_path: Path) -> None:
    """Titles, ids, options and addresses of questions, what a model said of them, and the model's name."""
    texts = [" ".join(whole(text).split()) for text in active(detectors.canary).values()]
    closes = (datetime.now(UTC).date() + timedelta(days=60)).isoformat()
    with (tmp_path / "q.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "title", "closes_on", "crowd", "url", "options", "kind"])
        for place in range(0, len(texts), 8):
            title = " ".join(texts[place : place + 8])
            rows.writerow([f"{NAME}{place}", title, closes, "0.3", f"javascript:{STRIKE}", "", "binary"])
        rows.writerow(["who", f"Who? {NAME}", closes, "", "https://example.org/1", f"{NAME}|Bo", "options"])
    run_ok(tmp_path, "questions", "import", "q.csv")
    model = f"openai/{NAME}"
    with OpenAIServer(SaysIt()) as server:
        words = (
            "--model",
            model,
            "--set",
            f"api_base={server.url}",
            "--set",
            f"price={model}=1,2",
            "--trials",
            "1",
            "--promote",
            "0",
            "--contexts",
            "none",
        )
        done = run_process(tmp_path, "tournament", "run", "q", *words, "--json", OPENAI_API_KEY="sk-none")
    assert done.returncode == 0, done.stderr
    page = (Path(json.loads(done.stdout)["folder"]) / "night.html").read_text()
    without_policy, count = re.subn(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", page)
    assert count == 1
    for html in (page, without_policy):
        detectors.show(html)
        detectors.press_all()
        assert detectors.off() == []
        assert detectors.page.locator("body").inner_text().count("onerror") > 5
        assert detectors.page.locator("script, iframe, body img, a[href^='javascript']").count() == 0
    # a control: what is shown goes off where it is taken for markup
    detectors.show(unescape(without_policy))
    assert detectors.off() != []


def look_everywhere(page: Any) -> None:
    """Open every fold of a page and follow every link that says so, in whatever order they appear."""
    for _ in range(3):
        page.evaluate(
            "() => { document.querySelectorAll('details:not([open]) > summary').forEach((each) => each.click());"
            " document.querySelectorAll('.jupyter-widget-Collapse-header:not(.jupyter-widget-Collapse-open .jupyter-widget-Collapse-header)')"
            ".forEach((each) => each.closest('.jupyter-widget-Collapse-open') || each.click()); }"
        )
        page.wait_for_timeout(300)


def test_nothing_planted_runs_or_asks_on_any_tab_or_at_home(detectors: Detectors, home: Path) -> None:
    """Claims, comments, tags, scenarios, reviews, names and units of own sources, own documents, services, questions, file names."""
    planted = plant_own_data(home, detectors.canary)
    served = start(home)
    page, outside = detectors.page, []
    page.on(
        "request",
        lambda made: (
            made.url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:")) or outside.append(made.url)
        ),
    )
    try:
        page.goto(served.url)
        page.wait_for_selector(".wb-claim-table tbody tr")
        assert page.locator(".wb-acts li", has_text="onerror").count() > 0
        look_everywhere(page)
        page.locator(".wb-own-sources td", has_text="store/orders").first.wait_for()
        # what a person types is drawn again by the kernel: a claim about the planted source, its forecast, a file to be added
        page.locator(".wb-claim textarea").fill("own:planted is above 100 on 2018-12-31")
        page.get_by_label("series", exact=True).fill("own:planted")
        page.get_by_label("on, YYYY-MM-DD").fill("2018-12-31")
        page.get_by_label("cutoff, date").fill("2018-06-30")
        page.get_by_role("button", name="Forecast", exact=True).click()
        page.get_by_label("name", exact=True).fill("again")
        page.get_by_label("file on this machine").fill(str(next(home.parent.glob("own/rows*.csv"))))
        page.get_by_label("date column").fill("day")
        page.get_by_label("known after").fill("1d")
        page.get_by_role("button", name="Show what cutoffs see").click()
        page.get_by_text("190 rows").first.wait_for()
        page.get_by_text("1 chance in").wait_for()
        for row in page.locator(".wb-claim-table tbody tr").all()[:3]:
            row.get_by_role("checkbox").check()
        page.get_by_role("button", name="Compare 3 runs").click()
        page.locator(".wb-compared").wait_for()
        assert detectors.off() == []
        for run in (RUN, planted):
            open_run_page(page, f"{served.url}&run={run}")
            page.locator('[role="treeitem"] .wb-statement').last.evaluate("part => part.click()")
            page.frame_locator("iframe.wb-frame").locator("body").wait_for()
            for _, name in TABS:
                open_tab(page, name)
                look_everywhere(page)
                detectors.press_all()
                assert (detectors.off(), outside) == ([], []), f"{run} {name}"
        # without the one guard, text as text, the same page with the same words goes off
        page.evaluate(
            "text => { const part = document.createElement('div'); part.innerHTML = text; document.body.append(part); }",
            active(detectors.canary)["event handler"],
        )
        page.wait_for_timeout(300)
        assert detectors.off() != []
    finally:
        page.goto("about:blank")
        served.stop(signal.SIGTERM)
        served.close()
