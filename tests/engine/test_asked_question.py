"""Before every request stand the day it is asked on, the days that are left, and all that is known of the question, whatever the stage."""

import asyncio
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.fakes.asking_run import Provider, open_run, sit
from tests.fakes.models import ScriptedModel
from workbench.agents.asked import day_words, last_day_named
from workbench.engine import flow
from workbench.engine.access.budget import Budget
from workbench.engine.access.model_gateway import ModelGateway, run_gateway
from workbench.engine.record.fold import load_state
from workbench.models.base import Message, ModelReply, ModelRequest, NodeRef
from workbench.models.errors import AccountRefused
from workbench.questions.question import Question
from workbench.store import ModelLedger, Store
from workbench.store.events import LeafStarted
from workbench.studies.study_exam import known_context

QUESTION = Question(
    id="party", title="Which party leads on 2027-03-01?", kind="options", options=("D66", "CDA", "Other"),
    background="Coalition talks go on.", criteria="The party of the prime minister. A caretaker counts.",
    criteria_parts=("The party of the prime minister.", "A caretaker counts."), closes_on="2027-03-01",
)  # fmt: skip
PARTS = (
    "Coalition talks go on.",
    "The party of the prime minister.",
    "A caretaker counts.",
    "D66; CDA; Other",
    "The talks stall.",
)
LATE = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)  # still the 28th in New York
STAGES = [
    "analyze",
    "critic",
    "step",
    "debug",
    "conclude",
    "prior",
    "synthesize",
    "act",
    "vote",
    "outcomes",
    "judge",
    "route",
    "filter",
]


def sent(
    tmp_path: Path, stage: str, node: str, cutoff: str, *, now: datetime = LATE, statement: str = "It holds."
) -> str:
    """What a model is sent at a stage, as one text."""
    known = known_context(QUESTION, "The talks stall.", Cutoff.parse(cutoff, now=now))
    model = ScriptedModel(["yes"])
    with closing(Store(tmp_path / f"{stage}-{node}-{cutoff}-{now:%d%H}", durable=False)) as store:
        gateway = ModelGateway(model, ModelLedger(store), Budget(), context=known, clock=lambda: now)
        ask = gateway.asker(run="r", node=node, trial=1, attempt=1)
        messages = (Message(role="system", content="S"), Message(role="user", content=f"{node}: {statement}"))
        request = ModelRequest(
            messages=messages, stage=stage, cutoff=cutoff, nodes=(NodeRef(id=node, statement=statement),)
        )
        asyncio.run(ask(request, stage=stage, step=0, retry=0))
    return "\n".join(message.content for message in model.requests[0].messages)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("node", ["P0", "P1.2"])
def test_every_request_holds_the_day_the_days_left_and_the_whole_question(
    tmp_path: Path, stage: str, node: str
) -> None:
    text = sent(tmp_path, stage, node, "now")
    assert "Today is 2026-11-28 (New York)" in text and "93 days are left until 2027-03-01." in text
    assert all(part in text for part in PARTS)
    past = sent(tmp_path, stage, node, "2018-06-30")
    assert "in full is 2018-06-29 (New York time)" in past and "Today" not in past


class Refusing(Provider):
    """Takes no more than so many requests a sitting, and keeps the text of each."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.texts = most, []

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self.sent >= self.most:
            raise AccountRefused("the account is empty")
        self.texts.append("\n".join(message.content for message in request.messages))
        return await super().complete(request)


@given(st.integers(1, 7))
@settings(max_examples=8, deadline=None)
def test_a_run_of_two_days_records_the_day_of_each_attempt_and_of_each_reply(before: int) -> None:
    """Two leaves of four requests each, stopped after so many before midnight, and resumed after."""
    days = ("2026-11-28", "2026-11-29")
    with TemporaryDirectory() as folder, closing(Store(Path(folder) / "home", durable=False)) as store:
        run_id, texts = open_run(store, "now", concurrency=1), []
        for day, most in zip(days, (before, 100), strict=True):
            model = Refusing(most)

            def on_that_day(*args: Any, day: str = day, **named: Any) -> ModelGateway:
                made = run_gateway(*args, **named)
                made.clock = lambda: datetime.fromisoformat(f"{day}T18:00+00:00")
                return made

            with patch.object(flow, "run_gateway", on_that_day), suppress(AccountRefused):
                sit(store, run_id, model, leaves=2, steps=4)
            texts.append(model.texts)
        # Nothing was bought again, and what was sent names the day that it was sent on.
        assert [len(sent) for sent in texts] == [before, 8 - before]
        assert all(
            (f"Today is {day}" in text) for day, sent in zip(days, texts, strict=True) for text in sent
        )
        begun = {
            (event.node, event.attempt): event.asked_on
            for stored in store.events(run_id, kinds=("leaf.started",))
            if isinstance(event := stored.event, LeafStarted)
        }
        # Both leaves were begun before midnight, whatever they came to.
        assert begun == dict.fromkeys([("P1", 1), ("P2", 1)], days[0])
        # The records show each reply under the day that its request named.
        state = load_state(store, run_id)
        shown = Counter(
            day
            for place in ModelLedger(store).attempts(run_id)
            for _, messages, _ in ModelLedger(store).dialogue(place)
            for day in days
            if f"Today is {day}" in messages[0]["content"]
        )
        assert state.finished and [shown[day] for day in days] == [before, 8 - before]


@given(st.dates(date(2000, 1, 3), date(2090, 1, 1)), st.integers(0, 4000))
def test_days_left_are_counted_from_the_day_that_is_said(today: date, left: int) -> None:
    end = date.fromordinal(today.toordinal() + left)
    for cutoff in (Cutoff.parse("now"), Cutoff.parse("2018-06-30")):
        words = day_words(cutoff, today, end)
        assert (
            today.isoformat() in words
            and f"{left} day" in words
            and words.endswith(f"until {end.isoformat()}.")
        )
        assert "now" not in words.split() and day_words(cutoff, end, today).count("left") == (left == 0)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Rates are cut in September 2027", "2027-09-30"), ("Oil closes above 80 on 12/31/2027 or 2027-05-01", "2027-12-31"),
        ("It ends before March 1, 2027", "2027-03-01"), ("by 7 May 2029", "2029-05-07"), ("by the end of 2026", None), ("soon", None),
    ],
)  # fmt: skip
def test_the_end_is_the_last_day_that_is_named(text: str, day: str | None) -> None:
    found = last_day_named(["nothing", text])
    assert (found and found.isoformat()) == day
