"""Plug points: models, agents, rules and sources by name, each brought by a package through an entry point.

Every room that can be extended looks its parts up here, and the parts that ship with the workbench are registered in
``pyproject.toml`` in the same groups as a stranger's. docs/develop/extending.md shows one of each.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from workbench.errors import UsageError

MODELS = "analyst_workbench.models"
ANALYZERS = "analyst_workbench.analyzers"
GROUNDERS = "analyst_workbench.grounders"
SYNTHESIZERS = "analyst_workbench.synthesizers"
EVIDENCE = "analyst_workbench.evidence"
RULES = "analyst_workbench.rules"
SOURCES = "analyst_workbench.sources"
OPERATIONS = "analyst_workbench.operations"

OWN_PACKAGE = "analyst-workbench"


class UnknownPlugin(UsageError):
    """No installed package brings a part of this name."""


class AmbiguousPlugin(UsageError):
    """Two installed packages bring a part of the same name."""


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names of all parts in a group, sorted; used by messages that list what there is."""
    return tuple(sorted(_points_of_group(group, tuple(sys.path))))


def load_plugin(group: str, name: str, *, package: str | None = None) -> Any:
    """Return the object that a package registered under ``name``: a class, a factory, or whatever the group asks for.

    Parameters
    ----------
    group : str
        One of the group constants above.
    name : str
        Name of the entry point.
    package : str, optional
        Package that brought the part when it was last used; named in the error when it is gone.

    Raises
    ------
    UnknownPlugin
        Nothing is registered under this name.
    AmbiguousPlugin
        Two packages register the same name; neither is taken, because the choice would depend on the order of folders.
    """
    points = _points_of_group(group, tuple(sys.path)).get(name, ())
    own = [point for point, package, _ in points if package == OWN_PACKAGE]
    if own:  # a stranger cannot replace a part that ships with the workbench
        return own[0].load()
    if not points:
        raise UnknownPlugin(_unknown(group, name, package))
    if len(points) > 1:
        packages = " and ".join(sorted(part.package or "an unnamed package" for part in points))
        raise AmbiguousPlugin(
            f"{_kind_of_group(group)} {name!r} is brought by {packages}: uninstall one of them"
        )
    return points[0].point.load()


def package_of(group: str, name: str) -> str | None:
    """Return the package that brings a part, as ``name version``; None for our own parts and for unknown ones.

    Recorded with a run, so that a workbench without the package can say what is missing.
    """
    points = _points_of_group(group, tuple(sys.path)).get(name, ())
    if any(part.package == OWN_PACKAGE for part in points):  # `load_plugin` takes ours
        return None
    return next((f"{part.package} {part.version}" for part in points if part.package is not None), None)


def _unknown(group: str, name: str, package: str | None) -> str:
    names = plugin_names(group)
    near = get_close_matches(name, names, 1, 0.8)
    meant = f" (did you mean {near[0]}?)" if near else ""
    line = f"no {_kind_of_group(group)} named {name!r}{meant}; there are {', '.join(names)}"
    return f"{line}; it came with the package {package}, which is not installed here" if package else line


def _kind_of_group(group: str) -> str:
    return group.rpartition(".")[2].removesuffix("s")


class _Part(NamedTuple):
    """An entry point with the package that brings it; both None where nobody knows."""

    point: EntryPoint
    package: str | None
    version: str | None


# The search path is part of the key: a package that is put on it later is seen, and a look-up costs no scan of the
# installed packages (20 ms with two hundred of them). Names and versions are read here as well: each look at them parses
# the package's METADATA anew (1.5 ms), which a run of a thousand leaves did three thousand times.
@lru_cache(maxsize=64)
def _points_of_group(group: str, path: tuple[str, ...]) -> dict[str, tuple[_Part, ...]]:
    points: dict[str, dict[str | None, _Part]] = {}
    for point in entry_points(group=group):
        package, version = (point.dist.name, point.dist.version) if point.dist is not None else (None, None)
        # Two folders of the path may describe the same package, as a checkout beside a wheel; the first counts, as for
        # import.
        points.setdefault(point.name, {}).setdefault(package, _Part(point, package, version))
    return {name: tuple(by_package.values()) for name, by_package in points.items()}
