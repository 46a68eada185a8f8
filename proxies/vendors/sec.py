"""Ask SEC EDGAR, key-free: a company's filings, its figures as filed, and full-text search."""

from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import parse_day
from proxies.catalogue.schema import Endpoint
from proxies.errors import ParameterInvalid
from proxies.fetch.cache import RawAnswer
from proxies.fetch.transport import HttpRequest, HttpResponse
from proxies.json_text import Fields, Row
from proxies.vendors.base import HttpSource

FILINGS, SEARCH = "sec/submissions", "sec/search"
#: A bank that issues notes every day has some forty files of older filings.
MOST_FILES = 25
# what is accepted in the evening bears the next working day as its day of filing
_LATE = timedelta(days=7)
_COLUMNS = (
    "accessionNumber", "filingDate", "reportDate", "form", "items", "act", "fileNumber", "size", "isXBRL", "primaryDocument",
    "primaryDocDescription",
)  # fmt: skip
_HIT = ("adsh", "form", "file_type", "file_date", "period_ending", "ciks", "items", "file_description")


class SecSource(HttpSource):
    """EDGAR over HTTP. Filings are fetched whole: how many the first file lists depends on later filings."""

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer; lists of filings and of hits as rows."""
        if endpoint.path == FILINGS:
            rows = await self._filings(endpoint, params)
        elif endpoint.path == SEARCH:
            payload = await self.payload(endpoint, params)
            rows = [_hit(item) for item in payload["hits"]["hits"]]
        else:
            return await super().fetch(endpoint, params)
        return self.answer(rows)

    def http_request(self, endpoint: Endpoint, params: Fields) -> HttpRequest:
        """Return the request, with company numbers in EDGAR's ten digits."""
        padded = dict(params)
        if "cik" in padded:
            padded["cik"] = str(padded["cik"]).zfill(10)
        if padded.get("ciks"):
            padded["ciks"] = [str(number).zfill(10) for number in padded["ciks"]]
        return self.build(endpoint, padded)

    def is_answer(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> bool:
        """Accept any JSON for filings and hits, whose rows are built here."""
        if endpoint.path == FILINGS:
            return isinstance(payload, dict) and isinstance(_columns_of(payload), dict)
        if endpoint.path == SEARCH:
            hits = payload.get("hits") if isinstance(payload, dict) else None
            return isinstance(hits, dict) and isinstance(hits.get("hits"), list)
        return super().is_answer(endpoint, response, payload)

    async def _filings(self, endpoint: Endpoint, params: Fields) -> list[Row]:
        first, last = (_day(params.get(name)) for name in ("from", "to"))
        request = self.http_request(endpoint, {"cik": params["cik"]})
        payload, _ = await self.exchange(endpoint, request)
        files = [
            item
            for item in payload["filings"].get("files") or ()
            if _meets(_day(item.get("filingFrom")), _day(item.get("filingTo")), first, last and last + _LATE)
        ]
        if len(files) > MOST_FILES:
            raise ParameterInvalid(
                f"{endpoint.path} holds too many filings of this company: give from and to"
            )
        columns = [_columns_of(payload)]
        for item in files:
            older, _ = await self.exchange(
                endpoint, self.build(endpoint, {}, url=f"submissions/{item['name']}")
            )
            columns.append(_columns_of(older))
        forms = set(params.get("forms") or ())
        rows = {row["accessionNumber"]: row for part in columns for row in _filing_rows(part)}
        return [
            row
            for row in rows.values()
            if (not forms or row.get("form") in forms)
            and _meets(day := _day(row.get("accepted")) or _day(row.get("filingDate")), day, first, last)
        ]


def _columns_of(payload: Any) -> Any:
    filings = payload.get("filings")
    columns = filings.get("recent") if isinstance(filings, dict) else payload
    return columns if isinstance(columns, dict) and isinstance(columns.get("accessionNumber"), list) else None


def _filing_rows(columns: Fields) -> list[Row]:
    count = len(columns["accessionNumber"])
    # every row has every field: which of EDGAR's files a filing stands in follows from how many were filed since
    unknown = [None] * count
    columns_by_name = {name: _filing_column(columns.get(name), unknown) for name in _COLUMNS}
    accepted = _filing_column(columns.get("acceptanceDateTime"), unknown)
    return [
        {**{name: values[place] for name, values in columns_by_name.items()}, **_acceptance(accepted[place])}
        for place in range(count)
    ]


def _filing_column(values: Any, unknown: list[Any]) -> list[Any]:
    """Return a column of a file, or unknown values if it is missing or of another length; empty texts are unknown."""
    if not isinstance(values, list) or len(values) != len(unknown):
        return unknown
    return [None if value == "" else value for value in values]


def _acceptance(stamp: Any) -> dict[str, str | None]:
    """Return the New York day on which a filing was accepted, and the zone-free instant from which it counts.

    EDGAR writes the clock of New York for some filers and that of UTC for most, each with a Z behind it, and takes filings from six to
    ten at night: an hour before six is UTC's, of the day before in New York, and by any later one both name one day. Read as New
    York's a filing never counts too early.
    """
    if not isinstance(stamp, str) or len(stamp) < 19 or stamp[11:19] == "00:00:00":
        day_text = stamp[:10] if isinstance(stamp, str) else None
        return {"accepted": day_text, "known": day_text}
    day = _day(stamp)
    accepted_day = day - timedelta(days=1) if day is not None and stamp[11:13] < "06" else day
    return {"accepted": accepted_day.isoformat() if accepted_day is not None else None, "known": stamp[:19]}


def _hit(item: Any) -> Row:
    source = item["_source"]
    # names and places are those of today: the company is its number
    number = item.get("_id")
    return {"document": number.partition(":")[2] if isinstance(number, str) else ""} | {
        n: source[n] for n in _HIT if n in source
    }


def _day(text: Any) -> date | None:
    return parse_day(text[:10]) if isinstance(text, str) else None


def _meets(start: date | None, end: date | None, first: date | None, last: date | None) -> bool:
    """Whether a stretch of days meets a window; an undated one passes, and is left to the row filter."""
    return not ((start and last and start > last) or (end and first and end < first))
