"""For every endpoint of the catalogue: nothing known after the cutoff gets out, what was known does.

Each row an emulated vendor sends bears a label the emulator set by its own account of when the fact was out
(tests/fakes/upstream_world.py). Some generated worlds per endpoint here, 500 with ``--soak``.
"""

import random
from collections.abc import Iterator
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.asof import policies
from proxies.asof.clock import Cutoff
from proxies.asof.policies import POLICIES
from proxies.catalogue import Endpoint, load_catalogue
from proxies.catalogue.loader import CatalogueText, load_sources
from proxies.catalogue.schema import GuardName, PolicyName
from proxies.errors import CatalogueError, CutoffRefused
from tests.fakes.upstream import Sent, Upstream
from tests.fakes.upstream_world import JUNK, World
from tests.proxies.worlds import (
    ASKED,
    CUTOFFS,
    EASY,
    KEY,
    SNAPSHOTS,
    Outcome,
    in_loop,
    junk,
    minutes,
    params_of,
    run,
    tell,
)

pytestmark = pytest.mark.usefixtures("one_loop")
SINGLE = {
    "kalshi/market",
    "polymarket/market",
    "polymarket/event",
    "wikipedia/page",
    "wikipedia/sections",
    "kalshi/event",
}


def ids(endpoint: Endpoint) -> str:
    return endpoint.path


def check(endpoint: Endpoint, outcome: Outcome) -> None:
    assert not outcome.leaked(), f"{endpoint.path} tells of later: {outcome.text()[:500]}"
    assert KEY not in outcome.text() and KEY not in repr(outcome.ledger.rows)
    if outcome.answer is None:
        # one thing was asked for, or one day, and it came later
        assert endpoint.path in SINGLE or endpoint.as_of.policy == "request_point", outcome.refused
        assert not outcome.world.early, outcome.refused
    else:
        assert not outcome.missing(), f"{endpoint.path} keeps back what was known: {outcome.text()[:500]}"
        assert outcome.answer.meta["policy"] == endpoint.as_of.policy


@pytest.mark.hypothesis  # again in the long tier, over more worlds
@pytest.mark.parametrize("endpoint", ASKED, ids=ids)
def test_nothing_known_later_gets_out_and_what_was_known_does(endpoint: Endpoint) -> None:
    @EASY
    @given(st.sampled_from(CUTOFFS), minutes(), junk())
    def every_world(cutoff: str, offsets: list[int], bad: list[Any]) -> None:
        check(endpoint, run(endpoint, cutoff, offsets, bad))

    every_world()


def test_what_only_knows_the_present_is_refused_without_asking() -> None:
    for endpoint in SNAPSHOTS:
        for cutoff in CUTOFFS:
            outcome = run(endpoint, cutoff, [0], [])
            assert isinstance(outcome.refused, CutoffRefused) and outcome.world.seen == []


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8), st.sampled_from(JUNK)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.parametrize("endpoint", ASKED, ids=ids)
def test_no_shape_of_answer_gets_an_exception_or_an_undated_row_out(endpoint: Endpoint) -> None:
    """Any JSON, in the place of the rows and of the whole: only typed refusals come back."""

    @settings(EASY, max_examples=3)
    @given(values, values)
    def any_shape(whole: Any, row: Any) -> None:
        cutoff = Cutoff.parse("2021-03-15")
        for body in (
            whole,
            [row, row],
            {
                name: row
                for name in (
                    *endpoint.envelope,
                    *endpoint.fields,
                    "series",
                    "chart",
                    "query",
                    "results",
                    "markets",
                    "observations",
                )
            },
        ):
            world = World(cutoff.instant, [cutoff.instant], [])
            params = params_of(endpoint, World(cutoff.instant, [Cutoff.parse("2017-01-01").instant], []))
            world.answer = lambda seen, body=body: Sent(body)  # type: ignore[method-assign]
            in_loop(tell(endpoint, cutoff, world, params))

    any_shape()


@pytest.fixture
def over_http() -> Iterator[tuple[World, str]]:
    cutoff = Cutoff.parse("2021-03-15")
    world = World(cutoff.instant, [], [])
    with Upstream(lambda seen: world.answer(seen)) as upstream:
        yield world, upstream.url


