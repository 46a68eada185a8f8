"""Questions about a run: what is said without a model, cites that exist, and a model that may look and never touch."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.models import ScriptedModel
from tests.fakes.small_run import RUN, make_small_run
from workbench.agents.errors import MalformedReply
from workbench.conversation.cited_answer import CitedAnswer, answer_faults, checked, rule_answer
from workbench.conversation.model_answers import model_answer, parse_move
from workbench.conversation.run_look_ups import Cite, RunLookUps
from workbench.engine.access.model_gateway import run_gateway
from workbench.engine.record.fold import load_state
from workbench.errors import ProviderError, UsageError
from workbench.store import ModelLedger, Store
from workbench.views.run_view import view

#: p(P0) = 0.1 + 0.5 P1 + 0.4 P2 with P1 at 60 % and P2 at 40 %: 56 %, 26 to 76 % over P1, 40 to 80 % over P2.
EXPLAINED = (
    ("Why: 56.0%",),
    ("What matters most: P1", "between 26.0% and 76.0%", "P2", "between 40.0% and 80.0%"),
    ("What changed: ", "no earlier run"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ask")
    make_small_run(folder / "home")
    return folder


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with closing(Store(home / "home")) as opened:
        yield opened


@pytest.fixture
def look_ups(store: Store) -> RunLookUps:
    return RunLookUps(store, view(store, RUN))


def test_without_a_model_a_run_says_why_what_matters_and_what_changed(look_ups: RunLookUps) -> None:
    answer = checked(look_ups, rule_answer(look_ups))
    lines = answer.text.splitlines()
    assert len(lines) == len(EXPLAINED)
    for line, parts in zip(lines, EXPLAINED, strict=True):
        assert all(part in line for part in parts) and line.startswith(parts[0])


def test_a_question_without_a_model_is_explained_and_told_that_a_model_reads_it(home: Path) -> None:
    plain, asked = run_cli(home, "ask", RUN), run_cli(home, "ask", RUN, "please paint it blue")
    assert plain.returncode == asked.returncode == 0 and plain.stdout == asked.stdout
    assert "--model" in asked.stderr and "--model" not in plain.stderr
    document = json.loads(run_cli(home, "ask", RUN, "--json").stdout)
    assert document["proposal"] is None and document["cost_usd"] == 0
    assert {"node": "P1", "cell": "cell-002", "row": "2018-06-29"} in document["cites"]
    nothing = run_cli(home, "ask", RUN, " ", "--model", "openai/gpt-4o-mini", "--yes")
    assert nothing.returncode == 2 and "question" in nothing.stderr


@pytest.mark.parametrize(
    ("cites", "fault"),
    [
        ((), "cite what the answer rests on"),
        ((Cite(node="P9"),), "no driver 'P9'"),
        ((Cite(node="P1"),), "name a cell of P1"),
        ((Cite(node="P1", cell="cell-999"),), "no cell 'cell-999'"),
        ((Cite(node="P1", row="2018-06-30"),), "no data call of P1"),
        ((Cite(node="P0", cell="cell-002"),), "no cells and rows of its own"),
    ],
)
def test_a_cite_leads_somewhere(look_ups: RunLookUps, cites: tuple[Cite, ...], fault: str) -> None:
    answer = CitedAnswer(text="So it is.", cites=cites)
    assert fault in answer_faults(look_ups, answer)[0]
    with pytest.raises(UsageError, match="the answer is refused"):
        checked(look_ups, answer)
    assert (
        answer_faults(
            look_ups,
            CitedAnswer(
                text="So.", cites=(Cite(node="P1", cell="cell-002", row="2018-06-29"), Cite(node="P0"))
            ),
        )
        == []
    )


LOOK = '```json\n{"look_up": "evidence", "arguments": {"node": "P1"}}\n```'
UNCITED = '```json\n{"answer": "Because.", "cites": []}\n```'
CITED = json.dumps(
    {
        "answer": "P1 read two rows.",
        "cites": [{"node": "P1", "cell": "cell-002", "row": "2018-06-29"}],
        "proposal": {"set": {"P1": 0.3}},
    }
)


def asked(store: Store, *replies: str) -> tuple[CitedAnswer, ScriptedModel]:
    model = ScriptedModel(replies)
    state = load_state(store, RUN)
    look_ups = RunLookUps(store, view(store, RUN))
    answer = asyncio.run(model_answer(store, state, run_gateway(store, state, model), look_ups, "Why?"))
    return answer, model


def test_a_model_looks_and_answers_with_cites(store: Store) -> None:
    before = store.log_head(RUN), ModelLedger(store).count(RUN)
    answer, model = asked(store, LOOK, UNCITED, f"```json\n{CITED}\n```")
    assert answer.text == "P1 read two rows." and answer.proposal == {"P1": 0.3}
    shown = "\n".join(message.content for message in model.requests[1].messages)
    assert "cell-002" in shown and "2718.37" in shown, "what it looked up"
    again = "\n".join(message.content for message in model.requests[2].messages)
    assert "cite what the answer rests on" in again, "an answer without a cite goes back"
    assert ModelLedger(store).count(RUN) == before[1] + 3, "on the ledger"
    assert (
        load_state(store, RUN).tree.root.p == pytest.approx(0.56)
        and not load_state(store, RUN).scenarios.scenarios
    )


def test_an_answer_that_never_cites_is_refused(store: Store) -> None:
    with pytest.raises(ProviderError, match="no answer whose cites exist"):
        asked(store, *[UNCITED] * 12)


def test_look_ups_are_read_only_and_bounded(look_ups: RunLookUps) -> None:
    assert "refused" in look_ups.look_up("drop_table", {}) and "refused" in look_ups.look_up(
        "cell", {"node": "P1", "cell": "x"}
    )
    assert json.loads(look_ups.look_up("what_if", {"values": {"P1": 0.0}}))["after"] == pytest.approx(0.26)
    with pytest.raises(MalformedReply, match="no look-ups are left"):
        parse_move(LOOK, look_ups, must_answer=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("what_if", {"values": [1]}),
        ("what_if", {"values": "P1"}),
        ("what_if", {"values": {"P1": 10**400}}),
        ("what_if", {"values": {"P1": float("nan")}}),
        ("reach", {"p": 10**400}),
        ("rows", {"node": "P1", "last": float("inf")}),
        ("rows", {"node": "P1", "call": "x"}),
        ("evidence", {"node": 5}),
        ("evidence", {"node": ["P1"]}),
        ("cell", {"node": "P1", "cell": "x" * 1_000_000}),
        ("__class__", {}),
        ("look_up", {"name": "tree"}),
    ],
)
def test_whatever_a_model_asks_for_is_answered_and_stops_nothing(
    look_ups: RunLookUps, name: str, arguments: dict[str, object]
) -> None:
    refused = json.loads(look_ups.look_up(name, arguments))["refused"]
    assert 0 < len(refused) <= 300 and "\n" not in refused
    if name in look_ups.names:
        assert "no look-up" not in refused


@pytest.mark.parametrize("p", ["1e999", "9" * 400, "-0.1", "NaN"])
def test_a_proposal_that_is_no_probability_goes_back_to_the_model(look_ups: RunLookUps, p: str) -> None:
    with pytest.raises(MalformedReply):
        parse_move(
            f'```json\n{{"answer": "x", "cites": [{{"node": "P1"}}], "proposal": {{"P1": {p}}}}}\n```',
            look_ups,
        )


def test_a_models_answer_steers_no_terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = CitedAnswer(text="fine\x1b[2J\u202egpj\x07", cites=(Cite(node="P1", row="2018-06-29"),))
    monkeypatch.setattr("workbench.conversation.cited_answer.rule_answer", lambda *_, **__: said)
    done = run_cli(home, "ask", RUN, "why so low?")
    assert (
        done.returncode == 0 and "fine" in done.stdout and not {"\x1b", "\u202e", "\x07"} & set(done.stdout)
    )
