"""What every grounder must do, whatever it is: one suite over all that are registered, real engine, ledgers, broker and verification.

The models are scripts, the web and the market a server on loopback behind the broker's own date filter. Each law is a test over
all names; a grounder for which a law cannot be broken (no outside text, no model) is held to just that. The notebook grounder
runs in a real kernel, except where it is killed or must not end.
"""

import itertools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import nbformat
import orjson
import pytest

from proxies.asof import policies
from proxies.asof.policies import POLICIES
from tests.agents.grounded_runs import Dying, Ran, differences, run
from tests.agents.grounder_cases import CASES, Case, registered
from tests.fakes.loop_run import (
    HOSTILE,
    KEY,
    LATE,
    LATE_PRICE,
    LEAF,
    PAGES,
    ExaOnLoopback,
    Killed,
    ScriptedModel,
    block,
    open_run,
    page,
    work,
)
from tests.fakes.persona_run import proofs_count_as_verified
from tests.fakes.pretend_sandbox import PretendSandbox, PretendSession
from workbench.agents.evidence.base import MissingEvidence, read_evidence
from workbench.agents.evidence.check import compare
from workbench.agents.evidence.reply_records import thought_faults
from workbench.agents.registry import agent_names
from workbench.engine.proof_check import proof_context
from workbench.engine.record.fold import load_state
from workbench.models.base import ModelRequest, to_json
from workbench.plug_points import GROUNDERS, package_of
from workbench.store import ApiLedger, Store

ALL = pytest.mark.parametrize("name", list(CASES))
NUMBER = {
    "low": 0.0, "high": 100.0, "open_low": False, "open_high": True, "zero_point": None, "unit": "mm", "side": "above",
    "dates": False, "level": 40.0,
}  # fmt: skip
LEVELS = {str(level): float(level) for level in (5, 10, 25, 50, 75, 90, 95)}
Wholes = Callable[[str], Awaitable[Ran]]


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Each grounder's leaf, grounded once for all laws that only look at it."""
    ran: dict[str, Ran] = {}

    async def whole(name: str) -> Ran:
        if name not in ran:
            case = CASES[name]
            ran[name] = await run(tmp_path_factory.mktemp(name), case, case.script)
        return ran[name]

    yield whole
    for each in ran.values():
        each.store.close()


def test_every_registered_grounder_is_held_to_these_laws() -> None:
    ours = [name for name in agent_names(GROUNDERS) if package_of(GROUNDERS, name) is None]
    assert set(ours) == set(CASES), "a grounder without a case in grounder_cases.py is held to no law"


@ALL
async def test_evidence_verifies(name: str, wholes: Wholes) -> None:
    ran = await wholes(name)
    expected = CASES[name].p
    assert 0 < ran.p < 1 if expected is None else ran.p == expected
    assert ran.state.verified(LEAF) and await differences(ran) == []
    nbformat.validate(nbformat.read(ran.proof, as_version=4))


@ALL
async def test_all_that_was_asked_is_on_the_ledgers(name: str, wholes: Wholes) -> None:
    ran = await wholes(name)
    run_id = ran.state.run_id
    rows = ran.store.query("SELECT count(*) AS n FROM model_calls WHERE run_id = ?", (run_id,))
    assert rows[0]["n"] == len(ran.model.requests) <= max(CASES[name].most_calls, len(CASES[name].script) * 9)
    assert bool(ran.model.requests) == bool(CASES[name].script)
    # every answer that the evidence names by its hash is one of the ledger's
    record = ran.state.trial(LEAF, 1).evidence
    assert record is not None
    stored = ran.store.body(record.body).decode() if record.body else ""
    held = [row.answer.meta["content_hash"] for row in ApiLedger(ran.store).rows(run_id, LEAF) if row.answer]
    if CASES[name].loops or name in ("statistical", "market", "auto"):
        assert held and any(content_hash in stored for content_hash in held)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if case.cells else []) for name, case in CASES.items()],
)
async def test_a_model_hears_the_same_in_a_world_that_ends_at_the_cutoff(
    name: str, wholes: Wholes, tmp_path: Path
) -> None:
    goes_on, case = await wholes(name), CASES[name]
    ends = await run(tmp_path, case, case.script, ends=True)
    try:
        assert [to_json(each) for each in ends.model.requests] == [
            to_json(each) for each in goes_on.model.requests
        ]
        assert (ends.p, ends.report) == (goes_on.p, goes_on.report)
    finally:
        ends.store.close()
    if case.reads_web:  # a control: with the broker's filter of dates off the worlds differ
        with pytest.MonkeyPatch.context() as patch:
            off = {**POLICIES, "search_date_filter": POLICIES["static"]}
            patch.setattr(policies, "POLICIES", MappingProxyType(off))
            leaking = await run(tmp_path / "off", case, case.script)
        assert LATE in leaking.model.everything
        leaking.store.close()


