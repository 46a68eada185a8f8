"""What a client of the official library gets: tools, data under the cutoff, runs, proposals; and what it cannot get."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.later_record import put_on_record
from tests.fakes.small_run import RUN, make_small_run
from tests.fakes.upstream import Sent, Upstream
from tests.mcp.clients import answer, connected, resource
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.mcp import server as mcp_server
from workbench.mcp.client_home import VisibleRuns
from workbench.mcp.transports import visible_runs
from workbench.store import ApiLedger, Store
from workbench.synthesis.whatif.edits import SetValue
from workbench.whatif.saved_scenarios import change_scenario, save_scenario

LATER = "20190630-120000-beef"
SAME_BEGINNING = "20180630-120000-acee"
CUTOFF = "2018-07-01"
TOOLS = {
    "search",
    "open_page",
    "call_api",
    "api_docs",
    "read_claim",
    "list_runs",
    "read_tree",
    "read_proof",
    "what_if",
    "sensitivity",
    "verify",
    "propose_edit",
    "propose_run",
}
SERIES = {"path": "embedded/series/observations", "params": {"series_id": "SP500", "start": "2018-06-01"}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_small_run(tmp_path)
    return tmp_path


async def test_it_lists_its_tools_and_none_takes_a_cutoff(home: Path) -> None:
    async with connected(home, CUTOFF) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        for tool in tools:
            assert not {"cutoff", "as_of", "now"} & set(tool.input_schema["properties"])
            assert tool.input_schema["additionalProperties"] is False
        assert CUTOFF in (client.instructions or "")


@pytest.mark.parametrize(
    "more",
    [{"cutoff": "2030-01-01"}, {"as_of": "2030-01-01"}, {"params": {"series_id": "SP500", "cutoff": "now"}}],
)
async def test_a_client_cannot_widen_the_cutoff_by_an_argument(home: Path, more: dict[str, Any]) -> None:
    async with connected(home, CUTOFF) as client:
        good, text = await answer(client, "call_api", **{**SERIES, **more})
    assert not good
    assert "cutoff" in text or "as_of" in text


async def test_a_search_gives_what_was_published_before_the_cutoff_and_names_no_reason(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(name: str, day: str, text: str) -> dict[str, str]:
        return {"url": f"https://news.example/{name}", "title": name, "publishedDate": day, "text": text}

    early = page("early", "2018-06-20T12:00:00.000Z", "Rates may rise later this year.")
    july = page("after-the-fact", "2018-07-20T12:00:00.000Z", "Rates rose.")
    with Upstream(lambda seen: Sent({"results": [july, early]})) as vendor:
        for name in ("EXA", "WIKIPEDIA", "GDELT", "SEC", "BRAVE"):
            monkeypatch.setenv(f"WORKBENCH_UPSTREAM_{name}", vendor.url)
        monkeypatch.setenv("EXA_API_KEY", "a-key-of-exa")
        async with connected(home, CUTOFF) as client:
            good, text = await answer(client, "search", words="interest rates", k=5)
            blocked = await answer(client, "open_page", url="not an address")
    found = json.loads(text)
    assert good and [result["title"] for result in found["results"]] == ["early"]
    assert "after-the-fact" not in text and "a-key-of-exa" not in text
    with closing(Store(home)) as store:
        paths = {row.path for row in ApiLedger(store).rows("search")}
    assert "exa/search/search" in paths
    assert not blocked[0] and "no copy of this page" in blocked[1]


# --- runs --------------------------------------------------------------------------------------------------------


async def test_a_run_is_read_down_to_its_cells(home: Path) -> None:
    async with connected(home, CUTOFF) as client:
        tree = json.loads((await answer(client, "read_tree", run="last"))[1])
        proof = json.loads((await answer(client, "read_proof", run=RUN[:8], node="P1"))[1])
        by_uri = await resource(client, tree["nodes"][1]["proof"])
        listed = (await client.list_resources()).resources
    assert tree["root"]["p"] == pytest.approx(0.56)
    assert [cell.get("output") for cell in proof["cells"]] == [None, "2\n"]
    assert by_uri == (True, json.dumps(proof, ensure_ascii=False))
    assert [str(each.uri) for each in listed] == ["workbench://runs", f"workbench://runs/{RUN}"]


async def test_a_proof_is_read_from_the_records_and_not_from_a_file_that_was_edited(home: Path) -> None:
    notebook = home / "runs" / RUN / "proofs" / "P1.ipynb"
    journal = home / "runs" / RUN / "sessions" / "P1.1.1.jsonl"
    async with connected(home, CUTOFF) as client:
        before = await answer(client, "read_proof", run=RUN, node="P1")
        notebook.write_text(notebook.read_text().replace("CALL_API", "LATER"))
        assert await answer(client, "read_proof", run=RUN, node="P1") == before
        journal.write_text(journal.read_text().replace("CALL_API", "LATER"))
        good, text = await answer(client, "read_proof", run=RUN, node="P1")
    assert before[0] and not good and "journal" in text


async def test_verify_runs_the_cells_in_a_sealed_kernel(home: Path) -> None:
    async with connected(home, CUTOFF) as client:
        good, text = await answer(client, "verify", run=RUN)
        refused = await answer(client, "verify", run=RUN, isolation="none")
    report = json.loads(text)
    assert good and report["verified"] and report["isolation"] in ("namespaces", "landlock")
    assert not refused[0]


CALLS_ON_A_RUN: list[tuple[str, dict[str, Any]]] = [
    ("read_tree", {}),
    ("read_proof", {"node": "P1"}),
    ("what_if", {"set": {"P1": 0.1}}),
    ("sensitivity", {}),
    ("verify", {}),
    ("propose_edit", {"set": {"P1": 0.1}, "scenario": "mine"}),
]


async def test_a_later_run_is_nowhere_and_asking_for_it_is_asking_for_nothing(home: Path) -> None:
    make_small_run(home, LATER, cutoff="2018-07-02")
    async with connected(home, CUTOFF) as client:
        for tool, arguments in CALLS_ON_A_RUN:
            answers = [
                await answer(client, tool, run=run, **arguments)
                for run in (LATER, LATER[:8], "20990101-000000-0000")
            ]
            assert answers[0] == answers[1] == answers[2] and not answers[0][0]
        for rest in ("", "/proofs/P1"):
            read = [
                await resource(client, f"workbench://runs/{run}{rest}")
                for run in (LATER, LATER[:8], "20990101-000000-0000")
            ]
            assert read[0] == read[1] == read[2] and not read[0][0]
        seen = (await answer(client, "list_runs"))[1] + str(await client.list_resources())
        assert RUN in seen and LATER not in seen
        assert json.loads((await answer(client, "read_tree", run="last"))[1])["run_id"] == RUN
    with closing(Store(home)) as store:
        assert not load_state(store, LATER).scenarios.scenarios
    async with connected(home, "2018-07-02") as client:  # the legitimate neighbour: a run of the very cutoff
        assert LATER in (await answer(client, "list_runs"))[1]


async def test_a_later_run_makes_no_beginning_ambiguous(home: Path) -> None:
    make_small_run(home, SAME_BEGINNING, cutoff="2018-08-01")
    async with connected(home, CUTOFF) as client:
        assert (await answer(client, "read_tree", run=RUN[:18]))[0]
    async with connected(home, "2018-08-01") as client:
        assert not (await answer(client, "read_tree", run=RUN[:18]))[0]


async def test_a_run_without_a_cutoff_that_began_before_the_pinned_one_and_ended_after_it_is_later(
    home: Path,
) -> None:
    make_small_run(home, LATER, cutoff="now")
    with closing(Store(home)) as store, store.transaction() as db:
        end = "2090-06-30T12:00:00Z"
        db.execute("DROP TRIGGER events_keep")
        db.execute("UPDATE events SET at_utc = ? WHERE run_id = ? AND kind = 'run.finished'", (end, LATER))
    for cutoff, seen in (("2090-06-30", False), ("2090-07-01", True)):
        async with connected(home, cutoff) as client:
            assert (LATER in (await answer(client, "list_runs"))[1]) is seen


async def test_one_run_pins_its_own_cutoff_and_hides_the_others(home: Path) -> None:
    make_small_run(home, SAME_BEGINNING)
    async with connected(home, run=RUN) as client:
        assert "2018-06-30" in (client.instructions or "")
        assert SAME_BEGINNING not in (await answer(client, "list_runs"))[1]
        assert not (await answer(client, "read_tree", run=SAME_BEGINNING))[0]
    with pytest.raises(UsageError, match="later than 2018-06-01"):
        visible_runs(home, "2018-06-01", RUN)


async def transcript(home: Path) -> list[tuple[bool, str]]:
    """Everything a client can ask, twice over what it proposed itself."""
    async with connected(home, CUTOFF) as client:
        answers = [
            await answer(client, "list_runs"),
            await answer(client, "list_runs", search="fell"),
            await answer(client, "list_runs", search="wrong"),
            await answer(client, "what_if", run=RUN, set={"P2": 0.5}, scenario="mine"),
        ]
        for tool, arguments in [*CALLS_ON_A_RUN, *CALLS_ON_A_RUN]:
            answers.append(await answer(client, tool, run=RUN, **arguments))
        answers.append(await answer(client, "read_proof", run=RUN, node="P0"))
        answers.append((True, str(await client.list_resources())))
        answers.append(await resource(client, "workbench://runs"))
        answers.append(await resource(client, f"workbench://runs/{RUN}"))
        answers.append(await answer(client, "call_api", **SERIES))
    return answers


async def test_two_worlds_what_people_did_later_changes_no_byte(tmp_path: Path) -> None:
    plain, later = tmp_path / "plain", tmp_path / "later"
    for home in (plain, later):
        make_small_run(home)
    put_on_record(later)
    make_small_run(later, LATER, cutoff="2018-12-31")

    def without_clock(answers: list[tuple[bool, str]]) -> list[tuple[bool, str]]:
        (*others, (good, data)) = answers
        call = json.loads(data)
        call["meta"].pop("fetched_at", None)
        return [*others, (good, json.dumps(call))]

    assert without_clock(await transcript(plain)) == without_clock(await transcript(later))


async def test_with_the_guard_off_the_two_worlds_differ(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(home, CUTOFF) as client:
        before = [await answer(client, "what_if", run=RUN, set={"P2": 0.5}, scenario="mine")]
        put_on_record(home)
        monkeypatch.setattr(VisibleRuns, "_as_it_ended", lambda self, store, run: load_state(store, run))
        assert await answer(client, "list_runs", search="fell") != (True, '{"runs": []}')
        assert [await answer(client, "what_if", run=RUN, set={"P2": 0.5}, scenario="mine")] != before


async def test_what_people_put_on_a_run_before_it_ended_is_not_shown_either(home: Path) -> None:
    async def asked() -> list[tuple[bool, str]]:
        async with connected(home, CUTOFF) as client:
            return [
                await answer(client, "list_runs", search="fell"),
                await answer(client, "list_runs", search="wrong"),
                await answer(client, "what_if", run=RUN, set={"P2": 0.5}, scenario="mine"),
            ]

    before = await asked()
    put_on_record(home)
    with closing(Store(home)) as store:
        with store.transaction() as db:
            db.execute("DROP TRIGGER events_keep")
            db.execute(
                "UPDATE events SET seq = (SELECT max(seq) + 1 FROM events) WHERE kind = 'run.finished'"
            )
        state = load_state(store, RUN)
        assert state.annotations.notes and state.scenarios.scenarios and state.finished
    assert await asked() == before


async def test_without_a_cutoff_it_all_shows(home: Path) -> None:
    put_on_record(home)
    async with connected(home) as client:
        tree = json.loads((await answer(client, "read_tree", run=RUN))[1])
        assert tree["outcome"]["p"] == 0.0 and tree["notes"] and tree["cost_usd"] is not None
        assert tree["scenarios"]["scenarios"][0]["name"] == "mine"
        assert RUN in (await answer(client, "list_runs", search="fell"))[1]
        on_top = json.loads((await answer(client, "what_if", run=RUN, set={"P2": 0.4}, scenario="mine"))[1])
        assert on_top["after"] == pytest.approx(0.1 + 0.5 * 0.01 + 0.4 * 0.4)
        turned = {"set": {"P2": 0.4}, "polarity": {"P2": "Negative"}}
        against = json.loads((await answer(client, "what_if", run=RUN, **turned, scenario="mine"))[1])
        assert against["after"] == pytest.approx(0.1 + 0.5 * 0.01 + 0.4 * (1 - 0.4))


async def test_a_later_run_is_refused_after_the_same_work_as_an_unknown_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the database is asked is the same, question by question, so that the time tells nothing either."""
    make_small_run(home, LATER, cutoff="2018-07-02")
    asked: list[tuple[str, int]] = []
    query, body = Store.query, Store.body

    def counted(store: Store, sql: str, values: Any = ()) -> Any:
        rows = query(store, sql, values)
        asked.append((sql, len(rows)))
        return rows

    def counted_body(store: Store, digest: str) -> bytes:
        asked.append(("body", 1))
        return body(store, digest)

    monkeypatch.setattr(Store, "query", counted)
    monkeypatch.setattr(Store, "body", counted_body)

    async def work_of(client: Any, tool: str, run: str, arguments: dict[str, Any]) -> list[tuple[str, int]]:
        asked.clear()
        assert not (await answer(client, tool, run=run, **arguments))[0]
        return list(asked)

    async with connected(home, CUTOFF) as client:
        for tool, arguments in CALLS_ON_A_RUN:
            later, beginning, unknown = [
                await work_of(client, tool, run, arguments)
                for run in (LATER, LATER[:8], "20990101-000000-0000")
            ]
            assert later == beginning == unknown and later
            asked.clear()
            if tool == "read_tree":
                assert (await answer(client, tool, run=RUN))[0] and len(asked) > len(later)


