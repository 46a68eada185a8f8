"""Load the catalogue and find endpoints by path or short path; `search.py` finds them by words."""

import difflib
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from ipaddress import ip_address
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from proxies.catalogue.plugins import installed_plugins
from proxies.catalogue.schema import (
    GUARD_NEEDS,
    NEEDS,
    Endpoint,
    PolicyName,
    SourceFile,
    SourceInfo,
    exceeds,
    least_residual,
)
from proxies.catalogue.service_versions import service_files
from proxies.errors import CatalogueError, UnknownPath
from proxies.hashing import canonical_json, sha256_of
from proxies.input_files import MOST_YAML_BYTES, InputRefused, read_text
from proxies.secret_registry import is_model_key
from proxies.vendors.own.own_catalogue import OWN, OwnCatalogue
from proxies.yaml_text import line_of, parse_yaml

# one character: a class, an escaped one, or itself
_CHARACTER = r"(?:\[\^?\]?(?:\\.|[^\]\\])*\]|\\[dwsDWS.+*?()|/\\-]|[^\W_]|[ _.,:;/=@#%&~-])"
_PLAIN = re.compile(rf"(?:{_CHARACTER}(?:[+*?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})?)*")
_SEVERAL = re.compile(rf"{_CHARACTER}([+*?]|\{{\d{{1,3}},\d{{0,3}}\}})?")


class Catalogue:
    """All endpoints, by path.

    `withheld`: What is there and not for this reader; asked for, it is refused in these words.

    Raises `CatalogueError`: A path occurs twice.
    """

    def __init__(self, endpoints: Iterable[Endpoint], withheld: Mapping[str, str] | None = None) -> None:
        self._withheld = dict(withheld or {})
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
            source, *parts = endpoint.path.lower().split("/")
            for name in {f"{source}/{'/'.join(parts[i:])}" for i in range(1, len(parts))}:
                tails[name].append(path)
        self._short = {**tails, **upstream}
        self._sources = tuple({e.source.name: e.source for e in self._by_path.values()}.values())

    def for_models(self) -> "Catalogue":
        """Return the catalogue for language models, without services that are shared with nobody."""
        hidden = [item for item in self if item.source.share == "none"]
        if not hidden:
            return self
        reasons = {
            item.path: f"{item.path} is withheld: {item.source.name} says share: none, so no language model may see it"
            for item in hidden
        }
        return Catalogue((item for item in self if item.path not in reasons), {**self._withheld, **reasons})

    def __len__(self) -> int:
        return len(self._by_path)

    def __contains__(self, path: object) -> bool:
        return path in self._by_path

    def __iter__(self) -> Any:
        return iter(self._by_path.values())

    def paths(self) -> list[str]:
        """Return every path, in the order of the files."""
        return list(self._by_path)

    def fingerprint(self) -> str:
        """Hash all endpoints with their policies: two processes with equal hashes refuse and clamp alike."""
        rows = [
            [endpoint.model_dump(mode="json"), endpoint.source.model_dump(mode="json")]
            for _, endpoint in sorted(self._by_path.items())
        ]
        return sha256_of(canonical_json(rows))

    def sources(self) -> list[SourceInfo]:
        """Return the sources, in the order of the files."""
        return list(self._sources)

    def resolve(self, path: str) -> Endpoint:
        """Return the endpoint of a path or an unambiguous short path.

        Raises `UnknownPath`: No such path (the nearest are named), or a short path that several endpoints share.
        """
        name_given = path.strip().strip("/")
        for name in (name_given, name_given.lower()):
            if name in self._by_path:
                return self._by_path[name]
        hits = self._short.get(name_given.lower(), [])
        if len(hits) == 1:
            return self._by_path[hits[0]]
        if hits:
            raise UnknownPath(f"{path!r} names {len(hits)} endpoints: write one of {', '.join(hits)}")
        hint = self._withheld.get(name_given.lower()) or _advice(name_given)
        if (
            not hint
            and name_given.startswith("own/")
            and not any(name.startswith("own/") for name in self._by_path)
        ):
            hint = f"no data of your own is stored here, so there is no {path!r}: add it with `workbench source add NAME FILE`"
        if hint:
            raise UnknownPath(hint)
        near = self.nearest(name_given)
        if near:
            raise UnknownPath(f"there is no endpoint {path!r}: the nearest are {', '.join(near)}")
        sources = ", ".join(f"{source.name}/" for source in self.sources())
        raise UnknownPath(
            f"there is no endpoint {path!r} nor one like it: search by words; the sources are {sources}"
        )

    def nearest(self, path: str, *, count: int = 3) -> list[str]:
        """Return the most similar paths; none if nothing is similar."""
        names = {**{p: p for p in self._by_path}, **{s: hits[0] for s, hits in self._short.items()}}
        # twice as many, since a path and its short forms are several names of one endpoint; what looks less alike than this
        # shares nothing but letters
        close = difflib.get_close_matches(path.lower(), names, n=count * 2, cutoff=0.6)
        out = list(dict.fromkeys(names[name] for name in close))[:count]
        return out


