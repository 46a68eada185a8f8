"""The first page and a run in work: stated, planned, changed, grounded, watched and stopped from the page."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.screens import RUN, agreed, asked, is_hidden
from tests.offline.inprocess import analyst, grow
from workbench.engine.detached import stop_run
from workbench.offline.examples import EXAMPLE_CUTOFF, EXAMPLES
from workbench.sources.own_store import remove_source
from workbench.store import Store
from workbench.synthesis.whatif.edits import RemoveNode
from workbench.views.run_view import load_run
from workbench.widgets import dashboard
from workbench.widgets.home_page import Home, list_runs, providers
from workbench.widgets.run_page import Dashboard

pytestmark = pytest.mark.long

CLAIM = "VIX closes above 20 on 2018-12-31"


@pytest.fixture
def page(home: Path) -> Iterator[Home]:
    shown = Home(home, environ={})
    yield shown
    shown.poller.stop()


def test_search_and_state_narrow_the_list(page: Home) -> None:
    assert RUN in page.table.value
    page.search.value = "s&p HIGHER"
    assert RUN in page.table.value
    page.search.value = "unemployment"
    assert RUN not in page.table.value and "No run has these words" in page.table.value
    page.search.value, page.state.value = "", "failed"
    assert RUN not in page.table.value
    page.state.value = "done"
    assert RUN in page.table.value


def test_a_claim_is_checked_while_it_is_typed(page: Home) -> None:
    assert page.plan.disabled
    page.cutoff.value, page.claim.value = "2018-11-01", CLAIM
    assert not page.plan.disabled and page.line.value == ""
    page.claim.value = "Rates are bad"
    assert page.plan.disabled and 'role="alert"' in page.line.value
    page.claim.value, page.cutoff.value = CLAIM, "the day before yesterday"
    assert page.plan.disabled and 'role="alert"' in page.line.value
    # what a language model can take is not for this reader to refuse
    page.cutoff.value, page.model.value, page.claim.value = "2018-11-01", "openai/gpt-4o", "Rates are bad"
    assert not page.plan.disabled


def test_without_a_key_the_form_begins_with_what_can_be_treated_and_says_how_far_the_data_reach(
    page: Home,
) -> None:
    assert (page.model.value, page.cutoff.value) == ("offline/analyst", EXAMPLE_CUTOFF)
    page.claim.value = page.claim.placeholder
    assert not page.plan.disabled and page.line.value == ""
    assert "seven built-in series to 3 January 2019" in page.reach.value


async def test_every_example_fills_the_form_in_with_a_claim_that_the_key_free_analyst_plans(
    home: Path,
) -> None:
    page = Home(home, environ={"OPENAI_API_KEY": "k"})
    page.poller.stop()
    model = analyst()
    for chip in page.examples.children:
        chip.click()
        assert not page.plan.disabled and page.line.value == "", chip.description
        assert page.claim.value == chip.description and page.model.value == "offline/analyst"
        planned = await grow(model, page.claim.value, page.cutoff.value)
        assert len(planned.tree.leaves()) >= 2, chip.description  # an example shows drivers
    assert len(page.examples.children) == len(EXAMPLES) >= 3


def test_only_providers_with_a_key_are_offered_and_no_key_is_shown(home: Path) -> None:
    key = "sk-never-shown"
    page = Home(home, environ={"ANTHROPIC_API_KEY": key})
    page.poller.stop()
    assert list(page.model.options) == ["offline/analyst", "anthropic/"]
    assert providers({}) == [] and key not in repr([child.get_state() for child in page.children])


def wait(page: Any, done: Any) -> None:
    """Look at the log as the page's poller does, until something is so."""
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end, page.working.state.value
        time.sleep(0.2)
        page.look()


def watched_page(home: Path, run_id: str) -> Dashboard:
    """The page of a run, which looks at the log when it is told to."""
    shown: Dashboard = dashboard(load_run(home, run_id))
    shown.poller.stop()
    return shown


def test_a_claim_is_planned_changed_grounded_stopped_and_watched_from_pages(page: Home, home: Path) -> None:
    """The run goes on when the page that began it is closed."""
    page.examples.children[2].click()
    page.plan.click()
    (run_id,) = [row["run_id"] for row in list_runs(home) if row["run_id"] != RUN]
    assert f'href="?run={run_id}"' in page.line.value and f'data-run="{run_id}"' in page.table.value
    first = watched_page(home, run_id)
    assert first.follower.phase == "planned" and "calls to offline/analyst" in first.working.state.value
    leaves = [node.id for node in first.session.tree.propositions() if not node.children]
    first.session.change([RemoveNode(node=leaves[-1])])
    first.working.ground.click()
    first.close()
    second = watched_page(home, run_id)
    assert second.follower.phase in ("running", "done") and (home / "runs" / run_id / "run.log").exists()
    second.working.end.click()
    assert second.follower.phase in ("stopped", "done")
    with closing(Store(home)) as store:
        assert not stop_run(store, run_id)
    third = watched_page(home, run_id)
    if third.follower.phase == "stopped":
        third.working.ground.click()
    for each in (second, third):
        wait(each, lambda each=each: each.follower.phase == "done")  # type: ignore[misc]
        assert leaves[-1] not in each.session.tree and each.session.edits == ()
        assert is_hidden(each.working)
    assert second.session.now.after == third.session.now.after == load_run(home, run_id).tree.root.p


def test_a_series_is_forecast_on_the_page(page: Home) -> None:
    form = page.quantity
    assert 'role="alert"' in asked(form, cutoff="2018-06-30")
    assert "the field" in asked(form, series="VIX") and "--on" not in form.answer.value
    shown = asked(form, on="2018-07-31")
    assert "past dates" in shown and 'class="fan"' in shown and "1 chance in" in shown
    assert "value 12.83 came: CRPS" in shown
    shown = asked(form, on="", by="2018-07-31")
    assert "highest" in shown and "lowest" in shown
    shown = asked(form, series="the mood")
    assert 'role="alert"' in shown and "the mood" in shown and form.inputs["by"].value == "2018-07-31"


def test_a_file_becomes_a_source_once_its_preview_was_shown(page: Home, home: Path, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("month,sales\n2018-01-01,5\n2018-02-01,6\n2018-03-01,7\n")
    form = page.new_source
    shown = asked(form, name="sales", where=str(tmp_path / "sales.csv"), date="month")
    assert is_hidden(form.question) and 'role="alert"' in shown  # no lag is said
    assert "3 rows, 2018-01-01 to 2018-03-01" in asked(form, lag="10d") and not is_hidden(form.question)
    assert not (home / "sources" / "sales").exists()
    form.inputs["lag"].value = "11d"
    form.go_on.click()
    assert (
        is_hidden(form.question) and not (home / "sources" / "sales").exists()
    )  # what is added is what was shown
    asked(form)
    (tmp_path / "sales.csv").write_text("month,sales\n2018-01-01,5\n2018-02-01,6\n")
    assert "2 rows" in agreed(form) and not (home / "sources" / "sales").exists()
    assert "own:sales" in agreed(form) and "own/sales/rows" in page.sources.value
    remove_source(Store(home), "sales", datetime.now(UTC))
