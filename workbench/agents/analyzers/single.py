"""The analyzer that breaks nothing down: the claim is its own only leaf, for grounders that are measured without a tree."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.base import AgentSettings
from workbench.agents.registry import no_options
from workbench.models.base import Asker

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.propositions import Tree


class SingleAnalyzer:
    """Registered as ``single``; asks no model (paper A's Basic Search, Deep Research and Notebook rows without Analytica)."""

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        no_options("the analyzer single", options)

    async def analyze(
        self, tree: Tree, *, cutoff: Cutoff, ask: Asker, on_round: Callable[[Tree], Awaitable[None]]
    ) -> Tree:
        """Return the tree as it is."""
        await on_round(tree)
        return tree
