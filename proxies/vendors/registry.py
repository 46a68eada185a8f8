"""Which class answers for which source: the one place a new source is named."""

from collections.abc import Callable, Mapping

from proxies.catalogue.loader import Catalogue, SourceInfo
from proxies.fetch.transport import Wire
from proxies.settings import ProxySettings
from proxies.vendors.base import HttpSource, Source
from proxies.vendors.embedded import EmbeddedSource
from proxies.vendors.fmp.source import FmpSource
from proxies.vendors.fred import FredSource
from proxies.vendors.google_trends.source import SearchApiSource
from proxies.vendors.markets import KalshiSource, PolymarketSource
from proxies.vendors.web import BraveSource, ExaSource
from proxies.vendors.wikipedia.source import WikipediaSource
from proxies.vendors.yahoo.source import YahooSource

_HTTP: Mapping[str, type[HttpSource]] = {
    "fmp": FmpSource,
    "fred": FredSource,
    "gt": SearchApiSource,
    "exa": ExaSource,
    "brave": BraveSource,
    "wikipedia": WikipediaSource,
    "kalshi": KalshiSource,
    "polymarket": PolymarketSource,
    "yfinance": YahooSource,
    # dbnomics and msd complain by status alone
}


def open_sources(
    catalogue: Catalogue, settings: ProxySettings, wire: Callable[[SourceInfo], Wire] | None = None
) -> dict[str, Source]:
    """Every source of the catalogue, ready; nothing is connected before the first call.

    ``wire`` makes another wire than the source's own, for tests.
    """
    sources: dict[str, Source] = {}
    for info in catalogue.sources():
        if info.name == "embedded":
            sources[info.name] = EmbeddedSource(settings)
        else:
            sources[info.name] = _HTTP.get(info.name, HttpSource)(
                info, settings, wire(info) if wire else None
            )
    return sources
