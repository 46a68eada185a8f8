"""Questions with several options: a proposition each, probabilities that sum to 1, a decision (paper A, C.1 and 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from workbench.propositions import check_probability
from workbench.synthesis.errors import SensitivityError

PRODUCT_THRESHOLD = 0.5
PAPER_THRESHOLD = 0.7  # the paper's code; its text lost the number


def analyzed_options(options: Sequence[str], *, binary_simplification: bool = True) -> tuple[str, ...]:
    """Return the options that need an analysis: all, or of exactly two exclusive ones only the first.

    Raises `SensitivityError`: Fewer than two options, or one that stands twice.
    """
    if len(options) < 2 or len(set(options)) != len(options):
        raise SensitivityError("a question needs at least two options, each once")
    return tuple(options[:1]) if binary_simplification and len(options) == 2 else tuple(options)


def option_probabilities(options: Sequence[str], p: Mapping[str, float]) -> dict[str, float]:
    """Compute probabilities of all options from the analyzed ones: 1 - p for the second of two, else divided by their sum.

    When every option was found impossible they are equal.

    >>> option_probabilities(["up", "down"], {"up": 0.75})
    {'up': 0.75, 'down': 0.25}
    >>> option_probabilities(["a", "b", "c"], {"a": 0.5, "b": 0.25, "c": 0.25})
    {'a': 0.5, 'b': 0.25, 'c': 0.25}
    """
    for option, value in p.items():
        check_probability(value, of=f"p of option {option!r}")
    if len(options) == 2 and set(p) == {options[0]}:
        return {options[0]: p[options[0]], options[1]: 1.0 - p[options[0]]}
    if set(p) != set(options):
        raise SensitivityError(f"need a probability for each of {', '.join(options)}")
    total = fsum(p.values())
    return {option: p[option] / total if total > 0 else 1 / len(options) for option in options}


def decide(p: float, threshold: float = PRODUCT_THRESHOLD) -> bool:
    """Whether a proposition is taken as true: strictly above the threshold."""
    return check_probability(p) > check_probability(threshold, of="the threshold")
