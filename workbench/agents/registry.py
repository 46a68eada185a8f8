"""Agents by name. Ours come through entry points of the same groups as a stranger's, so nothing is special.

A package adds an agent with an entry point in ``analyst_workbench.analyzers``, ``.grounders`` or ``.synthesizers``. Its
value is a factory that is called as ``factory(settings, options)`` with the bounds that all agents share
(``AgentSettings``) and the agent's own settings, a mapping that the agent itself validates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.agents.base import (
    AgentSettings,
    Analyzer,
    Grounder,
    Synthesizer,
)
from workbench.agents.errors import BadSetting, UnknownAgent
from workbench.plug_points import ANALYZERS, GROUNDERS, SYNTHESIZERS, UnknownPlugin, load_plugin, plugin_names

__all__ = ["agent_names", "no_options", "open_analyzer", "open_grounder", "open_synthesizer"]


def agent_names(group: str) -> tuple[str, ...]:
    """Return the known names of a group, sorted."""
    return plugin_names(group)


def open_analyzer(
    name: str = "rounds",
    settings: AgentSettings | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    package: str | None = None,
) -> Analyzer:
    """Return the analyzer of this name; raises `UnknownAgent`, or `BadSetting` for options it does not take."""
    analyzer: Analyzer = _open(ANALYZERS, name, settings, options, package)
    return analyzer


def open_grounder(
    name: str = "notebook",
    settings: AgentSettings | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    package: str | None = None,
) -> Grounder:
    """Return the grounder of this name; raises `UnknownAgent`, or `BadSetting` for options it does not take."""
    grounder: Grounder = _open(GROUNDERS, name, settings, options, package)
    return grounder


def open_synthesizer(
    name: str = "linear",
    settings: AgentSettings | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    package: str | None = None,
) -> Synthesizer:
    """Return the synthesizer of this name; raises `UnknownAgent`, or `BadSetting` for options it does not take."""
    synthesizer: Synthesizer = _open(SYNTHESIZERS, name, settings, options, package)
    return synthesizer


def no_options(agent: str, options: Mapping[str, Any] | None) -> None:
    """Refuse options; called by agents that have no settings of their own. Raises `BadSetting`."""
    if options:
        raise BadSetting(f"{agent} takes no settings of its own, not {', '.join(sorted(options))}")


def _open(
    group: str,
    name: str,
    settings: AgentSettings | None,
    options: Mapping[str, Any] | None,
    package: str | None,
) -> Any:
    try:
        factory = load_plugin(group, name, package=package)
    except UnknownPlugin as error:
        raise UnknownAgent(str(error)) from None
    return factory(settings or AgentSettings(), dict(options or {}))
