"""Read, show and store a user's service: a YAML of endpoints, copied into the data folder's catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proxies.atomic import private_folder, replace_file
from proxies.catalogue.loader import CatalogueText, catalogue_with, load_catalogue
from proxies.catalogue.schema import Endpoint, SourceInfo
from proxies.catalogue.service_versions import (
    keep_versions,
    record_version,
    service_at,
    service_history,
    service_names,
)
from proxies.errors import CatalogueError
from proxies.input_files import MOST_YAML_BYTES, InputRefused, read_text
from proxies.json_text import Row
from proxies.vendors.own.own_manifest import NAME, own_folder, own_sources
from proxies.vendors.vendor_registry import check_codecs
from proxies.yaml_text import line_of
from workbench.errors import UsageError, command
from workbench.store.removal import began_at, runs_with_service

if TYPE_CHECKING:
    from workbench.store import Store

SUFFIXES = (".yaml", ".yml")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service of a YAML file; ``path`` is the file's name, for messages, ``series`` what claims may be about."""

    path: str
    text: str
    info: SourceInfo
    endpoints: tuple[Endpoint, ...]
    series: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The source's name, with which its paths begin."""
        return self.info.name

    def line(self, endpoint: Endpoint, *place: str | int) -> str:
        """Return the line of a part of an endpoint: ``house.yaml line 12``."""
        number = next(i for i, item in enumerate(self.endpoints) if item.path == endpoint.path)
        return f"{self.path} line {line_of(self.text, ('endpoints', number, *place))}"

    def preview(self, environ: Mapping[str, str]) -> Row:
        """Return the facts that a person confirms: hosts, whose key is sent, and how each endpoint is dated."""
        key = self.info.key
        return {
            "name": self.name,
            "title": self.info.title,
            "hosts": list(self.info.hosts.values()),
            "share": self.info.share or "models",
            "series": list(self.series),
            "key": None
            if key is None
            else {"variable": key.variable, "set": bool(environ.get(key.variable)), "sent_as": key.place},
            "endpoints": [
                {
                    "path": endpoint.path,
                    "policy": endpoint.as_of.policy,
                    "dated_by": endpoint.as_of.stamp.field if endpoint.as_of.stamp else None,
                    "residual": endpoint.as_of.residual,
                }
                for endpoint in self.endpoints
            ],
            "notes": [
                f"{key.variable} goes to {host} without encryption: anybody on the way can read it"
                for host in self.info.hosts.values()
                if key is not None
                and urlsplit(host).scheme == "http"
                and urlsplit(host).hostname not in _LOOPBACK
            ],
        }


def is_service(where: object) -> bool:
    """Whether a source is described by a YAML file."""
    return isinstance(where, str | Path) and str(where).lower().endswith(SUFFIXES)


def read_service(path: Path, name: str = "") -> Service:
    """Read the service of a file, without asking it or storing anything.

    Raises `UsageError`: The file cannot be read, does not have the form, or does not say when its rows became known: with the line.
    """
    try:
        text = read_text(path.expanduser(), most=MOST_YAML_BYTES)
        catalogue = catalogue_with(CatalogueText(name=path.name, text=text, source=name))
        check_codecs(catalogue)
    except (CatalogueError, InputRefused) as error:
        raise UsageError(str(error)) from None
    info = catalogue.sources()[-1]
    mine = [endpoint for endpoint in catalogue if endpoint.source.name == info.name]
    return Service(
        path=path.name,
        text=text,
        info=info,
        # as the file lists them: what gives their series has no line of its own
        endpoints=tuple(endpoint for endpoint in mine if endpoint.series is None),
        series=tuple(_words_for_series(endpoint) for endpoint in mine if endpoint.series is not None),
    )


def _words_for_series(endpoint: Endpoint) -> str:
    params = "".join(
        f"&{name}={value}" for name, value in endpoint.example.items() if endpoint.params[name].required
    )
    return f"service:{endpoint.path.removesuffix('/series')}{params}"


