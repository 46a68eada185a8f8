"""A run that was begun goes on with its own prompts; what it would have to buy again, it says, and buys only when it may."""

import json
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.loop_run import (
    LEAF,
    BrokerWeb,
    ExaOnLoopback,
    Killed,
    ScriptedModel,
    calls,
    open_run,
    page,
    work,
)
from tests.fakes.openai_server import OpenAIServer
from workbench.agents.grounders.search_grounder import SearchGrounder
from workbench.engine.rebuy import RebuyNeeded
from workbench.engine.record.fold import load_state
from workbench.models.base import ModelRequest
from workbench.models.errors import ContextOverflow
from workbench.prompts import PromptSet, load, names
from workbench.search.base import SearchAnswer
from workbench.store import ModelLedger, Store

EARLIER = "This is how the question was put in an earlier version."
SUBMIT = {"probability": 0.62, "reasoning": "It waits.", "key_factor": "it waits"}
SCRIPT = {
    "act": [
        calls(("search", {"words": "rates"})),
        calls(("search", {"words": "jobs"})),
        calls(("submit", SUBMIT)),
    ]
}


def keep_earlier(
    store: Store, name: str = "loop_first", change: Callable[[str], str] = lambda text: text
) -> str:
    """Put an earlier text of a prompt where a run keeps its own; return its hash."""
    return store.put_body(change(f"{load(name).content.rstrip()}\n\n{EARLIER}\n"))


def begin_with(store: Store, run_id: str, prompts: dict[str, str]) -> Path:
    """Have the manifest of a run name these hashes."""
    path = store.folder(run_id) / "manifest.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = json.loads(path.read_bytes()) if path.is_file() else {"prompts": {}}
    document["prompts"] |= {name: {"version": 1, "sha256": digest} for name, digest in prompts.items()}
    path.write_text(json.dumps(document))
    return path


class OtherReader(BrokerWeb):
    """A later version of the web, which reads the same pages otherwise."""

    async def search(self, words: str, *, step: int, k: int = 10, retry: int = 0) -> SearchAnswer:
        answer = await super().search(words, step=step, k=k, retry=retry)
        results = tuple(replace(each, text=each.text.replace(".", "!")) for each in answer.results)
        return replace(answer, results=results)


@pytest.fixture
def home(tmp_path: Path) -> Any:
    with closing(Store(tmp_path / "home", durable=False)) as store:
        yield store


async def sitting(
    store: Store, run_id: str, *, dies_at: int | None = None, web: Any = BrokerWeb, **more: Any
) -> ScriptedModel:
    model = ScriptedModel(SCRIPT, dies_at=dies_at)
    with ExaOnLoopback() as exa:
        try:
            await work(store, run_id, model, SearchGrounder(open_web=web), exa, **more)
        except BaseException as error:
            if not (
                isinstance(error, Killed)
                or (isinstance(error, BaseExceptionGroup) and error.subgroup(Killed))
            ):
                raise
    return model


async def test_a_changed_prompt_is_asked_as_the_run_began_with_it(home: Store) -> None:
    run_id, earlier = open_run(home), keep_earlier(home)
    manifest = begin_with(home, run_id, {"loop_first": earlier})
    first = await sitting(home, run_id, dies_at=2)
    assert len(first.requests) == 2 and EARLIER in first.everything
    second = await sitting(home, run_id)
    assert len(second.requests) == 1 and EARLIER in second.everything
    assert load_state(home, run_id).finished and ModelLedger(home).count(run_id) == 3
    named = json.loads(manifest.read_bytes())["prompts"]
    assert named["loop_first"]["sha256"] == earlier and len(named) == len(names())


