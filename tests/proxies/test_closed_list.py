"""The closed list: for every endpoint each undated change is made, and shows just where the catalogue's `open_to` says so.

The reference of the manual prints the list. Changes are made from the row's own fields (undated_changes.py); what a later split does to
figures that were rounded after it is made by the companies of test_law_of_splits.py.
"""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from proxies import answers
from proxies.asof import guards
from proxies.asof.clock import Cutoff
from proxies.catalogue import Endpoint, load_catalogue
from proxies.catalogue.schema import exceeds, least_residual
from tests.fakes.upstream_world import JUNK
from tests.proxies.test_law_of_splits import SCALED, split_tells
from tests.proxies.two_worlds import MEMBERS, in_both
from tests.proxies.undated_changes import ALL, can_be_made, possible, shows, told
from tests.proxies.worlds import ASKED, CUTOFFS

pytestmark = pytest.mark.usefixtures("one_loop")
CUT = Cutoff.parse("2021-03-15")


def test_an_endpoint_lists_just_the_undated_changes_that_show() -> None:
    for endpoint in ASKED:
        before, _ = told(endpoint, CUT, None)
        assert "early" in before or endpoint.path == "fred/series/series/vintagedates", endpoint.path
        listed = set(endpoint.as_of.open_to) - ({"rescaled"} if endpoint in SCALED else set())
        shown = {
            change for change in ALL if possible(change, endpoint) and shows(endpoint, CUT, change, before)
        }
        assert listed == shown, endpoint.path
        assert not exceeds(least_residual(listed), endpoint.as_of.residual)


@pytest.mark.parametrize("endpoint", SCALED, ids=lambda e: e.path)
def test_an_endpoint_lists_rescaled_just_where_figures_rounded_after_a_later_split_show(
    endpoint: Endpoint,
) -> None:
    assert ("rescaled" in endpoint.as_of.open_to) == split_tells(endpoint, 3, cents=True)


#: A guard by which a change makes no difference, the endpoint that has it, and what stands there without it.
GUARDS: dict[str, tuple[str, Any, Any, str, Any]] = {
    "a list sorted by name": ("fmp/indexes/indexes/index-list", "ranked", answers, "in_order", lambda data, path, names: data),
    "fields of today": ("fmp/company/profile/profile", "renamed", guards, "keep_only", lambda row, keep: row),
}  # fmt: skip


@pytest.mark.parametrize("guard", sorted(GUARDS))
def test_without_its_guard_a_change_shows(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, change, place, name, off = GUARDS[guard]
    endpoint = load_catalogue().resolve(path)
    assert can_be_made(change, endpoint) and not shows(endpoint, CUT, change, told(endpoint, CUT, None)[0])
    monkeypatch.setattr(place, name, off)
    assert shows(endpoint, CUT, change, told(endpoint, CUT, None)[0])


def random_pair(draw: random.Random) -> tuple[str, str, str]:
    """Two worlds of a random endpoint and cutoff: one goes on, or has an undated change that is not on the endpoint's list."""
    endpoint = draw.choice(ASKED)
    instant = datetime(2017, 1, 1, tzinfo=UTC) + timedelta(minutes=draw.randrange(9 * 365 * 1440))
    text = draw.choice([instant.isoformat(), instant.date().isoformat(), draw.choice(CUTOFFS)])
    unlisted = [c for c in ALL if possible(c, endpoint) and c not in (*endpoint.as_of.open_to, "rescaled")]
    if unlisted and draw.random() < 0.5:
        change, cutoff = draw.choice(unlisted), Cutoff.parse(text)
        return (
            f"{endpoint.path} at {text}: {change}",
            told(endpoint, cutoff, None)[0],
            told(endpoint, cutoff, change)[0],
        )
    if endpoint.path.startswith(MEMBERS):
        return endpoint.path, "", ""
    offsets = [
        draw.choice([draw.randint(-2880, 2880), draw.randint(-2_000_000, 2_000_000)])
        for _ in range(draw.randint(0, 7))
    ]
    junk = draw.sample(JUNK, draw.randint(0, 4))
    chances = (
        draw.random() < 0.5,
        draw.random() < 0.5,
        draw.random() < 0.5,
        draw.choice(["", "", "live", "2026-10-01"]),
    )
    one, other = in_both(endpoint, text, offsets, junk, chances)
    return f"{endpoint.path} at {text}: {offsets} {junk} {chances}", one, other


@pytest.mark.parametrize(
    "pairs", [60, pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_random_pairs_of_worlds_read_the_same_but_for_what_is_listed(pairs: int) -> None:
    draw = random.Random(pairs)
    for _ in range(pairs):
        what, one, other = random_pair(draw)
        assert one == other, what
