"""``--approve``: a step waits for a person; yes, no and an edit each do what they say, also after a kill, and stand in the proof."""

import asyncio
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from proxies.errors import Refused
from proxies.ledger import Address
from sandbox import Sandbox
from sandbox.types import SessionSpec
from tests.fakes.approving_run import (
    FIRST,
    MENDED,
    SECOND,
    Decision,
    Person,
    Writer,
    open_approving_run,
    work,
)
from tests.fakes.pretend_sandbox import PretendSandbox, PretendSession
from workbench.engine.approvals import ApprovedData, check_answerable, decide, undecided_steps
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.search.engines import ENGINES
from workbench.store import ApiLedger, Store
from workbench.store import events as ev

CALLING = "rows = CALL_API('embedded/series/observations', {'series_id': 'SP500'})\nprint(len(rows))"
CAREFUL = "try:\n    print(CALL_API('embedded/series/list', {}))\nexcept Exception as error:\n    print(type(error).__name__, error)"


class KeepingSandbox(PretendSandbox):
    """One whose sessions are found again with their cells, as journals keep them."""

    async def open(self, spec: SessionSpec, caller: Any) -> PretendSession:
        earlier = next((each for each in self.sessions if each.spec.name == spec.name), None)
        session = await super().open(spec, caller)
        if earlier is not None:
            session.cells = list(earlier.cells)
        return session


def opened(home: Path, approve: str = "cells", **settings: Any) -> str:
    with closing(Store(home)) as store:
        return open_approving_run(store, approve, **settings)


def yes(text: str) -> Decision:
    return "yes", "", None


def no_to_second(text: str) -> Decision:
    return ("no", "it reads what it should not", None) if text == SECOND else ("yes", "", None)


def edit_second(text: str) -> Decision:
    return ("edit", "plainer", "print('plain')") if text == SECOND else ("yes", "", None)


def events(home: Path, run_id: str, *kinds: str) -> list[Any]:
    with closing(Store(home)) as store:
        return [stored.event for stored in store.events(run_id, kinds=kinds)]


async def test_each_cell_waits_for_a_yes_and_the_log_shows_that_it_waits(tmp_path: Path) -> None:
    run_id, person = opened(tmp_path), Person(tmp_path, yes)
    sandbox = PretendSandbox()
    state = await work(tmp_path, run_id, Writer(), person)
    assert state.finished and person.shown == [FIRST, SECOND]
    assert {phase for phase, _ in person.phases} == {"waiting"}
    assert all(f"workbench approve {run_id}" in (reason or "") for _, reason in person.phases)
    given = events(tmp_path, run_id, "approval.given")
    assert [(each.verdict, each.author) for each in given] == [("yes", "Ann")] * 2
    assert sandbox.sessions == []


async def test_nothing_runs_while_nobody_answers(tmp_path: Path) -> None:
    run_id, person, sandbox = opened(tmp_path), Person(tmp_path, lambda text: None), PretendSandbox()
    sitting = asyncio.create_task(work(tmp_path, run_id, Writer(), person, sandbox))
    while not person.shown:
        await asyncio.sleep(0.01)
    assert [session.sources for session in sandbox.sessions] == [[]]
    sitting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sitting
    assert [session.sources for session in sandbox.sessions] == [[]]
    with closing(Store(tmp_path)) as store:
        state = load_state(store, run_id)
    assert (state.phase, state.undecided) == ("stopped", {})


async def test_without_approve_nothing_is_asked(tmp_path: Path) -> None:
    run_id, person = opened(tmp_path, "none"), Person(tmp_path, yes)
    assert (await work(tmp_path, run_id, Writer(), person)).finished
    assert person.shown == []


async def test_a_rejected_cell_ends_its_attempt_and_the_next_goes_on_from_there(tmp_path: Path) -> None:
    run_id, person, model = opened(tmp_path), Person(tmp_path, no_to_second), Writer()
    state = await work(tmp_path, run_id, model, person)
    assert state.finished and state.trial("P1", 1).attempt == 2
    # Asked once each: the first cell was let through in this trial, and the rejected one is not asked about again.
    assert person.shown == [FIRST, SECOND, MENDED]
    (failed,) = events(tmp_path, run_id, "leaf.failed")
    assert failed.reason == "Ann rejected this cell before it ran: it reads what it should not"
    # Paid for once: step, step, debug, end, conclusion.
    assert [request.stage for request in model.requests] == ["step", "step", "debug", "step", "conclude"]
    assert "it reads what it should not" in model.requests[2].messages[-1].content


async def test_rejections_use_up_none_of_the_leafs_tries(tmp_path: Path) -> None:
    refused: list[str] = []

    def thrice(text: str) -> Decision:
        if text.startswith("print('second"):
            refused.append(text)
            return "no", f"reason {len(refused)}", None
        return "yes", "", None

    run_id, model = opened(tmp_path, max_proof_retries=1), Writer()
    state = await work(tmp_path, run_id, model, Person(tmp_path, thrice))
    assert state.finished and len(refused) == 1 and state.trial("P1", 1).rejected == (1,)


async def test_an_edited_cell_runs_as_edited_and_the_agent_is_told(tmp_path: Path) -> None:
    run_id, model = opened(tmp_path), Writer()
    state = await work(tmp_path, run_id, model, Person(tmp_path, edit_second))
    assert state.finished and state.trial("P1", 1).attempt == 1
    assert model.said(r"Ann changed this cell before it ran \(plainer\)")


