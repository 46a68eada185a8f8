"""The answer of a run for a reader in a hurry: one sentence, the steps from the base rate to it, and a citation.

Page, terminal, note and notebook show the same words. The steps are exact: they sum to the answer, and a person can add them up.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import combinations
from math import comb, fsum
from typing import Any

from workbench.engine.record.state import RunState
from workbench.formatting import counted, percent, points_apart, single_line
from workbench.propositions import ROOT, NodeId, Proposition, Rule, Tree
from workbench.synthesis.rules.pooled import PooledRule, drivers_rule
from workbench.synthesis.whatif.evaluation import clamp
from workbench.whatif.stored_reports import report_base_rate, report_forecast

#: A part of less than this reads as "0.0 points".
_SHOWN = 0.0005
#: A rule's weights have six decimals, so that it gives the forecast it was made for to about this.
_ROUNDING = 1e-5
#: With more parts than this all orders are too many: 2 to this power evaluations.
MOST_IN_ALL_ORDERS = 10
_LONGEST_NAME = 110
_DATE = r"\d{4}-\d\d-\d\d"
_DATES = re.compile(rf"(?: (?:on|by|through|before|until|from|to|than on|and))+ {_DATE}\b|, {_DATE}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One driver's share of the answer: ``points`` in [-1, 1], as it moves from ``usual`` to ``p``; the rest has neither."""

    name: str
    points: float
    node: NodeId | None = None
    usual: float | None = None
    p: float | None = None


class Rest(StrEnum):
    """Names the source of the part of an answer that no driver adds."""

    #: The claim was forecast without its drivers too.
    DIRECT = "the direct forecasts together"
    #: The rule was made to give the forecast of the claim's own series, as the key-free analyst's is.
    SERIES = "the simulation of the claim's series"
    #: With every driver at what is usual for it, the rule gives another number than the base rate.
    RULE = "the rule at its drivers' usual values"
    #: The claim stands elsewhere than the rule puts it.
    HAND = "the value set at the claim itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """The two probabilities that a claim's is pooled of, and what the drivers' counts beside the direct one."""

    tree: float
    direct: float
    tree_weight: float

    def words(self) -> str:
        """Write them so that a reader can recompute the answer."""
        even = self.tree_weight == 0.5
        share = "equally" if even else f"at {percent(self.tree_weight)} and {percent(1 - self.tree_weight)}"
        return f"The drivers alone give {percent(self.tree)} and the direct forecasts {percent(self.direct)}; they count {share}, averaged in log odds."


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """The steps to the answer: ``start`` and the parts, largest first, sum to ``end``."""

    start: float
    #: One per driver, and one for what no driver adds, where there is any.
    parts: tuple[Part, ...]
    #: What that one comes from.
    source: Rest
    end: float
    #: The start is the claim's base rate, and each driver counts from its own; False: all count from 50%, as not every driver has a base
    #: rate.
    from_base_rate: bool
    #: The answer is the forecast of the claim's series still: the drivers explain the number and do not set it.
    set_by_series: bool
    #: What the drivers alone come to, where a direct forecast is pooled with them.
    pooled: "Pooled | None" = None

    @property
    def start_words(self) -> str:
        """Name the first bar."""
        return "base rate" if self.from_base_rate else "every driver at 50%"


def waterfall(tree: Tree) -> Waterfall | None:
    """Return the parts that lead from the base rate to the root's probability; None without a formula or a value."""
    root = tree.root
    if not root.children:
        return _alone(root)
    if root.rule is None or not root.rule.numeric or root.p is None:
        return None
    drivers = [tree[child] for child in root.rule.named_children() if child in root.children]
    p = {driver.id: driver.p for driver in drivers if driver.p is not None}
    if not drivers or len(p) < len(drivers):
        return None
    base = report_base_rate(root)
    rates = {driver.id: rate for driver in drivers if (rate := report_base_rate(driver)) is not None}
    from_base_rate = base is not None and len(rates) == len(drivers)
    usual = rates if from_base_rate else dict.fromkeys(p, 0.5)
    rule = drivers_rule(root.rule) or root.rule
    moved = _shares(root.rule, usual, p)
    start = base if from_base_rate and base is not None else clamp(rule.evaluate(usual))
    parts = [
        Part(
            node=driver.id,
            name=short_name(driver, root.statement),
            usual=usual[driver.id],
            p=p[driver.id],
            points=moved[driver.id],
        )
        for driver in drivers
    ]
    if Rest.DIRECT in moved:
        parts.append(Part(name=str(Rest.DIRECT), points=moved[Rest.DIRECT]))
    source = _rest_source(root, root.rule, drivers, p)
    if abs(rest := root.p - start - fsum(moved.values())) > _ROUNDING:
        parts.append(Part(name=str(source), points=rest))
    forecast = report_forecast(root) if source is Rest.SERIES else None
    return Waterfall(
        start=start,
        parts=tuple(sorted(parts, key=lambda part: -abs(part.points))),
        source=source,
        end=root.p,
        from_base_rate=from_base_rate,
        pooled=pooled_of(root, p),
        set_by_series=forecast is not None and abs(root.p - forecast) < _ROUNDING,
    )


