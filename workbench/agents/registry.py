"""Agents by name. Built-ins come through entry points of the same groups as a stranger's, so nothing is special.

A package adds an agent with an entry point in one of the groups below; its value is a factory that takes
``AgentSettings`` and gives an object with the Protocol's method.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from workbench.agents.errors import UnknownAgent

if TYPE_CHECKING:
    from workbench.agents.base import AgentSettings, Analyzer, Grounder, Synthesizer

ANALYZERS = "analyst_workbench.analyzers"
GROUNDERS = "analyst_workbench.grounders"
SYNTHESIZERS = "analyst_workbench.synthesizers"

_BUILT_IN = tuple(
    EntryPoint(name=name, value=value, group=group)
    for group, name, value in (
        (ANALYZERS, "rounds", "workbench.agents.analyzer:RoundsAnalyzer"),
        (GROUNDERS, "notebook", "workbench.agents.grounders.notebook:NotebookGrounder"),
        (SYNTHESIZERS, "linear", "workbench.agents.synthesizers:LinearSynthesizer"),
        (SYNTHESIZERS, "vanilla", "workbench.agents.synthesizers:VanillaSynthesizer"),
        (SYNTHESIZERS, "logic", "workbench.agents.synthesizers:LogicSynthesizer"),
        (SYNTHESIZERS, "noisy-or", "workbench.agents.synthesizers:NoisyOrSynthesizer"),
        (SYNTHESIZERS, "average", "workbench.agents.ablations:AverageSynthesizer"),
        (SYNTHESIZERS, "random", "workbench.agents.ablations:RandomSynthesizer"),
    )
)


def agent_names(group: str) -> tuple[str, ...]:
    """Known names of a group, sorted."""
    return tuple(sorted(_points(group)))


def open_analyzer(name: str = "rounds", settings: AgentSettings | None = None) -> Analyzer:
    """The analyzer of this name; raises `UnknownAgent`."""
    analyzer: Analyzer = _make(ANALYZERS, name, settings)
    return analyzer


def open_grounder(name: str = "notebook", settings: AgentSettings | None = None) -> Grounder:
    """The grounder of this name; raises `UnknownAgent`."""
    grounder: Grounder = _make(GROUNDERS, name, settings)
    return grounder


def open_synthesizer(name: str = "linear", settings: AgentSettings | None = None) -> Synthesizer:
    """The synthesizer of this rule; raises `UnknownAgent`."""
    synthesizer: Synthesizer = _make(SYNTHESIZERS, name, settings)
    return synthesizer


def _make(group: str, name: str, settings: AgentSettings | None) -> Any:
    points = _points(group)
    if name not in points:
        kind = group.rpartition(".")[2].removesuffix("s")
        raise UnknownAgent(f"no {kind} named {name!r}; there are {', '.join(sorted(points))}")
    return points[name].load()(settings)


def _points(group: str) -> dict[str, EntryPoint]:
    found = {point.name: point for point in entry_points(group=group)}
    found.update({point.name: point for point in _BUILT_IN if point.group == group})
    return found
