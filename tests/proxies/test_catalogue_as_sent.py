"""What the catalogue says of a parameter is what a vendor is sent, and what vendors of today answer is read.

The table of replies has those of real services (their forms and words, not their data), and the law goes over every endpoint.
"""

from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest
from proxies.catalogue import load_catalogue
from proxies.errors import CutoffRefused, ProxyError, QuotaExhausted, SourceRejected
from proxies.request import check, plan_request
from tests.fakes.upstream import Seen, Sent
from tests.proxies.leaks.desk import Desk

STATED = [
    (endpoint, name)
    for endpoint in load_catalogue()
    for name, param in endpoint.params.items()
    if param.default is not None and endpoint.as_of.policy != "snapshot_refused"
]


@pytest.mark.parametrize("when", ["live", "2024-06-01"])
def test_a_default_that_the_catalogue_states_is_sent(when: str) -> None:
    for endpoint, name in STATED:
        cutoff = Cutoff.parse(when)
        asked = {
            key: value
            for key, value in endpoint.example.items()
            if key != name or endpoint.params[key].required
        }
        params = check(endpoint, asked, cutoff)
        sent = plan_request(ApiRequest(endpoint=endpoint, params=params), cutoff).params
        forced = not cutoff.live and (name in endpoint.as_of.force or f"{name}_min" in endpoint.as_of.force)
        windowed = not cutoff.live and endpoint.as_of.window and name == endpoint.as_of.window.text
        assert name in sent, endpoint.path
        if not (forced or windowed or endpoint.params[name].required):
            assert sent[name] == endpoint.params[name].default
        # and what was asked for goes before it
        if endpoint.params[name].type == "integer" and not forced:
            other = (
                (endpoint.params[name].high or 7)
                if endpoint.params[name].low != endpoint.params[name].high
                else 1
            )
            params = check(endpoint, {**asked, name: other}, cutoff)
            assert plan_request(ApiRequest(endpoint=endpoint, params=params), cutoff).params[name] == other


YAHOO = {"symbol": "A", "period1": 1612137600, "period2": 1612483200}
REPLIES = [
    ("fmp/splits", {"symbol": "A"}, Sent(b"Premium Query Parameter: not available under your current subscription", 402), SourceRejected, "plan does not hold"),
    ("fmp/splits", {"symbol": "A"}, Sent(b"Special Endpoint: upgrade", 402), SourceRejected, "other endpoints"),
    ("fmp/splits", {"symbol": "A"}, Sent({"Error Message": "Limit Reach. Please upgrade"}, 429), QuotaExhausted, "another key"),
    ("yfinance/history", YAHOO, Sent(b"Too Many Requests", 429), QuotaExhausted, "wait, and ask for less"),
    ("gdelt/documents", {"query": "x", "startdatetime": "2023-01-03"}, Sent(b"Your query was too short or too long.\n"), SourceRejected, "query"),
    ("gdelt/documents", {"query": "x", "startdatetime": "2023-01-03"}, Sent(b"Please limit requests to one every 5 seconds"), QuotaExhausted, "wait"),
    ("wikipedia/page", {"title": "X"}, Sent(b"Please set a user-agent", 403), SourceRejected, "does not give this out"),
    ("wayback/captures", {"url": "https://a.example/"}, Sent(b"Blocked Site Error", 403), SourceRejected, "does not give this out"),
    ("fred/series/series/observations", {"series_id": "NO"}, Sent({"error_code": 400, "error_message": "Bad Request.  The series does not exist."}, 400), CutoffRefused, "vintage"),
]  # fmt: skip


@pytest.mark.parametrize("path, params, sent, kind, words", REPLIES)
async def test_a_complaint_says_what_helps(
    path: str, params: Any, sent: Sent, kind: type[ProxyError], words: str
) -> None:
    with pytest.raises(kind, match=words) as raised:
        await Desk(sent)(path, **params)
    assert "\n" not in str(raised.value)
    if load_catalogue().resolve(path).source.key is None:
        assert "key" not in str(raised.value)


@pytest.mark.parametrize("status", [402, 403, 404, 429, 500, 503])
async def test_a_copy_of_an_error_is_no_page_and_no_fault_of_the_archive(status: int) -> None:
    copied = Sent(
        b"<p>error</p>",
        status,
        {"memento-datetime": "Mon, 15 Jan 2024 12:00:00 GMT", "content-type": "text/html"},
    )
    desk = Desk(copied)
    answer = await desk("wayback/page", url="https://a.example/", timestamp="20240115120000")
    assert answer.data == [] and len(desk.seen) == 1


@pytest.mark.parametrize(
    "stamp, day, seen, unseen",
    [
        # four in the afternoon in New York, as most filers' hours are written and as others' are
        ("2026-01-28T21:04:38.000Z", "2026-01-28", "2026-01-29T02:04:39Z", "2026-01-29T02:04:37Z"),
        ("2026-01-28T16:04:38.000Z", "2026-01-28", "2026-01-28T21:04:39Z", "2026-01-28T21:04:37Z"),
        # half past nine in the evening, in UTC of the next day
        ("2026-07-02T01:30:00.000Z", "2026-07-01", "2026-07-02T05:30:01Z", "2026-07-02T05:29:59Z"),
        ("2026-01-28T06:01:00.000Z", "2026-01-28", "2026-01-28T11:01:01Z", "2026-01-28T06:02:00Z"),
    ],
)  # fmt: skip
async def test_a_filing_bears_its_day_in_new_york_and_counts_from_the_later_reading_of_its_hour(
    stamp: str, day: str, seen: str, unseen: str
) -> None:
    columns = {
        "accessionNumber": ["1"],
        "filingDate": ["2026-01-28"],
        "acceptanceDateTime": [stamp],
        "form": ["8-K"],
    }
    body = {"cik": "1", "filings": {"recent": columns, "files": []}}
    (row,) = (await Desk(body)("sec/submissions", seen, cik="1")).data
    assert row["accepted"] == day and "known" not in row
    assert (await Desk(body)("sec/submissions", unseen, cik="1")).data == []


def market(number: int, *, closed: bool) -> dict[str, Any]:
    created = f"2024-0{1 + number // 28}-{1 + number % 28:02}T00:00:00Z"
    return {
        "id": str(number),
        "question": f"q{number}",
        "slug": f"s{number}",
        "createdAt": created,
        "closed": closed,
    }


@pytest.mark.parametrize("path, key", [("polymarket/markets", "markets"), ("polymarket/events", "events")])
@pytest.mark.parametrize("settled", [range(0, 140, 3), range(90, 140), ()])
async def test_lists_with_cursors_tell_what_is_settled_by_now_beside_what_is_open(
    path: str, key: str, settled: Any
) -> None:
    rows = [market(number, closed=number in settled) for number in range(140)]

    def vendor(seen: Seen) -> Any:
        assert "offset" not in seen.query and int(seen.query["limit"]) <= 100
        chosen = [row for row in rows if str(row["closed"]).lower() == seen.query.get("closed", "false")]
        place = int(seen.query.get("after_cursor") or 0)
        part = chosen[place : place + 9]
        return {key: part, **({"next_cursor": str(place + 9)} if place + 9 < len(chosen) else {})}

    answer = await Desk(vendor)(path, "2024-05-01", limit=70, offset=20)
    assert [row["id"] for row in answer.data] == [str(number) for number in range(20, 90)]
