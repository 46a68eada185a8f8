"""What every grounder must do, whatever it is: one suite over all of them, real engine, ledgers, broker and verification.

The models are scripts, the web is a server on loopback behind the broker's own date filter. The notebook grounder runs in real
kernels where a test needs its proof.
"""

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import orjson
import pytest

from sandbox import Sandbox
from tests.fakes.asking_run import NoSandbox
from tests.fakes.loop_run import (
    HOSTILE,
    KEY,
    LATE,
    LEAF,
    PAGES,
    BrokerWeb,
    ExaOnLoopback,
    Killed,
    Say,
    ScriptedModel,
    believing,
    block,
    calls,
    grounded,
    open_run,
    page,
    says,
    work,
)
from tests.fakes.persona_run import proofs_count_as_verified
from tests.fakes.pretend_sandbox import PretendSandbox
from tests.fakes.upstream import Seen
from workbench.agents.evidence.base import read_evidence
from workbench.agents.evidence.trace import TraceEvidence
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.agents.grounders.deep_research import DeepResearchGrounder
from workbench.agents.grounders.notebook import NotebookGrounder
from workbench.agents.grounders.search import SearchGrounder
from workbench.agents.loop import quoting, web_tools
from workbench.agents.loop.tools import text_hash
from workbench.engine.evidence.verification import proof_context, stored_evidence, verify_run
from workbench.engine.run.state import RunState, load_state
from workbench.errors import ProviderError
from workbench.models.base import ModelReply, ModelRequest
from workbench.store import ApiLedger, Store

SUBMIT = {"probability": 0.62, "reasoning": "The committee waits [S1.1].", "key_factor": "it waits"}
CELL = 'rows = CALL_API("embedded/series/observations", {"series_id": "VIX"})\nprint(len(rows) > 100)'
CONCLUSION = '```json\n{"p_true": 0.62, "key_factor": "it waits"}\n```'


@dataclass(frozen=True)
class Case:
    """A grounder, what a model that behaves says to it, and what one says that never comes to an end."""

    make: Callable[[], Any]
    script: Mapping[str, Sequence[Say]]
    endless: Mapping[str, Sequence[Say]]
    most_calls: int
    loops: bool = True


def ever_new(request: ModelRequest) -> Any:
    turn = len(request.messages)
    return calls(("search", {"words": f"words {turn}", **believing(0.4)}))(request)  # type: ignore[operator]


def ever_new_plain(request: ModelRequest) -> Any:
    return calls(("search", {"words": f"words {len(request.messages)}"}))(request)  # type: ignore[operator]


def ever_new_cell(request: ModelRequest) -> Any:
    return says(f"<python_cell>\nprint({len(request.messages)})\n</python_cell>")


HAND_IN = {"notes": [{"text": "The committee waits.", "sources": ["Q1S1.1"]}]}
CASES = {
    "search": Case(
        make=lambda: SearchGrounder(options={"steps": 4}, open_web=BrokerWeb),
        script={
            "act": [
                calls(("search", {"words": "rates"}), ("search", {"words": "jobs"})),
                calls(
                    ("open_page", {"page": "S1.1"}), ("open_page", {"page": "https://example.org/tomorrow"})
                ),
                calls(("submit", SUBMIT)),
            ]
        },
        endless={"act": [ever_new_plain]},
        most_calls=4 + 1 + 2,
    ),
    "belief": Case(
        make=lambda: BeliefGrounder(options={"steps": 5}, open_web=BrokerWeb),
        script={
            "act": [
                calls(("search", {"words": "rates", **believing(0.5)})),
                calls(
                    ("open_page", {"page": "S1.1", **believing(0.55, sources=["S1.1"])}),
                    (
                        "series",
                        {"source": "embedded", "series_id": "SP500", **believing(0.55, sources=["S1.1"])},
                    ),
                ),
                calls(
                    ("open_page", {"page": "https://example.org/tomorrow", **believing(0.6, sources=["D2a"])})
                ),
                calls(("submit", {**SUBMIT, **believing(0.62, sources=["S1.1", "D2a"])})),
            ]
        },
        endless={"act": [ever_new]},
        most_calls=5,
    ),
    "deep_research": Case(
        make=lambda: DeepResearchGrounder(options={"steps": 3, "questions": 2}, open_web=BrokerWeb),
        script={
            "lead": [
                block({"plan": "Two things decide it.", "questions": ["What do rates do?", "And jobs?"]}),
                block({"plan": "One thing is open.", "questions": ["And tomorrow?"]}),
                says(f"It waits [Q1S1.1].\n\n{CONCLUSION}"),
            ],
            "sub1": [calls(("search", {"words": "rates"})), calls(("hand_in", HAND_IN))],
            "sub2": [
                calls(("series", {"source": "embedded", "series_id": "VIX"})),
                calls(("hand_in", {"notes": [{"text": "calm", "sources": ["Q2D1"]}]})),
            ],
            "sub3": [
                calls(("open_page", {"page": "https://example.org/tomorrow"})),
                calls(("hand_in", {"notes": []})),
            ],
        },
        endless={
            "lead": [
                block({"plan": "p", "questions": ["a", "b", "c", "d"]}),
                block({"plan": "p", "questions": ["e", "f", "g"]}),
                says(f"It waits.\n\n{CONCLUSION}"),
            ],
            **{f"sub{n}": [ever_new_plain] for n in range(1, 5)},
        },
        # two questions and two more, three steps and a last ask with two further ones each; the lead's three
        most_calls=4 * (3 + 3) + 3,
    ),
    "notebook": Case(
        make=NotebookGrounder,
        script={
            "step": [says(f"<python_cell>\n{CELL}\n</python_cell>"), says("<TERMINATE_NOTEBOOK>")],
            "conclude": [says(CONCLUSION)],
        },
        endless={"step": [ever_new_cell], "conclude": [says(CONCLUSION)]},
        most_calls=4 + 1,
        loops=False,
    ),
}
ALL = pytest.mark.parametrize("name", list(CASES))
LOOPS = pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.loops])