def pooled_of(root: Proposition, p: Mapping[NodeId, float]) -> Pooled | None:
    """Return what a claim's probability is pooled of, at its drivers' values; None where it is not pooled or was set by hand."""
    rule = root.rule
    if not isinstance(rule, PooledRule) or not rule.numeric or root.p is None:
        return None
    if abs(rule.evaluate(p) - root.p) > _ROUNDING:
        return None
    return Pooled(tree=rule.tree(p), direct=rule.direct, tree_weight=rule.tree_weight)


def direct_forecasts(state: RunState) -> dict[str, Any] | None:
    """Return the claim's direct forecasts and what they are pooled with; None where there are none, or of one model alone.

    ``tree`` and ``tree_weight`` are None where the claim has no drivers, or a value that no rule computes.
    """
    settings, root = state.settings, state.tree.root
    beside_tree = bool(root.children)
    if not (settings.direct if beside_tree else settings.direct_models) or ROOT not in state.pooled:
        return None
    trials = {
        number: trial.belief.p
        for number in range(1, settings.trials_at(ROOT) + 1)
        if (trial := state.trial(ROOT, number)).belief is not None
    }
    by_model = settings.by_model(trials)
    drivers = {child.id: child.p for child in state.tree.children(ROOT) if child.p is not None}
    whole = len(drivers) == len(root.children)
    pooled = pooled_of(root, drivers) if beside_tree and whole else None
    return {
        "p": state.pooled[ROOT],
        "forecasts": [*trials.values()],
        "by_model": {
            model: settings.pooled(
                ROOT, {n: p for n, p in trials.items() if settings.direct_model(n) == model}
            )
            for model in by_model
        },
        "tree": pooled.tree if pooled else None,
        "tree_weight": pooled.tree_weight if pooled else None,
    }


def direct_lines(document: Mapping[str, Any] | None) -> list[str]:
    """Return the lines about direct forecasts: what each was, and what each model came to."""
    if document is None:
        return []
    each = ", ".join(percent(p) for p in document["forecasts"])
    lines = [
        f"{counted(len(document['forecasts']), 'direct forecast')}: {each}; together {percent(document['p'])}."
    ]
    if len(document["by_model"]) > 1:
        models = ", ".join(f"{model} {percent(p)}" for model, p in document["by_model"].items())
        lines.append(f"By model: {models}.")
    return lines


def _alone(root: Proposition) -> Waterfall | None:
    """Build the waterfall of a claim without drivers: all of it is the simulation's, unless somebody set another value."""
    base, forecast = report_base_rate(root), report_forecast(root)
    if base is None or forecast is None or root.p is None:
        return None
    return one_step(base, root.p, Rest.HAND if abs(root.p - forecast) > _ROUNDING else Rest.SERIES)


def one_step(base_rate: float, end: float, source: Rest = Rest.SERIES) -> Waterfall:
    """Build the waterfall of one part that leads from the base rate to the end."""
    return Waterfall(
        start=base_rate,
        # As the two numbers are shown, so that the words beside them name one difference.
        parts=(Part(name=str(source), points=round(end, 3) - round(base_rate, 3)),),
        source=source,
        end=end,
        from_base_rate=True,
        set_by_series=source is Rest.SERIES,
    )


def _rest_source(
    root: Proposition, rule: Rule, drivers: Sequence[Proposition], p: Mapping[NodeId, float]
) -> Rest:
    """Tell whether a rest comes from a value set by hand, from the series or from the rule at its drivers' usual values."""
    if abs(clamp(rule.evaluate(p)) - (root.p or 0.0)) > _ROUNDING:
        return Rest.HAND
    forecast = report_forecast(root)
    forecasts = {
        driver.id: p_driver for driver in drivers if (p_driver := report_forecast(driver)) is not None
    }
    if forecast is None or len(forecasts) < len(drivers):
        return Rest.RULE
    # A rule that an edit put in its place gives another number for the drivers as they were.
    return Rest.SERIES if abs(rule.evaluate(forecasts) - forecast) < _ROUNDING else Rest.RULE


def _shares(rule: Rule, usual: Mapping[NodeId, float], now: Mapping[NodeId, float]) -> dict[NodeId, float]:
    names = list(now)
    if isinstance(rule, PooledRule):
        pooled = rule

        def value(changed: frozenset[str]) -> float:
            tree = pooled.tree({name: (now if name in changed else usual)[name] for name in names})
            return pooled.pooled(tree) if Rest.DIRECT in changed else tree

        return average_over_orders([*names, Rest.DIRECT], value)
    if rule.affine:
        weights = rule.derivative(usual)
        return {name: weights.get(name, 0.0) * (now[name] - usual[name]) for name in names}
    return average_over_orders(
        names,
        lambda changed: rule.evaluate({name: (now if name in changed else usual)[name] for name in names}),
    )