async def test_in_a_real_kernel_what_a_person_did_stands_in_a_proof_that_verifies(tmp_path: Path) -> None:
    def judge(text: str) -> Decision:
        if text == SECOND:
            return "no", "say it otherwise", None
        return ("edit", "", "one = 2\nprint('edited', one)") if text == FIRST else ("yes", "", None)

    run_id = opened(tmp_path)
    sandbox = Sandbox()
    try:
        state = await work(tmp_path, run_id, Writer(), Person(tmp_path, judge), sandbox)
    finally:
        await sandbox.aclose()
    assert state.finished and state.trial("P1", 1).verified is True
    book = nbformat.read(tmp_path / "runs" / run_id / "proofs" / "P1.ipynb", as_version=4)
    sources = [cell.source for cell in book.cells]
    assert [source.split("\n")[0] for source in sources] == [
        "**The next cell was changed by Ann before it ran.** The agent had written:",
        "one = 2",
        "**Ann rejected this cell before it ran: say it otherwise**",
        MENDED,
    ]
    assert book.cells[-1].outputs[0].text == "instead 2\n"


@pytest.mark.parametrize("judge", [yes, no_to_second, edit_second])
@pytest.mark.parametrize("cut_at", [1, 2, 3])
async def test_a_run_that_is_cut_off_while_it_waits_asks_nobody_twice(
    tmp_path: Path, judge: Any, cut_at: int
) -> None:
    """Neither the model for a reply that it gave, nor the person for what was decided; and it ends as it would have."""
    run_id, model, sandbox = opened(tmp_path), Writer(), KeepingSandbox()
    decided: list[str] = []

    def until_cut(text: str) -> Decision | None:
        if len(decided) + 1 >= cut_at:
            return None
        decided.append(text)
        return judge(text)  # type: ignore[no-any-return]

    first = Person(tmp_path, until_cut)
    sitting = asyncio.create_task(work(tmp_path, run_id, model, first, sandbox))
    while not sitting.done() and len(first.shown) < cut_at:
        await asyncio.sleep(0.01)
    sitting.cancel()
    await asyncio.gather(sitting, return_exceptions=True)
    second = Person(tmp_path, judge)
    state = await work(tmp_path, run_id, model, second, sandbox)
    assert state.finished and state.tree.root.p == 0.7
    assert not set(decided) & set(second.shown)
    texts = ["\n".join(m.content for m in request.messages) for request in model.requests]
    assert len(texts) == len(set(texts)), "a request was paid for twice"
    ran = [(session.spec.name, source) for session in sandbox.sessions for source in session.sources]
    assert len(ran) == len(set(ran)), "a cell that was on record ran again"


async def test_a_rejected_data_call_is_a_refusal_on_record_and_the_proof_verifies(tmp_path: Path) -> None:
    def judge(text: str) -> Decision:
        return ("no", "not this list", None) if "series/list" in text else ("yes", "", None)

    run_id, model = opened(tmp_path, "calls"), Writer(CALLING, CAREFUL)
    person = Person(tmp_path, judge)
    sandbox = Sandbox()
    try:
        state = await work(tmp_path, run_id, model, person, sandbox)
    finally:
        await sandbox.aclose()
    assert state.finished and state.trial("P1", 1).verified is True
    assert person.shown[0].startswith("embedded/series/observations\n{") and '"SP500"' in person.shown[0]
    assert model.said("ApiRefused Ann refused this call: not this list")
    with closing(Store(tmp_path)) as store:
        rows = ApiLedger(store).rows(run_id)
    assert [row.answer is None for row in rows] == [False, True]
    assert "Ann refused" in (rows[1].refused or "")


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
        return SimpleNamespace(verdict="no", author="Ann", reason="no")


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
    job: Any = SimpleNamespace(settings=RunSettings(approve=approve), cutoff="2018-06-30")
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


def waiting_run(home: Path, text: str = SECOND, what: str = "cell") -> tuple[Store, str, str]:
    """A store, a run with one step that waits, and the step's name."""
    store = Store(home)
    run_id = open_approving_run(store)
    event = ev.ApprovalAsked(
        node="P0",
        trial=1,
        attempt=1,
        what=what,  # type: ignore[arg-type]
        subject=store.put_body(text),
    )
    store.append(run_id, event)
    (step,) = undecided_steps(store, load_state(store, run_id))
    return store, run_id, step.name


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        ({"verdict": "no"}, "needs a reason"),
        ({"verdict": "maybe"}, "yes, no or edit"),
        ({"verdict": "yes", "author": " "}, "needs the name"),
        ({"verdict": "edit"}, "an edit is a text"),
        ({"verdict": "edit", "edited": " \n"}, "an edit is a text"),
        ({"verdict": "yes", "edited": "x"}, "an edit is a text"),
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


def test_a_call_cannot_be_edited(tmp_path: Path) -> None:
    store, run_id, name = waiting_run(tmp_path, what="call")
    with closing(store), pytest.raises(UsageError, match="cannot be edited"):
        decide(store, run_id, name, "edit", author="Ann", edited="x")


async def test_a_run_that_nobody_can_answer_is_refused_before_a_model_is_asked(tmp_path: Path) -> None:
    run_id, model = opened(tmp_path), Writer()
    with pytest.raises(UsageError, match="nobody can answer"):
        await work(tmp_path, run_id, model, None)
    assert not model.requests
    with pytest.raises(UsageError, match="--workers"):
        check_answerable(RunSettings(approve="cells"), answered=True, workers=True)
    check_answerable(RunSettings(), answered=False, workers=True)
    with pytest.raises(UsageError, match="approve is one of"):
        RunSettings(approve="all")  # type: ignore[arg-type]


def test_decisions_that_came_with_a_package_count_for_nothing(tmp_path: Path) -> None:
    store, run_id, name = waiting_run(tmp_path)
    with closing(store):
        decide(store, run_id, name, "yes", author="Ann")
        assert load_state(store, run_id).decided
        store.append(run_id, ev.RunImported(package="sha256:" + "0" * 64))
        assert not load_state(store, run_id).decided
