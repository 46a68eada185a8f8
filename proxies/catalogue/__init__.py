"""The catalogue of endpoints: facts as YAML, the loader, the search, the documentation made from it."""

from proxies.catalogue.docs import api_doc, api_map, api_search, directory
from proxies.catalogue.loader import (
    Catalogue,
    CatalogueText,
    Endpoint,
    SourceInfo,
    load_catalogue,
    load_sources,
)
from proxies.catalogue.schema import AsOf, Param

__all__ = [
    "AsOf",
    "Catalogue",
    "CatalogueText",
    "Endpoint",
    "Param",
    "SourceInfo",
    "api_doc",
    "api_map",
    "api_search",
    "directory",
    "load_catalogue",
    "load_sources",
]
