"""The synthesizers: one request per inner node, which names the node and its direct children only (Analytica, Alg. 2).

The model gives the rule; the probability that is stored is computed from it. A stated probability that is off by more
than the tolerance, a rule that does not fit the children, and a result outside [0, 1] are sent back. The vanilla rule has
no function: there the stated probability is stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from workbench.agents.base import AgentSettings
from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import MalformedReply
from workbench.agents.replies import parse_conclusion, parse_linear, parse_logic, parse_noisy_or
from workbench.models.base import NodeRef
from workbench.prompts import render
from workbench.propositions import Belief, NodeId, Polarity, Proposition, Rule
from workbench.synthesis import LinearRule, RuleError, rule_from_json

if TYPE_CHECKING:
    from proxies.clock import Cutoff
    from workbench.agents.base import Asker


class RuleSynthesizer(ABC):
    """What all rules share: the prompt, the dialogue, the checks on the result.

    Parameters
    ----------
    settings : AgentSettings
        Uses ``abs_intercept_max``, ``stated_p_tolerance`` and ``max_exception_retry``.
    """

    name: ClassVar[str]

    def __init__(self, settings: AgentSettings | None = None) -> None:
        self.settings = settings or AgentSettings()

    async def synthesize(
        self, node: Proposition, children: Sequence[Proposition], *, cutoff: Cutoff, ask: Asker
    ) -> tuple[Rule, Belief]:
        """Return the rule and the belief it gives.

        Raises
        ------
        ValueError
            There is no child, or one without a probability.
        AgentGaveUp
            No usable reply.
        workbench.models.errors.ModelError
            From the asker.
        """
        if not children or any(child.p is None for child in children):
            raise ValueError(f"{node.id} cannot be synthesized before all its children have a probability")
        reply_format = self.reply_format(node, children)
        prompt = render(
            "synthesize",
            proposition=f"{node.id}: {node.statement}",
            causality=node.causality or "(no note)",
            children="\n\n".join(child_block(node, child) for child in children),
            cutoff=cutoff.text,
            rule=self.instructions(),
            reply_format=reply_format,
        )
        dialogue = Dialogue(
            system=render("synthesis_system").text,
            nodes=[NodeRef(id=item.id, statement=item.statement) for item in (node, *children)],
            cutoff=cutoff,
            ask=ask,
            settings=self.settings,
        )
        return await dialogue.exchange(
            self.name,
            prompt.text,
            lambda text: self.read(text, node, children),
            propositions=_brief(node, children),
            reply_format=reply_format,
        )

    @abstractmethod
    def instructions(self) -> str:
        """The part of the prompt that explains the rule."""

    @abstractmethod
    def reply_format(self, node: Proposition, children: Sequence[Proposition]) -> str:
        """The part of the prompt that spells the answer."""

    @abstractmethod
    def read(self, text: str, node: Proposition, children: Sequence[Proposition]) -> tuple[Rule, Belief]:
        """Rule and belief of a reply; raises `MalformedReply`."""

    def computed(self, rule: Rule, children: Sequence[Proposition]) -> float:
        """The rule's value at the children's probabilities.

        Raises
        ------
        MalformedReply
            It lies outside [0, 1] by more than rounding.
        """
        value = rule.evaluate(probabilities(children))
        if not -1e-9 <= value <= 1 + 1e-9:
            raise MalformedReply(
                f"your rule gives {value:.4g} at the children's probabilities; it must give a number from 0 to 1"
            )
        return min(1.0, max(0.0, value))

    def agree(self, stated: float, computed: float) -> None:
        """Send a stated probability back that is not what the rule gives."""
        if abs(stated - computed) > self.settings.stated_p_tolerance + 1e-9:
            raise MalformedReply(
                f'"p_true" is stated as {stated:.4g}, but your own numbers give {computed:.4g}; change one or the other'
            )


class LinearSynthesizer(RuleSynthesizer):
    """p = b0 + sum of b_i p_i, with bounds, and signs that follow the polarities (Analytica, eq. 2)."""

    name = "linear"

    def instructions(self) -> str:
        """The rule in words."""
        return render("linear_rule", intercept_max=f"{self.settings.abs_intercept_max:g}").text

    def reply_format(self, node: Proposition, children: Sequence[Proposition]) -> str:
        """The answer, with this node's children as keys."""
        return render("linear_reply", weights=", ".join(f'"{child.id}": w' for child in children)).text

    def read(self, text: str, node: Proposition, children: Sequence[Proposition]) -> tuple[Rule, Belief]:
        """Rule and belief of a reply."""
        reply = parse_linear(text)
        rule = LinearRule(reply.intercept, reply.weights)
        try:
            rule.validate([child.id for child in children], node.polarities, self.settings.abs_intercept_max)
        except RuleError as error:
            raise MalformedReply(str(error)) from error
        p = self.computed(rule, children)
        self.agree(reply.conclusion.p, p)
        return rule, Belief(p=p, key_factor=reply.conclusion.key_factor, report=reply.conclusion.report)


