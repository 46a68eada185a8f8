"""The catalogue of endpoints: facts as YAML, the loader, the search, the generated documentation."""

from proxies.catalogue.availability import Availability, everything
from proxies.catalogue.docs import api_doc, api_map, api_matches, api_search
from proxies.catalogue.loader import Catalogue, CatalogueText, load_catalogue, load_sources
from proxies.catalogue.schema import AsOf, Endpoint, Param, SourceInfo

__all__ = [
    "AsOf",
    "Availability",
    "Catalogue",
    "CatalogueText",
    "Endpoint",
    "Param",
    "SourceInfo",
    "api_doc",
    "api_map",
    "api_matches",
    "api_search",
    "everything",
    "load_catalogue",
    "load_sources",
]
