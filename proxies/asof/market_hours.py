"""Tell when a market's day is over, by instrument and exchange, and which instruments never split.

The policies need it for day bars of two vendors: a bar told before its market's close would hold a price of the future. The
closes stand with their closing auction and some minutes more; what is not listed here ends with the exchange's calendar day.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from zoneinfo import ZoneInfo

from proxies.asof.clock import NEW_YORK

_UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class DayEnd:
    """The time at which a trading day's bar is complete in a zone; None for the day's end there."""

    zone: ZoneInfo
    close: tuple[int, int] | None


def _ends(name: str, hour: int, minute: int) -> DayEnd:
    return DayEnd(ZoneInfo(name), (hour, minute))


US_SHARE = DayEnd(NEW_YORK, (16, 0))
# the option exchange computes its indexes to 16:15; markets east of New York are over by then
US_INDEX = DayEnd(NEW_YORK, (16, 15))
US_FUTURE = DayEnd(NEW_YORK, (17, 0))
AROUND_THE_CLOCK = DayEnd(_UTC, None)
#: By the suffix that both vendors add to symbols of other exchanges.
_BY_SUFFIX: Mapping[str, DayEnd] = MappingProxyType(
    {
        "L": _ends("Europe/London", 16, 40),
        "DE": _ends("Europe/Berlin", 17, 40),
        "PA": _ends("Europe/Paris", 17, 45),
        "AS": _ends("Europe/Amsterdam", 17, 45),
        "BR": _ends("Europe/Brussels", 17, 45),
        "LS": _ends("Europe/Lisbon", 16, 45),
        "MC": _ends("Europe/Madrid", 17, 45),
        "MI": _ends("Europe/Rome", 17, 50),
        "SW": _ends("Europe/Zurich", 17, 45),
        "TO": _ends("America/Toronto", 16, 15),
        # half an hour later since November 2024; the later close is taken for all years
        "T": _ends("Asia/Tokyo", 15, 35),
        "HK": _ends("Asia/Hong_Kong", 16, 15),
        "AX": _ends("Australia/Sydney", 16, 15),
        "NS": _ends("Asia/Kolkata", 16, 0),
        "BO": _ends("Asia/Kolkata", 16, 0),
        "SS": _ends("Asia/Shanghai", 15, 35),
        "SZ": _ends("Asia/Shanghai", 15, 35),
        "KS": _ends("Asia/Seoul", 15, 40),
        "KQ": _ends("Asia/Seoul", 15, 40),
    }
)
# mutual funds have five letters, the last an X; their price comes out in the evening
_US_TICKER = re.compile(r"(?!.{4}X\Z)[A-Z]{1,5}(?:-[A-Z]{1,2})?\Z")
_QUOTED_PAIR = re.compile(r"[A-Z0-9]{2,}(?:USD|USX)\Z")
_MONEY = frozenset(
    [
        "AED",
        "ARS",
        "AUD",
        "BHD",
        "BRL",
        "CAD",
        "CHF",
        "CLP",
        "CNH",
        "CNY",
        "COP",
        "CZK",
        "DKK",
        "EGP",
        "EUR",
        "GBP",
        "HKD",
        "HUF",
        "IDR",
        "ILS",
        "INR",
        "JPY",
        "KRW",
        "KWD",
        "MAD",
        "MXN",
        "MYR",
        "NGN",
        "NOK",
        "NZD",
        "PEN",
        "PHP",
        "PKR",
        "PLN",
        "QAR",
        "RON",
        "RUB",
        "SAR",
        "SEK",
        "SGD",
        "THB",
        "TRY",
        "TWD",
        "UAH",
        "USD",
        "VND",
        "ZAR",
    ]
)


def never_splits(symbol: str) -> bool:
    """Whether a symbol has the form of an index, currency pair, commodity or coin, whose prices no split rescales.

    The readjustment asks. A share has none of these forms: symbols of shares are at most five letters, or bear a dot.
    """
    name = symbol.upper()
    return name.startswith("^") or _is_pair(name)


def _is_pair(name: str) -> bool:
    money = len(name) == 6 and name[:3] in _MONEY and name[3:] in _MONEY
    return money or bool(_QUOTED_PAIR.match(name))


def day_end(symbol: str) -> DayEnd:
    """Return when a symbol's bar of the day is complete, by the symbol alone (FMP names no market in its bars)."""
    name = symbol.upper()
    if name.startswith("^"):
        return US_INDEX
    stem, dot, suffix = name.rpartition(".")
    if dot and stem and suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if not dot and not _is_pair(name) and _US_TICKER.match(name):
        return US_SHARE
    return AROUND_THE_CLOCK


def day_end_of_kind(kind: str, symbol: str, zone: ZoneInfo) -> DayEnd:
    """Return when a day's bar is complete, by Yahoo's word for the instrument and the exchange's zone."""
    american = zone.key in ("America/New_York", "America/Chicago")
    if kind == "CRYPTOCURRENCY":
        return AROUND_THE_CLOCK
    if kind == "FUTURE" and american:
        return US_FUTURE
    if kind == "INDEX" and american:
        return US_INDEX
    if kind in ("EQUITY", "ETF"):
        _, dot, suffix = symbol.upper().rpartition(".")
        if dot and suffix in _BY_SUFFIX:
            return _BY_SUFFIX[suffix]
        if not dot and zone.key == "America/New_York":
            return US_SHARE
    # a fund's price comes out in the evening; of the rest the close is not known here
    return DayEnd(zone, None)
