"""``--approve``: a data call waits for a person; yes and no each do what they say, also after a kill, and stand in the proof."""

import asyncio
import dataclasses
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.errors import Refused
from proxies.ledger import Address
from sandbox import Sandbox
from tests.fakes.approving_run import FIRST, SECOND, Decision, Person, Reader, open_approving_run, work
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.engine.approvals import ApprovedData, check_answerable, decide, undecided_steps
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.models.base import ModelReply, ModelRequest, Usage
from workbench.search.engines import ENGINES
from workbench.search.web_calls import StepCalls
from workbench.store import ApiLedger, Store
from workbench.store import events as ev

CELLS = (
    "rows = CALL_API('embedded/series/observations', {'series_id': 'SP500'})\nprint(len(rows))",
    "try:\n    print(CALL_API('embedded/series/list', {}))\nexcept Exception as error:\n    print(type(error).__name__, error)",
)
CONCLUSION = 'It is so.\n\n```json\n{"p_true": 0.7, "key_factor": "it is"}\n```'


class Writer:
    """A model that writes two cells and concludes."""

    name = "openai/x"

    def __init__(self) -> None:
        self.shown = ""

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.shown = "\n".join(message.content for message in request.messages)
        done = sum(message.role == "assistant" for message in request.messages)
        text = f"<python_cell>\n{CELLS[done]}\n</python_cell>" if done < 2 else "<TERMINATE_NOTEBOOK>"
        return ModelReply(
            text=text if request.stage == "step" else CONCLUSION,
            model="x",
            usage=Usage(input_tokens=5, output_tokens=5),
            seconds=0.1,
        )


def opened(home: Path, approve: str = "calls") -> str:
    with closing(Store(home)) as store:
        return open_approving_run(store, approve)


def yes(text: str) -> Decision:
    return "yes", ""


def no_to_second(text: str) -> Decision:
    return ("no", "not this series") if text == SECOND else ("yes", "")


def refusals(home: Path, run_id: str) -> list[str | None]:
    with closing(Store(home)) as store:
        return [row.refused for row in ApiLedger(store).rows(run_id)]


@pytest.mark.parametrize("judge", [yes, no_to_second])
@pytest.mark.parametrize("cut_at", [1, 2])
async def test_a_run_that_is_cut_off_while_it_waits_asks_nobody_twice(
    tmp_path: Path, judge: Any, cut_at: int
) -> None:
    run_id, reader = opened(tmp_path), Reader()
    decided: list[str] = []

    def until_cut(text: str) -> Decision | None:
        if len(decided) + 1 >= cut_at:
            return None
        decided.append(text)
        return judge(text)  # type: ignore[no-any-return]

    first = Person(tmp_path, until_cut)
    sitting = asyncio.create_task(work(tmp_path, run_id, first))
    while not sitting.done() and len(first.shown) < cut_at:
        await asyncio.sleep(0.01)
    sitting.cancel()
    await asyncio.gather(sitting, return_exceptions=True)
    second = Person(tmp_path, judge)
    state = await work(tmp_path, run_id, second, reader)
    assert state.finished and state.tree.root.p == 0.7
    assert [*decided, *second.shown] == [FIRST, SECOND]
    assert len(reader.refusals) == (judge is no_to_second) == sum(map(bool, refusals(tmp_path, run_id)))


async def test_in_a_real_kernel_a_rejected_call_is_a_refusal_on_record_and_the_proof_verifies(
    tmp_path: Path,
) -> None:
    def judge(text: str) -> Decision:
        return ("no", "not this list") if text == FIRST else ("yes", "")

    run_id, model, person, sandbox = opened(tmp_path), Writer(), Person(tmp_path, judge), Sandbox()
    try:
        state = await work(tmp_path, run_id, person, NotebookGrounder(), model=model, sandbox=sandbox)
    finally:
        await sandbox.aclose()
    assert state.finished and state.trial("P1", 1).verified is True
    assert person.shown[0].startswith("embedded/series/observations\n{") and '"SP500"' in person.shown[0]
    assert "ApiRefused Ann refused this call: not this list" in model.shown
    given, refused = refusals(tmp_path, run_id)
    assert given is None and "Ann refused" in (refused or "")


