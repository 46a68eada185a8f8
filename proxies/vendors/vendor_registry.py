"""Choose the class of each source: shipped ones by the table below, a package's by its plugin."""

from collections.abc import Callable, Mapping

from proxies.catalogue.loader import Catalogue
from proxies.catalogue.plugins import installed_plugins
from proxies.catalogue.schema import SourceInfo
from proxies.errors import CatalogueError
from proxies.fetch.raw_store import Source
from proxies.fetch.transport import Transport
from proxies.settings import ProxySettings
from proxies.vendors.base import HttpSource
from proxies.vendors.codecs import CODECS
from proxies.vendors.embedded import EmbeddedSource
from proxies.vendors.fmp import FmpSource
from proxies.vendors.fred import FredSource
from proxies.vendors.google_trends import SearchApiSource
from proxies.vendors.kalshi import KalshiSource
from proxies.vendors.own.own_source import OwnRows
from proxies.vendors.polymarket import PolymarketSource
from proxies.vendors.sec import SecSource
from proxies.vendors.wayback import WaybackSource
from proxies.vendors.web_search import SerperSource, TavilySource
from proxies.vendors.wikipedia import WikipediaSource
from proxies.vendors.yahoo import YahooSource

# what a vendor differs in beside its replies, which the catalogue has
_SHIPPED: Mapping[str, type[HttpSource]] = {
    "fmp": FmpSource,
    "fred": FredSource,
    "gt": SearchApiSource,
    "wikipedia": WikipediaSource,
    "kalshi": KalshiSource,
    "polymarket": PolymarketSource,
    "sec": SecSource,
    "serper": SerperSource,
    "tavily": TavilySource,
    "wayback": WaybackSource,
    "yfinance": YahooSource,
}


def check_codecs(catalogue: Catalogue) -> None:
    """Refuse a catalogue with unknown codecs, which only the vendors' room knows.

    Raises `CatalogueError`: An endpoint names a codec that does not exist.
    """
    for endpoint in catalogue:
        if endpoint.codec not in CODECS:
            raise CatalogueError(f"{endpoint.path}: there is no codec {endpoint.codec!r}")


def open_sources(
    catalogue: Catalogue,
    settings: ProxySettings,
    transport: Callable[[SourceInfo], Transport] | None = None,
) -> dict[str, Source]:
    """Open every source of the catalogue; nothing connects before the first call.

    ``transport`` makes another transport than the source's own, for tests.
    """
    plugins = installed_plugins()
    sources: dict[str, Source] = {}
    for info in catalogue.sources():
        if info.name == "embedded":
            sources[info.name] = EmbeddedSource(settings)
            continue
        if info.name == "own":
            sources[info.name] = OwnRows(settings)
            continue
        plugin = plugins.get(info.name)
        factory = plugin.source if plugin and plugin.source else _SHIPPED.get(info.name, HttpSource)
        sources[info.name] = factory(info, settings, transport(info) if transport else None)
    return sources
