"""Unpack answers whose upstream shape has no rows into rows for the policies, and pack them again for the caller.

`unpack` runs on the raw answer, `pack` on what the policies let through; both are pure. Under live calls neither is
needed, except where the catalogue promises another shape than the upstream's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from proxies.json_text import Fields
from proxies.vendors import dbnomics, fred_tags
from proxies.vendors.fmp import members
from proxies.vendors.google_trends import trends_tables
from proxies.vendors.kalshi_codec import unpack_kalshi
from proxies.vendors.wikipedia import wikipedia_codec as wikipedia
from proxies.vendors.yahoo import yahoo_codec as yahoo


@dataclass(frozen=True, slots=True)
class Codec:
    """The functions that turn an answer into rows and back.

    ``live_too`` says that the catalogue promises the packed shape for live calls too, ``single`` that the caller gets one thing.
    ``heads`` are the keys of which the upstream's answer has one, ``[]`` if it is a list: what has none of them is somebody
    else's JSON.
    """

    unpack: Callable[[Any, Fields], Any]
    pack: Callable[[Any, Fields], Any]
    live_too: bool = False
    single: bool = False
    heads: tuple[str, ...] = ()


def _same(value: Any, params: Fields) -> Any:
    return value


CODECS: Mapping[str, Codec] = MappingProxyType(
    {
        "": Codec(_same, _same),
        "chart": Codec(yahoo.unpack_chart, yahoo.pack_chart, heads=("chart",)),
        "actions": Codec(
            yahoo.unpack_actions, yahoo.pack_actions, live_too=True, heads=("chart", "dividends", "splits")
        ),
        "fundamentals": Codec(yahoo.unpack_fundamentals, yahoo.pack_fundamentals, heads=("timeseries",)),
        "grades": Codec(
            yahoo.unpack_grades,
            _same,
            live_too=True,
            heads=("quoteSummary", "upgradeDowngradeHistory", "history"),
        ),
        "earnings": Codec(yahoo.unpack_earnings, _same, live_too=True, heads=("finance", "rows", "[]")),
        "news": Codec(yahoo.unpack_news, _same, live_too=True, heads=("data", "[]")),
        "lookup": Codec(yahoo.unpack_lookup, _same, live_too=True, heads=("finance", "documents")),
        "doc_list": Codec(
            dbnomics.unpack_docs, _same, live_too=True, heads=("datasets", "results", "providers")
        ),
        "dbnomics": Codec(dbnomics.unpack_dbnomics, dbnomics.pack_dbnomics, heads=("series",)),
        "kalshi": Codec(unpack_kalshi, _same, live_too=True),
        "places": Codec(_same, trends_tables.pack_places, live_too=True, heads=("[]",)),
        "tags": Codec(_same, fred_tags.pack_tags, heads=("tags",)),
        "members": Codec(_same, members.pack_members, live_too=True, heads=("[]",)),
        "wiki_page": Codec(
            wikipedia.unpack_wiki, wikipedia.pack_page, live_too=True, single=True, heads=("query",)
        ),
        "wiki_sections": Codec(
            wikipedia.unpack_wiki, wikipedia.pack_sections, live_too=True, single=True, heads=("query",)
        ),
        "wiki_revisions": Codec(wikipedia.unpack_revisions, _same, live_too=True, heads=("query",)),
        "wiki_search": Codec(wikipedia.unpack_search, _same, live_too=True, heads=("query",)),
    }
)
