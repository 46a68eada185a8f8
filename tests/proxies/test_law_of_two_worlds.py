"""The law, over every endpoint: worlds that agree on all that is dated before the cutoff are read alike, byte by byte.

The answer of the world that goes on is read cold, or from a raw cache that a later cutoff or a live call has filled. Splits have
worlds of their own (test_law_of_splits.py). What a vendor changes without a date cannot be seen: test_closed_list.py.
"""

from datetime import timedelta
from typing import Any

import pytest

from proxies import answers
from proxies.asof import guards, policies, readjust, row_filter, row_texts, rows
from proxies.asof.clock import Cutoff
from proxies.asof.policies.base import pass_rows
from proxies.catalogue import Endpoint, load_catalogue
from tests.fakes.upstream_world import SINGLE, World
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import MEMBERS, NONE, ask, check, close, in_both, known, read
from tests.proxies.worlds import ASKED, CUTOFFS, ask_for, in_loop, params_of, world_broker

pytestmark = pytest.mark.usefixtures("one_loop")


# members of an index leave it with a date, in worlds of their own (test_two_worlds.py)
ALL = [e for e in ASKED if not e.path.startswith(MEMBERS)]


@pytest.mark.hypothesis  # again in the long tier, over more worlds
@pytest.mark.parametrize("endpoint", ALL, ids=lambda e: e.path)
def test_what_comes_after_the_cutoff_changes_no_byte(endpoint: Endpoint) -> None:
    check(endpoint)


def breaks(path: str, **off: bool) -> bool:
    endpoint = load_catalogue().resolve(path)
    return any(
        one != other
        for cutoff in CUTOFFS[:4]
        for one, other in [
            in_both(
                endpoint,
                cutoff,
                [-500 * 1440, 60 * 1440],
                [],
                (off.get("reverse", False), off.get("edited", False), off.get("ended", False), ""),
            )
        ]
    )


GUARDS: dict[str, tuple[str, Any, str, Any, dict[str, bool]]] = {
    "allow-list on the way": (
        "dbnomics/release",
        guards,
        "envelope_only",
        lambda answer, endpoint: answer,
        {},
    ),
    "totals counted anew": (
        "fred/series/series/search",
        guards,
        "recount",
        lambda answer, endpoint: answer,
        {},
    ),
    "texts": (
        "exa/search/search",
        row_texts,
        "cut_page",
        lambda row, cutoff, fields: (row, None),
        {"edited": True},
    ),
    "the order": (
        "polymarket/search",
        None,
        "in_order",
        lambda answer, path, names: answer,
        {"reverse": True},
    ),
    "first days": ("fmp/search/search-name", None, "by_first_day", None, {}),
    "the state of then": (
        "kalshi/markets",
        row_filter,
        "adjuster",
        lambda context: readjust.unchanged,
        {"ended": True},
    ),
    "only listed fields": (
        "fmp/senate/symbol/senate-trades",
        guards,
        "listed_only",
        lambda row, endpoint: row,
        {},
    ),
}


@pytest.mark.parametrize("guard", sorted(GUARDS))
def test_with_one_guard_off_the_law_fails(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, place, name, off, draw = GUARDS[guard]
    place = place or {"in_order": answers, "by_first_day": policies}[name]
    assert not breaks(path, **draw)
    monkeypatch.setattr(place, name, off or pass_rows)
    assert breaks(path, **draw)


def test_without_pruning_a_group_that_comes_later_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(more: list[Any]) -> Any:
        return {
            "companies": [
                {
                    "company": {"ticker": "A"},
                    "metrics": [{"name": "m", "values": [{"x": "2019-12-31", "y": 1}]}, *more],
                }
            ]
        }

    def told() -> list[str]:
        later = {"name": "later", "values": [{"x": "2024-03-31", "y": 1}]}
        return [
            read(in_loop(Desk(body(more))("msd/companies/companies-post", "2020-12-01", tickers=["A", "B"])))  # type: ignore[arg-type]
            for more in ([], [later])
        ]

    one, other = told()
    assert one == other
    plain = rows.rewrite
    monkeypatch.setattr(
        row_filter, "rewrite", lambda value, path, change, prune=False: plain(value, path, change)
    )
    one, other = told()
    assert one != other


def test_no_answer_of_the_law_is_empty_everywhere() -> None:
    """The law would hold of a broker that tells nothing: most endpoints tell something in these worlds."""
    silent = []
    for endpoint in ALL:
        one, _ = in_both(endpoint, "2021-03-15", [-500 * 1440, -700 * 1440], [], (False, False, False, ""))
        if "early" not in one:
            silent.append(endpoint.path)
    assert len(silent) < len(ALL) / 8, silent


def _told(endpoint: Endpoint, cutoff: Cutoff, world: World, params: dict[str, Any]) -> str:
    broker = world_broker(endpoint, world)
    try:
        return ask(broker, endpoint, cutoff, world, params)
    finally:
        close(broker)


def _empty_or_refused(endpoint: Endpoint, cutoff: Cutoff, world: World, params: dict[str, Any]) -> bool:
    """Whether a world without moments has nothing to tell: lists without dates are the same in every world."""
    text = _told(endpoint, cutoff, world, params)
    return "no rows: check" in text or text.startswith("NoSuch")


def test_a_name_that_begins_later_reads_like_one_that_never_was() -> None:
    """What the vendor has of it is all late; of the other it says that there is none, or gives an empty list."""
    for endpoint in ALL:
        for text in ("2021-03-15", "2020-11-02T14:30:00-05:00"):
            cutoff = Cutoff.parse(text)
            moments = [cutoff.instant + timedelta(days=d) for d in (1, 500, 900)]
            moments = [m for m in moments if known(endpoint, m) > cutoff.instant]
            born, unborn = (World(cutoff.instant, list(some), []) for some in (moments, []))
            # one thing that is asked for by name has no empty form
            worlds = [born] if endpoint.path in SINGLE else [born, unborn]
            for world in worlds:
                ask_for(endpoint, world)
            params = params_of(endpoint, born)
            none = NONE.get(endpoint.path) or NONE.get(endpoint.source.name)
            if none and _empty_or_refused(endpoint, cutoff, worlds[-1], params):
                never = World(cutoff.instant, [], [])
                never.answer = lambda seen, none=none: none  # type: ignore[method-assign]
                worlds.append(never)
            assert len({_told(endpoint, cutoff, world, params) for world in worlds}) == 1, endpoint.path