class VanillaSynthesizer(RuleSynthesizer):
    """The model states the probability; there is no function to evaluate later (Analytica, section 4.1)."""

    name = "vanilla"

    def instructions(self) -> str:
        """The rule in words."""
        return render("vanilla_rule").text

    def reply_format(self, node: Proposition, children: Sequence[Proposition]) -> str:
        """The answer."""
        return render("conclusion_reply").text

    def read(self, text: str, node: Proposition, children: Sequence[Proposition]) -> tuple[Rule, Belief]:
        """Rule and belief of a reply."""
        reply = parse_conclusion(text)
        rule = rule_from_json({"name": "vanilla"})
        return rule, Belief(p=reply.p, key_factor=reply.key_factor, report=reply.report)


class LogicSynthesizer(RuleSynthesizer):
    """A formula over the children and one assumption, evaluated exactly (Analytica, section 4.1 and D.8)."""

    name = "logic"

    def instructions(self) -> str:
        """The rule in words."""
        return render("logic_rule").text

    def reply_format(self, node: Proposition, children: Sequence[Proposition]) -> str:
        """The answer."""
        return render("logic_reply").text

    def read(self, text: str, node: Proposition, children: Sequence[Proposition]) -> tuple[Rule, Belief]:
        """Rule and belief of a reply."""
        reply = parse_logic(text)
        assumption = None
        if reply.assumption is not None:
            assumption = {"detail": reply.assumption[0], "probability": reply.assumption[1]}
        try:
            rule = rule_from_json({"name": "logic", "formula": reply.formula, "assumption": assumption})
            p = self.computed(rule, children)
        except RuleError as error:
            raise MalformedReply(str(error)) from error
        return rule, Belief(p=p, key_factor=reply.key_factor, report=reply.report)


class NoisyOrSynthesizer(RuleSynthesizer):
    """Independent causes with a leak, and inhibitors (Analytica, App. B)."""

    name = "noisy-or"

    def instructions(self) -> str:
        """The rule in words."""
        return render("noisy_or_rule").text

    def reply_format(self, node: Proposition, children: Sequence[Proposition]) -> str:
        """The answer, with this node's children sorted into causes and inhibitors."""
        keys: dict[bool, list[str]] = {False: [], True: []}
        for child in children:
            keys[node.polarities.get(child.id) is Polarity.NEGATIVE].append(f'"{child.id}": w')
        return render("noisy_or_reply", weights=", ".join(keys[False]), inhibitors=", ".join(keys[True])).text

    def read(self, text: str, node: Proposition, children: Sequence[Proposition]) -> tuple[Rule, Belief]:
        """Rule and belief of a reply."""
        reply = parse_noisy_or(text)
        _check_sides(reply.weights, reply.inhibitors, node, children)
        try:
            rule = rule_from_json(
                {
                    "name": "noisy-or",
                    "leak": reply.leak,
                    "weights": dict(reply.weights),
                    "inhibitors": dict(reply.inhibitors),
                }
            )
            p = self.computed(rule, children)
        except RuleError as error:
            raise MalformedReply(str(error)) from error
        self.agree(reply.conclusion.p, p)
        return rule, Belief(p=p, key_factor=reply.conclusion.key_factor, report=reply.conclusion.report)


def child_block(node: Proposition, child: Proposition) -> str:
    """What a synthesizer is shown of a child: id, polarity, statement, p, key factor, and the report in full."""
    assert child.belief is not None
    lines = [
        f"{child.id} ({_polarity(node, child.id)}): {child.statement}",
        f"p = {child.belief.p!r}",
        f"Key factor: {child.belief.key_factor or '(none given)'}",
        f'<report of="{child.id}">',
        child.belief.report or "(no report)",
        "</report>",
    ]
    return "\n".join(lines)


def probabilities(children: Sequence[Proposition]) -> dict[NodeId, float]:
    """Soft truth values by id."""
    return {child.id: child.belief.p for child in children if child.belief is not None}


def _brief(node: Proposition, children: Sequence[Proposition]) -> str:
    lines = [f"{node.id}: {node.statement}"]
    for child in children:
        p = probabilities([child])[child.id]
        lines.append(f"- {child.id} ({_polarity(node, child.id)}), p = {p!r}: {child.statement}")
    return "\n".join(lines)


def _polarity(node: Proposition, child: NodeId) -> str:
    polarity = node.polarities.get(child)
    return "no polarity stated" if polarity is None else str(polarity)


def _check_sides(
    weights: Mapping[NodeId, float],
    inhibitors: Mapping[NodeId, float],
    node: Proposition,
    children: Sequence[Proposition],
) -> None:
    ids = [child.id for child in children]
    if missing := [child for child in ids if child not in weights and child not in inhibitors]:
        raise MalformedReply(f"{', '.join(missing)} stands neither in weights nor in inhibitors")
    if stray := [child for child in (*weights, *inhibitors) if child not in ids]:
        raise MalformedReply(f"{', '.join(stray)} is no child here; the children are {', '.join(ids)}")
    for child in ids:
        polarity = node.polarities.get(child)
        wrong = (
            {Polarity.POSITIVE: inhibitors, Polarity.NEGATIVE: weights}.get(polarity) if polarity else None
        )
        if wrong is not None and child in wrong:
            side = "inhibitors" if wrong is inhibitors else "weights"
            raise MalformedReply(f"{child} is stated as {polarity} but stands under {side}")
