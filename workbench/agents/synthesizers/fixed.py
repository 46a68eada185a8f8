"""Synthesizers without a model: the plain mean and random weights, to measure what a model's weights are worth.

Paper A, Table 13. They take the place of a synthesizer and ask nobody, so a run with them costs nothing above its leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.agents.base import AgentSettings
from workbench.agents.registry import no_options
from workbench.propositions import Belief, Proposition, Rule
from workbench.synthesis import average_rule, random_rule

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.models.base import Asker


class AverageSynthesizer:
    """The unweighted mean of the children; as in the paper, polarities have no say."""

    name: ClassVar[str] = "average"
    #: No request is sent; forecasts of calls and prices look here.
    stages: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, settings: AgentSettings | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        no_options(f"the {self.name} synthesizer", options)
        self.settings = settings or AgentSettings()

    async def synthesize(
        self, node: Proposition, children: Sequence[Proposition], *, cutoff: Cutoff, ask: Asker
    ) -> tuple[Rule, Belief]:
        """Return the rule and the belief it gives; the asker is not used.

        Raises
        ------
        ValueError
            There is no child, or one without a probability.
        """
        p = {child.id: child.p for child in children}
        known = {child: value for child, value in p.items() if value is not None}
        if not known or len(known) != len(p):
            raise ValueError(f"{node.id} cannot be synthesized before all its children have a probability")
        rule = self.rule(node, list(p))
        words = self.words(rule)
        # The sum of the weights is 1 but for rounding, hence the bounds.
        return rule, Belief(p=min(1.0, max(0.0, rule.evaluate(known))), key_factor=words, report=words)

    def rule(self, node: Proposition, children: Sequence[str]) -> Rule:
        """The rule of this node."""
        return average_rule(children, node.polarities)

    def words(self, rule: Rule) -> str:
        """Key factor and report of the belief, in place of a model's."""
        return "Plain mean of the propositions below; no model weighed them."


class RandomSynthesizer(AverageSynthesizer):
    """Random positive weights that sum to 1, drawn from ``rule_seed`` and the children's ids."""

    name: ClassVar[str] = "random"

    def rule(self, node: Proposition, children: Sequence[str]) -> Rule:
        """The rule of this node, the same for the same seed."""
        return random_rule(children, node.polarities, seed=self.settings.rule_seed)

    def words(self, rule: Rule) -> str:
        """Key factor and report of the belief, in place of a model's."""
        return f"Random weights, seed {self.settings.rule_seed}; no model weighed them."