# --- proposals ---------------------------------------------------------------------------------------------------


async def test_a_proposal_is_a_scenario_and_the_base_stays(home: Path) -> None:
    async with connected(home, CUTOFF) as client:
        first = await answer(
            client, "propose_edit", run=RUN, set={"P1": 0.0}, scenario="bear", rationale="a bad year"
        )
        second = await answer(client, "propose_edit", run=RUN, set={"P2": 0.0}, scenario="bear")
        tree = json.loads((await answer(client, "read_tree", run=RUN))[1])
    assert [json.loads(text)["after"] for _, text in (first, second)] == pytest.approx([0.26, 0.1])
    assert tree["root"]["p"] == pytest.approx(0.56)
    assert tree["proposed"] == [{"name": "bear", "edits": 2, "root": pytest.approx(0.1)}]
    with closing(Store(home)) as store:
        state = load_state(store, RUN)
    (scenario,) = state.scenarios.scenarios.values()
    assert scenario.author == "mcp" and scenario.rationale == "a bad year" and len(scenario.edits) == 2
    assert state.tree.root.p == pytest.approx(0.56)


@pytest.mark.parametrize("how", ["edited", "closed"])
async def test_what_a_person_does_to_a_proposal_stays_unseen_and_nothing_is_lost(
    home: Path, how: str
) -> None:
    async with connected(home, CUTOFF) as client:
        await answer(client, "propose_edit", run=RUN, set={"P1": 0.0}, scenario="bear")
        with closing(Store(home)) as store:
            (name,) = load_state(store, RUN).scenarios.scenarios
            if how == "edited":
                save_scenario(store, RUN, name, [SetValue(node="P2", p=1.0)], author="Ann")
            else:
                change_scenario(store, RUN, "close", name, author="Ann")
        good, text = await answer(client, "propose_edit", run=RUN, set={"P1": 0.2}, scenario="bear")
    assert good and json.loads(text)["after"] == pytest.approx(0.36)
    with closing(Store(home)) as store:
        scenarios = load_state(store, RUN).scenarios.scenarios
    newest = list(scenarios.values())[-1]
    assert newest.author == "mcp" and [edit.p for edit in newest.edits] == [0.0, 0.2]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"scenario": "x"}, "no change was given"),
        ({"scenario": "x", "set": {"P9": 0.5}}, "P9"),
        ({"scenario": "x", "set": {"P1": 1.5}}, "from 0 to 1"),
        ({"scenario": "base", "set": {"P1": 0.5}}, "base"),
        ({"set": {"P1": 0.5}}, "scenario"),
        ({"scenario": "x", "weight": {"P1": 7}}, "-1 to 1"),
    ],
)
async def test_a_proposal_that_does_not_fit_is_one_line_and_leaves_nothing(
    home: Path, arguments: dict[str, Any], word: str
) -> None:
    async with connected(home, CUTOFF) as client:
        good, text = await answer(client, "propose_edit", run=RUN, **arguments)
    assert not good and word in text and "\n" not in text
    with closing(Store(home)) as store:
        assert not load_state(store, RUN).scenarios.scenarios


