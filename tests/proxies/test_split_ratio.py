"""By how much prices were rescaled: the events' exact ratio, where it is the one that the bars measured."""

import random
from math import isclose, prod
from typing import Any

import pytest

from proxies.asof import split_ratio
from proxies.asof.clock import Cutoff
from proxies.asof.readjust import scale
from tests.fakes.upstream import Seen

CUT = Cutoff.parse("2022-03-05")
DAYS = ("2022-03-01", "2022-03-02", "2022-03-03", "2022-03-04")
#: Spin-offs that were booked as splits: GE HealthCare, Solventum, Viatris, Organon, Kyndryl, Warner Bros. Discovery.
SPIN_OFFS = [(1281, 1000), (1196, 1000), (1054, 1000), (1048, 1000), (1046, 1000), (1324, 1000)]
STOCK_DIVIDENDS = [(1004, 1000), (103, 100), (21, 20)]
SPLITS = [(2, 1), (3, 1), (4, 1), (7, 1), (10, 1), (20, 1), (3, 2), (5, 4), (1, 8), (1, 10), (1, 25)]
Ratio = tuple[int, int]


def bars(closes: list[float], name: str = "price") -> list[dict[str, Any]]:
    return [{"date": day, name: close} for day, close in zip(DAYS, closes, strict=True)]


def listed(ratios: list[Ratio], year: int = 2023) -> list[dict[str, Any]]:
    return [
        {"date": f"{year + n}-06-01", "numerator": up, "denominator": down}
        for n, (up, down) in enumerate(ratios)
    ]


def factor_of(closes: list[float], applied: list[Ratio], events: Any, places: int) -> float:
    true = prod(up / down for up, down in applied)
    adjusted = bars([round(close / true, places) for close in closes])
    found = split_ratio.bar_factor(bars(closes, "adjClose"), adjusted, CUT, events)
    assert found is not None
    return found


def test_random_lists_of_later_events_are_undone_by_their_exact_product() -> None:
    """Prices of a cent to thousands, rounded to two to eight places; told again as they were traded, to the cent."""
    draw = random.Random(2000)
    for _ in range(2000):
        later = draw.choices(SPIN_OFFS + STOCK_DIVIDENDS + SPLITS, k=draw.randint(0, 6))
        start, places = draw.uniform(5, 900), draw.choice([2, 4, 6, 8])
        closes = [round(start * draw.uniform(0.95, 1.05), 2) for _ in DAYS]
        true = prod(up / down for up, down in later)
        if min(closes) / true < 10 ** (1 - places):
            continue  # a vendor that rounds a price away has nothing to measure
        found = factor_of(closes, later, listed([(13, 7)], 2015) + listed(later), places)
        assert isclose(found, true, rel_tol=1e-12), (closes, later, places)
        for close in closes:
            told = scale({"close": round(close / true, places)}, found, places)["close"]
            error = split_ratio.rounding_error(places) * true
            # one cent alone lies within the rounding error, or the nearest one is told
            assert told == close or (error > 0.004 and abs(told - close) <= error + 0.006)


def test_without_a_listed_event_the_measured_ratio_stands_and_no_fraction_wider_than_the_rounding() -> None:
    closes = [300.37, 303.11, 306.29, 306.29]
    for ratio in [*SPIN_OFFS, (1004, 1000)]:
        found = factor_of(closes, [ratio], None, 8)
        assert found == pytest.approx(ratio[0] / ratio[1], rel=1e-9)
    # a split of cents that no list tells is the simple ratio within the rounding
    assert factor_of([3.01, 3.02, 3.07, 3.05], [(3, 2)], None, 2) == 1.5
    # an event that is not the one measured is not taken for it
    assert factor_of(closes, [(1046, 1000)], listed([(1048, 1000)]), 6) == pytest.approx(1.046, rel=1e-7)


def test_a_cent_is_told_only_where_the_rounding_leaves_it_open() -> None:
    assert scale({"close": 239.1023}, 1.281, 4) == {"close": 306.29}
    # an average between the cents, a price below a cent, a vendor's further places
    assert scale({"vwap": 236.7343, "close": 0.0617}, 2, 4) == {"vwap": 473.4686, "close": 0.1234}
    assert scale({"sma": 239.102341}, 1.281, 4) == {"sma": 306.2900988}
    assert scale({"close": 239.1023}, 1.281) == {"close": 306.2900463}


def vendor(ratio: Ratio | None) -> Any:
    true = ratio[0] / ratio[1] if ratio else 1

    def answer(seen: Seen) -> Any:
        tail = seen.path.rpartition("/")[2]
        if tail == "splits":
            return listed([ratio]) if ratio else []
        if tail == "non-split-adjusted":
            return bars([300.37, 303.11, 306.29, 306.31], "adjClose")
        rows = bars([round(close / true, 4) for close in (300.37, 303.11, 306.29, 306.31)])
        return [{**row, "close": row["price"], "volume": round(1000 * true)} for row in rows]

    return answer