@functools.cache
def _not_offered() -> dict[str, str]:
    """Return the hints for vendors' paths that are known and not offered."""
    text = (resources.files("proxies.catalogue.topics") / "not_offered.yaml").read_text(encoding="utf-8")
    return {
        path: why + (f": use {instead}" if instead else ", and there is no dated form of it")
        for why, advised in parse_yaml(text, "not_offered.yaml").items()
        for instead, paths in advised.items()
        for path in paths.split()
    }


def _advice(path: str) -> str:
    name = path.strip("/ ").lower()
    hint = _not_offered().get(name.replace("_", "-")) or _not_offered().get(name)
    return f"{path!r} {hint}" if hint else ""


def _placed(row: Endpoint, source: SourceInfo) -> list[Endpoint]:
    """Return an endpoint of a file at its source, and the one of its series if it states one."""
    if row.method not in ("GET", "POST", "LOCAL"):
        raise CatalogueError(f"{row.path}: the call {row.call!r} begins with no method")
    if not row.path.startswith(f"{source.name}/"):
        raise CatalogueError(f"{row.path}: the path does not begin with its source {source.name}")
    endpoint = row.of(source)
    if source.hosts and endpoint.host not in source.hosts:
        raise CatalogueError(f"{row.path}: the source has no host {endpoint.host!r}")
    _check_as_of(row)
    if row.series is None:
        return [endpoint]
    for name in (row.series.date, row.series.value):
        if name not in row.fields or row.rows is None:
            raise CatalogueError(f"{row.path}: the series names {name!r}, which is no field of its rows")
    params = dict(row.params)
    size = params.get(row.page.size)
    if size is not None and size.high:  # a series is asked for whole
        params[row.page.size] = size.model_copy(update={"default": size.high})
    series = {
        "path": f"{row.path}/series",
        "about": f"{row.about} As a series: rows of date and value.",
        "params": params,
        "series": row.series,
    }
    return [endpoint, endpoint.model_copy(update=series)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueText:
    """The text of one catalogue file.

    ``name`` is shown in errors. ``source`` is the only name that its source may have; "" lets the text choose, as files of
    the user's own folder do. ``shipped`` is one of ours, which may name a part once and use it again.
    """

    name: str
    text: str
    source: str = ""
    shipped: bool = False


def load_sources(texts: Sequence[CatalogueText], *, withheld: Mapping[str, str] | None = None) -> Catalogue:
    """Build the catalogue from YAML texts.

    Raises `CatalogueError`: A row does not have the form, an endpoint has no policy, a policy lacks its arguments, a source is stated
    twice.
    """
    endpoints: list[Endpoint] = []
    sources: dict[str, SourceInfo] = {}
    for item in texts:
        row = _source_row(item)
        if item.source and row.name != item.source:
            raise CatalogueError(f"{item.name}: the source is named {row.name!r}, not {item.source!r}")
        if row.name in sources or (row.name == OWN and item.source != OWN):
            raise CatalogueError(
                f"{item.name}: there is a source named {row.name!r} already: choose another name"
            )
        variables = {other.key.variable: other.name for other in sources.values() if other.key}
        _check_addresses(item, row)
        if row.key:
            _check_key(item, row)
        if row.key and row.key.variable in variables:
            # a key must not travel to another vendor's host
            raise CatalogueError(
                f"{item.name}: {row.key.variable} is the key of {variables[row.key.variable]}"
            )
        info = {name: getattr(row, name) for name in SourceInfo.model_fields}
        source = sources[row.name] = SourceInfo.model_construct(**info)
        for number, endpoint in enumerate(row.endpoints):
            try:
                endpoints += _placed(endpoint, source)
            except CatalogueError as error:
                raise CatalogueError(
                    f"{item.name}{_line_named(item, 'endpoints', number, 'as_of')}: {error}"
                ) from None
    _check_one_policy(endpoints)
    return Catalogue(endpoints, withheld)


def _check_one_policy(endpoints: Sequence[Endpoint]) -> None:
    """Refuse two rows for one upstream call with unlike policies: the weaker would bypass the other.

    Raises `CatalogueError`: Names both rows.
    """
    first: dict[tuple[str, ...], Endpoint] = {}
    for endpoint in endpoints:
        # what is answered from a table of our own has no upstream
        if endpoint.method == "LOCAL":
            continue
        fixed = sorted((name, str(value)) for name, value in endpoint.fixed.items())
        call = (endpoint.source.name, endpoint.host, endpoint.method, endpoint.url.strip("/"), str(fixed))
        other = first.setdefault(call, endpoint)
        if other.as_of != endpoint.as_of:
            raise CatalogueError(
                f"{endpoint.path} and {other.path} are one upstream call and state different as_of: give both the stricter one"
            )


def _line_named(item: CatalogueText, *place: str | int) -> str:
    line = None if item.shipped else line_of(item.text, place)
    return f" line {line}" if line else ""


def _check_addresses(item: CatalogueText, row: SourceFile) -> None:
    """Refuse a source that calls anything but a web server, a path that escapes its place, and a slow pattern."""
    if item.shipped:
        return
    for name, host in row.hosts.items():
        if not _is_web_server(host):
            raise CatalogueError(
                f"{item.name}{_line_named(item, 'hosts')}: the host {name} is no https://HOST or http://HOST of a service;"
                " a key has a place of its own, and no machine's own metadata is data"
            )
    for number, endpoint in enumerate(row.endpoints):
        if {".", ".."} & {*endpoint.path.split("/"), *endpoint.call.partition(" ")[2].split("/")}:
            raise CatalogueError(
                f"{item.name}{_line_named(item, 'endpoints', number)}: write path and call without . and .. between slashes"
            )
    # they become lines of a request's head
    head: list[tuple[tuple[str | int, ...], str]] = [(("agent",), row.agent)]
    head += [(("key",), text) for text in ((row.key.name, row.key.prefix) if row.key else ())]
    head += [(("endpoints", number), endpoint.call) for number, endpoint in enumerate(row.endpoints)]
    for place, text in head:
        if not (text.isascii() and text.isprintable()):
            raise CatalogueError(
                f"{item.name}{_line_named(item, *place)}: {ascii(text)[:60]} holds characters that no request's head can have"
            )
    patterns: list[tuple[tuple[str | int, ...], str, str]] = [
        (("replies", number), "words of a reply", reply.words) for number, reply in enumerate(row.replies)
    ]
    patterns += [
        (("endpoints", number, "params", name), f"chars of {name}", param.chars)
        for number, endpoint in enumerate(row.endpoints)
        for name, param in endpoint.params.items()
    ]
    for place, what, pattern in patterns:
        if not _is_plain_form(pattern):
            raise CatalogueError(
                f"{item.name}{_line_named(item, *place)}: {what} is a row of characters and classes such as [A-Z]{{1,5}}, at most two of"
                " them of any length: others may take hours to compare"
            )


def _is_plain_form(pattern: str) -> bool:
    """Whether a stranger's pattern matches in short time: characters in a row, at most two of open length.

    Groups repeat what is repeated, and a text of forty letters is then compared for years.

    >>> _is_plain_form("[A-Z.]{1,6}"), _is_plain_form(""), _is_plain_form("(a+)+b"), _is_plain_form("a*a*a*b")
    (True, True, False, False)
    """
    if len(pattern) > 200 or not _PLAIN.fullmatch(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        return False
    return sum(bool(match[1]) for match in _SEVERAL.finditer(pattern)) <= 2


def _check_as_of(row: Endpoint) -> None:
    """Refuse a row that would fail at its first call: a policy or guard without its arguments.

    Raises `CatalogueError`: Says which row lacks what.
    """
    as_of = row.as_of
    needed = [(f"policy {as_of.policy}", NEEDS.get(as_of.policy, ()))]
    needed += [(f"guard {guard}", GUARD_NEEDS.get(guard, ())) for guard in as_of.guards]
    for demander, names in needed:
        for name in names:
            if name == "stamp" and any(item.stamp for item in as_of.nested):
                continue
            if not getattr(as_of, name) and getattr(as_of, name) != 0:
                raise CatalogueError(f"{row.path}: {demander} needs {name}")
    if "content_check" in as_of.guards and bool(as_of.text_fields) == (as_of.texts == "market"):
        raise CatalogueError(
            f"{row.path}: guard content_check needs text_fields, or texts: market without them"
        )
    if (as_of.adjust == "state") != (as_of.state is not None):
        raise CatalogueError(f"{row.path}: adjust state and the fields of the state go together")
    if as_of.policy not in ("static", "snapshot_refused") and row.rows is None:
        raise CatalogueError(f"{row.path}: policy {as_of.policy} needs to know where the rows are")
    least = least_residual(as_of.open_to)
    if exceeds(least, as_of.residual):
        raise CatalogueError(
            f"{row.path}: open to {', '.join(as_of.open_to)}, so that the residual risk is at least {least}"
        )
    if as_of.window:
        window = as_of.window
        for name in (*window.start, *window.end, window.at, window.text):
            if name and name not in row.params and name not in row.fixed:
                raise CatalogueError(f"{row.path}: the window names {name!r}, which is not a parameter")


def _is_web_server(address: str) -> bool:
    try:
        parts = urlsplit(address)
        bare = (
            parts.scheme in ("https", "http")
            and parts.hostname
            and not (parts.query or parts.fragment or "@" in parts.netloc)
        )
        return (
            bool(bare) and parts.port != 0 and address.isprintable() and _may_be_asked(parts.hostname or "")
        )
    except ValueError:  # a port or an address that is none
        return False


def _may_be_asked(host: str) -> bool:
    """Whether a host is a name, or an address other than a cloud machine's credential service."""
    try:
        address = ip_address(host)
    except ValueError:
        # resolvers take 2852039166 and 0xa9fea9fe for addresses too
        return not host.rpartition(".")[2][:1].isdigit()
    return not (getattr(address, "ipv4_mapped", None) or address).is_link_local


def _check_key(item: CatalogueText, row: SourceFile) -> None:
    """Refuse a key that is somebody else's, or cannot be sent as described."""
    key = row.key
    if key is None or item.shipped:
        return
    place = f"{item.name}{_line_named(item, 'key')}"
    if is_model_key(key.variable):
        raise CatalogueError(
            f"{place}: {key.variable} is the key of a provider of models, which no source gets"
        )
    if key.place in ("query", "header") and not key.name:
        raise CatalogueError(f"{place}: a key in the {key.place} needs its name there")
    if (key.place == "oauth2") != bool(key.token):
        raise CatalogueError(f"{place}: oauth2 and the path that gives a token go together")
    if key.token_host and key.token_host not in row.hosts:
        raise CatalogueError(f"{place}: the source has no host {key.token_host!r}")


@functools.lru_cache(maxsize=64)  # the shipped texts twice over
def _document(text: str, shipped: bool) -> Any:
    return parse_yaml(text, ":", aliases=shipped)


def _source_row(item: CatalogueText) -> SourceFile:
    try:
        return SourceFile.model_validate(_document(item.text, item.shipped))
    except InputRefused as error:
        raise CatalogueError(f"{item.name}{error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        name = item.name + _line_named(item, *first["loc"])
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing" and place.endswith(".as_of"):
            path = first["input"].get("path") if isinstance(first["input"], dict) else None
            policies = ", ".join(get_args(PolicyName))
            raise CatalogueError(
                f"{name}: the endpoint {path!r} states no as_of: give it a policy ({policies}) and a residual risk"
            ) from None
        raise CatalogueError(f"{name}: {place + ': ' if place else ''}{first['msg']}") from None


_NO_OWN = OwnCatalogue()


@functools.lru_cache(maxsize=64)  # of a process that serves long, whose user adds sources meanwhile
def load_catalogue(
    user_folder: Path | None = None,
    own: OwnCatalogue = _NO_OWN,
    services_at: datetime | None = None,
) -> Catalogue:
    """Load the shipped catalogue, then installed packages' additions, then the user's own files.

    `user_folder`: Each of its ``*.yaml`` states a source of the user's; it need not exist.

    Raises `CatalogueError`: A text does not load. One bad text refuses all: an endpoint that has vanished would read like data that never
    were.
    """
    texts = _given_texts()
    for path in service_files(user_folder, services_at):
        try:
            texts.append(CatalogueText(name=str(path), text=read_text(path, most=MOST_YAML_BYTES)))
        except InputRefused as error:
            raise CatalogueError(str(error)) from None
    if own.text:
        texts.append(CatalogueText(name="the sources of your own", text=own.text, source=OWN))
    return load_sources(texts, withheld=dict(own.withheld))


def catalogue_with(item: CatalogueText) -> Catalogue:
    """Load the shipped catalogue and packages' additions with one more text; `add` tests a user's file by it.

    Raises `CatalogueError`: It does not, with the line where it can be told.
    """
    return load_sources([*_given_texts(), item])


def _given_texts() -> list[CatalogueText]:
    shipped = sorted(
        (item for item in resources.files("proxies.catalogue").iterdir() if item.name.endswith(".yaml")),
        key=lambda item: item.name,
    )
    texts = [
        CatalogueText(name=item.name, text=item.read_text(encoding="utf-8"), shipped=True) for item in shipped
    ]
    texts += [
        CatalogueText(name=f"the package source {name}", text=plugin.yaml, source=name)
        for name, plugin in sorted(installed_plugins().items())
    ]
    return texts
