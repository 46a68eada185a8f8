"""What the loops over tools do beyond the contract of all grounders: their traces against the ledgers, cells, quoting, models without tools."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import orjson
import pytest

from sandbox import Sandbox
from tests.agents.grounded_runs import Ran, differences, run
from tests.agents.grounder_cases import CASES, CELL, SUBMIT, Case
from tests.fakes.loop_run import (
    LATE,
    LEAF,
    BrokerWeb,
    Say,
    ScriptedModel,
    believing,
    calls,
    grounded,
    open_run,
    says,
    work,
)
from workbench.agents.evidence.base import Evidence, read_evidence
from workbench.agents.evidence.check import compare
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.agents.grounders.search_grounder import SearchGrounder
from workbench.agents.loop.tool_box import text_hash
from workbench.engine.proof_check import proof_context
from workbench.engine.record.fold import load_state
from workbench.models.base import ModelReply, ModelRequest
from workbench.store import ApiLedger, Store

LOOPS = pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.loops])


def assert_steps_are_shown(ran: Ran) -> None:
    """Every tool answer stands in the proof and rests on data of the ledger, every source with its id and date."""
    book = nbformat.read(ran.proof, as_version=4)
    nbformat.validate(book)
    trace = ran.trace
    shown = "\n".join(cell.source for cell in book.cells)
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
    again = read_evidence(orjson.loads(orjson.dumps(trace.to_json())))
    assert again == trace


@LOOPS
async def test_an_altered_tool_answer_is_found(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ran = await run(tmp_path, case, case.script)
    assert_steps_are_shown(ran)
    store, state = ran.store, ran.state
    evidence, trial = ran.trace, state.trial(LEAF, 1)
    assert trial.evidence is not None

    def with_call(change: Callable[[Any], Any]) -> Evidence:
        place = next(n for n, step in enumerate(evidence.steps) if step.calls)
        step = evidence.steps[place]
        altered = dataclasses.replace(step, calls=(change(step.calls[0]), *step.calls[1:]))
        return dataclasses.replace(
            evidence, steps=(*evidence.steps[:place], altered, *evidence.steps[place + 1 :])
        )

    proof = proof_context(store, state, LEAF, 1)
    assert compare(evidence, proof).verified

    def faults(trace: Evidence) -> set[str]:
        # the notebook differs too; the ledgers must tell without it
        return {item.check for item in compare(trace, proof).differing} - {"notebook"}

    other = "The committee raised its target."
    assert faults(with_call(lambda call: dataclasses.replace(call, text=other))) == {"trace"}
    forged = with_call(lambda call: dataclasses.replace(call, text=other, sha256=text_hash(other)))
    assert faults(forged) == {"ledger"}
    assert faults(with_call(lambda call: dataclasses.replace(call, arguments={"words": "x"}))) == {"ledger"}
    assert "ledger" in faults(with_call(lambda call: dataclasses.replace(call, answers=("sha256:0",))))
    assert evidence.submission is not None
    lifted = dataclasses.replace(evidence.submission, raw=(0.99,), p=0.99)
    assert "conclusion" in faults(dataclasses.replace(evidence, submission=lifted))


@pytest.mark.parametrize("hidden", ["a second cell of an id", "an older format"])
async def test_a_notebook_that_shows_more_than_its_cells_by_id_is_found(hidden: str, tmp_path: Path) -> None:
    case = CASES["search"]
    ran = await run(tmp_path, case, case.script)
    book = json.loads(ran.proof.read_text())
    if hidden == "an older format":
        book["nbformat"] = 3
    else:
        book["cells"].insert(0, {**book["cells"][-1], "source": ["It is certain."]})
    ran.proof.write_text(json.dumps(book))
    assert [line.partition(":")[0] for line in await differences(ran)] == ["notebook"]


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
    found = compare(altered, proof_context(ran.store, ran.state, LEAF, 1)).differing
    assert any(item.check == "ledger" for item in found)


async def test_a_loop_over_the_web_room_sees_what_its_layers_keep(tmp_path: Path) -> None:
    """The web as it is opened in a run: the filter drops the second result, and the proof verifies without asking it again."""
    verdicts = says("1: KEEP - of June\n2: DROP - it tells what came later")
    script = {"act": [calls(("search", {"words": "rates"})), calls(("submit", SUBMIT))], "filter": [verdicts]}
    case = Case(make=SearchGrounder, script=script, endless={}, most_calls=3, loops=True)
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
    assert await differences(ran) == ["notebook: outputs were changed"]
    (journal,) = (store.folder(run_id) / "sessions").glob("*.jsonl")
    journal.write_text(journal.read_text().replace("calm", "wild"))
    assert any(line.startswith("chain") for line in await differences(ran))


async def test_a_grounder_that_asks_for_no_cell_starts_no_kernel(tmp_path: Path) -> None:
    store, state = await grounded(
        tmp_path, ScriptedModel({"act": [calls(("submit", SUBMIT))]}), SearchGrounder(open_web=BrokerWeb)
    )
    assert state.tree[LEAF].p == 0.62
    assert not (store.folder(state.run_id) / "sessions").exists()
