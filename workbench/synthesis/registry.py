"""The rules by name, and their reading from JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from workbench.propositions import NodeId, Rule, Tree, is_id
from workbench.synthesis.errors import RuleFormatError, UnknownRule
from workbench.synthesis.linear import LinearRule


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


_READERS: dict[str, Callable[[Mapping[str, Any]], Rule]] = {"linear": _linear}
