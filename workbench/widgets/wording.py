"""Numbers and rules in the words and signs an analyst reads."""

from workbench.engine.wording import NO_VALUE, percent

__all__ = ["MINUS", "NO_VALUE", "number", "percent", "points", "signed"]

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
