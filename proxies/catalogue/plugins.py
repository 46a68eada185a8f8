"""Load vendors of other packages: an entry point each, a YAML of endpoints, and a class for an odd vendor."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from proxies.errors import CatalogueError

GROUP = "analyst_workbench.sources"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlugin:
    """The value of an entry point of the group ``analyst_workbench.sources``; the entry point bears the source's name."""

    #: The text of a catalogue file (see docs/develop/extending.md): the source and its endpoints, each with its as-of policy.
    yaml: str
    #: Makes the source from ``(SourceInfo, ProxySettings, Transport or None)``; usually a subclass of `proxies.vendors.base.HttpSource`.
    #: None: JSON over HTTP that complains by status alone.
    source: Callable[..., Any] | None = None


@functools.cache
def installed_plugins() -> Mapping[str, SourcePlugin]:
    """Return the plugins of installed packages by source name, read once per process.

    Raises `CatalogueError`: An entry point cannot be loaded or names something else. Nothing is left out silently: an endpoint that has
    vanished would read like data that never were.
    """
    plugins: dict[str, SourcePlugin] = {}
    for point in entry_points(group=GROUP):
        package = point.dist.name if point.dist else point.value
        try:
            plugin = point.load()
        except Exception as error:  # anything can go wrong in a stranger's module
            raise CatalogueError(
                f"the source {point.name} of the package {package} cannot be loaded ({type(error).__name__}: {error}): "
                "mend or uninstall it"
            ) from error
        if not isinstance(plugin, SourcePlugin):
            raise CatalogueError(f"the source {point.name} of the package {package} is no SourcePlugin")
        if point.name in plugins:
            raise CatalogueError(f"two packages bring a source named {point.name}: uninstall one of them")
        plugins[point.name] = plugin
    return MappingProxyType(plugins)
