"""Which class answers for which source: the one place a new source is named."""

from collections.abc import Mapping

from proxies.catalogue.loader import Catalogue
from proxies.settings import ProxySettings
from proxies.sources.base import HttpSource, Source
from proxies.sources.embedded import EmbeddedSource
from proxies.sources.fred import FredSource

_HTTP: Mapping[str, type[HttpSource]] = {"fred": FredSource}


def open_sources(catalogue: Catalogue, settings: ProxySettings) -> dict[str, Source]:
    """Every source of the catalogue, ready; nothing is connected before the first call."""
    sources: dict[str, Source] = {}
    for info in catalogue.sources():
        if info.name == "embedded":
            sources[info.name] = EmbeddedSource(settings)
        else:
            sources[info.name] = _HTTP.get(info.name, HttpSource)(info, settings)
    return sources
