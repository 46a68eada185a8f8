"""The main job without kernels: tree, leaves, synthesis, and what moves the answer."""

import asyncio
from datetime import date
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from tests.offline.embedded import full_rows, visible_rows
from tests.offline.inprocess import RecordingAsker, Run, analyst, analyze, ground, grow
from workbench.agents.base import AgentSettings
from workbench.agents.synthesizers.model_synthesizers import LinearSynthesizer
from workbench.backtests.claim_record import PathsForecaster
from workbench.forecasts.ensemble import Ensemble
from workbench.models.base import Message, ModelRequest, NodeRef
from workbench.models.errors import ClaimRefused, ModelRefused, ModelUnavailable
from workbench.offline.report_records import read_records, write_record
from workbench.propositions import Belief, Polarity, Proposition
from workbench.questions.grammar import read_claim

DEMO = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
VIX = "VIX above 20 on 2018-12-31"
LAST = date(2018, 6, 29)
NAMES = ("SP500", "NASDAQ", "VIX", "WTI", "CORE_CPI", "AAA", "BAA")


@pytest.fixture(scope="module")
def demo() -> Run:
    return asyncio.run(analyze(DEMO, "2018-06-30"))


async def test_the_demo(demo: Run) -> None:
    tree = demo.tree
    assert 5 <= len(tree.leaves()) <= 8
    assert {node.count(".") for node in tree.leaves()} == {0, 1}
    statements = [tree[node].statement for node in tree.ids()]
    assert len(set(statements)) == len(statements)
    assert not any(statement.startswith("Reference class:") for statement in statements)
    for inner in tree.inner():
        assert set(tree[inner].polarities.values()) == {Polarity.POSITIVE}
    root = tree.root
    assert root.belief is not None
    assert read_records(root.belief.report)[-1].base_rate == pytest.approx(0.689, abs=0.001)


