"""A synthesizer that may search: what it finds is on the ledgers, in the audit, in a notebook and in a package, and held to the cutoff."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
import orjson
import pytest

from tests.fakes.approving_run import Person
from tests.fakes.loop_run import (
    HOSTILE,
    KEY,
    LATE,
    PAGES,
    BrokerWeb,
    ExaOnLoopback,
    Killed,
    Say,
    ScriptedModel,
    calls,
    open_run,
    page,
    says,
    work,
)
from workbench.agents.evidence.look_up import LookUp
from workbench.agents.grounders.search_grounder import SearchGrounder
from workbench.agents.registry import open_synthesizer
from workbench.audit.run_audit import audit_run
from workbench.engine.access.budget import Budget
from workbench.engine.access.look_up_records import look_up_faults, node_look_up, stored_look_ups
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.new_run import Agents
from workbench.engine.proof_check import verify_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.synthesis.whatif.edits import Restate, SetValue
from workbench.views.run_view import view_of
from workbench.whatif.full_resynthesis import full_what_if

NOTES = {"notes": [{"text": "Committees that waited in June mostly went on waiting.", "sources": ["S1.1"]}]}
RULE = '```json\n{"beta": {"beta_0": 0.05, "P1": 0.9}, "p_true": 0.61, "key_factor": "it waits"}\n```\nIt follows its one child.'
SUBMIT = {"probability": 0.62, "reasoning": "It waits.", "key_factor": "it waits"}
KEEP = says("1: KEEP - of June\n2: KEEP - of June")
SCRIPT: Mapping[str, Sequence[Say]] = {
    "act": [calls(("submit", SUBMIT))],
    "lookup": [calls(("search", {"words": "committee waits"})), calls(("hand_in", NOTES))],
    "filter": [KEEP],
    "linear": [says(RULE)],
}
TOOLS = {"tools": ["search", "open_page"]}


@dataclass(frozen=True)
class Ran:
    store: Store
    state: RunState
    model: ScriptedModel
    web: ExaOnLoopback

    @property
    def found(self) -> LookUp:
        stored = node_look_up(self.store, self.state, "P0")
        assert stored is not None
        return stored.look_up

    @property
    def notebook(self) -> Path:
        return self.store.folder(self.state.run_id) / "proofs" / "P0.ipynb"


async def sitting(
    store: Store, run_id: str, model: ScriptedModel, web: ExaOnLoopback, options: Any, person: Any = None
) -> None:
    await work(
        store,
        run_id,
        model,
        SearchGrounder(open_web=BrokerWeb),
        web,
        synthesizer=open_synthesizer("linear", None, options),
        person=person,
    )


async def run(
    home: Path, script: Mapping[str, Sequence[Say]] = SCRIPT, pages: Any = PAGES, options: Any = TOOLS
) -> Ran:
    store = Store(home, durable=False)
    run_id = open_run(store)
    model = ScriptedModel(script)
    with ExaOnLoopback(pages) as web:
        await sitting(store, run_id, model, web, options)
    return Ran(store, load_state(store, run_id), model, web)


def searches(web: ExaOnLoopback) -> int:
    return sum((seen.method, seen.path) == ("POST", "/search") for seen in web.seen)


async def differences(ran: Ran) -> list[str]:
    rows = (await verify_run(ran.store, ran.state.run_id)).differing
    return [f"{row['node']} {row['check']}: {row['what']}" for row in rows]


async def test_what_it_finds_is_evidence_of_the_inner_node(tmp_path: Path) -> None:
    ran = await run(tmp_path)
    root = ran.state.tree.root
    assert root.belief is not None and root.belief.p == pytest.approx(0.05 + 0.9 * 0.62)
    # the request that weighs shows the notes with id and date; its rule is asked for as without them
    (weighs,) = [request for request in ran.model.requests if request.stage == "linear"]
    line = "- Committees that waited in June mostly went on waiting. [S1.1 2018-06-01"
    assert line in weighs.messages[-1].content and weighs.tools == ()
    assert [request.role for request in ran.model.requests if request.stage == "filter"] == ["filter"]
    # on the ledger at the node itself, in the audit, in report and notebook
    rows = ApiLedger(ran.store).rows(ran.state.run_id, "P0")
    assert rows and {row.address.trial for row in rows} == {0}
    held = {row.answer.meta["content_hash"] for row in rows if row.answer}
    assert {answer for step in ran.found.trace.steps for answer in step.answers} <= held
    audit = audit_run(ran.store, ran.state.run_id)
    (check,) = [check for check in audit["checks"] if check["name"] == "looked up while combining"]
    assert check["verdict"] == "ok" and check["found"] == "P0: 1 tool call, 1 note from 2 sources"
    assert audit["passed"] and {row["node"] for row in audit["web"]} == {"P0"}
    assert "S1.1: https://example.org/rates" in root.belief.report
    assert view_of(ran.store, ran.state).notebook("P0") == ran.notebook
    book = nbformat.read(ran.notebook, as_version=4)
    nbformat.validate(book)
    shown = "\n".join(cell.source for cell in book.cells)
    assert "left its target where it was" in shown and "## Notes" in shown
    assert await differences(ran) == []
    again = LookUp.from_json(orjson.loads(orjson.dumps(ran.found.to_json())))
    assert again == ran.found


async def test_it_is_off_unless_tools_are_named(tmp_path: Path) -> None:
    ran = await run(tmp_path, options={})
    assert {request.stage for request in ran.model.requests} == {"act", "linear"}
    assert ran.web.seen == [] and not ran.notebook.exists()
    assert node_look_up(ran.store, ran.state, "P0") is None
    assert Agents(RunSettings()).synthesizer.stages == ("linear",)
    with_tools = Agents(RunSettings(options={"synthesizer": {"tools": ["search"]}})).synthesizer
    assert with_tools.stages == ("lookup", "linear")


@pytest.mark.parametrize("rule", ["linear", "logic", "noisy-or", "vanilla"])
@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"tools": ["cell"]}, "tools are search and open_page, not cell"),
        ({"tools": ["open_page"]}, "add search to its tools"),
        ({"tools": ["search"], "steps": 0}, "steps"),
        ({"colour": 1}, "settings are .*tools, not colour"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(
    rule: str, options: dict[str, Any], line: str
) -> None:
    with pytest.raises(UsageError, match=line) as refused:
        open_synthesizer(rule, None, options)
    assert "\n" not in str(refused.value)


async def test_killed_anywhere_it_goes_on_and_asks_for_nothing_twice(tmp_path: Path) -> None:
    whole = await run(tmp_path / "whole")
    for died in itertools.count():
        store = Store(tmp_path / f"died-{died}", durable=False)
        run_id = open_run(store)
        first, second = ScriptedModel(SCRIPT, dies_at=died), ScriptedModel(SCRIPT)
        with ExaOnLoopback() as web:
            try:
                await sitting(store, run_id, first, web, TOOLS)
            except BaseException as error:
                assert isinstance(error, Killed) or error.subgroup(Killed) is not None  # type: ignore[attr-defined]
            else:
                break
            await sitting(store, run_id, second, web, TOOLS)
            ran = Ran(store, load_state(store, run_id), second, web)
            asked = [request.canonical_hash("x") for request in (*first.requests, *second.requests)]
            assert len(asked) == len(set(asked)) == len(whole.model.requests), f"killed at {died}"
            # the other engines answer with errors here, which are on nobody's record
            assert searches(web) == searches(whole.web) == 1
        assert ran.found == whole.found and ran.state.tree.root.p == whole.state.tree.root.p
        assert await differences(ran) == []
        store.close()
    assert died == len(whole.model.requests)


async def test_the_cutoff_holds_and_all_four_layers_stand_before_it(tmp_path: Path) -> None:
    market = page("m", "A market's page.") | {"url": "https://www.metaculus.com/questions/1/"}
    script = {**SCRIPT, "filter": [says("1: KEEP - of June\n2: DROP - it tells what came later")]}
    ran = await run(tmp_path, script, [*PAGES, market])
    assert LATE not in ran.model.everything and LATE not in ran.notebook.read_text()
    assert any(LATE in str(each) for each in PAGES) and searches(ran.web) == 1
    fates = {record["url"].rpartition("/")[2]: record["fate"] for record in ran.found.trace.web}
    assert fates["rates"] == "kept" and fates["jobs"] == "model" and "tomorrow" not in fates
    assert "Payrolls" not in "\n".join(
        turn.content
        for request in ran.model.requests
        if request.stage in ("lookup", "linear")
        for turn in request.messages
    )
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


async def test_a_hostile_page_reaches_the_weighing_only_as_a_note(tmp_path: Path) -> None:
    ran = await run(tmp_path, pages=[page("rates", HOSTILE), *PAGES[1:]])
    (weighs,) = [request for request in ran.model.requests if request.stage == "linear"]
    assert "maintenance mode" not in "\n".join(turn.content for turn in weighs.messages)
    for request in ran.model.requests:
        assert "maintenance mode" not in request.messages[0].content
    (finding,) = ran.found.trace.findings
    assert "tells what to submit" in finding
    assert ran.state.tree.root.belief is not None and finding in ran.state.tree.root.belief.report
    assert await differences(ran) == []


async def test_notes_and_answers_that_were_altered_are_found(tmp_path: Path) -> None:
    ran = await run(tmp_path)
    stored = node_look_up(ran.store, ran.state, "P0")
    assert stored is not None and stored.look_up.faults(stored.proof) == []
    other = dataclasses.replace(stored.look_up.notes[0], text="Committees raise in autumn.")
    forged = dataclasses.replace(stored.look_up, notes=(other,))
    whats = {fault.what for fault in forged.faults(stored.proof)}
    assert "the recorded notes are others" in whats
    assert "no request that weighs the children shows these notes" in whats
    step = stored.look_up.trace.steps[0]
    call = dataclasses.replace(step.calls[0], text="nothing")
    trace = dataclasses.replace(
        stored.look_up.trace,
        steps=(dataclasses.replace(step, calls=(call,)), *stored.look_up.trace.steps[1:]),
    )
    assert dataclasses.replace(stored.look_up, trace=trace).faults(stored.proof)
    book = nbformat.read(ran.notebook, as_version=4)
    book.cells[-1].source += "\n- Another note."
    nbformat.write(book, ran.notebook)
    assert await differences(ran) == ["P0 look-up: notebook: source was changed"]
    assert look_up_faults(ran.store, ran.state)
    (check,) = [
        check
        for check in audit_run(ran.store, ran.state.run_id)["checks"]
        if check["name"] == "looked up while combining"
    ]
    assert check["verdict"] == "bad"


async def test_without_usable_notes_the_children_are_weighed_all_the_same(tmp_path: Path) -> None:
    script = {**SCRIPT, "lookup": [says("I would rather talk.")]}
    ran = await run(tmp_path, script)
    assert ran.state.finished and ran.found.notes == () and ran.found.fault
    assert ran.state.tree.root.belief is not None
    assert "nothing was noted" in ran.state.tree.root.belief.report
    assert await differences(ran) == []


async def test_a_full_what_if_weighs_again_with_the_same_notes_and_looks_nothing_up(tmp_path: Path) -> None:
    ran = await run(tmp_path)
    linear = replace(ran.state.settings, rule="linear", options={"synthesizer": TOOLS})
    ran.state.settings = linear
    stored = stored_look_ups(ran.store, ran.state)
    assert list(stored) == ["P0"]
    rule = RULE.replace("0.61", "0.23")  # 0.05 + 0.9 * 0.2

    async def again(*edits: Any) -> str:
        model = ScriptedModel({"linear": [says(rule)]})
        gateway = ModelGateway(model, ModelLedger(ran.store), Budget())
        await full_what_if(ran.state, edits, gateway, looked_up=stored)
        assert [request.stage for request in model.requests] == ["linear"]
        return model.everything

    before = len(ApiLedger(ran.store).rows(ran.state.run_id))
    line = "- Committees that waited in June mostly went on waiting. [S1.1 2018-06-01"
    assert line in await again(SetValue(node="P1", p=0.2))
    # notes on other words are no material of this proposition
    assert line not in await again(Restate(node="P0", statement="Another claim"), SetValue(node="P1", p=0.2))
    assert len(ApiLedger(ran.store).rows(ran.state.run_id)) == before
    ran.store.close()


@pytest.mark.parametrize(("approve", "answer"), [("calls", "no"), ("pages", "no"), ("pages", "yes")])
async def test_what_it_looks_up_waits_for_a_person(tmp_path: Path, approve: str, answer: str) -> None:
    # durable, as whoever answers opens it: one journal mode cannot be changed into another while somebody writes
    store = Store(tmp_path)
    run_id = open_run(store, approve=approve)
    person = Person(tmp_path, lambda text: (answer, "not from here" if answer == "no" else ""))
    model = ScriptedModel(SCRIPT)
    with ExaOnLoopback() as web:
        await sitting(store, run_id, model, web, TOOLS, person)
    rows = ApiLedger(store).rows(run_id, "P0")
    asked = [stored.event for stored in store.events(run_id, kinds=("approval.asked",))]
    person.check()
    # a source that did not answer was asked about too, and has no row
    assert rows and len(person.shown) == len(asked) >= len(rows)
    assert {event.node for event in asked} == {"P0"} and any(
        "committee waits" in text for text in person.shown
    )
    state = load_state(store, run_id)
    assert state.tree.root.p == pytest.approx(0.05 + 0.9 * 0.62)
    if answer == "no":
        assert searches(web) == 0 and all("Ann refused" in (row.refused or "") for row in rows)
    else:
        assert searches(web) >= 1 and any(row.answer is not None for row in rows)
    assert (await verify_run(store, run_id)).differing == []
    store.close()