class _Source:
    """Data behind the gate; remembers what got through."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def call(self, path: str, params: Any, address: Any) -> Any:
        self.paths.append(path)
        return path


class _Asked:
    """Approvals that reject whatever is asked."""

    def __init__(self) -> None:
        self.questions: list[tuple[str, str]] = []

    async def ask(self, job: Any, what: Any, text: str) -> Any:
        self.questions.append((what, text))
        return SimpleNamespace(verdict="no", author="Ann", reason="no", what=what)


@pytest.mark.parametrize(
    ("approve", "path", "what"),
    [
        ("pages", "embedded/series/list", None),
        ("pages", "wikipedia/page", "page"),
        ("pages", " Exa/search", "page"),
        ("pages", "/Wikipedia/page/", "page"),
        *(("pages", engine.path, "page") for engine in ENGINES.values()),
        ("pages", "sec/filings", None),
        ("calls", "embedded/series/list", "call"),
        ("calls", "wikipedia/page", "page"),
    ],
)
async def test_under_pages_calls_for_texts_of_the_web_wait_and_no_others(
    tmp_path: Path, approve: Any, path: str, what: str | None
) -> None:
    source, asked = _Source(), _Asked()
    job: Any = SimpleNamespace(settings=RunSettings(approve=approve), cutoff=Cutoff.parse("2018-06-30"))
    address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=1, retry=0)
    with closing(Store(tmp_path)) as store:
        data = ApprovedData(source, asked, job, ApiLedger(store))  # type: ignore[arg-type]
        if what is None:
            assert await data.call(path, {}, address) == path
            assert not asked.questions
        else:
            with pytest.raises(Refused, match=f"Ann refused this {what}"):
                await data.call(path, {}, address)
            assert source.paths == [] and asked.questions == [(what, f"{path}\n{{}}")]


# --- who is asked ------------------------------------------------------------------------------------------------


def waiting_run(home: Path) -> tuple[Store, str, str]:
    """A store, a run with one step that waits, and the step's name."""
    store = Store(home)
    run_id = open_approving_run(store)
    subject = store.put_body(SECOND)
    store.append(run_id, ev.ApprovalAsked(node="P0", trial=1, attempt=1, what="call", subject=subject))
    (step,) = undecided_steps(store, load_state(store, run_id))
    return store, run_id, step.name


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        ({"verdict": "no"}, "needs a reason"),
        ({"verdict": "maybe"}, "yes or no"),
        ({"verdict": "yes", "author": " "}, "needs the name"),
        ({"verdict": "no", "reason": "x" * 2001}, "at most 2000"),
    ],
)
def test_a_decision_that_says_too_little_is_refused(
    tmp_path: Path, decision: dict[str, str], words: str
) -> None:
    store, run_id, name = waiting_run(tmp_path)
    with closing(store):
        with pytest.raises(UsageError, match=words):
            decide(store, run_id, name, **{"author": "Ann", **decision})
        assert len(undecided_steps(store, load_state(store, run_id))) == 1


def test_a_step_is_decided_once_and_by_its_own_name(tmp_path: Path) -> None:
    store, run_id, name = waiting_run(tmp_path)
    with closing(store):
        with pytest.raises(UsageError, match=name):
            decide(store, run_id, "P0.1-00000000", "yes", author="Ann")
        decide(store, run_id, name, "yes", author="Ann")
        with pytest.raises(UsageError, match="waiting: none"):
            decide(store, run_id, name, "no", author="Bo", reason="too late")


async def test_a_run_that_nobody_can_answer_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    run_id = opened(tmp_path)
    with pytest.raises(UsageError, match="waits for a person"):
        await work(tmp_path, run_id, None)
    assert refusals(tmp_path, run_id) == []
    with pytest.raises(UsageError, match="--workers"):
        check_answerable(RunSettings(approve="calls"), answered=True, workers=True)
    check_answerable(RunSettings(), answered=False, workers=True)
    with pytest.raises(UsageError, match="approve is one of"):
        RunSettings(approve="cells")  # type: ignore[arg-type]


def test_decisions_that_came_with_a_package_count_for_nothing(tmp_path: Path) -> None:
    store, run_id, name = waiting_run(tmp_path)
    with closing(store):
        decide(store, run_id, name, "yes", author="Ann")
        assert load_state(store, run_id).decided
        store.append(run_id, ev.RunImported(package="sha256:" + "0" * 64))
        assert not load_state(store, run_id).decided


@pytest.mark.parametrize("thinking", [0.0, 0.6])
async def test_the_time_a_person_takes_is_not_the_sources(tmp_path: Path, thinking: float) -> None:
    def judge(text: str) -> Decision:
        time.sleep(thinking)
        return yes(text)

    class Hurried(Reader):
        async def ground(self, task: Any) -> Any:
            async def call_api(path: str, params: Any, *, step: int, retry: int = 0) -> Any:
                calls = StepCalls(call_api=task.call_api, step=step, retry=retry, seconds=0.4)
                return await calls(path, params)

            return await super().ground(dataclasses.replace(task, call_api=call_api))

    run_id, person = opened(tmp_path), Person(tmp_path, judge)
    assert (await work(tmp_path, run_id, person, Hurried())).finished
    person.check()
    assert refusals(tmp_path, run_id) == [None, None]