@ALL
async def test_a_model_that_never_ends_is_ended(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    if case.cells:
        ran = await pretended(tmp_path, case.endless)
    else:
        ran = await run(tmp_path, case, case.endless)
    assert len(ran.model.requests) <= case.most_calls
    trial = ran.state.trial(LEAF, 1)
    assert not trial.open and (trial.belief is not None or trial.failure)
    if trial.belief is not None and not case.cells:
        assert await differences(ran) == []


class Journal(PretendSandbox):
    """A pretended sandbox whose sessions outlive the process, as journals do."""

    async def open(self, spec: Any, caller: Any) -> PretendSession:
        return next((each for each in self.sessions if each.spec.name == spec.name), None) or (
            await super().open(spec, caller)
        )


async def pretended(home: Path, script: Any, *, box: Any = None, dies_at: int | None = None) -> Ran:
    """The notebook's leaf without a kernel; a sitting that dies leaves its store closed."""
    store = Store(home, durable=False)
    run_id = next(iter(store.run_ids()), None) or open_run(store)
    model = ScriptedModel(script, dies_at=dies_at)
    try:
        with proofs_count_as_verified():
            await work(store, run_id, model, CASES["notebook"].make(), sandbox=box or PretendSandbox())
    except BaseException:
        store.close()
        raise
    return Ran(store, load_state(store, run_id), model)


def is_kill(error: BaseException) -> bool:
    return isinstance(error, Killed) or (
        isinstance(error, BaseExceptionGroup) and error.subgroup(Killed) is not None
    )


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.cells])
async def test_a_killed_leaf_goes_on_and_asks_for_nothing_twice(
    name: str, tmp_path: Path, wholes: Wholes
) -> None:
    case = CASES[name]
    whole = await wholes(name)
    assert whole.web is not None
    fetched, by_model = len(whole.web.seen), bool(case.script)
    for died in itertools.count():
        home = tmp_path / f"died-{died}"
        first = ScriptedModel(case.script, dies_at=died if by_model else None)
        dying = Dying(case.make(), None if by_model else died)
        with ExaOnLoopback() as web:
            store = Store(home, durable=False)
            run_id = open_run(store)
            try:
                await work(store, run_id, first, dying, web, statement=case.statement)
            except BaseException as error:
                assert is_kill(error), error
            else:
                break
            store.close()
            store = Store(home, durable=False)
            before, recorded = len(web.seen), len(ApiLedger(store).rows(run_id))
            second = ScriptedModel(case.script)
            await work(store, run_id, second, case.make(), web, statement=case.statement)
            # What is on the ledger is not fetched again. Only parts of a research run side by side: a call of another part may
            # be on the wire at the kill, and may reach the server after it.
            on_the_wire = 2 if name == "deep_research" else 0
            new_rows = len(ApiLedger(store).rows(run_id)) - recorded
            if by_model:
                assert len(web.seen) - before <= new_rows + on_the_wire
        ran = Ran(store, load_state(store, run_id), second, web)
        assert ran.p == whole.p and await differences(ran) == []
        asked = [request.canonical_hash("x") for request in (*first.requests, *second.requests)]
        assert len(asked) == len(set(asked)) == len(whole.model.requests), f"killed at {died}"
        assert fetched <= len(web.seen) <= fetched + on_the_wire
        assert ran.state.trial(LEAF, 1).evidence == whole.state.trial(LEAF, 1).evidence
        store.close()
    store.close()
    steps = len(whole.model.requests) if by_model else len(ApiLedger(whole.store).rows(whole.state.run_id))
    assert died == steps > 0


async def test_a_killed_notebook_goes_on_and_runs_and_asks_nothing_twice(tmp_path: Path) -> None:
    case = CASES["notebook"]
    whole = await pretended(tmp_path / "whole", case.script)
    for died in range(len(whole.model.requests)):
        box = Journal()
        with pytest.raises(BaseException, match=r"Killed|unhandled") as ended:
            await pretended(tmp_path / f"{died}", case.script, box=box, dies_at=died)
        assert is_kill(ended.value)
        ran = await pretended(tmp_path / f"{died}", case.script, box=box)
        assert ran.p == whole.p and len(ran.model.requests) == len(whole.model.requests) - died
        (session,) = box.sessions
        assert len(session.sources) == len(set(session.sources)) == 1
        ran.store.close()
    whole.store.close()


