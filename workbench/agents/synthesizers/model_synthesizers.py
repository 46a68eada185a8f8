"""The synthesizers: one request per inner node, which names the node and its direct children only (Analytica, Alg. 2).

The model gives the rule; the probability that is stored is computed from it. A rule that does not fit the children and a
result outside [0, 1] are sent back. A stated probability that is off by more than the tolerance and a constant above its
bound are shown to the model once, beside what its numbers give: what it then sends is taken, with a note in the report. With
``stand_by`` off, as in the paper, they are sent back like any other fault. The vanilla rule has no function: there the stated
probability is stored.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.agents.base import AgentSettings, LeafTask
from workbench.agents.conversation import Conversation
from workbench.agents.errors import BadSetting, MalformedReply, RetryWorthwhile
from workbench.agents.findings.check_table import RunKind, sent_back
from workbench.agents.findings.conclusion_checks import synthesis_findings
from workbench.agents.findings.statement_checks import STOOD_BY, rule_finding
from workbench.agents.replies.reply_schemas import CONCLUSION, LOGIC, linear, noisy_or
from workbench.agents.replies.stage_replies import (
    Conclusion,
    LinearReply,
    LogicReply,
    NoisyOrReply,
    parse_conclusion,
)
from workbench.agents.synthesizers.child_blocks import (
    child_block,
    equation_to_fill,
    in_brief,
    probabilities,
)
from workbench.agents.synthesizers.root_prior import Prior
from workbench.agents.synthesizers.synthesis_look_up import STAGE, LookUpSettings, look_up
from workbench.models.base import Asker, NodeRef, ReplySchema
from workbench.prompts import PromptSet, prompts_of
from workbench.propositions import Belief, NodeId, Polarity, Proposition, Rule, RuleLimits, TreeError
from workbench.synthesis import (
    Assumption,
    InterceptTooLarge,
    LinearRule,
    LogicRule,
    NoisyOrRule,
    RuleError,
    VanillaRule,
    checked_value,
)
from workbench.synthesis.rules.linear import rule_of_reply
from workbench.synthesis.rules.normalise import check_normaliser

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.evidence.look_up import LookUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a model is asked for: the rule explained, the answer spelt, and its JSON schema for models that take one."""

    rule: str
    reply_format: str
    schema: ReplySchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A reply that fits its node: its rule, the probability it states (None for logic), what the rule gives (None for vanilla), doubts."""

    rule: Rule
    stated: float | None
    key_factor: str
    report: str
    conclusion: Conclusion | None = None
    computed: float | None = None
    doubts: tuple[str, ...] = ()

    @property
    def p(self) -> float:
        """What counts: a computed value before a stated one."""
        p = self.stated if self.computed is None else self.computed
        assert p is not None, "a reply without either is sent back"
        return p


class RuleSynthesizer(ABC):
    """What all rules share: the prompt, the dialogue, the checks on the result.

    Parameters
    ----------
    settings : AgentSettings
        Uses ``abs_intercept_max``, ``stated_p_tolerance``, ``stand_by`` and ``max_exception_retry``.
    options : mapping
        Of its look-up (`LookUpSettings`); it has none unless ``tools`` are named.
    """

    name: ClassVar[str]

    #: Names of the settings that a kind of rule takes beside those of a look-up.
    own_settings: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, settings: AgentSettings | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        self.looking, rest = LookUpSettings.taken_from(options or {}, of=f"the {self.name} synthesizer")
        if rest:
            takes = (*self.own_settings, *(item.name for item in fields(LookUpSettings)))
            raise BadSetting(
                f"the {self.name} synthesizer's settings are {', '.join(takes)}, not {', '.join(sorted(rest))}"
            )
        self.settings = settings or AgentSettings()

    #: The engine then gives the root's own prior, where the run asks for one.
    takes_prior: ClassVar[bool] = True

    @property
    def looks_up(self) -> bool:
        """Whether something is looked up for a node before its children are weighed."""
        return bool(self.looking.tools)

    async def look_up(self, task: LeafTask, node: Proposition, children: Sequence[Proposition]) -> LookUp:
        """Return what was found for a node; only model errors and cancellation are raised."""
        return await look_up(self.looking, task, node, children)

    @property
    def stages(self) -> tuple[str, ...]:
        """One request per inner node, at the stage of the rule's name; before it those of a look-up where there is one."""
        return (STAGE, self.name) if self.looks_up else (self.name,)

    async def synthesize(
        self,
        node: Proposition,
        children: Sequence[Proposition],
        *,
        cutoff: Cutoff,
        ask: Asker,
        looked_up: LookUp | None = None,
        prior: Prior | None = None,
    ) -> tuple[Rule, Belief]:
        """Return the rule and the belief it gives; ``looked_up`` is what was looked up for the node, ``prior`` what was said of it before.

        A value far from the prior is looked at a second time, as any doubt is; the prior then stands in the report.

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
        prompts = prompts_of(ask)
        asked = self.asked(node, children, prompts)
        shown = [text] if looked_up is not None and (text := looked_up.for_prompt(prompts)) else []
        prompt = prompts.render(
            "synthesize",
            proposition=f"{node.id}: {node.statement}",
            causality=node.causality or "(no note)",
            children="\n\n".join([*(child_block(node, child) for child in children), *shown]),
            cutoff=cutoff.shown,
            rule=asked.rule,
            reply_format=asked.reply_format,
        )
        conversation = Conversation(
            ask,
            prompts.render("synthesis_system"),
            about=in_brief(node, children),
            nodes=[NodeRef(id=item.id, statement=item.statement) for item in (node, *children)],
            cutoff=cutoff,
            settings=self.settings,
        )
        weighing = _Weighing(self, node, children, cutoff, conversation, asked, prior, "\n".join(shown))
        weighed = await weighing.exchange(prompt, stand_by=self.settings.stand_by)
        if weighed.doubts and weighed.rule.numeric:
            low, high = weighed.rule.reachable()
            again = conversation.render(
                "second_look",
                equation=f"p({node.id}) = {weighed.rule.equation()}",
                value=f"{weighed.p:.4g}",
                low=f"{low:.4g}",
                high=f"{high:.4g}",
                doubts="\n".join(f"- {doubt}" for doubt in weighed.doubts),
                reply_format=asked.reply_format,
            )
            weighed = await weighing.exchange(again, stand_by=True)
        rule, belief = self.settled(weighed, children)
        report = belief.report
        if prior is not None:
            report += f"\n\n{prior.for_report()}"
        if looked_up is not None:
            report += f"\n\n{looked_up.for_report()}"
        return rule, replace(belief, report=report)

    @abstractmethod
    def asked(self, node: Proposition, children: Sequence[Proposition], prompts: PromptSet) -> Asked:
        """The rule and the answer, with this node's children by name."""

    @abstractmethod
    def parse(self, text: str, polarities: Mapping[NodeId, Polarity]) -> Weighed:
        """What a reply states; raises `MalformedReply` or an error of the rule's own."""

    def weigh(
        self, text: str, node: Proposition, children: Sequence[Proposition], *, stand_by: bool
    ) -> Weighed:
        """What a reply comes to, checked against the node and its children.

        ``stand_by``: a constant above its bound and a stated probability that the rule does not give are doubts, no faults.

        Raises
        ------
        MalformedReply
            It cannot be read, or the rule does not fit.
        """
        try:
            weighed = self.parse(text, node.polarities)
            rule, stated = weighed.rule, weighed.stated
            doubts, bound = [], self.settings.abs_intercept_max
            if stand_by and isinstance(rule, LinearRule) and (doubt := self._constant(rule)):
                doubts, bound = [doubt], math.inf
            p = checked_value(
                rule,
                [child.id for child in children],
                node.polarities,
                probabilities(children),
                intercept_max=bound,
                require_pa=self.settings.require_pa,
            )
        except (RuleError, TreeError) as error:  # TreeError: a formula may name what is no id at all
            raise MalformedReply(str(error)) from error
        if p is None:
            if stated is None:
                raise MalformedReply("it states no probability, and its rule gives none")
            return weighed
        if stand_by and (flat := rule_finding(replace(node, rule=rule))) is not None:
            doubts.append(f"{flat.words[0].upper()}{flat.words[1:]}.")
        # The tolerance is inclusive; 1e-9 keeps rounding out of it.
        if stated is not None and abs(stated - p) > self.settings.stated_p_tolerance + 1e-9:
            if not stand_by:
                raise MalformedReply(
                    f'"p_true" is stated as {stated:.4g}, but your own numbers give {p:.4g}; '
                    "change one or the other"
                )
            low, high = rule.reachable()
            beyond = "" if low <= stated <= high else f"; no probabilities of the children give {stated:.4g}"
            doubts.append(f'"p_true" is stated as {stated:.4g}, but the numbers give {p:.4g}{beyond}.')
        return replace(weighed, computed=p, doubts=tuple(doubts))

    def settled(self, weighed: Weighed, children: Sequence[Proposition]) -> tuple[Rule, Belief]:
        """Rule and belief to store; what the model stands by against doubts is said at the end of the report."""
        report = weighed.report
        if weighed.doubts:
            lines = "\n".join(f"- {doubt}" for doubt in weighed.doubts)
            report = f"{report}\n\n{STOOD_BY}\n\n{lines}"
        return weighed.rule, Belief(p=weighed.p, key_factor=weighed.key_factor, report=report)

    def _constant(self, rule: LinearRule) -> str | None:
        """What to say of a constant that is out of its bounds; None if it keeps to them."""
        try:
            rule.validate(
                rule.named_children(), None, RuleLimits(intercept_max=self.settings.abs_intercept_max)
            )
        except InterceptTooLarge as error:
            return f"{error}: it speaks for the parent or against it whatever becomes of the children."
        except RuleError:
            return None  # another fault; the check that follows says which
        return None


