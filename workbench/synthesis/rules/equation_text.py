"""Write numbers and terms of rules' equations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.propositions import NodeId, natural_order
from workbench.synthesis.rules.normalise import Literals

MINUS = "−"


def size(value: float) -> str:
    """Write the absolute value with two to six decimals: enough to recompute a p to its printed 0.1 %, short for round numbers.

    >>> size(-0.5), size(0.1578), size(1 / 3), size(0)
    ('0.50', '0.1578', '0.333333', '0.00')
    """
    whole, _, digits = f"{abs(value):.6f}".partition(".")
    return f"{whole}.{digits[:2]}{digits[2:].rstrip('0')}"


def signed(value: float) -> str:
    """Write the value with a minus sign if it is negative, also as it is printed.

    >>> signed(-0.25), signed(0.5), signed(-1e-17)
    ('−0.25', '0.50', '0.00')
    """
    printed = size(value)
    return f"{MINUS}{printed}" if value < 0 and float(printed) else printed


def weighted_sum(form: Literals) -> str:
    """Write ``constant + weight × child ...``, children in number order; one that speaks against stands as its negation.

    >>> weighted_sum(Literals(leak=0.02, shares={"P10": 0.25, "P2": 0.5}, negated=frozenset({"P10"})))
    '0.02 + 0.50 × P2 + 0.25 × (1 − P10)'
    """
    terms = [signed(form.leak)]
    for child in natural_order(form.shares):
        literal = f"(1 {MINUS} {child})" if child in form.negated else child
        terms.append(f"+ {size(form.shares[child])} × {literal}")
    return " ".join(terms)


def product_of_failures(first: str | None, weights: Mapping[NodeId, float]) -> str:
    """Write ``first × (1 − weight × child) × ...``, the chance that no cause acts."""
    factors: Iterable[str] = (
        f"(1 {MINUS} {size(weights[child])} × {child})" for child in natural_order(weights)
    )
    return " × ".join([*([first] if first else []), *factors])


def decimal(value: float) -> str:
    """Write a probability for another program: every digit, and never ``0`` alone, which ProbLog reads as an integer."""
    return format(value, ".17g") if value else "0.0"
