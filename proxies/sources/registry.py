"""Which class answers for which source: the one place a new source is named."""

from collections.abc import Callable, Mapping

from proxies.catalogue.loader import Catalogue, SourceInfo
from proxies.settings import ProxySettings
from proxies.sources.base import HttpSource, Source
from proxies.sources.embedded import EmbeddedSource
from proxies.sources.fmp import FmpSource
from proxies.sources.fred import FredSource
from proxies.sources.markets import KalshiSource, PolymarketSource
from proxies.sources.searchapi import SearchApiSource
from proxies.sources.web import BraveSource, ExaSource
from proxies.sources.wikipedia import WikipediaSource
from proxies.sources.yahoo import YahooSource
from proxies.transport import Wire

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
