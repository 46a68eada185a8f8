"""Read the broker's settings from outside, once: keys, upstream addresses, the cache's place."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from proxies.catalogue.loader import Catalogue, load_catalogue
from proxies.catalogue.service_versions import service_files
from proxies.errors import ParameterInvalid
from proxies.secret_registry import SECRETS
from proxies.vendors.own.own_catalogue import own_catalogue
from proxies.vendors.own.own_manifest import Reader

_NONE: Mapping[str, str] = MappingProxyType({})


def utc_now() -> datetime:
    """Return the present instant, aware, UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The retries of a failing upstream: tries in all, first pause and longest pause in seconds."""

    tries: int = 4
    base: float = 1.0
    cap: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Settings of one broker."""

    #: Never shown.
    keys: Mapping[str, str] = field(default_factory=lambda: _NONE, repr=False)
    #: Used instead of the vendor's.
    upstreams: Mapping[str, str] = field(default_factory=lambda: _NONE)
    #: The raw cache (SQLite); None keeps raw answers in memory only.
    cache_path: Path | None = None
    cache_bytes: int = 512_000_000
    #: The user's own catalogue files (``*.yaml``), beside the shipped ones and those of installed packages.
    catalogue_folder: Path | None = None
    #: The copies of the user's own data (`proxies.vendors.own`).
    own_folder: Path | None = None
    #: For a run that goes on: when it began, so that it reads the versions of then.
    own_at: datetime | None = None
    #: The same for the user's services. It says whose keys are read too: an old version's key goes to its hosts alone.
    services_at: datetime | None = None
    #: ``model`` (the default: what is shared with nobody is left out) or ``person``.
    reader: Reader = "model"
    #: A folder laid out like the installed ``arch`` package's ``data``; None for that package's own.
    embedded_root: Path | None = None
    #: now, sleep: The clock and the pause between tries, for tests.
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    retry: Retry = field(default_factory=Retry)
    live_max_age: float = 900.0
    #: Whom to write to, told to vendors without an agent of their own: the SEC refuses programs that do not say.
    contact: str = ""
    #: False: agents are shown only what needs no network. Calls are made all the same.
    network: bool = True

    @classmethod
    def from_environment(
        cls,
        environ: Mapping[str, str],
        *,
        cache_path: Path | None = None,
        catalogue_folder: Path | None = None,
        own_folder: Path | None = None,
        services_at: datetime | None = None,
        reader: Reader = "model",
    ) -> "ProxySettings":
        """Read the settings from environment variables (see docs/trust/cutoff.md).

        Raises `ParameterInvalid`: An upstream address is not an http(s) URL, or WORKBENCH_NETWORK is something else than on or off, or
        WORKBENCH_CONTACT does not fit into a header.
        """
        keys: dict[str, str] = {}
        upstreams: dict[str, str] = {}
        if service_files(catalogue_folder, services_at) == service_files(catalogue_folder):
            services_at = None  # nothing was changed since: one loaded catalogue for all runs
        catalogue = load_catalogue(catalogue_folder, services_at=services_at)
        for source in catalogue.sources():
            if source.key and environ.get(source.key.variable, "").strip():
                keys[source.name] = environ[source.key.variable].strip()
                SECRETS.add(keys[source.name])
            variable = f"WORKBENCH_UPSTREAM_{source.upstream}"
            if source.upstream and environ.get(variable, "").strip():
                url = environ[variable].strip().rstrip("/")
                if not url.startswith(("http://", "https://")):
                    raise ParameterInvalid(f"{variable} must be an http or https URL, not {url!r}")
                upstreams[source.name] = url
                SECRETS.add_address(url)
        network = environ.get("WORKBENCH_NETWORK", "").strip().lower() or "on"
        if network not in ("on", "off"):
            raise ParameterInvalid(f"WORKBENCH_NETWORK is on or off, not {network[:40]!r}")
        contact = environ.get("WORKBENCH_CONTACT", "").strip()
        # it goes into a header
        if not re.fullmatch(r"[ -~]{0,200}", contact):
            raise ParameterInvalid("WORKBENCH_CONTACT is one line of plain letters, at most 200")
        return cls(
            contact=contact,
            keys=keys,
            upstreams=upstreams,
            cache_path=cache_path,
            catalogue_folder=catalogue_folder,
            own_folder=own_folder,
            services_at=services_at,
            reader=reader,
            network=network == "on",
        )

    def catalogue(self) -> Catalogue:
        """Load the catalogue that these settings name.

        Raises `CatalogueError`: One of its texts does not load.
        """
        own_sources = own_catalogue(self.own_folder, self.reader, self.own_at)
        catalogue = load_catalogue(self.catalogue_folder, own_sources, self.services_at)
        return catalogue.for_models() if self.reader == "model" else catalogue
