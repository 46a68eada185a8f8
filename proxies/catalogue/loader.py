"""Reading the catalogue, finding endpoints by path, short path or words."""

import difflib
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from proxies.catalogue.checks import check_as_of
from proxies.catalogue.plain import read_yaml
from proxies.catalogue.schema import (
    AsOf,
    EndpointRow,
    Key,
    Limits,
    Page,
    Param,
    SourceRow,
)
from proxies.errors import CatalogueError, UnknownPath

_ADAPTER = TypeAdapter(SourceRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInfo:
    """A source as the broker needs it: hosts, key, limits."""

    name: str
    title: str
    about: str
    hosts: Mapping[str, str]
    upstream: str
    key: Key | None
    always: Mapping[str, Any]
    limits: Limits
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One endpoint: what it takes, what it gives, and how it is told as of a cutoff."""

    path: str
    source: SourceInfo
    method: str
    url: str
    host: str
    about: str
    caution: str
    group: tuple[str, ...]
    params: Mapping[str, Param]
    fixed: Mapping[str, Any]
    rows: str | None
    envelope: tuple[str, ...]
    fields: Mapping[str, str]
    open_rows: bool
    recount: Mapping[str, str]
    page: Page
    codec: str
    as_of: AsOf

    @property
    def description(self) -> str:
        """What the endpoint gives, in one sentence."""
        return self.about

    @property
    def example(self) -> dict[str, Any]:
        """Parameters of a call that runs."""
        return {
            name: param.example if param.example is not None else param.default
            for name, param in self.params.items()
            if (param.required or param.shown) and (param.example or param.default) is not None
        }


class Catalogue:
    """All endpoints, by path.

    Parameters
    ----------
    endpoints : iterable of Endpoint

    Raises
    ------
    CatalogueError
        A path occurs twice.
    """

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._by_path: dict[str, Endpoint] = {}
        for endpoint in endpoints:
            if endpoint.path in self._by_path:
                raise CatalogueError(f"the path {endpoint.path} is listed twice")
            self._by_path[endpoint.path] = endpoint
        # the upstream's own path goes before a mere tail of the catalogue path
        upstream: dict[str, list[str]] = defaultdict(list)
        tails: dict[str, list[str]] = defaultdict(list)
        for path, endpoint in self._by_path.items():
            if endpoint.url.strip("/"):
                upstream[f"{endpoint.source.name}/{endpoint.url.strip('/').lower()}"].append(path)
            for name in _tails(endpoint):
                tails[name].append(path)
        self._short = {**tails, **upstream}
        self._sources = tuple({e.source.name: e.source for e in self._by_path.values()}.values())

    def __len__(self) -> int:
        return len(self._by_path)

    def __contains__(self, path: object) -> bool:
        return path in self._by_path

    def __iter__(self) -> Any:
        return iter(self._by_path.values())

    def paths(self) -> list[str]:
        """Every path, in the order of the files."""
        return list(self._by_path)

    def sources(self) -> list[SourceInfo]:
        """The sources, in the order of the files."""
        return list(self._sources)

    def resolve(self, path: str) -> Endpoint:
        """The endpoint a path or an unambiguous short path names.

        Raises
        ------
        UnknownPath
            No such path (the nearest are named), or a short path that several endpoints share.
        """
        wanted = path.strip().strip("/")
        for name in (wanted, wanted.lower()):
            if name in self._by_path:
                return self._by_path[name]
        hits = self._short.get(wanted.lower(), [])
        if len(hits) == 1:
            return self._by_path[hits[0]]
        if hits:
            raise UnknownPath(f"{path!r} names {len(hits)} endpoints: write one of {', '.join(hits)}")
        near = self.nearest(wanted)
        raise UnknownPath(f"there is no endpoint {path!r}: the nearest are {', '.join(near)}")

    def nearest(self, path: str, *, count: int = 3) -> list[str]:
        """The paths that look most like one."""
        names = {**{p: p for p in self._by_path}, **{s: hits[0] for s, hits in self._short.items()}}
        found = difflib.get_close_matches(path.lower(), names, n=count * 2, cutoff=0.3)
        out = list(dict.fromkeys(names[name] for name in found))[:count]
        return (
            out
            or [endpoint.path for endpoint in self.search(path.replace("/", " "))[:count]]
            or self.paths()[:count]
        )

    def search(self, words: str) -> list[Endpoint]:
        """Endpoints that match words, best first; every word must occur somewhere in the row.

        Parameters
        ----------
        words : str
            Words, or an empty text for everything.
        """
        asked = re.findall(r"[a-z0-9&-]+", words.lower())
        if not asked:
            return list(self._by_path.values())
        scored = []
        for place, endpoint in enumerate(self._by_path.values()):
            score = sum(_score(word, endpoint) for word in asked)
            hits = sum(1 for word in asked if _score(word, endpoint))
            if hits == len(asked):
                scored.append((-score, place, endpoint))
        if not scored:
            for place, endpoint in enumerate(self._by_path.values()):
                score = sum(_score(word, endpoint) for word in asked)
                if score >= 2:
                    scored.append((-score, place, endpoint))
        return [endpoint for _, _, endpoint in sorted(scored, key=lambda item: item[:2])]


def _score(word: str, endpoint: Endpoint) -> float:
    """How much one word says for an endpoint: its path counts most, then its sentence, then names of fields."""
    if word in endpoint.path.lower():
        return 3.0
    if word in endpoint.about.lower():
        return 2.0
    places = (*endpoint.params, *endpoint.fields, endpoint.source.title, *endpoint.group, endpoint.caution)
    if any(word in place.lower() for place in places):
        return 1.0
    # a plural finds its singular
    return _score(word[:-1], endpoint) if len(word) > 4 and word.endswith("s") else 0.0


def _tails(endpoint: Endpoint) -> set[str]:
    """The source with any tail of the catalogue path."""
    source, _, rest = endpoint.path.lower().partition("/")
    parts = rest.split("/")
    return {f"{source}/{'/'.join(parts[i:])}" for i in range(1, len(parts))}


def _endpoint(row: EndpointRow, source: SourceInfo) -> Endpoint:
    method, _, url = row.call.partition(" ")
    if method not in ("GET", "POST", "LOCAL"):
        raise CatalogueError(f"{row.path}: the call {row.call!r} begins with no method")
    if not row.path.startswith(f"{source.name}/"):
        raise CatalogueError(f"{row.path}: the path does not begin with its source {source.name}")
    host = row.host or next(iter(source.hosts), "")
    if source.hosts and host not in source.hosts:
        raise CatalogueError(f"{row.path}: the source has no host {host!r}")
    check_as_of(row)
    return Endpoint(
        path=row.path,
        source=source,
        method=method,
        url=url,
        host=host,
        about=row.about,
        caution=row.caution,
        group=row.group,
        params=row.params,
        fixed=row.fixed,
        rows=row.rows,
        envelope=row.envelope,
        fields=row.fields,
        open_rows=row.open_rows,
        recount=row.recount,
        page=row.page,
        codec=row.codec,
        as_of=row.as_of,
    )


def load_sources(texts: Sequence[tuple[str, str]]) -> Catalogue:
    """The catalogue that YAML texts state.

    Parameters
    ----------
    texts : sequence of (name, text)
        File name, for errors, and content.

    Raises
    ------
    CatalogueError
        A row does not have the form, an endpoint has no policy, a policy lacks its arguments.
    """
    endpoints: list[Endpoint] = []
    for name, text in texts:
        try:
            row = _ADAPTER.validate_python(read_yaml(text))
        except yaml.YAMLError as error:
            raise CatalogueError(f"{name}: {error}") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise CatalogueError(f"{name}: {where}: {first['msg']}") from None
        source = SourceInfo(
            name=row.source,
            title=row.title,
            about=row.about,
            hosts=row.hosts,
            upstream=row.upstream,
            key=row.key,
            always=row.always,
            limits=row.limits,
            agent=row.agent,
        )
        endpoints += [_endpoint(item, source) for item in row.endpoints]
    return Catalogue(endpoints)


@functools.cache
def load_catalogue() -> Catalogue:
    """The catalogue that ships with the package."""
    folder = resources.files("proxies.catalogue")
    files = sorted(
        (item for item in folder.iterdir() if item.name.endswith(".yaml")), key=lambda item: item.name
    )
    return load_sources([(item.name, item.read_text(encoding="utf-8")) for item in files])
