"""Make `fredapi` and `yfinance` work in a kernel by sending their requests through `CALL_API`.

`install` puts a finder in front of the import system; it costs nothing until a cell imports one of the two, and then
replaces only the few functions through which they reach the network. Their own parsing runs. There is no network in
here, so what is not replaced cannot fetch anything; it says so, and names `CALL_API`.

Nothing that depends on an earlier cell decides which calls a cell makes, nor does the clock of the machine: a cell
that is run again asks the same questions in the same order.
"""

import re
import sys
import time
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

import call_api

_NEW_YORK = ZoneInfo("America/New_York")
_COUNTS_AS_NOW = 120  # seconds within which an end is taken for "now"
_CLOCK = "embedded/series/list"
_RANGE = re.compile(r"(\d{1,4})(d|wk|mo|y)")
_DAYS_AROUND = 12  # the longest time markets were closed, and a few days
_YAHOO_PATHS = {
    "fundamentals-timeseries": "yfinance/fundamentals",
    "quoteSummary": "yfinance/upgrades-downgrades (ratings); the profile and statistics of today are not told",
    "visualization": "yfinance/earnings-dates",
    "ncp": "yfinance/news",
    "search": "yfinance/search",
    "lookup": "yfinance/lookup",
}


class Transport:
    """Sends the requests of both clients through `CALL_API`, and tells them the time.

    Answers stay until the cell ends, since yfinance makes some requests twice.
    """

    def __init__(self, api: Any) -> None:
        self._api = api
        self._answers: dict[tuple[str, str], tuple[Any, dict[str, Any]]] = {}
        self.failure: call_api.ApiError | None = None

    def new_cell(self, *_: Any) -> None:
        """Forget the last cell's answers."""
        self._answers.clear()

    def ask(self, path: str, params: dict[str, Any]) -> Any:
        """Return the data of `path`; an error is kept in `failure` too."""
        key = (path, repr(sorted(params.items())))
        if key not in self._answers:
            try:
                self._answers[key] = self._api(path, params), dict(self._api.meta)
            except call_api.ApiError as error:
                self.failure = error
                raise
        return self._answers[key][0]

    def now(self) -> float:
        """Return the knowledge cutoff in epoch seconds; the machine's time where nothing is held back."""
        self.ask(_CLOCK, {})
        as_of = self._answers[_CLOCK, repr([])][1].get("as_of") or "live"
        if as_of == "live":
            return time.time()
        moment = datetime.fromisoformat(as_of)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def install(api: Any, events: Any = None) -> "_Hook":
    """Patch `fredapi` and `yfinance` on their first import to ask `api`.

    Parameters
    ----------
    api : CallApi
    events : IPython's events, to hear of new cells
    """
    transport = Transport(api)
    if events is not None:
        events.register("pre_run_cell", transport.new_cell)
    hook = _Hook(transport)
    sys.meta_path.insert(0, hook)
    for name in _PATCHES:
        if name in sys.modules:
            _PATCHES[name](sys.modules[name], transport)
    return hook


class _Hook:
    """Import hook that patches each module of `_PATCHES` right after it was run."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the module's spec with a loader that patches; None for all other modules."""
        patch = _PATCHES.get(name)
        if patch is None:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not self else None
            if spec is not None:
                break
        else:
            return None
        loader: Any = spec.loader
        run = loader.exec_module

        def run_and_patch(module: Any) -> None:
            run(module)
            patch(module, self._transport)

        loader.exec_module = run_and_patch
        return spec


# --- fredapi -----------------------------------------------------------------------------------------------------


def _patch_fredapi(module: Any, transport: Transport) -> None:
    import xml.etree.ElementTree as tree

    fred = module.Fred

    def __init__(self: Any, api_key: Any = None, api_key_file: Any = None, proxies: Any = None) -> None:
        self.api_key, self.proxies = "", None

    def fetch(self: Any, url: str) -> Any:
        if not url.startswith(self.root_url + "/"):
            raise call_api.ApiRefused(f"fredapi asks {self.root_url} only, through CALL_API")
        parts = urlsplit(url[len(self.root_url) + 1 :])
        data = transport.ask(f"fred/{parts.path}", dict(parse_qsl(parts.query)))
        return _as_xml(tree, data)

    fred.__init__ = __init__
    # the one method, private to the class, through which every request of fredapi goes
    fred._Fred__fetch_data = fetch


def _as_xml(tree: Any, data: dict[str, Any]) -> Any:
    """Convert FRED's JSON to the XML that FRED itself would send: lists become children, the rest attributes."""
    root = tree.Element("answer")
    for name, value in data.items():
        if not isinstance(value, list):
            root.set(name, str(value))
            continue
        for row in value:
            child = tree.SubElement(root, name)
            if isinstance(row, dict):
                child.attrib.update((key, str(item)) for key, item in row.items() if item is not None)
            else:
                child.text = str(row)
    return root