# --- hostile text, our own bugs ----------------------------------------------------------------------------------


async def test_what_a_model_wrote_cannot_steer_a_terminal(tmp_path: Path) -> None:
    make_small_run(tmp_path, source="print('\x1b]0;owned\x07\u202e')")
    async with connected(tmp_path, CUTOFF) as client:
        good, text = await answer(client, "read_proof", run=RUN, node="P1")
    assert good and not set(text) & set("\x1b\x07\u202e")
    assert "owned" in json.loads(text)["cells"][1]["source"]


async def test_an_answer_that_is_too_long_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "LONGEST_ANSWER", 200)
    async with connected(home, CUTOFF) as client:
        good, text = await answer(client, "call_api", **SERIES)
    assert not good and "ask for less" in text


async def test_a_bug_of_ours_tells_the_client_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*arguments: Any, **more: Any) -> Any:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("workbench.operations.endpoints.Call.answer", broken)
    async with connected(home, CUTOFF) as client:
        good, text = await answer(client, "call_api", **SERIES)
    assert not good and "secret" not in text and "secret detail" in caplog.text


async def test_unknown_tools_and_resources_are_one_line(home: Path) -> None:
    async with connected(home, CUTOFF) as client:
        assert not (await answer(client, "delete_run", run=RUN))[0]
        for uri in (
            "workbench://other",
            "workbench://runs/",
            f"workbench://runs/{RUN}/sessions",
            "file:///etc",
        ):
            assert not (await resource(client, uri))[0]
