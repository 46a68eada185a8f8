"""Comments, estimates and questions on the page of a run: what the commands do, and hostile words stay words."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.screens import RUN, agreed, asked, make_run
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
    explain, form = page.side_panels.asking.children
    assert "What matters most: " in asked(explain) and 'data-select="' in explain.answer.value
    assert "question" in asked(form, model="openai/gpt-4o-mini") and 'role="alert"' in form.answer.value
    shown = asked(form, question="please paint it blue")
    assert "asking openai/gpt-4o-mini" in shown and "about $" in shown
    form.inputs["question"].value = "another one"
    assert "about $" in agreed(form), "the price before was of the other question"

    async def answered(*_: object) -> CitedAnswer:
        return CitedAnswer(text=HOSTILE, cites=(Cite(node="P1"),), cost_usd=0.01, model="openai/gpt-4o-mini")

    monkeypatch.setattr("workbench.conversation.model_answers.model_answer", answered)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    asked(form)
    shown = agreed(form)
    assert "openai/gpt-4o-mini, $0.0100" in shown and "<img" not in shown
    assert "name a model" in asked(form, model="offline/analyst")


def test_a_question_for_the_runs_own_model_goes_to_its_own_server_and_never_to_a_strangers(
    page: Dashboard,
) -> None:
    state: Any = page.run.state
    server = "http://127.0.0.1:9/v1"
    state.settings = replace(state.settings, model="openai/x", api_base=server)
    form = page.side_panels.asking.children[1]
    form.inputs["model"].value = "openai/y"
    assert "api_base" not in form.given()
    form.inputs["model"].value = "openai/x"
    assert form.given()["api_base"] == server
    state.imported = SimpleNamespace(seq=10**6)
    assert "nothing is sent to that server" in asked(form, question="why?")
