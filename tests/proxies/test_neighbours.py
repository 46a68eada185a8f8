"""The honest neighbour: under every policy a row of just before the cutoff comes in, and one of its own second does not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from proxies.catalogue import load_catalogue
from tests.proxies.leaks.desk import Desk

MOMENT = datetime(2024, 6, 5, 15, 0, 0, tzinfo=UTC)


def around(form: Callable[[datetime], Any]) -> list[Any]:
    return [form(MOMENT + timedelta(seconds=s)) for s in (-1, 0, 1)]


def _iso(m: datetime) -> str:
    return m.strftime("%Y-%m-%dT%H:%M:%SZ")


def _ny(m: datetime) -> str:
    return (m - timedelta(hours=4)).strftime("%Y-%m-%d %H:%M:%S")


def _rows(stamp: str, form: Callable[[datetime], Any], **more: Any) -> list[dict[str, Any]]:
    return [
        {
            stamp: value,
            "n": "abc"[k],
            **{name: f"{item}{k}" if isinstance(item, str) else item for name, item in more.items()},
        }
        for k, value in enumerate(around(form))
    ]


NEIGHBOURS: dict[str, tuple[str, dict[str, Any], Any, str]] = {
    "publication_date": ("fmp/statements/financial-statements/balance-sheet-statement", {"symbol": "A"}, _rows("acceptedDate", _ny, symbol="hit"), "hit"),
    "filter_rows": ("polymarket/trades", {"market": "0x1"}, _rows("timestamp", lambda m: int(m.timestamp()), asset="hit"), "hit"),
    "request_range": ("kalshi/trades", {"ticker": "T"}, {"trades": _rows("created_time", _iso, trade_id="hit"), "cursor": ""}, "hit"),
    "strip_fields": ("polymarket/markets", {}, _rows("createdAt", _iso, question="hit", id="i"), "hit"),
    "search_date_filter": ("exa/search/search", {"query": "q"}, {"results": _rows("publishedDate", _iso, url="hit")}, "hit"),
    "revision_at": ("wikipedia/revisions", {"title": "T"}, {"query": {"pages": [{"title": "T", "revisions": [{"timestamp": v, "comment": f"hit{k}"} for k, v in enumerate(around(_iso))]}]}}, "hit"),
}  # fmt: skip


@pytest.mark.parametrize("policy", sorted(NEIGHBOURS))
async def test_a_row_of_one_second_before_the_cutoff_comes_in_and_one_of_its_second_does_not(
    policy: str,
) -> None:
    path, params, body, word = NEIGHBOURS[policy]
    assert load_catalogue().resolve(path).as_of.policy == policy
    text = (await Desk(body)(path, _iso(MOMENT), **params)).body.decode()
    assert [f"{word}{k}" in text for k in range(3)] == [True, False, False]