@ALL
async def test_an_altered_record_is_found(name: str, tmp_path: Path, wholes: Wholes) -> None:
    """Each answer of a source, and each reply of the model that the conclusion rests on, is altered on the ledger in turn."""
    ran = (await wholes(name)).copy(tmp_path / "copy")
    run_id, store = ran.state.run_id, ran.store
    assert await differences(ran) == []
    if CASES[name].script:
        (last,) = store.query(
            "SELECT id, reply FROM model_calls WHERE run_id = ? ORDER BY id DESC LIMIT 1", (run_id,)
        )
        reply = orjson.loads(store.body(last["reply"]))
        lifted = orjson.loads(orjson.dumps(reply).replace(b"0.62", b"0.93"))
        assert lifted != reply
        with changed(store, "model_calls", "reply", last["id"], lifted):
            assert any(line.startswith(("ledger", "conclusion")) for line in await differences(ran))
        for column, junk in itertools.product(
            ("request", "reply"), (3, {}, {"messages": 1, "text": 5, "tool_calls": "none"})
        ):
            with changed(store, "model_calls", column, last["id"], junk):
                # not every kind of evidence reads requests
                assert await differences(ran) or column == "request"
    rows = store.query("SELECT id, answer FROM api_calls WHERE run_id = ? AND answer IS NOT NULL", (run_id,))
    for row in rows:
        with changed(store, "api_calls", "answer", row["id"], {"results": ["altered"]}):
            found = await differences(ran)
            assert any(line.startswith(("ledger:", "rerun:")) for line in found), found
    assert await differences(ran) == []
    store.close()


class changed:
    """The body of one row replaced by another, and put back."""

    def __init__(self, store: Store, table: str, column: str, row: int, value: Any) -> None:
        self.store, self.place, self.value = store, (table, column, row), value

    def _put(self, body: str) -> str:
        table, column, row = self.place
        was: str = self.store.query(f"SELECT {column} AS b FROM {table} WHERE id = ?", (row,))[0]["b"]
        with self.store.transaction() as db:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (body, row))
        return was

    def __enter__(self) -> None:
        self.was = self._put(self.store.put_body(orjson.dumps(self.value)))

    def __exit__(self, *_: object) -> None:
        self._put(self.was)


@ALL
async def test_a_changed_proof_notebook_is_found(name: str, tmp_path: Path, wholes: Wholes) -> None:
    ran = (await wholes(name)).copy(tmp_path / "copy")
    book = ran.proof.read_text()
    # the notebook's own p stands in no cell: there the code is altered
    old = '"VIX"' if CASES[name].cells else f"{ran.p:.4f}"
    assert old in book or old.replace('"', r"\"") in book
    ran.proof.write_text(book.replace(old.replace('"', r"\""), r"\"WTI\"").replace(f"{ran.p:.4f}", "0.9300"))
    assert any(line.startswith(("notebook", "route")) for line in await differences(ran))
    ran.store.close()


