"""The rules by name, and their reading from JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from workbench.propositions import NodeId, Polarity, Rule, Tree, is_id
from workbench.synthesis.errors import RuleFormatError, UnknownRule
from workbench.synthesis.rules.ablations import AverageRule, RandomRule
from workbench.synthesis.rules.linear import INTERCEPT_MAX, LinearRule, check_unit
from workbench.synthesis.rules.logic import Assumption, LogicRule
from workbench.synthesis.rules.noisy_or import NoisyOrRule
from workbench.synthesis.rules.vanilla import VanillaRule


def rule_names() -> tuple[str, ...]:
    """Names of the rules that :func:`rule_from_json` reads."""
    return tuple(_READERS)


def rule_from_json(data: Mapping[str, Any]) -> Rule:
    """Read a rule as ``Rule.to_json`` (and CONTRACTS) writes it.

    Only the shape is checked here; whether it fits its node is the rule's ``validate``.

    Raises
    ------
    UnknownRule
        No rule of this name; the message lists those there are.
    RuleFormatError
        A key missing, unknown, or of the wrong kind.

    Examples
    --------
    >>> rule_from_json({"name": "linear", "intercept": 0, "weights": {"P1": 0.5}})
    LinearRule(intercept=0.0, weights={'P1': 0.5}, semantics='free')
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise RuleFormatError("a rule is a JSON object with a name")
    name = data["name"]
    if name not in _READERS:
        raise UnknownRule(f"no rule named {name!r}; there are {', '.join(_READERS)}")
    return _READERS[name](data)


def tree_from_json(data: Mapping[str, Any]) -> Tree:
    """Read a stored tree with its rules."""
    return Tree.from_json(data, rule_from_json=rule_from_json)


def number(value: object, what: str) -> float:
    """The value as a finite float, or a clear complaint."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise RuleFormatError(f"{what} must be a number, not {value!r}")
    return float(value)


def coefficients(value: object, what: str) -> dict[NodeId, float]:
    """A mapping from ids to numbers, or a clear complaint."""
    if not isinstance(value, Mapping):
        raise RuleFormatError(f"{what} must be an object of id: number, not {value!r}")
    for key in value:
        if not is_id(key):
            raise RuleFormatError(f"{what}: {key!r} is not a proposition id")
    return {key: number(entry, f"{what} of {key}") for key, entry in value.items()}


def keys_of(data: Mapping[str, Any], required: set[str], optional: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """Refuse a rule with keys missing or unknown."""
    missing = required - data.keys()
    if missing:
        raise RuleFormatError(f"the {data['name']} rule lacks {', '.join(sorted(missing))}")
    unknown = data.keys() - required - optional - {"name"}
    if unknown:
        raise RuleFormatError(
            f"the {data['name']} rule has unknown keys: {', '.join(sorted(map(str, unknown)))}"
        )


def _linear(data: Mapping[str, Any]) -> LinearRule:
    keys_of(data, {"intercept", "weights"}, {"semantics"})
    return LinearRule(
        number(data["intercept"], "the intercept"),
        coefficients(data["weights"], "the weight"),
        data.get("semantics", "free"),
    )


def _logic(data: Mapping[str, Any]) -> LogicRule:
    keys_of(data, {"formula"}, {"assumption", "norm", "naive"})
    if not isinstance(data["formula"], str):
        raise RuleFormatError(f"the formula must be text, not {data['formula']!r}")
    if not isinstance(data.get("naive", False), bool):
        raise RuleFormatError(f"naive is true or false, not {data['naive']!r}")
    stated = data.get("assumption")
    assumption = None
    if stated is not None:
        if not isinstance(stated, Mapping) or stated.keys() != {"detail", "probability"}:
            raise RuleFormatError("the assumption must be an object of detail and probability, or null")
        assumption = Assumption(detail=str(stated["detail"]), probability=stated["probability"])
    return LogicRule(data["formula"], assumption, data.get("norm", "product"), data.get("naive", False))


def _noisy_or(data: Mapping[str, Any]) -> NoisyOrRule:
    keys_of(data, {"leak", "weights"}, {"inhibitors"})
    return NoisyOrRule(
        number(data["leak"], "the leak"),
        coefficients(data["weights"], "the weight"),
        coefficients(data.get("inhibitors") or {}, "the inhibitor"),
    )


def _vanilla(data: Mapping[str, Any]) -> VanillaRule:
    keys_of(data, set())
    return VanillaRule()


def _average(data: Mapping[str, Any]) -> AverageRule:
    keys_of(data, {"children"}, {"negated"})
    return AverageRule(_ids(data["children"]), _ids(data.get("negated", [])))


def _random(data: Mapping[str, Any]) -> RandomRule:
    keys_of(data, {"weights", "seed"}, {"intercept"})
    if isinstance(data["seed"], bool) or not isinstance(data["seed"], int):
        raise RuleFormatError(f"the seed must be a whole number, not {data['seed']!r}")
    return RandomRule(
        coefficients(data["weights"], "the weight"),
        data["seed"],
        number(data.get("intercept", 0.0), "the intercept"),
    )


def _ids(value: object) -> tuple[NodeId, ...]:
    if not isinstance(value, list) or not all(map(is_id, value)):
        raise RuleFormatError(f"a list of proposition ids is needed, not {value!r}")
    return tuple(value)


_READERS: dict[str, Callable[[Mapping[str, Any]], Rule]] = {
    LinearRule.name: _linear,
    LogicRule.name: _logic,
    NoisyOrRule.name: _noisy_or,
    VanillaRule.name: _vanilla,
    AverageRule.name: _average,
    RandomRule.name: _random,
}


def checked_value(
    rule: Rule,
    children: Sequence[NodeId],
    polarities: Mapping[NodeId, Polarity],
    p: Mapping[NodeId, float],
    *,
    intercept_max: float = INTERCEPT_MAX,
    require_pa: bool = False,
) -> float | None:
    """Check a rule at its creation against its node and give the node's value; None for vanilla, which brings its own.

    Parameters
    ----------
    rule : Rule
    children, polarities
        The node's.
    p : mapping
        The children's values.
    intercept_max : float
        For linear rules.
    require_pa : bool
        For logic rules; the paper's preset sets it.

    Raises
    ------
    RuleError
        Of the kind that fits; the message can go back to the model as it is.
    """
    if isinstance(rule, LinearRule):
        rule.validate(children, polarities, intercept_max)
    elif isinstance(rule, LogicRule):
        rule.validate(children, require_pa=require_pa)
    elif isinstance(rule, NoisyOrRule):
        rule.validate(children, polarities)
    return check_unit(rule.evaluate(p)) if rule.numeric else None
