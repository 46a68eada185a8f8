"""Index members as of the cutoff: today's list rolled back, nobody who joined later, nobody lost who left later."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.errors import CutoffRefused
from tests.fakes.upstream_fmp import Change, Fmp, Index
from tests.proxies.leaks.desk import Desk
from tests.proxies.worlds import in_loop

PATH = "fmp/indexes/constituents/sp500-constituent"
INDEX = Index(
    began={"OLD": "1957-03-04", "GONE": "1970-01-02", "LATER": "1980-01-02", "BACK": "1990-01-02"},
    changes=[
        Change("2001-05-01", "FIRST", "VERYOLD"),
        Change("2010-02-01", "JOIN", "GONE"),
        Change("2015-06-01", left="BACK"),
        Change("2018-03-01", "BACK"),
        Change("2024-05-31", "EVE"),
        Change("2024-06-01", "DAY", "LATER"),
        Change("2025-01-15", "FUTURE", "JOIN"),
    ],
)


async def members(cutoff: str) -> dict[str, str | None]:
    answer = await Desk(Fmp(index=INDEX))(PATH, cutoff=cutoff)
    assert all(row.keys() == {"symbol", "dateAdded"} for row in answer.data)
    return {row["symbol"]: row["dateAdded"] for row in answer.data}


async def test_before_the_record_begins_it_is_refused() -> None:
    assert (await members("2001-05-02"))["FIRST"] == "2001-05-01"
    for cutoff in ("2001-05-01", "1999-01-01"):
        with pytest.raises(CutoffRefused, match="begins later"):
            await members(cutoff)
    with pytest.raises(CutoffRefused, match="begins later"):
        await Desk(Fmp(index=Index(INDEX.began, [])))(PATH, cutoff="2024-06-01")


names = st.sampled_from("ABCDEFGH")
days = st.dates(date(2000, 1, 1), date(2026, 1, 1)).map(date.isoformat)


@st.composite
def indexes(draw: st.DrawFn) -> Index:
    """Indexes whose changes make sense: who joins was out, who leaves was in."""
    began = draw(st.sets(names, min_size=1, max_size=4))
    inside, changes = set(began), [Change("1999-01-01", "SEED")]
    for day in sorted(draw(st.lists(days, max_size=8, unique=True))):
        joined = draw(st.sampled_from([*sorted(set("ABCDEFGH") - inside), ""]))
        left = draw(st.sampled_from([*sorted(inside), ""]))
        if joined or left:
            changes.append(Change(day, joined, left))
            inside = (inside - {left}) | ({joined} - {""})
    return Index(dict.fromkeys(began, "1990-01-02"), changes)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(indexes(), days, st.integers(-1, 1), st.randoms(use_true_random=False))
def test_the_members_are_those_of_any_day(index: Index, day: str, off: int, rng: object) -> None:
    near = [c.day for c in index.changes[1:]]
    cutoff = (date.fromisoformat(rng.choice([day, *near])) + timedelta(days=off)).isoformat()  # type: ignore[attr-defined]
    answer = in_loop(Desk(Fmp(index=index))(PATH, cutoff=cutoff))
    joined = {change.joined for change in index.changes if change.day < cutoff}
    expected = index.on(cutoff) & joined
    assert sorted(row["symbol"] for row in answer.data) == sorted(expected), "each company once"
