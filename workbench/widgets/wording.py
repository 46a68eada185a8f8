"""Numbers and rules in the words and signs an analyst reads."""

from collections.abc import Mapping
from typing import Any

from workbench.engine.wording import NO_VALUE, percent

__all__ = ["MINUS", "NO_VALUE", "equation", "number", "percent", "points", "signed"]

MINUS = "−"


def points(change: float | None) -> str:
    """Return a change of probability in percentage points, with its sign.

    >>> points(-0.1), points(0.0), points(None)
    ('−10.0 pp', '0.0 pp', '–')
    """
    if change is None:
        return NO_VALUE
    size = f"{100 * abs(change):.1f} pp"
    if size == "0.0 pp":
        return size
    return ("+" if change > 0 else MINUS) + size


def number(p: float | None) -> str:
    """Return a probability as the editor holds it: at most four decimals, none for nothing.

    >>> number(0.48), number(1 / 3), number(None)
    ('0.48', '0.3333', '')
    """
    return "" if p is None else f"{round(p, 4):g}"


def signed(value: float, *, exact: bool = False) -> str:
    """Return a coefficient with its sign before it; ``exact`` gives four decimals where the second is not enough.

    >>> signed(-0.25), signed(0.5, exact=True), signed(0.1578), signed(0.1578, exact=True)
    ('−0.25', '0.50', '0.16', '0.1578')
    """
    return f"{MINUS if value < 0 else ''}{_size(value, exact=exact)}"


def _size(value: float, *, exact: bool) -> str:
    if not exact:
        return f"{abs(value):.2f}"
    whole, _, digits = f"{abs(value):.4f}".partition(".")
    return f"{whole}.{digits[:2]}{digits[2:].rstrip('0')}"


def equation(rule: Mapping[str, Any] | None, *, exact: bool = False) -> str:
    """Return the rule of an inner node, as CONTRACTS spells it, as one line that can be computed by hand.

    >>> equation({"name": "linear", "intercept": 0.02, "weights": {"P1": 0.5, "P2": -0.25}})
    '0.02 + 0.50 × P1 − 0.25 × P2'
    >>> equation({"name": "logic", "formula": "P1 AND PA", "assumption": {"detail": "calm", "probability": 0.9}})
    'P1 AND PA, with PA = 0.90'
    >>> equation({"name": "noisy-or", "leak": 0.05, "weights": {"P1": 0.6}, "inhibitors": {"P2": 0.3}})
    '(1 − 0.95 × (1 − 0.60 × P1)) × (1 − 0.30 × P2)'
    >>> equation({"name": "vanilla"})
    'judged by the model, no formula'
    """
    if rule is None:
        return ""
    match rule["name"]:
        case "linear":
            return _linear(rule, exact=exact)
        case "logic":
            assumed = rule.get("assumption")
            return str(rule["formula"]) + (
                f", with PA = {_size(assumed['probability'], exact=exact)}" if assumed else ""
            )
        case "noisy-or":
            return _noisy_or(rule, exact=exact)
        case "vanilla":
            return "judged by the model, no formula"
        case name:
            return f"{name} rule"


def _linear(rule: Mapping[str, Any], *, exact: bool) -> str:
    text = signed(rule["intercept"], exact=exact)
    for child, weight in rule["weights"].items():
        text += f" {MINUS if weight < 0 else '+'} {_size(weight, exact=exact)} × {child}"
    return text


def _noisy_or(rule: Mapping[str, Any], *, exact: bool) -> str:
    def fails(child: str, weight: float) -> str:
        return f"(1 {MINUS} {_size(weight, exact=exact)} × {child})"

    causes = [
        _size(1 - rule["leak"], exact=exact),
        *(fails(child, weight) for child, weight in rule["weights"].items()),
    ]
    text = f"1 {MINUS} " + " × ".join(causes)
    inhibitors = [fails(child, weight) for child, weight in rule.get("inhibitors", {}).items()]
    return " × ".join([f"({text})", *inhibitors]) if inhibitors else text
