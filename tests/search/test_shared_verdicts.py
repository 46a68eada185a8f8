"""The verdicts of the leak filter are those of a run: the same result is judged once, by whichever trial comes first, also after a kill."""

import asyncio
import contextlib
import itertools
import re
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.fakes.loop_run import ExaOnLoopback, Killed, ScriptedModel, calls, open_run, work
from workbench.agents.grounders.search_grounder import SearchGrounder
from workbench.engine.access.web_access import run_verdicts
from workbench.engine.record.fold import load_state
from workbench.engine.run_prompts import run_prompts
from workbench.models.base import ModelReply, ModelRequest, NodeRef
from workbench.models.errors import ModelUnavailable
from workbench.quoting import Marks
from workbench.search.engines import Hit
from workbench.search.leak_filter import LeakFilter, Verdicts, recorded_texts
from workbench.store import Store

CUTOFF = Cutoff.parse("2018-06-30")
QUESTION = NodeRef(id="P1", statement="The committee waits")
SUBMIT = {"probability": 0.62, "reasoning": "It waits.", "key_factor": "it waits"}


def hit(number: int) -> Hit:
    return Hit(url=f"https://x.org/{number}", title=f"T{number}", published="", text=f"text {number}", engines=("exa",))  # fmt: skip


def drops_odd(request: ModelRequest) -> str:
    numbers = [
        int(re.findall(r"text (\d+)", text)[0]) for text in recorded_texts(request.messages[-1].content)
    ]
    return "\n".join(
        f"{place}: {'DROP' if number % 2 else 'KEEP'} - x" for place, number in enumerate(numbers, 1)
    )


class Judge:
    """Keeps even results, and lets others run before it answers; every ``fails``-th ask is an outage."""

    def __init__(self, fails: int = 0) -> None:
        self.asked: Counter[str] = Counter()
        self.fails = fails
        self.calls = 0

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        self.calls += 1
        number = self.calls
        await asyncio.sleep(0)
        if self.fails and number % self.fails == 0:
            raise ModelUnavailable("away")
        self.asked.update(recorded_texts(request.messages[-1].content))
        return ModelReply(text=drops_odd(request), model="m")


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=25), min_size=1, max_size=6), st.integers(0, 4)
)
def test_side_by_side_each_result_is_judged_once_and_all_agree(searches: list[list[int]], fails: int) -> None:
    async def run() -> None:
        judge, verdicts = Judge(fails if fails > 1 else 0), Verdicts()

        async def one(numbers: list[int]) -> None:
            reader = LeakFilter(judge, node=QUESTION, cutoff=CUTOFF, verdicts=verdicts)
            with contextlib.suppress(ModelUnavailable):  # the others go on, and judge what this one left open
                found = await reader.judge([hit(number) for number in numbers], step=0, retry=0)
                assert [verdict.keep for verdict in found] == [number % 2 == 0 for number in numbers]

        async with asyncio.timeout(10):
            await asyncio.gather(*(one(numbers) for numbers in searches))
        assert not judge.asked or max(judge.asked.values()) == 1

    asyncio.run(run())


def judged_texts(model: ScriptedModel, marks: Marks) -> list[str]:
    requests = [request for request in model.requests if request.stage == "filter"]
    return [text for request in requests for text in recorded_texts(request.messages[-1].content, marks)]


async def test_trials_and_their_resume_have_nothing_judged_twice(tmp_path: Path) -> None:
    keeps = ModelReply(text="1: KEEP - of June\n2: DROP - of later", model="x")
    script = {
        "act": [calls(("search", {"words": "rates"})), calls(("submit", SUBMIT))],
        "filter": [keeps],
    }
    for died in itertools.count():
        with ExaOnLoopback() as web:
            store = Store(tmp_path / f"{died}", durable=False)
            run_id = open_run(store, trials=3)
            first, second = ScriptedModel(script, dies_at=died), ScriptedModel(script)
            try:
                await work(store, run_id, first, SearchGrounder(), web)
            except BaseException as error:
                assert isinstance(error, Killed) or error.subgroup(Killed) is not None  # type: ignore[attr-defined]
                await work(store, run_id, second, SearchGrounder(), web)
        state = load_state(store, run_id)
        judged = [*judged_texts(first, state.marks), *judged_texts(second, state.marks)]
        assert len(judged) == len(set(judged)) == 2, f"killed at {died}"
        assert [trial.belief.p for trial in state.trials.values() if trial.belief] == [0.62] * 3
        acts = [request.canonical_hash("x") for request in first.requests if request.stage == "act"]
        again = [request.canonical_hash("x") for request in second.requests if request.stage == "act"]
        assert len(acts) + len(again) == 6  # two moves a trial, none of them asked for twice
        kept = [
            verdict.keep
            for _, verdict in run_verdicts(store, state, second, run_prompts(store, state)).since(0)
        ]
        assert sorted(kept) == [False, True]
        store.close()
        if not second.requests:
            break
    assert died == 7


async def test_another_model_judges_for_itself(tmp_path: Path) -> None:
    keeps = ModelReply(text="1: KEEP - of June\n2: KEEP - of June", model="x")
    script = {
        "act": [calls(("search", {"words": "rates"})), calls(("submit", SUBMIT))],
        "filter": [keeps],
    }
    store = Store(tmp_path, durable=False)
    run_id = open_run(store)
    model = ScriptedModel(script)
    with ExaOnLoopback() as web:
        await work(store, run_id, model, SearchGrounder(), web)
    state = load_state(store, run_id)
    assert len(run_verdicts(store, state, model, run_prompts(store, state)).since(0)) == 2
    model.name = "openai/y"
    assert run_verdicts(store, state, model, run_prompts(store, state)).since(0) == []
