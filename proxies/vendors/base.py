"""Implement the common source: JSON over HTTP. A subclass knows its vendor's complaints."""

import asyncio
import re
from dataclasses import replace
from math import inf
from typing import Any
from urllib.parse import quote, urlsplit
from zoneinfo import ZoneInfo

import orjson

from proxies.asof.clock import parse_day, parse_instant
from proxies.asof.rows import get, steps_of
from proxies.catalogue.schema import Endpoint, Reply, SourceInfo
from proxies.errors import (
    MissingKey,
    ParameterInvalid,
    ProxyError,
    QuotaExhausted,
    SchemaDrift,
    SourceRejected,
    SourceUnavailable,
    no_answer,
)
from proxies.fetch.cache import RawAnswer
from proxies.fetch.paging import WHOLE
from proxies.fetch.transport import (
    LARGE,
    HttpRequest,
    HttpResponse,
    HttpxTransport,
    Meaning,
    RetryingTransport,
    Transport,
    plan_used_up,
)
from proxies.input_files import InputRefused, parse_csv_rows
from proxies.json_text import Fields, Row, read_json
from proxies.secret_registry import SECRETS
from proxies.settings import ProxySettings
from proxies.vendors.codecs import CODECS

UTC = ZoneInfo("UTC")
#: Pages of a list with cursors.
_MOST_PAGES = 100
# a longer row of digits is a name, and would lose its last ones
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_COMMA_NUMBER = re.compile(r"[+-]?\d{1,15},\d+")
AGENT = "analyst-workbench/0.1 (research client; {})"