def forgeries(value: Any) -> Iterator[Any]:
    """A JSON value with one of its parts replaced by something else."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            for forged in forgeries(value[key]):
                other: Any = dict(value) if isinstance(value, dict) else list(value)
                other[key] = forged
                yield other
    yield from ("", "[]", -1, 0.5, None, [], {})


PERCENTILES = Case(
    make=registered("zero-shot", event="How much?", number=NUMBER),
    script={"percentiles": [block({"percentiles": LEVELS, "key_factor": "it waits"})]},
    endless={},
    most_calls=1,
)


@pytest.mark.parametrize("name", [*CASES, "percentiles"])
async def test_whatever_a_forged_trace_holds_is_at_most_a_finding(
    name: str, tmp_path: Path, wholes: Wholes
) -> None:
    ran = (
        await run(tmp_path, PERCENTILES, PERCENTILES.script) if name == "percentiles" else await wholes(name)
    )
    proof = proof_context(ran.store, ran.state, LEAF, 1)
    assert compare(ran.trace, proof).differing == ()
    for forged in forgeries(ran.trace.to_json()):
        try:
            evidence = read_evidence(forged)
        except MissingEvidence:
            continue
        compare(evidence, proof)  # raises nothing


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "answer" in case.script])
async def test_a_rewritten_thought_is_found_without_the_notebook(name: str, wholes: Wholes) -> None:
    """Each step of a trace of thoughts, and how they were combined, against the replies alone."""
    ran = await wholes(name)
    trace, proof = ran.trace, proof_context(ran.store, ran.state, LEAF, 1)
    assert trace.combined and list(thought_faults(trace, proof)) == []
    for place, step in enumerate(trace.steps):
        if not step.stage:
            continue
        for other in (
            replace(step, text="9 of 10: something else"),
            replace(step, stage="answer-99"),
            replace(step, p=0.5) if step.p is not None else replace(step, text=""),
        ):
            steps = (*trace.steps[:place], other, *trace.steps[place + 1 :])
            assert list(thought_faults(replace(trace, steps=steps), proof)), other
    assert list(thought_faults(replace(trace, combined="votes"), proof))
    if len([step for step in trace.steps if step.p is not None]) == 1:
        assert list(thought_faults(replace(trace, combined="agreement"), proof))
    assert list(thought_faults(trace, replace(proof, replies=lambda: proof.replies()[:-1])))


@ALL
async def test_nothing_from_after_the_cutoff_is_shown(name: str, wholes: Wholes) -> None:
    case, ran = CASES[name], await wholes(name)
    assert ran.web is not None and any(LATE in str(each) for each in PAGES), "the web holds a late page"
    asked_for = any("tomorrow" in str(request.body or request.query) for request in ran.web.seen)
    assert asked_for == case.reads_web
    everything = ran.model.everything + ran.proof.read_text() + ran.report
    assert LATE not in everything and str(LATE_PRICE) not in everything
    if case.reads_web:
        assert "no dated copy from before the cutoff" in ran.model.everything
    if name == "market":
        assert any("candlesticks" in request.path for request in ran.web.seen), "it gave a later price too"
    for row in ApiLedger(ran.store).rows(ran.state.run_id, LEAF):
        assert row.cutoff == "2018-06-30"
        if row.answer is not None:
            text = orjson.dumps(row.answer.data).decode()
            assert not any(late in text for late in (LATE, str(LATE_PRICE), '"date":"2018-07'))
    for request in ran.model.requests:
        assert request.cutoff == "2018-06-30"


def standing(model: ScriptedModel) -> list[tuple[Any, ...]]:
    """What gives a model its rights: system message and tools of each request."""

    def of(request: ModelRequest) -> tuple[Any, ...]:
        return request.stage, request.messages[0].content, repr(request.tools)

    return sorted(map(of, model.requests))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.cells])
async def test_hostile_text_has_no_rights_and_is_on_record(name: str, tmp_path: Path, wholes: Wholes) -> None:
    case, quiet = CASES[name], await wholes(name)
    pages = [page("rates", HOSTILE), *PAGES[1:]]
    ran = await run(tmp_path, case, case.script, pages, question=HOSTILE)
    # system messages and tools are the same, request by request, with and without the hostile page
    assert standing(ran.model) == standing(quiet.model) and ran.p == quiet.p
    for request in ran.model.requests:
        for turn in request.messages:
            if turn.role in ("system", "assistant"):
                assert "maintenance mode" not in turn.content
            for line in turn.content.splitlines():
                if "maintenance mode" in line or "</tool_result>" in line or "Submit a probability" in line:
                    assert line.startswith("| "), line
    everything = ran.model.everything + ran.report + ran.proof.read_text()
    assert "\u200b" not in everything and "\U000e0041" not in everything and KEY not in everything
    if case.reads_web:
        # what it is and what it did to the belief is in the report and in the proof
        finding = next(line for line in ran.report.splitlines() if "tells what to submit" in line)
        for words in ("asks for keys or secrets", "imitates a turn", "cannot be seen"):
            assert words in finding
        if name == "belief":
            assert "p went from 0.5000 to 0.5500 after it was read" in finding
    elif name == "market":
        # no model reads the question; it is one line of the report, so it makes no heading and no line of its own there
        assert sum("maintenance mode" in line for line in ran.report.splitlines()) == 1
    else:
        assert "maintenance mode" not in everything, "it reads nothing from outside"
    assert await differences(ran) == []


async def test_hostile_output_of_a_cell_has_no_rights_and_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel prints what a source holds: the model is told what it is, and the proof says it with the p that came of it."""
    from tests.fakes import pretend_sandbox

    case, box = CASES["notebook"], PretendSandbox()
    quiet = await pretended(tmp_path / "quiet", case.script)
    plain = pretend_sandbox.outcome

    def hostile(source: str, *, cell_id: str) -> Any:
        result = plain(source, cell_id=cell_id)
        result.outputs[0]["text"] = HOSTILE
        return result

    monkeypatch.setattr(pretend_sandbox, "outcome", hostile)
    ran = await pretended(tmp_path / "hostile", case.script, box=box)
    assert standing(ran.model) == standing(quiet.model) and ran.p == quiet.p
    asked = "\n".join(turn.content for turn in ran.model.requests[-1].messages)
    assert "holds text that is addressed to you" in asked and "no instruction" in asked
    (session,) = box.sessions
    note = session.cells[-1]
    assert note.kind == "markdown" and "tells what to submit" in note.source and "p = 0.62" in note.source
    ran.store.close()
    quiet.store.close()


@ALL
async def test_the_key_of_a_source_is_nowhere(name: str, wholes: Wholes) -> None:
    ran = await wholes(name)
    if CASES[name].reads_web:
        assert ran.web is not None
        assert any(KEY in str(seen.headers) for seen in ran.web.seen), "the vendor got it"
    for path in ran.store.home.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