# --- yfinance ----------------------------------------------------------------------------------------------------


class _NotCovered(call_api.ApiRefused):
    pass


_NotCovered.__name__ = _NotCovered.__qualname__ = "ApiRefused"


class _NoSession:
    """Replaces yfinance's HTTP session: it has the attributes that are set on one, and cannot send."""

    def __init__(self) -> None:
        self.cookies: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        self.proxies: dict[str, str] = {}


class _Response:
    status_code = 200
    text = ""
    url = ""

    def __init__(self, data: Any) -> None:
        self._data = data

    def json(self) -> Any:
        return self._data

    def raise_for_status(self) -> None:
        return None


def _patch_package(module: Any, transport: Transport) -> None:
    import warnings

    # the package asks to see warnings about its own use of pandas, which nobody here can mend
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="yfinance")


def _patch_cache(module: Any, transport: Transport) -> None:
    # no files: what one cell looked up must not decide what another asks
    module.get_tz_cache = module._TzCacheDummy
    module.get_cookie_cache = module._CookieCacheDummy
    module.get_isin_cache = module._ISINCacheDummy


def _patch_data(module: Any, transport: Transport) -> None:
    class Failed(module.YFRateLimitError):  # type: ignore[misc]
        # yfinance swallows and logs every error but this kind
        def __init__(self, message: str) -> None:
            # yfinance's own constructor takes no message and says that there were too many requests
            Exception.__init__(self, message)

    class Refused(call_api.ApiRefused, Failed):
        pass

    class Unavailable(call_api.ApiUnavailable, Failed):
        pass

    debug = module.YfConfig.debug
    hidden: list[bool] = []

    def get(self: Any, url: str, params: Any = None, timeout: Any = 30) -> _Response:
        if hidden:
            debug.hide_exceptions = hidden.pop()
        try:
            return _Response(_yahoo(transport, url, dict(params or {})))
        except _NotCovered:
            # an empty table would look like an answer: have yfinance raise this one
            hidden.append(debug.hide_exceptions)
            debug.hide_exceptions = False
            raise
        except call_api.ApiRefused as error:
            raise Refused(str(error)) from None
        except call_api.ApiError as error:
            raise Unavailable(str(error)) from None

    def post(
        self: Any, url: str, body: Any = None, params: Any = None, timeout: Any = 30, data: Any = None
    ) -> _Response:
        return get(self, url, params)

    def set_login_cookies(self: Any, cookie_t: str, cookie_y: str) -> None:
        raise Refused("yfinance needs no login here: its prices come through CALL_API")

    client = module.YfData
    client.get = client.cache_get = get
    client.post = post
    client.get_raw_json = lambda self, url, params=None, timeout=30: get(self, url, params).json()
    client._set_session = lambda self, session: setattr(self, "_session", _NoSession())
    client.set_login_cookies = set_login_cookies


def _patch_history(module: Any, transport: Transport) -> None:
    class Clock:
        time = staticmethod(transport.now)

    module._time = Clock