class HttpSource:
    """A source of JSON over HTTP, enough for most vendors. A subclass overrides its vendor's differences."""

    def __init__(self, info: SourceInfo, settings: ProxySettings, transport: Transport | None = None) -> None:
        self.name = info.name
        self.info = info
        self._settings = settings
        self._secret = settings.keys.get(info.name, "")
        self._transport = RetryingTransport(
            source=info.name,
            transport=transport or self.transport(),
            limits=info.limits,
            retry=settings.retry,
            meaning=self.meaning,
            keyed=info.key is not None,
            sleep=settings.sleep,
        )

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer to a request.

        Raises `MissingKey`: The source needs a key and none is set. Raises `SourceError, Refused`: The upstream failed, or says that there
        is no such thing.
        """
        self.require_key()
        if params.get(WHOLE):
            return self.answer(await self._whole(endpoint, params))
        _, body = await self.exchange(endpoint, self.http_request(endpoint, params), unread=LARGE)
        return RawAnswer(body=body, fetched_at=self._settings.now())

    async def _whole(self, endpoint: Endpoint, params: Fields) -> Any:
        """Return a list put together of its pages, or as many rows of it as a cutoff can need."""
        page, limit = endpoint.page, params[WHOLE]
        (head, *_) = (step for step in steps_of(endpoint.rows or "") if step.kind == "key")
        plain = {name: value for name, value in params.items() if name not in (WHOLE, page.param, page.size)}
        size = page.most or endpoint.params[page.size].default
        rows: list[Any] = []
        cursor: Any = None
        for _ in range(_MOST_PAGES):
            sent = {**plain, page.size: size} | ({page.param: cursor} if cursor else {})
            payload = await self.payload(endpoint, sent)
            part = payload.get(head.names[0]) if isinstance(payload, dict) else None
            rows += part if isinstance(part, list) else []
            cursor = get(payload, page.cursor) if isinstance(payload, dict) else None
            if not cursor or not part or (limit is not True and len(rows) >= int(limit) + size):
                return {head.names[0]: rows}
        raise ParameterInvalid(
            f"{endpoint.path} has more than {_MOST_PAGES} pages there: ask for a shorter window"
        )

    async def payload(self, endpoint: Endpoint, params: Fields) -> Any:
        """Return the parsed answer to a request, for a source that makes its own of it."""
        return (await self.exchange(endpoint, self.http_request(endpoint, params)))[0]

    def answer(self, payload: Any) -> RawAnswer:
        """Return what a source made of its answers, as of now."""
        return RawAnswer(body=orjson.dumps(payload), fetched_at=self._settings.now())

    def require_key(self) -> None:
        """Raise MissingKey if the source needs a key and none is set."""
        if self.info.key and not self._secret:
            raise MissingKey(f"{self.name} needs a key: set {self.info.key.variable}")

    async def exchange(
        self, endpoint: Endpoint, request: HttpRequest, *, unread: float = inf
    ) -> tuple[Any, bytes]:
        """Send one request and return the parsed answer and its bytes, or raise the error that it stands for.

        A good answer of ``unread`` bytes and more is no complaint; it is not parsed, for reading would hold the loop.
        """
        response = await self._without_key(await self._transport.send(request))
        if endpoint.answer == "csv" and 200 <= response.status < 300:
            response = replace(response, body=await asyncio.to_thread(_rows_of_csv, self.name, response.body))
        if len(response.body) >= unread and 200 <= response.status < 300:
            return None, response.body
        payload, broken = _parse(response.body)
        # before the body's form: error pages are often HTML, and their status says more than "not JSON"
        problem = self.complaint(endpoint, response, payload)
        if problem is not None:
            raise problem
        if broken:
            raise SourceRejected(f"{self.name} answered with something that is not JSON")
        if not self.is_answer(endpoint, response, payload):
            raise SchemaDrift(
                f"{self.name} answered {endpoint.path} in a form that the catalogue does not know"
            )
        return payload, response.body

    async def _without_key(self, response: HttpResponse) -> HttpResponse:
        """Return the response without our key: an answer that holds it is refused, a complaint is cleaned."""
        if not self._secret:
            return response
        if len(response.body) < LARGE:
            echoed = SECRETS.held_in(response.body, only=(self._secret,))
        else:
            echoed = await asyncio.to_thread(SECRETS.held_in, response.body, only=(self._secret,))
        if not echoed:
            return response
        # data are never altered: a cell would compute with rows that nobody published
        if 200 <= response.status < 300 or len(response.body) >= LARGE:
            raise SourceRejected(f"{self.name} sent the API key back in its answer, which was discarded")
        body = SECRETS.clean(response.body.decode("utf-8", "replace")).encode()
        return replace(response, body=body)

    def transport(self) -> Transport:
        """Return the transport this source speaks over."""
        return HttpxTransport(
            key=self.info.key,
            secret=self._secret,
            token_url=self._token_url(),
            agent=self.info.agent or AGENT.format(self._settings.contact or "contact: set by the operator"),
        )

    def _token_url(self) -> str:
        key = self.info.key
        if key is None or not key.token:
            return ""
        return f"{self.base(key.token_host or next(iter(self.info.hosts)))}/{key.token.strip('/')}"

    def http_request(self, endpoint: Endpoint, params: Fields) -> HttpRequest:
        """Build the HTTP request of a call, without its key."""
        return self.build(endpoint, params)

    def build(self, endpoint: Endpoint, params: Fields, *, url: str | None = None) -> HttpRequest:
        """Build the HTTP request of some parameters: in the path, the query or the JSON body, by the catalogue.

        ``url`` replaces the endpoint's own, for vendors with a second address for the same thing (an archive, say).
        """
        url = endpoint.url if url is None else url
        query: dict[str, str] = {}
        body: Row = {}
        for name, value in params.items():
            param = endpoint.params.get(name)
            if param and param.written:
                value = _day_as_sent(value, param.written)
            place = param.place if param else ("json" if endpoint.method == "POST" else "query")
            # a second address may have no place for it: Kalshi's archive takes an event's ticker in the query
            if place == "path" and "{" + name + "}" in url:
                # safe="": a slash in a value must not lead to another of the vendor's paths
                url = url.replace("{" + name + "}", quote(str(value), safe=""))
            elif place == "json":
                body[name] = value
            else:
                query[name] = _query_text(value)
        fixed = {**self.info.always, **endpoint.fixed}
        # the fixed values come last: no parameter of the caller's can take their place
        if endpoint.method == "POST":
            body = {**body, **fixed}
        else:
            query = {**query, **{k: _query_text(v) for k, v in fixed.items()}}
        address = "/".join(part for part in (self.base(endpoint.host), url.strip("/")) if part)
        return HttpRequest(
            method=endpoint.method, url=address, query=query, json=body if endpoint.method == "POST" else None
        )

    def base(self, host: str) -> str:
        """Return the base address of a host: the vendor's, or the one set in its place.

        If a vendor has several hosts, one address replaces all: each is a folder of it, named by the host's first label.
        """
        vendor = self.info.hosts[host].rstrip("/")
        override = self._settings.upstreams.get(self.name)
        if override is None:
            return vendor
        if len(self.info.hosts) == 1:
            return override
        parts = urlsplit(vendor)
        return f"{override}/{(parts.hostname or host).split('.')[0]}{parts.path}"

    def reply_to(self, response: HttpResponse) -> Reply | None:
        """Return the catalogue's row for a response that is no plain answer; None for any other."""
        rows = [row for row in self.info.replies if row.status in (None, response.status)]
        if not rows:
            return None
        # an answer of many bytes is no complaint, and reading it would hold the loop
        small = len(response.body) < LARGE
        payload, _ = _parse(response.body) if small and any(row.field for row in rows) else (None, True)
        beginning = response.body[:2000].decode("utf-8", "replace")
        return next(
            (
                row
                for row in rows
                if re.search(row.words, _text_at(payload, row.field) if row.field else beginning)
            ),
            None,
        )

    def meaning(self, response: HttpResponse) -> Meaning:
        """Tell the transport what to do with a response: ``busy`` and ``quota`` as `Reply`; ``final`` is not asked for again."""
        reply = self.reply_to(response)
        if reply is not None:
            return reply.means if reply.means in ("busy", "quota") else "final"
        return plan_used_up(response)

    def complaint(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> ProxyError | None:
        """Return the error of a response, or None; never the upstream's words, which may be of today.

        "There is none" is only what the catalogue knows as such. A redirect, an error page, an address that is no more and a
        guest network's login are failures: taken for an answer they would be recorded as evidence.
        """
        reply = self.reply_to(response)
        if reply is not None and reply.means == "none":
            return no_answer(self.name, endpoint.path)
        if reply is not None and reply.means != "empty":
            kinds = {"refused": SourceRejected, "unavailable": SourceUnavailable}
            says = reply.says or f"{self.name} does not answer {{path}} now: try again later"
            return kinds.get(reply.means, QuotaExhausted)(says.replace("{path}", endpoint.path))
        if response.status in (401, 403):
            if self.info.key is None:
                contact = "" if self.info.agent else ", or say in WORKBENCH_CONTACT whom to write to"
                return SourceRejected(
                    f"{self.name} does not give this out (HTTP {response.status}): ask for something else{contact}"
                )
            return SourceRejected(
                f"{self.name} refuses the key or the plan (HTTP {response.status}): check {self.info.key.variable}"
            )
        if not 200 <= response.status < 300:
            overridden = self.name in self._settings.upstreams
            address = f", and WORKBENCH_UPSTREAM_{self.info.upstream}" if overridden else ""
            return SourceRejected(
                f"{self.name} gave no answer (HTTP {response.status}): check the parameters of {endpoint.path}{address}"
            )
        return None

    def is_answer(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> bool:
        """Whether a reply has the outer form of the endpoint's answers; otherwise it could be anybody's JSON."""
        heads = CODECS[endpoint.codec].heads
        if heads:
            return ("[]" in heads and isinstance(payload, list)) or has_any(payload, heads)
        if endpoint.rows is None:
            return True
        head = next(iter(steps_of(endpoint.rows)), None)
        if head is None or head.kind in ("any", "columns"):
            return isinstance(payload, dict)
        if head.kind == "each":
            return isinstance(payload, list)
        reply = self.reply_to(response)
        return has_any(payload, head.names) or (reply is not None and reply.means == "empty")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.transport.aclose()


def _day_as_sent(value: Any, pattern: str) -> str:
    """Write a day or an instant in a service's form; elsewhere it is ISO, for comparison with the cutoff."""
    moment = parse_instant(str(value), UTC)
    day = parse_day(str(value))
    if day is not None:
        return day.strftime(pattern)
    if moment is None:
        raise ParameterInvalid(f"{value!r:.40} is no day or instant")
    return str(int(moment.timestamp())) if pattern == "%s" else moment.strftime(pattern)


def _rows_of_csv(source: str, body: bytes) -> bytes:
    text = body.decode("utf-8-sig", "replace")
    header = text.partition("\n")[0]
    sign = max(",;\t|", key=header.count)
    try:
        rows = parse_csv_rows(text, "the answer", sign)
    except InputRefused as error:
        raise SchemaDrift(f"{source}: {error}") from None
    return orjson.dumps([{name: _number_or_text(cell, sign) for name, cell in row.items()} for row in rows])


def _number_or_text(cell: str, sign: str) -> Any:
    text = cell.strip()
    if sign != "," and _COMMA_NUMBER.fullmatch(text):
        text = text.replace(",", ".")
    return float(text) if _NUMBER.fullmatch(text) else text or None


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    return str(value)


def _parse(body: bytes) -> tuple[Any, bool]:
    try:
        return read_json(body), False
    except ValueError:
        return None, True


def has_any(payload: Any, names: tuple[str, ...]) -> bool:
    """Whether an answer is an object with one of some keys."""
    return isinstance(payload, dict) and any(name in payload for name in names)


def _text_at(payload: Any, field: str) -> str:
    value = get(payload, field) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else str(value) if value else ""
