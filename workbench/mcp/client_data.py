"""A client's way to data: one broker at one pinned cutoff, each call in the ledger like a person's ``workbench call``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.broker import Broker, open_broker
from proxies.catalogue import Availability, api_doc, api_map, api_search
from proxies.ledger import Address, Answer
from workbench.environment import proxy_settings
from workbench.models.base import NodeRef
from workbench.search.engines import usable_engines
from workbench.search.leaf_web import LeafWeb, open_web
from workbench.search.web_options import WebOptions
from workbench.store import ApiLedger, Store
from workbench.views import data_documents


class DataAccess:
    """Data calls, documentation, search and pages as of one cutoff; the cutoff is no argument of any of them.

    Parameters
    ----------
    home : Path
        The data folder, for the ledger, the cache and own sources.
    cutoff : Cutoff
    statement : str
        The claim that the client works on, if there is one: addresses in it, and where it resolves, are blocked.
    environ : mapping
        Where keys and upstreams are read from; keys stay with the broker.
    """

    def __init__(
        self,
        home: Path,
        cutoff: Cutoff,
        *,
        statement: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._home = home
        self._cutoff = cutoff
        self._settings = proxy_settings(os.environ if environ is None else environ, home)
        self._broker: Broker | None = None
        self._statement = statement
        self._web: LeafWeb | None = None
        self._web_steps = 0

    async def call(self, path: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return data and meta of one call; raises ``ProxyError``."""
        with Store(self._home) as store:
            return await data_documents.call_through(self._open(), store, path, params, self._cutoff)

    def documentation(self, paths: list[str], words: str) -> str:
        """Return the pages of endpoints, the endpoints that match some words, or the map of all; raises ``ProxyError``."""
        catalogue = self._settings.catalogue()
        works = Availability.of(self._settings.keys, self._cutoff, network=self._settings.network)
        if paths:
            return api_doc(catalogue, paths, works)
        return api_search(catalogue, words, works) if words.strip() else api_map(catalogue, works)

    async def search(self, words: str, k: int) -> dict[str, Any]:
        """Return dated search results, and the engines that could not be asked; raises ``ProxyError``."""
        web = self._open_web()
        answer = await web.search(words, step=self._next_step(), k=k)
        web.records.clear()  # why a result was left out is for audits of runs; nobody reads it of this server
        names = ("id", "url", "title", "published", "text", "quality")
        return {
            "results": [{name: getattr(result, name) for name in names} for result in answer.results],
            "not_asked": [list(failure) for failure in answer.failed],
        }

    async def open_page(self, url: str) -> dict[str, Any]:
        """Return a page as it stood at the cutoff; raises ``ProxyError``."""
        web = self._open_web()
        try:
            page = await web.open_page(url, step=self._next_step())
        finally:
            web.records.clear()
        return {name: getattr(page, name) for name in ("id", "url", "title", "published", "text", "source")}

    async def aclose(self) -> None:
        """Close the broker, if a call has opened it."""
        broker, self._broker = self._broker, None
        if broker is not None:
            await broker.aclose()

    def _open(self) -> Broker:
        if self._broker is None:
            self._broker = open_broker(self._settings)
        return self._broker

    def _next_step(self) -> int:
        self._web_steps += 1
        return self._web_steps

    def _open_web(self) -> LeafWeb:
        """Return the web of this server, one for all its calls, so that ids are not given twice."""
        if self._web is None:
            works = Availability.of(self._settings.keys, self._cutoff, network=self._settings.network)
            engines = usable_engines(self._settings.catalogue(), works)
            self._web = open_web(
                call_api=self._from_web,
                ask=None,  # the model at the other end is the client's own: layer 2 is its rules alone
                node=NodeRef(id="P0", statement=self._statement),
                cutoff=self._cutoff,
                options=WebOptions(engines=engines),
            )
        return self._web

    async def _from_web(self, path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Answer:
        with Store(self._home) as store:
            ledger = ApiLedger(store)
            address = Address(
                run="call",
                node="-",
                trial=0,
                attempt=0,
                stage="call",
                step=ledger.count("call"),
                retry=retry,
            )
            return await self._open().session(self._cutoff, ledger).call(path, dict(params), address)