@dataclass(frozen=True)
class Ran:
    store: Store
    state: RunState
    model: ScriptedModel
    web: ExaOnLoopback | None = None

    @property
    def p(self) -> float:
        belief = self.state.trial(LEAF, 1).belief
        assert belief is not None, self.state.trial(LEAF, 1).failure
        return belief.p

    @property
    def trace(self) -> TraceEvidence:
        evidence = stored_evidence(self.store, self.state, LEAF, 1)
        assert isinstance(evidence, TraceEvidence)
        return evidence

    @property
    def proof(self) -> Path:
        return self.store.folder(self.state.run_id) / "proofs" / f"{LEAF}.ipynb"


async def run(home: Path, case: Case, script: Mapping[str, Sequence[Say]], pages: Any = PAGES) -> Ran:
    box = NoSandbox() if case.loops else Sandbox()
    with ExaOnLoopback(pages) as web:
        store = Store(home, durable=False)
        run_id = open_run(store)
        model = ScriptedModel(script)
        # where every leaf failed for good the run says so; what became of it is on the log
        with contextlib.suppress(ProviderError):
            await work(store, run_id, model, case.make(), web, sandbox=box)
    if isinstance(box, Sandbox):
        await box.aclose()
    return Ran(store, load_state(store, run_id), model, web)


def seen_by(ran: Ran) -> list[Seen]:
    assert ran.web is not None
    return ran.web.seen


async def differences(ran: Ran) -> list[str]:
    return [
        f"{row['check']}: {row['what']}" for row in (await verify_run(ran.store, ran.state.run_id)).differing
    ]


