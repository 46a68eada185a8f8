"""A step that waits (``--approve``) is answered on the page: all of it as text, yes or no; the first answer wins and is told."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.approving_run import Person, open_approving_run, work
from tests.fakes.screens import asked, is_hidden
from workbench.engine.approvals import decide
from workbench.engine.record.state import RunState
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import load_run
from workbench.widgets.home_page import Home
from workbench.widgets.run_page import Dashboard


class Sitting:
    """A run at work beside pages that look at it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with closing(Store(home)) as store:
            self.run_id = open_approving_run(store)
        self.person = Person(home, lambda text: None)  # says nothing: the page answers
        self.task = asyncio.create_task(work(home, self.run_id, self.person))
        self.pages: list[Dashboard] = []

    async def waits(self, count: int) -> None:
        while len(self.person.shown) < count:
            assert not self.task.done(), self.task
            await asyncio.sleep(0.01)

    def page(self, author: str) -> Dashboard:
        page = Dashboard(load_run(self.home, self.run_id))
        page.poller.stop()
        page.side_panels.author.value = author
        self.pages.append(page)
        return page

    def given(self) -> list[tuple[str, str]]:
        with closing(Store(self.home)) as store:
            events: list[Any] = [each.event for each in store.events(self.run_id, kinds=("approval.given",))]
        return [(event.verdict, event.author) for event in events]

    async def end(self) -> RunState:
        for page in self.pages:
            page.poller.stop()
        return await asyncio.wait_for(self.task, 30)


def there(widget: Any) -> bool:
    return not is_hidden(widget)


async def test_yes_and_no_do_on_the_page_what_they_do_at_the_terminal(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path)
    await sitting.waits(1)
    page = sitting.page("Ann")
    pane = page.side_panels.approving
    assert there(pane) and "wants to make a data call" in pane.text.value
    asked(pane.yes)
    await sitting.waits(2)
    page.look()
    assert "&#34;series_id&#34;: &#34;VIX&#34;" in pane.text.value
    assert "reason, which the agent reads" in asked(pane.no) and len(sitting.given()) == 1
    asked(pane.no, no="it reads what it should not")
    assert (await sitting.end()).finished and sitting.given() == [("yes", "Ann"), ("no", "Ann")]
    page.look()
    assert not there(pane)


async def test_the_first_of_two_pages_wins_and_the_other_is_told(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path)
    await sitting.waits(1)
    ann, bo = sitting.page("Ann"), sitting.page("Bo")
    asked(ann.side_panels.approving.yes)
    # his page still shows the step
    assert "waits for approval" in asked(bo.side_panels.approving.no, no="too long")
    assert sitting.given() == [("yes", "Ann")]
    bo.look()
    assert "was answered by Ann" in bo.side_panels.approving.elsewhere.value
    assert ann.side_panels.approving.elsewhere.value == ""
    await sitting.waits(2)
    for page in (ann, bo):
        page.look()
        assert there(page.side_panels.approving) and "VIX" in page.side_panels.approving.text.value
    with closing(Store(tmp_path)) as store:  # and at a terminal
        name = str(bo.side_panels.approving.which.value)
        decide(store, sitting.run_id, name, "no", author="Cy", reason="not <b>this</b>")
    told = f"{name} was answered by Cy, no: not &lt;b&gt;this&lt;/b&gt;"
    for page in (ann, bo):
        page.look()
        assert told in page.side_panels.approving.elsewhere.value
    assert (await sitting.end()).finished


def waiting_page(home: Path, *texts: str) -> Dashboard:
    """The page of a run with these calls that wait, which nobody works on."""
    with closing(Store(home)) as store:
        run_id = open_approving_run(store)
        for number, text in enumerate(texts, 1):
            subject = store.put_body(text)
            store.append(
                run_id, ev.ApprovalAsked(node="P1", trial=number, attempt=1, what="call", subject=subject)
            )
    page = Dashboard(load_run(home, run_id))
    page.poller.stop()
    return page


def test_all_of_a_hostile_call_is_shown_as_text_and_what_is_typed_stays(tmp_path: Path) -> None:
    page = waiting_page(
        tmp_path, "own/a\n</pre><script>alert(1)</script> \u202eevil\u202c\n" + "x = 1\n" * 2000
    )
    pane = page.side_panels.approving
    assert "&lt;/pre&gt;&lt;script&gt;" in pane.text.value and "<script>" not in pane.text.value
    assert "\u202e" not in pane.text.value and "2 characters that would hide" in pane.text.value
    assert pane.text.value.count("x = 1") == 2000, "nothing of it is cut"
    pane.no.inputs["no"].value = "half a rea"
    page.look()
    assert pane.no.inputs["no"].value == "half a rea"
    assert "fill in the field &#34;your name&#34; first" in asked(pane.yes) and there(pane.children[1])
    assert "your name" in asked(pane.no)
    page.side_panels.author.value = "Ann"
    asked(pane.yes)
    assert not there(pane)


def test_of_several_steps_one_is_chosen_and_a_new_sitting_clears_them(tmp_path: Path) -> None:
    page = waiting_page(tmp_path, "embedded/series/list\n{}", "embedded/series/list\n{} ")
    pane = page.side_panels.approving
    assert there(pane.which) and len(pane.which.options) == 2 and "1 more wait" in pane.text.value
    with closing(Store(tmp_path)) as store:  # a kill, and another sitting
        store.append(page.follower.state.run_id, ev.RunResumed())
    page.look()
    assert "no longer waits" in pane.elsewhere.value and not there(pane.children[1])


def test_the_form_of_a_new_claim_offers_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(
        "workbench.widgets.home_page.plan_elsewhere",
        lambda home, claim, cutoff, words: asked.append(words) or "x",
    )
    page = Home(tmp_path, environ={})
    page.poller.stop()
    page.claim.value = "VIX closes above 20 on 2018-12-31"
    page.cutoff.value = "2018-11-01"
    page.plan.click()
    page.approve.value = "asks before each page"
    page.plan.click()
    assert "approve=pages" not in asked[0] and asked[1][-2:] == ["--set", "approve=pages"]