def _patch_multi(module: Any, transport: Transport) -> None:
    import functools
    import inspect

    original = module.download

    @functools.wraps(original)
    def download(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(original).bind(*args, **kwargs)
        # one after the other: the order of calls is part of the record
        bound.arguments["threads"] = False
        transport.failure = None
        table = original(*bound.args, **bound.kwargs)
        # `download` swallows every error, and an empty table looks as if there were no prices
        if table.empty and transport.failure is not None:
            raise transport.failure
        return table

    module.download = download


def _patch_live(module: Any, transport: Transport) -> None:
    def connect(*args: Any, **kwargs: Any) -> Any:
        raise call_api.ApiRefused(
            "there are no live quotes here: past prices come by CALL_API('yfinance/history', ...)"
        )

    module.sync_connect = module.async_connect = connect


def _yahoo(transport: Transport, url: str, params: dict[str, Any]) -> dict[str, Any]:
    parts = urlsplit(url)
    pieces = parts.path.strip("/").split("/")
    if "chart" not in pieces:
        replacement = next((path for piece, path in _YAHOO_PATHS.items() if piece in pieces), None)
        raise _NotCovered(
            f"yfinance gives prices, dividends and splits here, not {parts.path}: "
            + (
                f"use CALL_API with {replacement}"
                if replacement
                else "see what CALL_API has under yfinance/ and fmp/"
            )
        )
    return _chart(transport, pieces[-1], {**dict(parse_qsl(parts.query)), **params})


def _chart(transport: Transport, symbol: str, params: dict[str, Any]) -> dict[str, Any]:
    """Ask for Yahoo's chart; windows that count back from now count back from the cutoff."""
    query = dict(params)
    days: int | None = None
    query.pop("crumb", None)
    span = query.pop("range", None)
    if span is not None:
        now = transport.now()
        query["period2"] = int(now)
        query["period1"], days = _back(span, now)
    elif abs(query["period2"] - time.time()) < _COUNTS_AS_NOW:
        query["period2"] = int(transport.now())
    query.setdefault("interval", "1d")
    data = transport.ask("yfinance/history", {"symbol": symbol, **query})
    results = [_complete(result, query["interval"], days) for result in data["chart"]["result"] or []]
    return {"chart": {"result": results, "error": None}}


def _back(span: str, now: float) -> tuple[int, int | None]:
    # a moment before: at midnight the last day is the one that just ended
    today = datetime.fromtimestamp(now - 1e-3, tz=_NEW_YORK).date()
    if span == "max":
        return int(datetime(1900, 1, 1, tzinfo=UTC).timestamp()), None
    match = _RANGE.fullmatch(span)
    if span == "ytd":
        first, days = today.replace(month=1, day=1), None
    elif match is None:
        raise call_api.ApiRefused(
            f"period {span!r} is none of 1d, 5d, 1mo, 3mo, 6mo, 1y, 2y, 5y, 10y, ytd, max"
        )
    else:
        number, unit = int(match[1]), match[2]
        days = number if unit == "d" else None
        back = {"d": timedelta(days=2 * number + _DAYS_AROUND), "wk": timedelta(weeks=number)}
        first = (
            today - back[unit] if unit in back else _months_before(today, number * (12 if unit == "y" else 1))
        )
    return int(datetime(first.year, first.month, first.day, tzinfo=_NEW_YORK).timestamp()), days


def _months_before(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    if year < 1900:
        return date(1900, 1, 1)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _complete(result: dict[str, Any], interval: str, days: int | None) -> dict[str, Any]:
    """Add the parts of a chart's meta that the broker does not pass on but yfinance reads."""
    meta = {
        "instrumentType": "EQUITY",
        "currency": None,
        "exchangeTimezoneName": "America/New_York",
        **result["meta"],
        "validRanges": ["1d", "5d", "1mo", "3mo", "6mo", "1y", "2y", "5y", "10y", "ytd", "max"],
        "priceHint": 2,
    }
    stamps = result.get("timestamp") or []
    indicators = result["indicators"]
    zone = ZoneInfo(meta["exchangeTimezoneName"])
    by_day: dict[date, list[int]] = {}
    for index, stamp in enumerate(stamps):
        by_day.setdefault(datetime.fromtimestamp(stamp, tz=zone).date(), []).append(index)
    # `5d` means five days of trading: more calendar days were asked for, and the surplus goes here
    if days is not None and len(by_day) > days:
        first = by_day[sorted(by_day)[-days]][0]
        stamps = stamps[first:]
        indicators = {
            kind: [{name: column[first:] for name, column in part.items()} for part in parts]
            for kind, parts in indicators.items()
        }
        by_day = {day: [index - first for index in bars] for day, bars in by_day.items() if bars[0] >= first}
    if interval.endswith(("m", "h")):
        # the broker was asked for regular hours; each day's are its bars'
        meta["tradingPeriods"] = [
            [{"timezone": "", "gmtoffset": 0, "start": stamps[bars[0]], "end": stamps[bars[-1]] + 1}]
            for bars in by_day.values()
        ] or {"pre": [], "post": []}
    changed = {"meta": meta, "timestamp": stamps, "indicators": indicators}
    if days is not None and "events" in result:
        began = stamps[0] if stamps else float("inf")
        changed["events"] = {
            kind: {key: event for key, event in events.items() if event["date"] >= began}
            for kind, events in result["events"].items()
        }
    return {**result, **changed}


_PATCHES: dict[str, Callable[[Any, Transport], None]] = {
    "fredapi.fred": _patch_fredapi,
    "yfinance": _patch_package,
    "yfinance._http": lambda module, transport: setattr(module, "new_session", _NoSession),
    "yfinance.cache": _patch_cache,
    "yfinance.data": _patch_data,
    # there is no second place to look for a zone
    "yfinance.base": lambda module, transport: setattr(module, "_tz_info_fetch_ctr", 2),
    "yfinance.scrapers.history": _patch_history,
    "yfinance.multi": _patch_multi,
    "yfinance.live": _patch_live,
}
