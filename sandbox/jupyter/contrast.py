"""Contrast of colours by WCAG 2, 1.4.3."""

from collections.abc import Sequence


def luminance(colour: Sequence[float]) -> float:
    """Return the relative luminance of red, green and blue, each in [0, 1]."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: float, second: float) -> float:
    """Return the ratio of two luminances, 1 for equal ones to 21 for black on white."""
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)