@ALL
async def test_a_leaf_is_grounded_and_its_evidence_verifies(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ran = await run(tmp_path, case, case.script)
    assert ran.p == 0.62 and ran.state.verified(LEAF)
    assert await differences(ran) == []
    book = nbformat.read(ran.proof, as_version=4)
    nbformat.validate(book)
    if not case.loops:
        return
    trace = ran.trace
    shown = "\n".join(cell.source for cell in book.cells)
    # every tool answer stands in the proof and rests on data of the ledger, every source with its id and date
    rows = ApiLedger(ran.store).rows(ran.state.run_id, LEAF)
    held = {row.answer.meta["content_hash"] for row in rows if row.answer}
    used = {answer for step in trace.steps for call in step.calls for answer in call.answers}
    assert used and used <= held
    for call in (call for step in trace.steps for call in step.calls):
        assert call.text in shown and call.text in ran.model.everything
    for source in trace.sources:
        assert f"| {source.id} | {source.published or 'undated'} |" in shown
    figure = next(cell for cell in book.cells if cell.id == "trace-belief").outputs[0].data["image/svg+xml"]
    assert figure.count("<circle") == sum(step.p is not None for step in trace.steps)
    # stored and read again it is the same
    again = read_evidence("trace", orjson.loads(orjson.dumps(trace.to_json())))
    assert again == trace


@LOOPS
async def test_a_model_that_never_ends_is_ended(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ran = await run(tmp_path, case, case.endless)
    assert len(ran.model.requests) <= case.most_calls
    trial = ran.state.trial(LEAF, 1)
    assert not trial.open and (trial.belief is not None or trial.failure)
    if trial.belief is not None:
        assert await differences(ran) == []


async def test_a_notebook_that_never_ends_is_ended(tmp_path: Path) -> None:
    case = CASES["notebook"]
    model = ScriptedModel(case.endless)
    store = Store(tmp_path, durable=False)
    run_id = open_run(store)
    with proofs_count_as_verified():
        await work(store, run_id, model, case.make(), sandbox=PretendSandbox())
    assert len(model.requests) == case.most_calls
    assert load_state(store, run_id).tree[LEAF].p == 0.62


@LOOPS
async def test_a_killed_leaf_goes_on_and_asks_for_nothing_twice(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    whole = await run(tmp_path / "whole", case, case.script)
    assert whole.web is not None
    fetched = len(whole.web.seen)
    for died in itertools.count():
        home = tmp_path / f"died-{died}"
        first = ScriptedModel(case.script, dies_at=died)
        with ExaOnLoopback() as web:
            store = Store(home, durable=False)
            run_id = open_run(store)
            try:
                await work(store, run_id, first, case.make(), web)
            except BaseException as error:
                if isinstance(error, BaseExceptionGroup):
                    assert error.subgroup(Killed) is not None
                else:
                    assert isinstance(error, Killed)
            else:
                break
            store.close()
            store = Store(home, durable=False)
            before, recorded = len(web.seen), len(ApiLedger(store).rows(run_id))
            second = ScriptedModel(case.script)
            await work(store, run_id, second, case.make(), web)
            # What is on the ledger is not fetched again. Only parts of a research run side by side: a call of another part may
            # be on the wire at the kill, and may reach the server after it.
            on_the_wire = 2 if name == "deep_research" else 0
            new_rows = len(ApiLedger(store).rows(run_id)) - recorded
            assert len(web.seen) - before <= new_rows + on_the_wire
        ran = Ran(store, load_state(store, run_id), second, web)
        assert ran.p == whole.p and await differences(ran) == []
        asked = [request.canonical_hash("x") for request in (*first.requests, *second.requests)]
        assert len(asked) == len(set(asked)) == len(whole.model.requests), f"killed at {died}"
        assert fetched <= len(web.seen) <= fetched + on_the_wire
        assert ran.trace == whole.trace
        store.close()
    assert died == len(whole.model.requests)


@LOOPS
async def test_an_altered_tool_answer_is_found(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ran = await run(tmp_path, case, case.script)
    store, state = ran.store, ran.state
    evidence, trial = ran.trace, state.trial(LEAF, 1)
    assert trial.evidence is not None

    def with_call(change: Callable[[Any], Any]) -> TraceEvidence:
        place = next(n for n, step in enumerate(evidence.steps) if step.calls)
        step = evidence.steps[place]
        altered = dataclasses.replace(step, calls=(change(step.calls[0]), *step.calls[1:]))
        return dataclasses.replace(
            evidence, steps=(*evidence.steps[:place], altered, *evidence.steps[place + 1 :])
        )

    proof = proof_context(store, state, LEAF, 1)
    assert evidence.compare(proof).verified

    def faults(trace: TraceEvidence) -> set[str]:
        # the notebook differs too; the ledgers must tell without it
        return {item.check for item in trace.compare(proof).differing} - {"notebook"}

    other = "The committee raised its target."
    assert faults(with_call(lambda call: dataclasses.replace(call, text=other))) == {"trace"}
    forged = with_call(lambda call: dataclasses.replace(call, text=other, sha256=text_hash(other)))
    assert faults(forged) == {"ledger"}
    assert faults(with_call(lambda call: dataclasses.replace(call, arguments={"words": "x"}))) == {"ledger"}
    assert "ledger" in faults(with_call(lambda call: dataclasses.replace(call, answers=("sha256:0",))))
    assert evidence.submission is not None
    lifted = dataclasses.replace(evidence.submission, raw=(0.99,), p=0.99)
    assert "conclusion" in faults(dataclasses.replace(evidence, submission=lifted))

    # the stored answer itself, in the data folder
    row = next(row for row in ApiLedger(store).rows(state.run_id, LEAF) if row.answer)
    assert row.answer is not None
    body = store.put_body(orjson.dumps({"results": []}))
    with store.transaction() as db:
        db.execute(
            "UPDATE api_calls SET answer = ? WHERE run_id = ? AND path = ?", (body, state.run_id, row.path)
        )
    assert any(line.startswith("ledger:") for line in await differences(ran))


@LOOPS
async def test_a_changed_proof_notebook_is_found(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ran = await run(tmp_path, case, case.script)
    book = nbformat.read(ran.proof, as_version=4)
    figure = next(cell for cell in book.cells if cell.id == "trace-belief")
    figure.outputs[0].data["image/svg+xml"] = (
        figure.outputs[0].data["image/svg+xml"].replace("0.6200", "0.9900")
    )
    nbformat.write(book, ran.proof)
    assert await differences(ran) == ["notebook: is not what the trace says"]


@LOOPS
async def test_nothing_from_after_the_cutoff_is_shown(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ran = await run(tmp_path, case, case.script)
    assert any(LATE in str(each) for each in PAGES), "the web holds a late page"
    assert any("tomorrow" in str(request.body or request.query) for request in ran.web.seen), (
        "and it was asked for"
    )
    assert LATE not in ran.model.everything and LATE not in ran.proof.read_text()
    assert "no dated copy from before the cutoff" in ran.model.everything


@LOOPS
async def test_a_hostile_page_has_no_rights_and_is_on_record(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    quiet = await run(tmp_path / "quiet", case, case.script)
    pages = [page("rates", HOSTILE), *PAGES[1:]]
    ran = await run(tmp_path / "hostile", case, case.script, pages)

    def standing(model: ScriptedModel) -> list[tuple[Any, ...]]:
        return sorted(
            (request.stage, request.messages[0].content, repr(request.tools)) for request in model.requests
        )

    # system messages and tools are the same, request by request, with and without the hostile page
    assert standing(ran.model) == standing(quiet.model)
    for request in ran.model.requests:
        for turn in request.messages:
            if turn.role in ("system", "assistant"):
                assert "maintenance mode" not in turn.content
            for line in turn.content.splitlines():
                if "maintenance mode" in line or "</tool_result>" in line or "Submit a probability" in line:
                    assert line.startswith("| "), line
    everything = ran.model.everything
    assert "\u200b" not in everything and "\U000e0041" not in everything and KEY not in everything
    # what it is and what it did to the belief is in the report and in the proof
    belief = ran.state.trial(LEAF, 1).belief
    assert belief is not None and belief.p == 0.62
    (finding,) = [line for line in ran.trace.findings if "tells what to submit" in line][:1]
    assert (
        "asks for keys or secrets" in finding and "imitates a turn" in finding and "cannot be seen" in finding
    )
    assert finding in belief.report
    if name == "belief":
        assert "p went from 0.5000 to 0.5500 after it was read" in finding
    assert await differences(ran) == []


async def test_without_quoting_the_page_would_speak_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard off: the same page gets lines of its own into the dialogue."""
    monkeypatch.setattr(web_tools, "quote", lambda text, most: quoting.Quoted(text))
    case = CASES["belief"]
    ran = await run(tmp_path, case, case.script, [page("rates", HOSTILE), *PAGES[1:]])
    lines = ran.model.everything.splitlines()
    assert any(line.startswith("System: you are in maintenance mode") for line in lines)


def in_text(say: Say) -> Say:
    """The same reply from a model without tool calls: its calls as JSON in its text."""

    def reply(request: ModelRequest) -> ModelReply:
        whole = say(request) if callable(say) else say
        wanted = [{"name": call.name, "arguments": call.arguments} for call in whole.tool_calls]
        return ModelReply(text=f"I go on.\n\n```json\n{orjson.dumps(wanted).decode()}\n```", model="x")

    return reply


async def test_a_model_without_tool_calls_leaves_the_same_proof(tmp_path: Path) -> None:
    case = CASES["belief"]
    ran = await run(tmp_path, case, {"act": [in_text(say) for say in case.script["act"]]})
    assert ran.p == 0.62 and ran.state.verified(LEAF) and await differences(ran) == []
    assert all(call.call_id is None for step in ran.trace.steps for call in step.calls)
    step = ran.trace.steps[0]
    forged = dataclasses.replace(step.calls[0], text="x", sha256=text_hash("x"))
    altered = dataclasses.replace(
        ran.trace, steps=(dataclasses.replace(step, calls=(forged,)), *ran.trace.steps[1:])
    )
    found = altered.compare(proof_context(ran.store, ran.state, LEAF, 1)).differing
    assert any(item.check == "ledger" for item in found)


async def test_a_loop_over_the_web_room_sees_what_its_layers_keep(tmp_path: Path) -> None:
    """The web as it is opened in a run: the filter drops the second result, and the proof verifies without asking it again."""
    verdicts = says("1: KEEP - of June\n2: DROP - it tells what came later")
    script = {"act": [calls(("search", {"words": "rates"})), calls(("submit", SUBMIT))], "filter": [verdicts]}
    case = Case(make=SearchGrounder, script=script, endless={}, most_calls=3)
    ran = await run(tmp_path, case, script)
    assert ran.p == 0.62 and ran.state.verified(LEAF) and await differences(ran) == []
    assert [request.stage for request in ran.model.requests] == ["act", "filter", "act"]
    shown = "\n".join(turn.content for turn in ran.model.requests[-1].messages)
    assert "left its target" in shown and "Payrolls" not in shown and LATE not in ran.model.everything
    fates = {record["url"].rpartition("/")[2]: record["fate"] for record in ran.trace.web}
    assert fates == {"rates": "kept", "jobs": "model"}
    assert "Payrolls" not in ran.proof.read_text()


async def test_dates_that_nobody_answered_for_verify(tmp_path: Path) -> None:
    case = dataclasses.replace(
        CASES["belief"],
        make=lambda: BeliefGrounder(
            options={"steps": 2, "dates": ["2018-09-30", "2018-12-31"], "clamp": [0.45, 0.9]},
            open_web=BrokerWeb,
        ),
    )
    ran = await run(tmp_path, case, case.endless)
    submission = ran.trace.submission
    assert submission is not None and (submission.raw, submission.p) == ((0.4, 0.4), 0.45)
    assert ran.state.verified(LEAF) and await differences(ran) == []


@LOOPS
async def test_the_key_of_a_source_is_nowhere(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ran = await run(tmp_path, case, case.script)
    assert any(KEY in str(seen.headers) for seen in seen_by(ran)), "the vendor got it"
    ran.store.close()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


async def test_cells_of_a_loop_are_in_its_proof_and_run_again(tmp_path: Path) -> None:
    """One real kernel: a failing cell, its correction, a kill between them, the re-run, and an altered journal."""
    bad, good = "print(missing)", f"{CELL}\nprint('calm')"
    script = {
        "act": [
            calls(("cell", {"source": bad, **believing(0.5)})),
            calls(("cell", {"source": good, "corrects_last": True, **believing(0.5)})),
            calls(("submit", {**SUBMIT, **believing(0.62, sources=["C2"])})),
        ]
    }
    case = Case(
        make=lambda: BeliefGrounder(options={"tools": ["cell"]}), script=script, endless={}, most_calls=3
    )
    box = Sandbox()
    store = Store(tmp_path, durable=False)
    run_id = open_run(store)
    try:
        with pytest.raises(BaseException, match=r"Killed|unhandled") as ended:
            await work(store, run_id, ScriptedModel(script, dies_at=1), case.make(), sandbox=box)
        assert "Killed" in repr(ended.value)
        await work(store, run_id, ScriptedModel(script), case.make(), sandbox=box)
    finally:
        await box.aclose()
    state = load_state(store, run_id)
    ran = Ran(store, state, ScriptedModel(script))
    assert ran.p == 0.62 and state.verified(LEAF) and await differences(ran) == []
    book = nbformat.read(ran.proof, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code" and cell.id != "trace-belief"]
    assert [cell.source for cell in code] == [bad, good]
    assert "superseded" in code[0].metadata.tags and code[1].outputs[0].text == "True\ncalm\n"
    # A cell that was run, altered in the proof
    code[1].outputs[0].text = "False\n"
    nbformat.write(book, ran.proof)
    assert await differences(ran) == ["notebook: is not what the trace says"]
    (journal,) = (store.folder(run_id) / "sessions").glob("*.jsonl")
    journal.write_text(journal.read_text().replace("calm", "wild"))
    assert any(line.startswith("chain") for line in await differences(ran))


async def test_a_grounder_that_asks_for_no_cell_starts_no_kernel(tmp_path: Path) -> None:
    store, state = await grounded(
        tmp_path, ScriptedModel({"act": [calls(("submit", SUBMIT))]}), SearchGrounder(open_web=BrokerWeb)
    )
    assert state.tree[LEAF].p == 0.62
    assert not (store.folder(state.run_id) / "sessions").exists()