@dataclass(slots=True)
class _Weighing:
    """The dialogue about one node; ``shown`` is what was looked up for it."""

    synthesizer: RuleSynthesizer
    node: Proposition
    children: Sequence[Proposition]
    cutoff: Cutoff
    conversation: Conversation
    asked: Asked
    prior: Prior | None
    shown: str
    sent_back: bool = False

    async def exchange(self, prompt: str, *, stand_by: bool) -> Weighed:
        return await self.conversation.exchange(
            self.synthesizer.name,
            prompt,
            lambda text: self._read(text, stand_by),
            reply_format=self.asked.reply_format,
            schema=self.asked.schema,
            choice="none",
            keeps_prose=True,
        )

    def _read(self, text: str, stand_by: bool) -> Weighed:
        weighed, prior = self.synthesizer.weigh(text, self.node, self.children, stand_by=stand_by), self.prior
        if prior is not None and weighed.rule.numeric and prior.far_from(weighed.p):
            weighed = replace(weighed, doubts=(*weighed.doubts, prior.doubt(self.node.id, weighed.p)))
        return self._held(weighed)

    def _held(self, weighed: Weighed) -> Weighed:
        """A stated value that no rule computes is held to what was shown, as a leaf's is to its cells; sent back once."""
        said, node = weighed.conclusion, self.node
        if weighed.rule.numeric or said is None or not self.synthesizer.settings.critic:
            return weighed
        material = {
            child.id: f"{child.p:g}\n{child.belief.report if child.belief else ''}" for child in self.children
        }
        material["what was looked up"] = self.shown
        material["prior"] = "" if self.prior is None else self.prior.for_report()
        kind = RunKind(live=self.cutoff.live)
        findings = synthesis_findings(said, material, f"{node.id}: {node.statement}", kind)
        if not findings:
            return weighed
        doubts = tuple(f"{item.words[0].upper()}{item.words[1:]}." for item in findings)
        doubted = replace(weighed, doubts=doubts)
        if not self.sent_back:
            self.sent_back = True
            raise RetryWorthwhile(sent_back(findings), doubted)
        return doubted


