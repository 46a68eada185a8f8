"""What-ifs, scenarios, refits and sensitivities of a stored run, without a command line."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.model_policy import conclusion, report_with
from tests.fakes.models import ScriptedModel
from tests.fakes.screens import LEAVES, RUN, demo_tree, make_run
from workbench.engine.access.budget import Budget
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import with_preset
from workbench.errors import UsageError
from workbench.propositions import EditConflict, Polarity
from workbench.store import ModelLedger, Store
from workbench.synthesis.whatif.edits import (
    AddChild,
    Pin,
    RemoveNode,
    Restate,
    SetRule,
    SetValue,
    Unpin,
    play,
)
from workbench.whatif.edit_request import EditRequest, parse_override
from workbench.whatif.full_resynthesis import full_what_if, plan_full, price_line
from workbench.whatif.run_edits import what_if
from workbench.whatif.run_refits import refit_nodes, refit_run
from workbench.whatif.saved_scenarios import SavedScenarios, change_scenario, save_scenario
from workbench.whatif.tree_documents import scenario_table

NOW = "2026-03-01T12:00:00+00:00"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    make_run(tmp_path)
    opened = Store(tmp_path)
    yield opened
    opened.close()


def desk(store: Store, *replies: str) -> ModelGateway:
    return ModelGateway(ScriptedModel(replies), ModelLedger(store), Budget())


def linear(node: str, intercept: float, **weights: float) -> str:
    """A reply whose stated probability is read off the run's own leaves; keys are child ids with _ for a dot."""
    beta = {key.replace("_", "."): value for key, value in weights.items()}
    p = intercept + sum(weight * LEAVES[child][0] for child, weight in beta.items())
    return report_with({"beta": {"beta_0": intercept, **beta}, "p_true": p, "key_factor": "k"}, node)


def ruled(state: RunState, rule: str) -> RunState:
    state.settings = with_preset("product", model="openai/x", rule=rule)
    return state


def test_typed_edits_are_made_in_a_fixed_order() -> None:
    texts = EditRequest.typed(
        values=["P2.1=0.4"],
        add=["P2=It rains = often"],
        remove=["P3"],
        pin=["P1"],
        unpin=["P2"],
        restate=["P1.1=Other words"],
        same_meaning=True,
    )
    assert texts.edits(demo_tree()) == (
        Unpin(node="P2"),
        Restate(node="P1.1", statement="Other words", keep_belief=True),
        AddChild(node="P2", statement="It rains = often"),
        RemoveNode(node="P3"),
        Pin(node="P1"),
        SetValue(node="P2.1", p=0.4),
    )
    for wrong, words in (
        ({"add": ["P2"]}, "write PARENT=STATEMENT"),
        ({"restate": ["=text"]}, "write NODE=TEXT"),
        ({"values": ["P1=130%"]}, "'130%' is not a probability.*write NODE=P"),
    ):
        with pytest.raises(UsageError, match=words):
            EditRequest.typed(**wrong)


async def test_the_synthesizer_may_not_weigh_an_added_proposition_against_its_polarity(store: Store) -> None:
    state = ruled(load_state(store, RUN), "linear")
    texts = EditRequest.typed(add=["P1, Negative=Oil rises"], values=["P1.3=0.2"]).edits(demo_tree())
    assert what_if(state, texts).whatif.tree["P1"].polarities["P1.3"] is Polarity.NEGATIVE
    weights = {"P1.1": 0.5, "P1.2": 0.4}
    base = sum(weight * LEAVES[child][0] for child, weight in weights.items())

    def reply(weight: float) -> str:
        beta = {"beta_0": 0.0, **weights, "P1.3": weight}
        return report_with({"beta": beta, "p_true": base + weight * 0.2, "key_factor": "k"}, "P1")

    p1 = base - 0.1 * 0.2
    p2 = state.tree["P2"].p
    assert p2 is not None
    p0 = 0.4 * p1 + 0.2 * p2 + 0.1 * LEAVES["P3"][0]
    root = {"beta": {"beta_0": 0.0, "P1": 0.4, "P2": 0.2, "P3": 0.1}, "p_true": p0, "key_factor": "k"}
    asked = desk(store, reply(0.1), reply(-0.1), report_with(root, "P0"))
    result = await full_what_if(state, texts, asked)
    assert result.model_calls == 3  # the first reply's sign contradicts the polarity and is sent back
    assert result.whatif.after == pytest.approx(p0)


def test_an_override_needs_somebody_and_a_time_to_come() -> None:
    made = parse_override("Ann", "the survey is broken", "2026-03-02", now=NOW)
    assert made is not None and made.expires == "2026-03-02T05:00:00+00:00"  # the day begins in New York
    assert parse_override("", "", None, now=NOW) is None
    with pytest.raises(UsageError, match="--author"):
        parse_override("", "because", None, now=NOW)
    with pytest.raises(UsageError, match="lies in the past"):
        parse_override("Ann", "", "2026-03-01", now=NOW)