@pytest.mark.long
async def test_every_endpoint_answers_over_real_http_too(over_http: tuple[World, str]) -> None:
    world, url = over_http
    cutoff = Cutoff.parse("2021-03-15")
    for endpoint in ASKED:
        fresh = World(
            cutoff.instant,
            [cutoff.instant + timedelta(days=d) for d in (-1300, -700, -1, 1, 400, -1300)],
            ["", None],
        )
        world.__dict__.update(fresh.__dict__)
        outcome = await tell(endpoint, cutoff, world, params_of(endpoint, world), base=url)
        check(endpoint, outcome)
        assert outcome.answer is not None or endpoint.path in SINGLE, outcome.refused


def test_the_catalogue_has_every_endpoint_and_policy() -> None:
    catalogue = load_catalogue()
    sources: dict[str, int] = {}
    policies: dict[str, int] = {}
    for endpoint in catalogue:
        sources[endpoint.source.name] = sources.get(endpoint.source.name, 0) + 1
        if endpoint.source.name != "embedded":
            policies[endpoint.as_of.policy] = policies.get(endpoint.as_of.policy, 0) + 1
    assert sources == {
        "fmp": 145, "msd": 4, "fred": 22, "gt": 8, "exa": 3, "yfinance": 15, "kalshi": 13, "polymarket": 10,
        "wikipedia": 7, "dbnomics": 7, "brave": 5, "sec": 4, "gdelt": 1, "embedded": 2,
        "serper": 1, "tavily": 1, "searxng": 1, "wayback": 2,
    }  # fmt: skip
    assert policies == {
        "static": 9, "strip_fields": 26, "snapshot_refused": 31, "request_range": 60, "request_point": 4,
        "filter_rows": 16, "publication_date": 39, "publication_join": 16, "publication_lag": 14, "vintage": 18,
        "window_end": 4, "search_date_filter": 8, "revision_at": 4,
    }  # fmt: skip
    assert set(policies) == set(POLICIES) == set(PolicyName.__args__)  # type: ignore[attr-defined]
    used = {guard for endpoint in catalogue for guard in endpoint.as_of.guards}
    assert used == set(GuardName.__args__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"static", "snapshot_refused"}))
def test_with_a_policy_replaced_by_static_the_worlds_leak(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The label test has teeth: without its policy, an endpoint tells tokens of later."""
    mine = [e for e in ASKED if e.as_of.policy == policy]
    rng = random.Random(7)
    assert mine

    def leaks() -> int:
        found = 0
        for endpoint in rng.sample(mine, min(6, len(mine))):
            for cutoff in CUTOFFS[:3]:
                found += bool(run(endpoint, cutoff, [1440, 60 * 1440, -60], ["n/a"]).leaked())
                found += bool(run(endpoint, cutoff, [1440, -60], ["n/a"]).leaked())
        return found

    assert leaks() == 0
    monkeypatch.setattr(policies, "POLICIES", MappingProxyType({**POLICIES, policy: POLICIES["static"]}))
    assert leaks() > 0


def test_with_refusals_replaced_by_static_the_present_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        policies, "POLICIES", MappingProxyType({**POLICIES, "snapshot_refused": POLICIES["static"]})
    )
    assert (
        sum(bool(run(endpoint, "2021-03-15", [0], []).leaked()) for endpoint in SNAPSHOTS)
        > len(SNAPSHOTS) / 2
    )


def test_an_endpoint_without_a_policy_or_its_arguments_does_not_load() -> None:
    row: dict[str, Any] = {
        "path": "s/a", "call": "GET a", "about": "A.", "rows": "[]", "as_of": {"policy": "static", "residual": "none"},
    }  # fmt: skip

    def load(**changes: Any) -> None:
        endpoint = {k: v for k, v in {**row, **changes}.items() if v is not None}
        doc = {
            "source": "s",
            "title": "S",
            "about": "S.",
            "hosts": {"a": "http://a"},
            "endpoints": [endpoint],
        }
        load_sources([CatalogueText(name="s.yaml", text=orjson.dumps(doc).decode())])

    load()
    load(as_of={"policy": "static"})  # its risk is high until its author says otherwise
    for changes in (
        {"as_of": None},
        {"as_of": {"policy": "nothing", "residual": "none"}},
        {"as_of": {"policy": "request_range", "residual": "none"}},
        {"as_of": {"policy": "filter_rows", "residual": "none"}},
        {"as_of": {"policy": "static", "residual": "none", "guards": ["strip"]}},
        {"as_of": {"policy": "static", "residual": "none", "unheard": 1}},
        {"as_of": {"policy": "filter_rows", "residual": "none", "stamp": {"field": "x"}}, "rows": None},
        {"call": "FETCH a"},
        {"path": "t/a"},
    ):
        with pytest.raises(CatalogueError):
            load(**changes)