async def test_without_the_earlier_file_nothing_is_bought_until_somebody_says_so(home: Store) -> None:
    run_id, earlier = open_run(home), keep_earlier(home)
    manifest = begin_with(home, run_id, {"loop_first": earlier})
    await sitting(home, run_id, dies_at=2)
    with home.transaction() as db:
        db.execute("DELETE FROM bodies WHERE hash = ?", (earlier,))
    for _ in range(2):
        model = ScriptedModel(SCRIPT)
        with pytest.raises(RebuyNeeded, match=r"loop_first\): 2 replies on record .* \$0\.00.*--yes"):
            await work(home, run_id, model, SearchGrounder())
        assert not model.requests
    # killed once more after the yes: what was bought since is not asked about again
    half = await sitting(home, run_id, dies_at=1, rebuy=True)
    rest = await sitting(home, run_id)
    assert len(half.requests) == 1 and len(rest.requests) == 2
    assert EARLIER not in half.everything + rest.everything
    assert json.loads(manifest.read_bytes())["prompts"]["loop_first"]["sha256"] == load("loop_first").sha256
    trial = load_state(home, run_id).trial(LEAF, 1)
    assert trial.attempt == 2 and trial.verified


def test_an_earlier_file_that_asks_for_less_is_filled_and_one_that_asks_for_more_is_lost(home: Store) -> None:
    inputs: dict[str, Any] = dict.fromkeys(load("debug").inputs, "x")
    for change, lost in (
        (lambda text: text, ()),
        (lambda text: text.replace(", tries_left", "").replace("{{tries_left}}", "some"), ()),
        (lambda text: text.replace("tries_left", "mood"), ("debug",)),
    ):
        digest = keep_earlier(home, "debug", change)
        prompts = PromptSet.of({"debug": digest}, home.text)
        assert prompts.missing == lost
        assert (EARLIER in prompts.render("debug", **inputs)) is not bool(lost)


async def test_a_page_that_is_read_otherwise_stops_the_run_before_it_buys_again(home: Store) -> None:
    run_id = open_run(home)
    await sitting(home, run_id, dies_at=2)
    model = ScriptedModel(SCRIPT)
    with (
        ExaOnLoopback() as exa,
        pytest.raises(RebuyNeeded, match=rf"{run_id} would ask {LEAF} .*: 1 replies .*--yes"),
    ):
        await work(home, run_id, model, SearchGrounder(open_web=OtherReader), exa)
    assert not model.requests
    state = load_state(home, run_id)
    assert state.trial(LEAF, 1).open and state.phase == "stopped"
    # as it was read before, or with a yes, it goes on
    again = await sitting(home, run_id, web=OtherReader, rebuy=True)
    assert len(again.requests) == 2 and load_state(home, run_id).finished


async def test_a_request_that_was_too_long_is_sent_again_and_bought_once(home: Store) -> None:
    """The long form has no reply; the short one that was answered stands at its address, and is no other question."""

    class Narrow(ScriptedModel):
        refused = 0

        async def complete(self, request: ModelRequest) -> Any:
            if sum(len(turn.content) for turn in request.messages) > self.room:
                self.refused += 1
                raise ContextOverflow("too long")
            return await super().complete(request)

        room = 10**9

    run_id = open_run(home)
    models = []
    pages = [page(f"n{number}", "Rates were left alone in June. " * 60) for number in range(5)]
    for dies_at in (2, None):
        model = Narrow(SCRIPT, dies_at=dies_at)
        model.room = 4500
        models.append(model)
        with ExaOnLoopback(pages) as exa, suppress(Killed, BaseExceptionGroup):
            await work(home, run_id, model, SearchGrounder(open_web=BrokerWeb), exa)
    assert models[0].refused and models[1].refused
    assert load_state(home, run_id).finished and ModelLedger(home).count(run_id) == 3
    assert [len(model.requests) for model in models] == [2, 1]


def analyze(home: Path, server: OpenAIServer, *words: str) -> str:
    done = run_cli(
        home, "analyze", "The cabinet falls by 2024-12-31", "--cutoff", "2024-01-15", *server.words(price="100,200"),
        "--analyzer", "single", "--grounder", "zero-shot", "--set", "grounder.elicit=ensemble",
        "--budget-calls", "2", OPENAI_API_KEY="none",
    )  # fmt: skip
    assert done.returncode == 3 and len(server.asked) == 2, done.stderr
    return str(done.stderr.split()[1])