def test_an_override_in_a_scenario_is_taken_back_when_it_is_over(store: Store) -> None:
    override = parse_override("Ann", "", "2026-03-02", now=NOW)
    save_scenario(store, RUN, "bear", [SetValue(node="P2.1", p=0.0, override=override)])
    state = load_state(store, RUN)
    (held,) = scenario_table(state.tree, state.scenarios, now=NOW)["scenarios"]
    assert held["overrides"][0]["model_p"] == LEAVES["P2.1"][0] and held["overrides"][0]["author"] == "Ann"
    (over,) = scenario_table(state.tree, state.scenarios, now="2026-03-02T05:00:00+00:00")["scenarios"]
    assert over["root"] == state.tree.root.p and over["expired"] == ["P2.1"] and over["overrides"] == []
    edits = state.scenarios["bear"].edits
    assert what_if(state, edits, now=NOW).whatif.after == held["root"] < over["root"]
    assert what_if(state, edits, now="2026-04-01T00:00:00Z").whatif.after == over["root"]


def test_an_edit_made_on_an_older_state_is_a_conflict_and_changes_nothing(store: Store) -> None:
    seen = save_scenario(store, RUN, "bear", [SetValue(node="P2.1", p=0.2)])
    save_scenario(store, RUN, "bear", [SetValue(node="P3", p=0.2)], base_seq=seen)
    with pytest.raises(EditConflict, match="look again"):
        save_scenario(store, RUN, "bear", [SetValue(node="P3", p=0.9)], base_seq=seen)
    with pytest.raises(EditConflict):
        change_scenario(store, RUN, "undo", "bear", base_seq=seen)
    assert [
        edit.p for edit in load_state(store, RUN).scenarios["bear"].edits if isinstance(edit, SetValue)
    ] == [
        0.2,
        0.2,
    ]


@pytest.mark.parametrize(
    ("name", "edits", "more", "line"),
    [
        ("base", [SetValue(node="P3", p=0.1)], {}, "may be called base"),
        (" ", [SetValue(node="P3", p=0.1)], {}, "needs a name"),
        ("x", [SetValue(node="P9", p=0.1)], {}, "no driver"),
        ("x", [SetValue(node="P3", p=0.1), Pin(node="P9")], {}, "no driver"),
        ("x", [SetValue(node="P3", p=0.1)], {"probability": 0.7}, "at most 0.4"),
        ("x", [SetValue(node="P3", p=0.1)], {"base_seq": 3}, "no scenario 'x'"),
    ],
)
def test_what_does_not_fit_leaves_no_half_scenario(
    store: Store, name: str, edits: list[SetValue], more: dict[str, float], line: str
) -> None:
    save_scenario(store, RUN, "bear", [SetValue(node="P3", p=0.2)], probability=0.6)
    with pytest.raises(UsageError, match=line):
        save_scenario(store, RUN, name, edits, **more)  # type: ignore[arg-type]
    assert set(load_state(store, RUN).scenarios.scenarios) == {"bear"}


