"""A run's page in every state that it can be in, at three widths in both themes: pictures to look at, and what no picture may show.

The pictures lie in ``out/screenshots/states``; one of the six of a state holds the whole page.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Served, serving
from tests.command_line import run_ok, run_process
from tests.conftest import FinishedRun
from tests.fakes.browser import SCREENSHOTS, Watched, axe_findings, open_run_page
from tests.fakes.large_tree import make_large_run
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.engine.ownership import own_run
from workbench.store import ApiLedger, Store
from workbench.store import events as ev

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.long]

WIDTHS = {1440: 900, 1024: 768, 390: 844}
#: Today's state decides such claims, and there the simulation beats the base rate.
SKILLED = ("VIX closes above 14 on 2018-07-13", "2018-06-30")
PLAIN = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "2018-06-30")
RAIN = ("A heat wave is declared in Madrid by 2018-08-31", "2018-06-30")
STATES = (
    "skill",
    "no-skill",
    "no-tree-yet",
    "some-evidence",
    "stopped",
    "failed",
    "hypothetical",
    "imported",
    "language-model",
    "large",
)
#: What is cut off: text wider than its box, and words past the edge of the screen.
CUT_OFF = """() => { const SEEN = {opacityProperty: true, visibilityProperty: true}; return [...document.querySelectorAll('.wb-app *')].filter((each) => {
  if (!each.checkVisibility(SEEN) || each.closest('.wb-rows.wb-many, iframe, svg, .wb-table-scroll')) return false;
  const box = each.getBoundingClientRect(), style = getComputedStyle(each);
  const own = [...each.childNodes].some((part) => part.nodeType === 3 && part.textContent.trim());
  return own && (box.right > innerWidth + 1 || box.left < -1
    || (style.overflowX !== 'visible' && style.overflowX !== 'auto' && each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0 && each.tagName !== 'INPUT'));
}).map((each) => `${each.className}: ${each.textContent.trim().slice(0, 60)}`); }"""
#: Words that lie over other words: letters of two elements of which neither holds the other.
OVERLAPS = """() => {
  const SEEN = {opacityProperty: true, visibilityProperty: true};
  const letters = [];
  for (const each of document.querySelectorAll('.wb-app *')) {
    if (!each.checkVisibility(SEEN) || each.closest('iframe, .wb-rows.wb-many')) continue;
    for (const part of each.childNodes) {
      if (part.nodeType !== 3 || !part.textContent.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(part);
      for (const box of range.getClientRects())
        if (box.width > 1 && box.height > 1) letters.push([box, part.textContent.trim().slice(0, 40), each]);
    }
  }
  const found = [];
  letters.forEach(([a, words, one], place) => letters.slice(place + 1).forEach(([b, others, two]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (one !== two && across > 2 && down > 5) found.push(`${words} / ${others}`);
  }));
  return found;
}"""


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory, demo: FinishedRun) -> Iterator[dict[str, str]]:
    """A home with a run in each state: their ids, and what its address has besides."""
    folder = tmp_path_factory.mktemp("states")
    home, package = folder / "home", folder / "run.zip"
    runs: dict[str, str] = {}
    run_ok(demo.home, "export", demo.run_id, "--to", "zip", "-o", str(package))
    run_ok(folder, "import", str(package))
    runs["imported"] = demo.run_id
    for state, claim in (("skill", SKILLED), ("no-skill", PLAIN)):
        runs[state] = analyzed(folder, claim, record=True)
    runs["hypothetical"] = runs["no-skill"]
    run_ok(folder, "whatif", runs["no-skill"], "--set", "P1=60-80%", "--set", "P3=0.9", "--scenario", "firm")
    with OpenAIServer(Policy()) as model:
        runs["language-model"] = analyzed(folder, RAIN, *model.words())
    with OpenAIServer(Policy(never_works={"P2"})) as model:
        runs["failed"] = analyzed(folder, RAIN, *model.words(), fails=True)
    runs["large"] = make_large_run(home, 1111, "20180630-110000-1111")
    with ExitStack() as owned, closing(Store(home)) as store:
        stored = store.events(runs["no-skill"])
        evidence = [place for place, each in enumerate(stored) if isinstance(each.event, ev.LeafPooled)]
        for state, end, works in (
            ("no-tree-yet", 1, True),
            ("some-evidence", evidence[2] + 1, True),
            ("stopped", evidence[1] + 1, False),
        ):
            runs[state] = f"20180630-12000{len(runs)}-5000"
            for each in stored[:end]:
                store.append(runs[state], each.event)
            if end > 1:
                for row in ApiLedger(store).rows(runs["no-skill"]):
                    ApiLedger(store).record(replace(row, address=replace(row.address, run=runs[state])))
            if works:
                owned.enter_context(own_run(store.folder(runs[state])))
        yield {**runs, "home": str(home)}


def analyzed(
    folder: Path, claim: Sequence[str], *words: str, record: bool = False, fails: bool = False
) -> str:
    """Run a claim in a process of its own; return the id of its run."""
    statement, cutoff = claim
    more = {"WORKBENCH_RECORD": "on"} if record else {}
    done = run_process(folder, "analyze", statement, "--cutoff", cutoff, *words, "--json", **more)
    assert fails or done.returncode == 0, done.stderr
    with closing(Store(folder / "home")) as store:
        run_id = store.resolve_run("last")
    if record:
        run_ok(folder, "show", run_id, "--record")
    return run_id


@pytest.fixture(scope="module")
def served_states(states: dict[str, str]) -> Iterator[Served]:
    with serving(Path(states["home"])) as running:
        yield running


@pytest.mark.parametrize("state", STATES)
def test_every_state_at_every_width_in_both_themes(
    states: dict[str, str], served_states: Served, watched: Watched, state: str
) -> None:
    page: Any = watched.page
    scenario = "&scenario=firm" if state == "hypothetical" else ""
    open_run_page(page, f"{served_states.url}&run={states[state]}{scenario}")
    if state not in ("no-tree-yet", "some-evidence", "stopped", "failed"):
        page.wait_for_selector(".wb-badge[data-verdict]")
    page.wait_for_selector("svg.fan, .wb-checks li", state="attached")
    folder = SCREENSHOTS / "states"
    folder.mkdir(parents=True, exist_ok=True)
    faults: list[str] = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        for width, height in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(500)
            place = f"{theme} {width}: "
            faults += [place + each for each in axe_findings(page)]
            if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
                faults.append(f"{place}scrolls to {wide}")
            faults += [f"{place}cut off: {each}" for each in page.evaluate(CUT_OFF)]
            faults += [f"{place}over each other: {each}" for each in page.evaluate(OVERLAPS)]
            # the whole page, which scrolls in a box of its own: a window as tall as that
            tall = page.evaluate(
                "Math.max(...[...document.querySelectorAll('*')].map((each) => each.scrollHeight))"
            )
            page.set_viewport_size({"width": width, "height": min(max(height, tall + 40), 4000)})
            page.wait_for_timeout(300)
            page.screenshot(path=folder / f"{state}-{theme}-{width}.png")
    assert not faults, "\n".join(sorted(set(faults)))
    watched.clean()
