"""Where leaves go: rules on words and names, a model for the rest, several pooled; the route is evidence and verifies with its parts."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.broker import Broker, open_broker
from proxies.settings import ProxySettings
from tests.agents.scripted import ScriptedAsker
from tests.fakes.grounding import ground_leaf
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.offline.embedded import visible_rows
from workbench.agents.base import AgentSettings, Grounding, GroundingFailure, LeafTask
from workbench.agents.errors import BadSetting
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.agents.grounders import router
from workbench.agents.grounders.market_grounder import MarketGrounder
from workbench.agents.grounders.router import RouterGrounder
from workbench.agents.routing import ENOUGH, ROUTED, Candidates, GrounderRecord, Leaf, route_by_rule
from workbench.formatting import points_apart
from workbench.models.errors import ModelRefused
from workbench.propositions import Belief
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.market_price import find_markets, read_price
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.science.pooling.pool import pool_logit_mean

UP = "The S&P 500 closes higher on 2018-09-28 than on 2018-06-29"
ALL = Candidates(names=ROUTED)
CUTOFF_S = int(datetime.fromisoformat("2018-06-30T04:00:00+00:00").timestamp())
DAY = 86400


@pytest.mark.parametrize(
    ("leaf", "grounders"),
    [
        (Leaf(statement="x", series="fred/DGS10"), ("statistical",)),
        (Leaf(statement="x", market="kalshi/A-B"), ("market",)),
        (Leaf(statement="x", series="fred/DGS10", market="kalshi/A-B"), ("statistical", "market")),
        (Leaf(statement="The chancellor resigns before 2025-06-30"), ("search",)),
        (Leaf(statement="Retail sales grow by 3 % in 2025"), ("notebook",)),
        # both an event and a figure, and neither: a model's to decide
        (Leaf(statement="The ECB announces a rate of 2 % by 2025-06-30"), None),
        (Leaf(statement="Everybody is happy in 2025"), None),
    ],
)
def test_rules(leaf: Leaf, grounders: tuple[str, ...] | None) -> None:
    route = route_by_rule(leaf, ALL)
    assert (route and route.grounders) == grounders
    if route is not None:
        assert route.by == "rule" and route.reason


@given(
    statement=st.text(max_size=80),
    series=st.sampled_from(["", "fred/X"]),
    market=st.sampled_from(["", "kalshi/A-B"]),
    names=st.lists(st.sampled_from(ROUTED), unique=True).map(tuple),
)
def test_only_what_is_installed_is_chosen(
    statement: str, series: str, market: str, names: tuple[str, ...]
) -> None:
    route = route_by_rule(Leaf(statement=statement, series=series, market=market), Candidates(names=names))
    if route is not None:
        assert route.grounders and {*route.grounders, *route.instead} <= set(names)
        assert not set(route.grounders) & set(route.instead)


def test_a_record_decides_only_when_each_of_a_kind_has_enough() -> None:
    leaf = Leaf(statement="The chancellor resigns before 2025-06-30")

    def chosen(search: int, belief: int) -> str:
        records = {
            "search": GrounderRecord(n=search, brier=0.3),
            "belief": GrounderRecord(n=belief, brier=0.1),
        }
        route = route_by_rule(leaf, Candidates(names=("search", "belief", "notebook"), records=records))
        assert route is not None
        assert "Brier" in route.reason
        return route.grounders[0]

    assert chosen(ENOUGH, ENOUGH) == "belief"
    assert chosen(ENOUGH, ENOUGH - 1) == "search"


# --- the grounder -------------------------------------------------------------------------------------------------------------


class Fixed:
    """A grounder for these tests: says p, or fails."""

    def __init__(self, p: float | None, name: str = "fixed") -> None:
        self.p, self.name = p, name

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        if self.p is None:
            return GroundingFailure(reason="found nothing", retryable=False)
        step = TraceStep(title=self.name, text="said so", p=self.p)
        belief = Belief(p=self.p, key_factor=self.name, report=f"{self.name} says {self.p}")
        return Grounding(belief=belief, evidence=Evidence(steps=(step,)), trace={"steps": 1})


def routed(monkeypatch: pytest.MonkeyPatch, others: dict[str, Any], **options: Any) -> RouterGrounder:
    """A router on an installation that has these grounders beside statistical and market."""
    real = router.open_grounder

    def open_one(name: str, settings: AgentSettings, own: Any = None) -> Any:
        return others[name] if name in others else real(name, settings, own)

    monkeypatch.setattr(router, "open_grounder", open_one)
    monkeypatch.setattr(router, "agent_names", lambda group: ("auto", "market", "statistical", *others))
    return RouterGrounder(AgentSettings(), dict(options))


@pytest.fixture
def kalshi() -> Iterator[Upstream]:
    def answer(seen: Seen) -> Sent:
        if "candlesticks" in seen.path:
            day = CUTOFF_S - DAY
            rows = [
                {"end_period_ts": day - DAY, "yes_bid": {"close": 50}, "yes_ask": {"close": 54}},
                {
                    "end_period_ts": day,
                    "yes_bid": {"close_dollars": "0.6000"},
                    "yes_ask": {"close_dollars": "0.6400"},
                },
            ]
            late = {"end_period_ts": CUTOFF_S + DAY, "yes_bid": {"close": 97}, "yes_ask": {"close": 99}}
            return Sent({"ticker": "INX-18SEP-UP", "candlesticks": [*rows, late]})
        if seen.path.endswith("historical/cutoff"):
            return Sent({})
        market = {"ticker": "INX-18SEP-UP", "title": "S&P up by September?", "open_time": "2018-01-01T00:00:00Z",
                  "created_time": "2018-01-01T00:00:00Z", "close_time": "2018-09-28T00:00:00Z", "result": "yes"}  # fmt: skip
        return Sent({"market": market, "markets": [market], "cursor": ""})

    with Upstream(answer) as upstream:
        yield upstream


def broker_of(upstream: Upstream) -> Broker:
    return open_broker(ProxySettings(upstreams={"kalshi": upstream.url}))


async def test_a_market_counts_as_its_price_before_the_cutoff(kalshi: Upstream, tmp_path: Path) -> None:
    leaf = await ground_leaf(
        MarketGrounder(AgentSettings(), {}),
        "The S&P rises by September (kalshi/INX-18SEP-UP)",
        "2018-06-30",
        tmp_path,
        broker=broker_of(kalshi),
    )
    # the middle of 0.60 and 0.64 of the day before; 0.98 of the day after is not seen
    assert leaf.grounding.belief.p == pytest.approx(0.62)
    assert (await leaf.verified()).verified

    def other_price(data: dict[str, Any]) -> None:
        data["basis"]["market"] = "kalshi/INX-18DEC-UP"

    assert not (await leaf.verified(other_price)).verified


async def test_both_free_grounders_are_pooled_and_their_disagreement_shows(
    kalshi: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaf = await ground_leaf(
        routed(monkeypatch, {"notebook": Fixed(0.1)}),
        UP,
        "2018-06-30",
        tmp_path,
        broker=broker_of(kalshi),
        resolves_by="kalshi/INX-18SEP-UP",
    )
    evidence = leaf.grounding.evidence
    values = [part.belief.p for part in evidence.parts]
    assert [part.grounder for part in evidence.parts] == ["statistical", "market"]
    rows = {"SP500": visible_rows("SP500", date(2018, 6, 29))}
    assert values[0] == pytest.approx(ClaimPaths().chance(read_claim(UP), rows), abs=1e-9)
    assert leaf.grounding.belief.p == pytest.approx(float(pool_logit_mean([values])[0]))
    assert f"{points_apart(*values)} apart" in leaf.grounding.belief.key_factor
    outcome = await leaf.verified()
    assert outcome.verified, outcome.differing

    def other_part(data: dict[str, Any]) -> None:
        data["parts"][1]["belief"]["p"] = 0.9

    def other_reason(data: dict[str, Any]) -> None:
        data["route"]["reason"] = "because"

    for change in (other_part, other_reason):
        assert not (await leaf.verified(change)).verified, change.__name__


async def test_where_the_chosen_one_has_no_answer_the_next_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grounder = routed(monkeypatch, {"notebook": Fixed(0.3, "notebook")})
    # read as a claim about the VIX, and two years too late for the data
    leaf = await ground_leaf(grounder, "VIX above 20 on 2030-12-31", "2018-06-30", tmp_path)
    evidence = leaf.grounding.evidence
    assert leaf.grounding.belief.p == 0.3 and list(evidence.failed) == ["statistical"]
    assert (await leaf.verified()).verified


async def test_a_model_is_asked_only_where_rules_do_not_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {"search": Fixed(0.2, "search"), "notebook": Fixed(0.4, "notebook")}
    open_question = "The ECB announces a rate of 2 % by 2018-12-31"
    ask = ScriptedAsker('```json\n{"grounders": ["search", "notebook"], "reason": "both bear on it."}\n```')
    leaf = await ground_leaf(routed(monkeypatch, others), open_question, "2018-06-30", tmp_path, ask=ask)
    evidence = leaf.grounding.evidence
    assert evidence.route is not None
    assert (evidence.route.by, evidence.route.reason) == ("model", "both bear on it")
    assert leaf.grounding.belief.p == pytest.approx(float(pool_logit_mean([[0.2, 0.4]])[0]))
    assert (await leaf.verified()).verified
    assert "statistical" not in ask.calls[0].last_user  # what cannot fit is not offered
    # one that it may not choose is sent back, and without any usable reply the leaf is grounded all the same
    for script in (
        ScriptedAsker(*['```json\n{"grounders": ["oracle"], "reason": "x"}\n```'] * 4),
        ScriptedAsker(ModelRefused("no such stage")),
    ):
        leaf = await ground_leaf(
            routed(monkeypatch, others), open_question, "2018-06-30", tmp_path, ask=script
        )
        assert leaf.grounding.belief.p in (0.2, 0.4)
        assert leaf.grounding.evidence.to_json()["route"]["by"] == "rule"


async def test_a_person_names_the_grounder_of_a_leaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grounder = routed(monkeypatch, {"notebook": Fixed(0.3)}, ground_with={"P1": "notebook"})
    leaf = await ground_leaf(grounder, UP, "2018-06-30", tmp_path)
    assert leaf.grounding.belief.p == 0.3
    assert leaf.grounding.evidence.to_json()["route"]["by"] == "person"
    other = await ground_leaf(grounder, UP, "2018-06-30", tmp_path, node="P2")
    assert other.grounding.evidence.to_json()["route"]["grounders"] == ["statistical"]
    # what a person chose is not replaced where it fails
    grounder = routed(monkeypatch, {"notebook": Fixed(None)}, ground_with={"P1": "notebook"})
    leaf = await ground_leaf(grounder, UP, "2018-06-30", tmp_path)
    assert leaf.reason == "notebook: found nothing"


async def test_a_grounder_of_another_package_is_the_one_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {"theirs": Fixed(0.3), "notebook": Fixed(0.4)}
    grounder = routed(monkeypatch, others, among=["theirs"], ground_with={"P2": "notebook"})
    open_question = "Everybody is happy in 2019"
    leaf = await ground_leaf(grounder, open_question, "2018-06-30", tmp_path)
    assert leaf.grounding.belief.p == 0.3
    other = await ground_leaf(grounder, open_question, "2018-06-30", tmp_path, node="P2")
    assert other.grounding.belief.p == 0.4
    # where only those that need a series or a market may be chosen, there is none for it
    grounder = routed(monkeypatch, others, among=["statistical", "market"])
    leaf = await ground_leaf(grounder, open_question, "2018-06-30", tmp_path)
    assert "--set ground_with" in leaf.reason


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ground_with": {"P1": "oracle"}}, "no grounder is called oracle"),
        ({"ground_with": ["P1"]}, "a mapping from driver"),
        ({"among": []}, "names no grounder"),
        ({"statistical": {"method": "best"}}, "method is one of"),
        ({"record": {"search": {"n": 3}}}, "record holds"),
        ({"width": 3}, "takes no settings"),
    ],
)
def test_bad_settings_show_before_a_leaf_is_paid_for(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSetting, match=words):
        RouterGrounder(AgentSettings(), options)


@pytest.mark.parametrize(
    ("market", "prices", "p"),
    [
        (
            {"outcomes": '["Yes", "No"]', "clobTokenIds": '["1", "2"]'},
            [(-3, 0.4), (-1, 0.55), (1, 0.99)],
            0.55,
        ),
        ({"outcomes": '["Yes", "No"]', "clobTokenIds": '["1", "2"]'}, [(-30, 0.4)], None),
        ({"outcomes": '["Ann", "Bob"]', "clobTokenIds": '["1", "2"]'}, [(-1, 0.55)], None),
    ],
)
def test_polymarkets_price_is_the_last_before_the_cutoff(
    market: dict[str, Any], prices: list[tuple[int, float]], p: float | None
) -> None:
    ref, cutoff = find_markets("polymarket/253591")[0], datetime.fromtimestamp(CUTOFF_S, tz=UTC)
    answer = {"history": [{"t": CUTOFF_S + day * DAY, "p": price} for day, price in prices]}
    question = {**market, "question": "Up?"}

    def price() -> float:
        path, params = ref.price_call(cutoff, question)
        assert (path, params["market"]) == ("polymarket/prices-history", "1")
        return read_price(ref, question, answer, cutoff).p

    if p is None:
        with pytest.raises(ClaimRefused):
            price()
    else:
        assert price() == p