async def test_base_rate_and_simulation_are_known_before_any_evidence_and_are_the_reports(
    demo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, draw = [], Ensemble.paths
    monkeypatch.setattr(Ensemble, "paths", lambda *asked: drawn.append(asked[2].isoformat()) or draw(*asked))
    history = await analyst().preflight(DEMO, "2018-06-30", stages=["linear"], free_rules=[])
    root = demo.tree.root.belief
    assert root is not None and history is not None
    assert history.share == pytest.approx(read_records(root.report)[-1].base_rate, abs=1e-6)
    assert history.forecast == pytest.approx(root.p, abs=1e-6)
    assert history.periods > 2
    assert history.fan is not None and history.fan["on"] == "2018-12-31"
    assert drawn.count("2018-12-31") == 1, "the fan is of the very paths that the forecast was read from"


async def test_the_root_is_the_forecast_of_the_paths_which_the_record_scores(demo: Run) -> None:
    rows = {name: visible_rows(name, LAST) for name in NAMES}
    own = PathsForecaster().forecast(read_claim(DEMO), rows, LAST)
    root = demo.tree.root.belief
    assert root is not None
    assert root.p == pytest.approx(own.p, abs=1e-6)
    assert "difference 0" in root.report and "own share, which no driver covers" in root.report
    assert own.base_rate == pytest.approx(read_records(root.report)[-1].base_rate, abs=1e-6)


async def test_every_inner_value_can_be_recomputed_by_hand(demo: Run) -> None:
    for inner in demo.tree.inner():
        node = demo.tree[inner]
        rule = node.rule.to_json()  # type: ignore[union-attr]
        value = rule["intercept"] + sum(w * demo.tree[child].belief.p for child, w in rule["weights"].items())  # type: ignore[union-attr]
        assert node.belief is not None
        assert node.belief.p == pytest.approx(value, abs=1e-9)
        assert rule["intercept"] >= 0 and (rule["intercept"] <= 0.1 or "stands by it" in node.belief.report)
        assert all(0 <= weight <= 1 for weight in rule["weights"].values())
        assert rule["intercept"] + sum(rule["weights"].values()) <= 1 + 1e-9
        for words in ("effective", "Base rate", "From the base rate to the forecast", "not cause"):
            assert words in node.belief.report


async def test_a_constant_that_is_sent_back_stays_within_its_bound() -> None:
    """Twice above 0.1 and refused (as with the paper's preset): the nearest rule within the bound, and the difference in words."""
    root = Proposition(id="P0", statement=VIX, children=("P1",), polarities={"P1": Polarity.POSITIVE})
    record = {
        "kind": "leaf", "statement": "It rains", "p": 0.005, "base_rate": 0.5, "horizon_days": 127, "effective_windows": 9.0,
        "weeks_from": "2014-02-07", "bits": "01" * 99,
    }  # fmt: skip
    child = Proposition(
        id="P1", statement="It rains", belief=Belief(p=0.005, key_factor="", report=write_record(record))
    )
    asker = RecordingAsker(analyst())

    async def synthesized(**settings: bool) -> tuple[float, Belief]:
        rule, belief = await LinearSynthesizer(AgentSettings(**settings)).synthesize(
            root, [child], cutoff=Cutoff.parse("2018-06-30"), ask=asker
        )
        return rule.to_json()["intercept"], belief

    free, bounded = await synthesized(), await synthesized(stand_by=False)
    assert free[0] > 0.1 and "difference 0" in free[1].report and "stands by it" in free[1].report
    assert bounded[0] == pytest.approx(0.1) and bounded[1].p < free[1].p
    assert "a difference of −" in bounded[1].report


@pytest.mark.long
async def test_the_vix_claim_works_the_same_way() -> None:
    run = await analyze(VIX, "2018-11-01")
    assert len(run.tree.leaves()) >= 2
    # measured; it came out: 25.42 on the day
    assert run.tree.root.belief.p == pytest.approx(0.2, abs=0.06)  # type: ignore[union-attr]


@pytest.mark.long
async def test_a_changed_row_after_the_cutoff_changes_no_byte(demo: Run) -> None:
    shifted = {
        name: [
            dict(row, value=row["value"] * 3) if row["date"] >= "2018-06-30" else dict(row)
            for row in full_rows(name)
        ]
        for name in NAMES
    }

    def reader(name: str, last_day: date) -> list[dict[str, Any]]:
        visible = {row["date"] for row in visible_rows(name, last_day)}
        return [row for row in shifted[name] if row["date"] in visible]

    run = await analyze(DEMO, "2018-06-30", reader=reader)
    assert run.tree == demo.tree
    for node, leaf in run.leaves.items():
        assert leaf.printed == demo.leaves[node].printed
        assert leaf.sources == demo.leaves[node].sources
        assert leaf.report == demo.leaves[node].report


async def test_a_leaf_depends_on_the_last_value_of_its_series(demo: Run) -> None:
    for node in list(demo.leaves)[::3]:
        statement = demo.tree[node].statement

        def nudged(name: str, last_day: date) -> list[dict[str, Any]]:
            rows = visible_rows(name, last_day)
            rows[-1] = {**rows[-1], "value": round(rows[-1]["value"] * 1.01, 2)}
            return rows

        after = await ground(analyst(nudged), NodeRef(id=node, statement=statement), "2018-06-30", nudged)
        assert after.p != demo.leaves[node].p


async def test_few_wanted_leaves_give_a_small_tree() -> None:
    run = await grow(analyst(), DEMO, "2018-06-30", AgentSettings(max_leaves=2))
    assert 2 <= len(run.tree.leaves()) <= 4


@pytest.mark.long
@pytest.mark.parametrize(
    "statement",
    [
        "The NASDAQ falls at least 5 % from 2018-06-29 to 2018-12-31",
        "WTI above 80 on 2018-12-31",
        "The BAA-AAA spread widens by 2018-12-31",
        "core CPI rises 1 % from May 2018 to November 2018",
        "S&P 500 closes at or below 2500 at least once through 2018-12-31",
        "Realised volatility of the NASDAQ from 2018-06-29 to 2018-12-31 is above 18 %",
        "NASDAQ outperforms the S&P 500 from 2018-06-29 to 2018-12-31",
        "S&P 500 between 2700 and 3000 on 2018-12-31",
        "VIX touches 30 by 2018-12-31",
        "BAA yield above 4.8 on 2018-12-31",
        "S&P 500 never closes 10 % or more below its 2018-06-29 close through 2018-12-31",
        "WTI closes below its 200-day average on 2018-12-31",
        "VIX no higher on 2018-12-31 than on 2018-06-29",
    ],
)
async def test_claims_of_every_kind_grow_trees_whose_leaves_can_be_read(statement: str) -> None:
    run = await grow(analyst(), statement, "2018-06-30")
    tree = run.tree
    assert len(run.rounds) == max(tree.depth, 1)  # a claim without a measured driver stands alone
    statements = [tree[node].statement for node in tree.ids()]
    assert len(set(statements)) == len(statements)
    for node in tree.ids()[1:]:
        assert read_claim(tree[node].statement).statement == tree[node].statement


def _request(statement: str, cutoff: str, stage: str = "analyze", text: str = "") -> ModelRequest:
    return ModelRequest(
        messages=(Message(role="user", content=text or statement),),
        stage=stage,
        cutoff=cutoff,
        nodes=(NodeRef(id="P0", statement=statement),),
    )


@pytest.mark.parametrize(
    ("statement", "cutoff", "words"),
    [
        ("", "2018-06-30", "empty"),
        (DEMO, "2018-02-30", "2018-02-30"),
        (DEMO, "now", "already settled"),
        (DEMO, "2019-06-30", "already settled"),
        ("The BAA-AAA spread is above 1 in December 2019", "2018-06-30", "end on 2018-12-31"),
        ("It rains in Paris on 2018-12-31", "2018-06-30", "names no series"),
        (f"Reference class: {DEMO}", "2018-06-30", "not split further"),
    ],
)
async def test_what_it_cannot_do_is_one_sentence(statement: str, cutoff: str, words: str) -> None:
    with pytest.raises(ClaimRefused, match=words) as refused:
        await analyst().complete(_request(statement, cutoff))
    assert "\n" not in str(refused.value)


async def test_other_rules_are_refused_by_name() -> None:
    with pytest.raises(ClaimRefused, match="its rule one of linear, vanilla"):
        await analyst().complete(_request(DEMO, "2018-06-30", stage="logic"))


async def test_without_a_result_line_there_is_no_conclusion() -> None:
    with pytest.raises(ModelRefused, match="no result line"):
        await analyst().complete(
            _request(DEMO, "2018-06-30", stage="conclude", text='half {"record": "offline-analyst/1", "p"')
        )


async def test_unreadable_data_is_a_failure_of_the_model_not_of_the_claim() -> None:
    from proxies.errors import SourceUnavailable
    from workbench.offline.offline_model import OfflineAnalyst

    async def broken(series_id: str, cutoff: object) -> list[dict[str, Any]]:
        raise SourceUnavailable("the folder is gone")

    with pytest.raises(ModelUnavailable, match="the folder is gone"):
        await OfflineAnalyst(broken).complete(_request(DEMO, "2018-06-30"))


async def test_the_broker_gives_the_analyst_what_it_gives_a_cell() -> None:
    """Through the real broker: the same tree as over the plain reader, but for WTI's own publication calendar."""
    from workbench.models.registry import open_model

    run = await grow(open_model("offline/analyst"), DEMO, "2018-06-30")
    over_the_reader = await grow(analyst(), DEMO, "2018-06-30")
    assert [run.tree[node].statement for node in run.tree.ids()[:4]] == [
        over_the_reader.tree[node].statement for node in over_the_reader.tree.ids()[:4]
    ]