def store_service(home: Path, service: Service) -> Path:
    """Copy a service's file into the data folder's catalogue, for new runs and kernels; return its path.

    What was there stays a version of its own, by which the runs that began with it go on.

    Raises `UsageError`: Its name cannot be one, or is that of other data of the user's.
    """
    if not NAME.fullmatch(service.name):
        raise UsageError(
            f"{service.name!r:.60} cannot name a source: use at most 40 small letters, digits, - and _, beginning with a letter"
        )
    if service.name in own_sources(own_folder(home)):
        raise UsageError(f"there is a source named {service.name} already: choose another name")
    folder = service_folder(home)
    private_folder(folder)
    path = folder / f"{service.name}.yaml"
    before = path.read_bytes() if path.is_file() else None
    if before is not None:  # one that was put there or changed by hand has no copy yet
        record_version(folder, service.name)
    replace_file(path, service.text.encode(), private=True)
    load_catalogue.cache_clear()
    try:
        load_catalogue(folder)
    except CatalogueError as error:  # another file of the folder has its name or its key
        if before is None:
            path.unlink()
        else:
            replace_file(path, before, private=True)
        load_catalogue.cache_clear()
        raise UsageError(f"nothing was added: {error}") from None
    record_version(folder, service.name)
    return path


def service_folder(home: Path) -> Path:
    """Return the folder of services in a data folder."""
    return home / "catalogue"


def services(home: Path) -> dict[str, Path]:
    """Return the files of a data folder's services by name."""
    return {path.stem: path for path in sorted(service_folder(home).glob("*.yaml"))}


def last_files(home: Path) -> dict[str, Path]:
    """Return the newest file of every service, of a removed one too: its last setting of sharing holds."""
    folder = service_folder(home)
    files = {}
    for name in service_names(folder):
        paths = [version.path for version in service_history(folder, name) if version.path is not None]
        if paths:
            files[name] = paths[-1]
    return files


def service_named(home: Path, name: str) -> Service | None:
    """Return an added service, or the one of a YAML file; None for any other name."""
    if is_service(name):
        return read_service(Path(name))
    path = services(home).get(name)
    return None if path is None else read_service(path)


def service_versions(store: Store, name: str) -> list[Row]:
    """List the versions of a service, the oldest first, with the stored runs that use each."""
    folder = service_folder(store.home)
    using = _runs_by_version(store, name)
    return [
        {
            "version": entry.version[:12],
            # what was there before anybody noted versions counts since ever
            "since": None if entry.since.year == 1 else entry.since.isoformat(),
            "runs": sorted(run for run, version in using.items() if version == entry.version),
        }
        for entry in service_history(folder, name)
        if entry.version
    ]


def discard_unused_services(store: Store, names: Iterable[str] = ()) -> int:
    """Delete versions of services that neither new runs nor stored runs use; return how many. Called by ``gc``."""
    folder = service_folder(store.home)
    counts = [
        keep_versions(folder, name, frozenset(_runs_by_version(store, name).values()))
        for name in names or service_names(folder)
    ]
    return sum(counts)


def _runs_by_version(store: Store, name: str) -> dict[str, str]:
    folder, using = service_folder(store.home), {}
    for run_id in runs_with_service(store, name):
        began = began_at(store, run_id)  # None for a person's single calls, which nobody goes on with
        version = service_at(folder, name, began) if began is not None else None
        if version is not None and version.version:
            using[run_id] = version.version
    return using


def remove_service(store: Store, name: str) -> list[str]:
    """Remove a service from new runs; return the stored runs that keep their version.

    Raises `UsageError`: There is none of this name.
    """
    path = services(store.home).get(name)
    if path is None:
        raise UsageError(f"there is no service {name!r:.60} (", command("source list"), ")")
    folder = service_folder(store.home)
    record_version(folder, name)
    users = sorted(_runs_by_version(store, name))
    path.unlink()
    record_version(folder, name)
    discard_unused_services(store, (name,))
    load_catalogue.cache_clear()
    return users