class LinearSynthesizer(RuleSynthesizer):
    """p = b0 + sum of b_i p_i, with bounds, and signs that follow the polarities (Analytica, eq. 2).

    Options besides those of a look-up are ``semantics`` (``free``, or ``strict``: the stored rule is the nearest one that is a Bayes net's table) and
    ``normalise`` (how strict rules are made: ``scale``, ``softmax`` or ``min-max``).
    """

    name = "linear"

    #: The analyzer is then asked how the children of each proposition work together.
    per_node: ClassVar[bool] = True

    own_settings = ("semantics", "normalise")

    def __init__(
        self, settings: AgentSettings | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        rest = dict(options or {})
        self.semantics = rest.pop("semantics", "free")
        normalise = rest.pop("normalise", "scale")
        if self.semantics not in ("free", "strict"):
            raise BadSetting(f"semantics of a linear rule are free or strict, not {self.semantics!r}")
        try:
            self.normalise = check_normaliser(normalise)
        except RuleError as error:
            raise BadSetting(str(error)) from None
        super().__init__(settings, rest)

    async def synthesize(
        self,
        node: Proposition,
        children: Sequence[Proposition],
        **more: Any,
    ) -> tuple[Rule, Belief]:
        """As other rules; a node of which the analyzer said that all or any of its children do is combined by that rule."""
        kind = {"all": LogicSynthesizer, "any": NoisyOrSynthesizer}.get(node.combine)
        if kind is None or not self.settings.combine_per_node:
            return await super().synthesize(node, children, **more)
        said = "All of them are needed for it." if node.combine == "all" else "Any of them suffices for it."
        node = replace(node, causality=f"{node.causality}\n\n{said}".strip())
        return await kind(self.settings).synthesize(node, children, **more)

    def settled(self, weighed: Weighed, children: Sequence[Proposition]) -> tuple[Rule, Belief]:
        """Rule and belief to store; with strict semantics, of the strict rule nearest to the stated one.

        The stated probability was compared with the stated rule: the model cannot know how its weights will be mended.
        """
        rule, belief = super().settled(weighed, children)
        if self.semantics == "free":
            return rule, belief
        projection = rule.projected(self.normalise)
        assert projection is not None, "a linear rule has a nearest strict one"
        rule = projection[0]
        # A strict rule stays in [0, 1] but for rounding. Its intercept is not bounded: mending moves weights into it.
        p = min(1.0, max(0.0, rule.evaluate(probabilities(children))))
        return rule, replace(belief, p=p)

    def asked(self, node: Proposition, children: Sequence[Proposition], prompts: PromptSet) -> Asked:
        """The equation for these children, who are the keys of the answer."""
        rule = prompts.render(
            "linear_rule",
            equation=equation_to_fill(node, children),
            intercept_max=f"{self.settings.abs_intercept_max:g}",
            tolerance=f"{self.settings.stated_p_tolerance:g}",
        )
        ids = [child.id for child in children]
        answer = prompts.render("linear_reply", weights=_holes(ids))
        return Asked(rule=rule, reply_format=answer, schema=linear(ids))

    def parse(self, text: str, polarities: Mapping[NodeId, Polarity]) -> Weighed:
        """Rule and result of a reply, in either form of its weights."""
        reply = LinearReply.read(text)
        return _stated(rule_of_reply(reply.intercept, reply.weights, polarities), reply.conclusion)


class VanillaSynthesizer(RuleSynthesizer):
    """The model states the probability; there is no function to evaluate later (Analytica, section 4.1)."""

    name = "vanilla"

    def asked(self, node: Proposition, children: Sequence[Proposition], prompts: PromptSet) -> Asked:
        """A conclusion as a leaf's."""
        rule, answer = (prompts.render(name) for name in ("vanilla_rule", "conclusion_reply"))
        return Asked(rule=rule, reply_format=answer, schema=CONCLUSION)

    def parse(self, text: str, polarities: Mapping[NodeId, Polarity]) -> Weighed:
        """Result of a reply; the rule is empty."""
        return _stated(VanillaRule(), parse_conclusion(text))


class LogicSynthesizer(RuleSynthesizer):
    """A formula over the children and one assumption, evaluated exactly (Analytica, section 4.1 and D.8)."""

    name = "logic"

    def asked(self, node: Proposition, children: Sequence[Proposition], prompts: PromptSet) -> Asked:
        """A formula with this node's children as variables."""
        answer = prompts.render("logic_reply", variables=", ".join(child.id for child in children))
        return Asked(rule=prompts.render("logic_rule"), reply_format=answer, schema=LOGIC)

    def parse(self, text: str, polarities: Mapping[NodeId, Polarity]) -> Weighed:
        """Rule of a reply; it states no probability."""
        reply = LogicReply.read(text)
        said = reply.assumption
        assumption = None if said is None else Assumption(detail=said.detail, probability=said.probability)
        return Weighed(
            rule=LogicRule(reply.formula, assumption),
            stated=None,
            key_factor=reply.key_factor,
            report=reply.prose or reply.written,
        )


class NoisyOrSynthesizer(RuleSynthesizer):
    """Independent causes with a leak, and inhibitors (Analytica, App. B)."""

    name = "noisy-or"

    def asked(self, node: Proposition, children: Sequence[Proposition], prompts: PromptSet) -> Asked:
        """Children of the node, sorted into causes and inhibitors."""
        negative = [child.id for child in children if node.polarities.get(child.id) is Polarity.NEGATIVE]
        causes = [child.id for child in children if child.id not in negative]
        rule = prompts.render("noisy_or_rule", tolerance=f"{self.settings.stated_p_tolerance:g}")
        answer = prompts.render("noisy_or_reply", weights=_holes(causes), inhibitors=_holes(negative))
        return Asked(rule=rule, reply_format=answer, schema=noisy_or(causes, negative))

    def parse(self, text: str, polarities: Mapping[NodeId, Polarity]) -> Weighed:
        """Rule and result of a reply."""
        reply = NoisyOrReply.read(text)
        return _stated(NoisyOrRule(reply.leak, reply.weights, reply.inhibitors), reply.conclusion)


def _holes(ids: Sequence[NodeId]) -> str:
    return ", ".join(f'"{child}": w' for child in ids)


def _stated(rule: Rule, said: Conclusion) -> Weighed:
    return Weighed(rule=rule, stated=said.p, key_factor=said.key_factor, report=said.report, conclusion=said)
