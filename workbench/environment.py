"""What comes from the environment, read once at the door (the command line or ``import workbench``) and passed on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from proxies.home import home_from

if TYPE_CHECKING:
    from datetime import datetime

    from proxies.catalogue import Catalogue
    from proxies.settings import ProxySettings
    from proxies.vendors.own.own_manifest import Reader

__all__ = ["catalogue_of", "config_folder", "home_from", "proxy_settings"]


def config_folder() -> Path:
    """Return the platform's folder for a person's settings and keys; no cell of a sealed kernel sees it."""
    return Path(platformdirs.user_config_dir("analyst-workbench"))


def proxy_settings(
    environ: Mapping[str, str], home: Path, *, reader: Reader = "model", services_at: datetime | None = None
) -> ProxySettings:
    """Return the broker's settings: keys and upstreams of the environment, the raw cache and own sources of a data folder.

    ``reader`` is who asks: without ``person`` what its owner shares with no language model is left out. ``services_at`` is when a
    stored run began, whose requests go on by the versions of services of then.

    Raises
    ------
    CatalogueError
        A file of ``home/catalogue`` or an installed source does not load.
    """
    # loaded by those who open a broker only
    from proxies.settings import ProxySettings
    from proxies.vendors.own.own_manifest import own_folder

    return ProxySettings.from_environment(
        environ,
        cache_path=home / "cache.db",
        catalogue_folder=home / "catalogue",
        own_folder=own_folder(home),
        services_at=services_at,
        reader=reader,
    )


def catalogue_of(home: Path) -> Catalogue:
    """Return the catalogue as a broker of this data folder has it, own sources included. Raises as `proxy_settings`."""
    # An empty environment: to list endpoints no key is needed, and none is read.
    return proxy_settings({}, home, reader="person").catalogue()
