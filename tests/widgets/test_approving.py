"""A step that waits (``--approve``) is answered on the page: all of it as text, yes, no, an edit; the first answer wins and is told."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.approving_run import FIRST, SECOND, Person, Writer, open_approving_run, work
from tests.fakes.screens import is_hidden
from workbench.engine.approvals import decide
from workbench.engine.record.state import RunState
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import load_run
from workbench.widgets.home_page import Home
from workbench.widgets.run_page import Dashboard

CALLING = "print(CALL_API('embedded/series/observations', {'series_id': 'SP500'}))"
HOSTILE = "print('first', 1)  # </pre><script>alert(1)</script> \u202eevil\u202c\n" + "x = 1\n" * 2000


class Sitting:
    """A run at work beside pages that look at it."""

    def __init__(self, home: Path, model: Writer, approve: str = "cells") -> None:
        self.home = home
        with closing(Store(home)) as store:
            self.run_id = open_approving_run(store, approve)
        self.person = Person(home, lambda text: None)  # says nothing: the page answers
        self.task = asyncio.create_task(work(home, self.run_id, model, self.person))
        self.pages: list[Dashboard] = []

    async def waits(self, count: int) -> None:
        while len(self.person.shown) < count:
            assert not self.task.done(), self.task
            await asyncio.sleep(0.01)

    def page(self, author: str = "") -> Dashboard:
        page = Dashboard(load_run(self.home, self.run_id))
        page.poller.stop()
        page.side_panels.author.value = author
        self.pages.append(page)
        return page

    def given(self) -> list[Any]:
        with closing(Store(self.home)) as store:
            return [each.event for each in store.events(self.run_id, kinds=("approval.given",))]

    async def end(self) -> RunState:
        for page in self.pages:
            page.poller.stop()
        return await asyncio.wait_for(self.task, 30)


def there(widget: Any) -> bool:
    return not is_hidden(widget)


async def test_yes_no_and_an_edit_do_on_the_page_what_they_do_at_the_terminal(tmp_path: Path) -> None:
    model = Writer()
    sitting = Sitting(tmp_path, model)
    await sitting.waits(1)
    page = sitting.page("Ann")
    pane = page.side_panels.approving
    assert there(pane) and "one = 1\nprint(&#39;first&#39;, one)" in pane.text.value
    assert "wants to run a cell" in pane.text.value and pane.instead.value == FIRST
    pane.yes.click()
    await sitting.waits(2)
    page.look()
    assert "second" in pane.text.value and pane.instead.value == SECOND
    pane.no.click()
    assert "a rejection needs a reason" in pane.line.value and len(sitting.given()) == 1
    pane.reason.value = "it reads what it should not"
    pane.no.click()
    await sitting.waits(3)
    page.look()
    assert pane.reason.value == "" and pane.line.value == ""
    pane.instead.value = "print('plain')"
    pane.edit.click()
    state = await sitting.end()
    assert (
        state.finished and model.said("it reads what it should not") and model.said("Ann changed this cell")
    )
    assert [(each.verdict, each.author) for each in sitting.given()] == [
        ("yes", "Ann"),
        ("no", "Ann"),
        ("edit", "Ann"),
    ]
    page.look()
    assert not there(pane)


async def test_the_first_of_two_pages_wins_and_the_other_is_told(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path, Writer())
    await sitting.waits(1)
    ann, bo = sitting.page("Ann"), sitting.page("Bo")
    bo.side_panels.approving.reason.value = "too long"
    ann.side_panels.approving.yes.click()
    bo.side_panels.approving.no.click()  # his page still shows the step
    assert [(each.verdict, each.author) for each in sitting.given()] == [("yes", "Ann")]
    assert (
        "was answered by Ann" in bo.side_panels.approving.elsewhere.value
        and bo.side_panels.approving.line.value == ""
    )
    assert ann.side_panels.approving.elsewhere.value == ""
    await sitting.waits(2)
    for page in (ann, bo):
        page.look()
        assert there(page.side_panels.approving) and "second" in page.side_panels.approving.text.value
    with closing(Store(tmp_path)) as store:  # and at a terminal
        name = str(bo.side_panels.approving.which.value)
        decide(store, sitting.run_id, name, "no", author="Cy", reason="not <b>this</b>")
    for page in (ann, bo):
        page.look()
        assert (
            f"{name} was answered by Cy, no: not &lt;b&gt;this&lt;/b&gt;"
            in page.side_panels.approving.elsewhere.value
        )
    await sitting.waits(3)
    ann.look()
    ann.side_panels.approving.yes.click()
    assert (await sitting.end()).finished


async def test_all_of_a_hostile_cell_is_shown_as_text_and_what_is_typed_stays(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path, Writer(first=HOSTILE))
    await sitting.waits(1)
    page = sitting.page()
    pane = page.side_panels.approving
    assert "&lt;/pre&gt;&lt;script&gt;" in pane.text.value and "<script>" not in pane.text.value
    assert "\u202e" not in pane.text.value and "2 characters that would hide" in pane.text.value
    assert pane.text.value.count("x = 1") == 2000, "nothing of it is cut"
    assert "\u202e" not in pane.instead.value
    pane.reason.value, pane.instead.value = "half a rea", "print(1)"
    page.look()
    page._show_work()
    assert (pane.reason.value, pane.instead.value) == ("half a rea", "print(1)")
    pane.yes.click()
    assert "type your name first" in pane.line.value and sitting.given() == []
    page.side_panels.author.value = "Ann"
    pane.edit.click()
    await sitting.waits(2)
    page.look()
    pane.yes.click()
    assert (await sitting.end()).finished


async def test_a_call_shows_its_arguments_and_cannot_be_edited(tmp_path: Path) -> None:
    with closing(Store(tmp_path)) as store:
        run_id = open_approving_run(store, "calls")
        text = 'embedded/series/observations\n{\n  "series_id": "SP500"\n}'
        for number in (1, 2):
            asked = ev.ApprovalAsked(
                node="P1", trial=number, attempt=1, what="call", subject=store.put_body(text + " " * number)
            )
            store.append(run_id, asked)
    page = Dashboard(load_run(tmp_path, run_id))
    page.poller.stop()
    pane = page.side_panels.approving
    assert "make a data call" in pane.text.value and "&#34;series_id&#34;: &#34;SP500&#34;" in pane.text.value
    assert not there(pane._editing) and there(pane.which) and len(pane.which.options) == 2
    assert "1 more wait" in pane.text.value
    with closing(Store(tmp_path)) as store:  # a kill, and another sitting
        store.append(run_id, ev.RunResumed())
    page.look()
    assert "no longer waits" in pane.elsewhere.value and not there(pane._question)


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
    page.approve.value = "asks before each cell"
    page.plan.click()
    assert "approve=cells" not in asked[0] and asked[1][-2:] == ["--set", "approve=cells"]