@pytest.mark.parametrize("known", [False, True])
def test_a_last_edit_that_cannot_be_kept_leaves_the_run_untouched(store: Store, known: bool) -> None:
    """The failure is below us, in the database, when the first records of the call are written already."""
    if known:
        save_scenario(store, RUN, "bear", [SetValue(node="P2.1", p=0.9)])
    with sqlite3.connect(store.home / "workbench.db") as disk:
        disk.executescript(
            "CREATE TRIGGER full BEFORE INSERT ON events"
            " WHEN json_extract(NEW.data, '$.record.edit.node') = 'P1' BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    disk.close()
    before, edits = store.events(RUN), [SetValue(node="P2.1", p=0.2), SetValue(node="P3", p=0.2)]
    with pytest.raises(sqlite3.IntegrityError, match="no room"):
        save_scenario(store, RUN, "bear", [*edits, Pin(node="P1")], probability=0.5)
    assert store.events(RUN) == before
    save_scenario(store, RUN, "bear", edits, probability=0.5)  # what is not refused gets in
    assert load_state(store, RUN).scenarios["bear"].edits[-2:] == tuple(edits)


def test_a_screen_saves_scenarios_under_new_names_only(store: Store, tmp_path: Path) -> None:
    saved = SavedScenarios(tmp_path, RUN)
    table = saved.save(" calm ", [SetValue(node="P2.1", p=0.9)], author="Ann")
    again = saved.table()
    assert [row["name"] for row in again["scenarios"]] == ["calm"]
    assert table == again
    with pytest.raises(UsageError, match="already exists"):
        saved.save("calm", [SetValue(node="P2.1", p=0.1)], author="Ann")
    with pytest.raises(UsageError, match="no edit to save"):
        saved.save("other", [], author="Ann")


async def test_a_full_what_if_brings_rules_that_replay_to_the_same_root(store: Store) -> None:
    state = ruled(load_state(store, RUN), "linear")
    edits = (SetValue(node="P1.1", p=0.0),)
    assert plan_full(state, edits)[0] == ("P1", "P0")
    line = price_line(state, ("P1", "P0"))
    assert "P1, P0: 2 calls" in line and "price unknown" in line
    p1 = 0.05 + 0.5 * LEAVES["P1.2"][0]
    p2 = state.tree["P2"].p
    assert p2 is not None
    p0 = 0.4 * p1 + 0.2 * p2 + 0.1 * LEAVES["P3"][0]
    data = {"beta": {"beta_0": 0.0, "P1": 0.4, "P2": 0.2, "P3": 0.1}, "p_true": p0, "key_factor": "k"}
    one = {"beta": {"beta_0": 0.05, "P1.1": 0.3, "P1.2": 0.5}, "p_true": p1, "key_factor": "k"}
    asked = desk(store, report_with(one, "P1"), report_with(data, "P0"))
    result = await full_what_if(state, edits, asked)
    assert result.model_calls == 2 and result.whatif.after == pytest.approx(p0)
    assert [change.id for change in result.whatif.changed] == ["P0", "P1", "P1.1"]
    again = play(state.tree, [*edits, *result.answer_edits]).tree
    for node in again.ids():  # values and words, to the last digit
        assert again[node].belief == result.whatif.tree[node].belief, node
    save_scenario(store, RUN, "full", [*edits, *result.answer_edits])
    after = load_state(store, RUN)
    (row,) = scenario_table(after.tree, after.scenarios)["scenarios"]
    assert row["root"] == pytest.approx(p0, abs=1e-12)
    # what stands before the rules is not asked for again, what comes after is
    kept = after.scenarios["full"].edits
    assert plan_full(after, kept)[0] == ()
    assert plan_full(after, [*kept, SetValue(node="P3", p=0.1)])[0] == ("P0",)


async def test_a_full_what_if_of_a_vanilla_node_keeps_the_value_that_was_stated(store: Store) -> None:
    base = ruled(load_state(store, RUN), "vanilla")
    asked = desk(store, conclusion(0.31, "P2"), conclusion(0.42, "P0"))
    edits = (SetValue(node="P2.1", p=0.0),)
    result = await full_what_if(base, edits, asked)
    rules = [edit for edit in result.answer_edits if isinstance(edit, SetRule)]
    assert [rule.p for rule in rules] == [0.31, 0.42] and result.whatif.after == 0.42
    save_scenario(store, RUN, "stated", [*edits, *result.answer_edits])
    state = load_state(store, RUN)
    assert what_if(state, state.scenarios["stated"].edits).whatif.after == 0.42
    later = [*state.scenarios["stated"].edits, SetValue(node="P2.2", p=0.0)]
    stale = what_if(state, later).whatif
    assert stale.after is None and stale.stale == ("P0", "P2")


async def test_a_restated_leaf_needs_a_value_before_anything_is_asked(store: Store) -> None:
    edits = EditRequest.typed(restate=["P2.1=Quite another matter"]).edits(demo_tree())
    with pytest.raises(UsageError, match=r"P2\.1 has no value.*--set P2\.1=P"):
        await full_what_if(ruled(load_state(store, RUN), "linear"), edits, desk(store))


async def test_refits_show_spread_and_flips_and_are_asked_afresh_each_time(store: Store) -> None:
    state = ruled(load_state(store, RUN), "linear")
    tree = state.tree
    state.tree = tree.with_propositions(
        [replace(tree["P1"], polarities={})]
    )  # without them a sign may change
    replies = [linear("P1", 0.05, P1_1=0.6, P1_2=w) for w in (0.2, -0.1, 0.3)]
    asked = desk(store, *replies, *(f"no JSON, {n}" for n in range(4)))
    (found,) = await refit_run(store, state, refit_nodes(state, ("P1",)), 4, asked)
    assert found.failed == 1 and len(found.values) == 3 and asked.calls == 7
    assert found.spread is not None
    spread = found.spread.coefficients["P1.2"]
    assert (
        spread.mean == pytest.approx(0.4 / 3) and spread.flips and not found.spread.coefficients["P1.1"].flips
    )
    assert any("changes sign" in line for line in found.spread.warnings)
    again = desk(store, *replies)
    (other,) = await refit_run(store, state, ("P1",), 3, again)
    assert again.calls == 3 and other.values == found.values  # nothing came from the ledger
    assert load_state(store, RUN).tree == tree


async def test_the_average_is_recombined_without_a_model(store: Store) -> None:
    state = ruled(load_state(store, RUN), "average")
    assert "asks no model" in price_line(state, ("P2", "P0"))
    result = await full_what_if(state, (SetValue(node="P2.1", p=0.0),), desk(store))
    assert result.model_calls == 0
    assert result.whatif.tree["P2"].p == pytest.approx((LEAVES["P2.2"][0] + LEAVES["P2.3"][0]) / 3)
    assert {each.rule["name"] for each in result.answer_edits if isinstance(each, SetRule)} == {"average"}
