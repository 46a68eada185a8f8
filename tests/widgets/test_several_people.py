"""Comments, estimates and questions on the page of a run: what the commands do, and hostile words stay words."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.screens import RUN, asked, make_run
from workbench.conversation.cited_answer import CitedAnswer
from workbench.conversation.run_look_ups import Cite
from workbench.engine.record.fold import load_state
from workbench.engine.record.people import Annotations
from workbench.store import Store
from workbench.views.run_view import load_run
from workbench.widgets.run_page import Dashboard

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[2J"


@pytest.fixture
def page(tmp_path: Path) -> Dashboard:
    make_run(tmp_path / "home")
    return Dashboard(load_run(tmp_path / "home", RUN))


def said(page: Dashboard) -> Annotations:
    with closing(Store(page.run.home)) as store:
        return load_state(store, RUN).annotations


def test_estimates_stand_beside_the_answer(page: Dashboard) -> None:
    pane, before = page.side_panels.estimates, page.session.tree.root.p
    give, back = pane.forms
    assert "your name" in asked(give, p="40%") and not said(page).estimates
    assert asked(give, author="Ann", why=HOSTILE) == "" == asked(give, author="Bo", p="0.8")
    assert 'data-pooled="P0"' in pane.standing.value and "62.0%" in pane.standing.value
    assert "<img" not in pane.standing.value and "\u202e" not in pane.standing.value
    assert page.session.tree.root.p == before
    assert "between 0 and 1" in asked(give, p="1.0") and give.inputs["p"].value == "1.0"
    asked(back)
    assert [each.author for each in said(page).standing("P0")] == ["Ann"]


def test_the_page_explains_its_answer_and_a_model_says_its_price_first(
    page: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = page.side_panels.asking
    pane.explain.click()
    assert "What matters most: " in pane.answer.value and 'data-select="' in pane.answer.value
    pane.model.value = "openai/gpt-4o-mini"
    pane.priced.click()
    assert "type a question first" in pane.line.value and not pane.answer.value
    pane.question.value = "please paint it blue"
    pane.priced.click()
    assert "asking openai/gpt-4o-mini" in pane.line.value and "about $" in pane.line.value
    pane.question.value = "another one"
    pane.confirm.click()
    assert "has changed since this price" in pane.line.value

    async def answered(*_: object) -> CitedAnswer:
        return CitedAnswer(text=HOSTILE, cites=(Cite(node="P1"),), cost_usd=0.01, model="openai/gpt-4o-mini")

    monkeypatch.setattr("workbench.widgets.asking_pane.model_answer", answered)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    pane.priced.click()
    pane.confirm.click()
    pane.work.wait()
    assert "openai/gpt-4o-mini, $0.0100" in pane.answer.value, pane.line.value
    assert "<img" not in pane.answer.value
    pane.model.value = "offline/analyst"
    pane.priced.click()
    assert "name a model" in pane.line.value