def average_over_orders(names: Sequence[str], value: Callable[[frozenset[str]], float]) -> dict[str, float]:
    """Return what each part adds on average over the orders in which the parts change (Shapley value); they sum to the whole change.

    `value`: The value with these parts changed and the others not.
    """
    value_of = cache(value)
    count = len(names)
    if count > MOST_IN_ALL_ORDERS:
        orders = (list(names), list(reversed(names)))
        return {
            name: fsum(
                value_of(frozenset(order[: order.index(name) + 1]))
                - value_of(frozenset(order[: order.index(name)]))
                for order in orders
            )
            / 2
            for name in names
        }
    subsets = [frozenset(subset) for size in range(count + 1) for subset in combinations(names, size)]
    return {
        name: fsum(
            (value_of(before | {name}) - value_of(before)) / (count * comb(count - 1, len(before)))
            for before in subsets
            if name not in before
        )
        for name in names
    }


def short_name(proposition: Proposition, claim: str) -> str:
    """Return a driver's statement without the dates that the claim has too, for a place where the claim stands beside it.

    >>> short_name(Proposition(id="P4", statement="WTI closes higher on 2018-09-28 than on 2018-06-29"), "It rains on 2018-06-29")
    'WTI closes higher on 2018-09-28'
    """

    def unless_named(match: re.Match[str]) -> str:
        return "" if match[0][-len("2018-06-29") :] in claim else match[0]

    text = single_line(_DATES.sub(unless_named, proposition.statement)).rstrip(" ,.;")
    if len(text) <= _LONGEST_NAME:
        return text
    return text[:_LONGEST_NAME].rsplit(" ", 1)[0] + " …"


def answer_sentence(tree: Tree, base_rate: float | None) -> str:
    """Return the answer to read aloud: the probability beside the base rate, and what makes the difference."""
    steps = waterfall(tree)
    sentence = sentence_of(tree.root.p, base_rate, steps)
    if steps is None or not steps.set_by_series:
        return sentence
    drivers = any(part.node for part in steps.parts)
    what = "the drivers explain it" if drivers else "no driver with a measured link was found"
    return f"{sentence} The simulation sets this number; {what}."


def sentence_of(p: float | None, base_rate: float | None, steps: Waterfall | None) -> str:
    """Return the answer's sentence from ready steps: a page shows both, and makes them anew at each edit."""
    if p is None:
        return "No answer yet."
    sentences = [f"{percent(p)}{_beside(p, base_rate)}."]
    if steps is not None and steps.source is Rest.HAND:
        sentences.append("This value was set at the claim itself; nothing below it enters.")
    elif steps is not None:
        sentences.append(_part_sentence(steps, start_known=steps.from_base_rate and base_rate is not None))
        if steps.pooled is not None:
            sentences.append(steps.pooled.words())
    return " ".join(filter(None, sentences))


def _part_sentence(steps: Waterfall, *, start_known: bool) -> str:
    """Write the largest part first, whatever it is; then what no driver adds, and the drivers that are left in one sum."""
    visible = [part for part in steps.parts if abs(part.points) >= _SHOWN]
    if not visible:
        return ""
    lead, *rest = visible
    drivers = [part for part in rest if part.node]
    phrases = [
        (_named(part, usual=steps.from_base_rate), part.points)
        for part in (lead, *rest)
        if part is lead or not part.node
    ]
    if len(drivers) == 1:
        phrases.append((_named(drivers[0], usual=steps.from_base_rate), drivers[0].points))
    elif drivers:
        other = "other " if lead.node else ""
        phrases.append((f"the {other}drivers together", fsum(part.points for part in drivers)))
    words = "" if start_known else f"starting at {percent(steps.start)} ({steps.start_words}), "
    before = 0.0
    after = [*(points for _, points in phrases[1:]), 0.0]
    for (name, points), later in zip(phrases, after, strict=True):
        verb = ("add", "take off") if name.endswith("together") else ("adds", "takes off")
        # "and" stands before the last of those that pull one way
        alike = ", " if points * later > 0 else ", and "
        join = "" if not before else alike if points * before > 0 else ", while "
        words += f"{join}{name} {verb[points < 0]} {100 * abs(points):.1f}{'' if before else ' points'}"
        before = points
    return f"{words[0].upper()}{words[1:]}."


def _named(part: Part, *, usual: bool) -> str:
    if part.p is None:
        return part.name
    return f'"{part.name}" ({percent(part.p)}{f", usually {percent(part.usual)}" if usual else ""})'


def _beside(p: float, base_rate: float | None) -> str:
    if base_rate is None:
        return ""
    if percent(p) == percent(base_rate):
        return ", the base rate"
    side = "above" if p > base_rate else "below"
    return f", {points_apart(p, base_rate)} {side} the base rate ({percent(base_rate)})"


def citation(document: Mapping[str, Any]) -> str:
    """Return the line that cites a run: probability, base rate, cutoff, id and the hash of its manifest."""
    p, base = document["root"]["p"], document["base_rate"]
    beside = f" (base rate {percent(base)})" if base is not None else ""
    chance = "no answer yet" if p is None else f"{percent(p)}{beside}"
    mark = f", {manifest[:19]}" if (manifest := document.get("manifest_id")) else ""
    return f"{document['statement']}: {chance}, as of {document['cutoff']}, run {document['run_id']}{mark}"
