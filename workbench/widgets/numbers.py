"""Numbers as the widgets write them; probabilities themselves are written by ``engine.wording.percent``, as everywhere."""

from workbench.engine.wording import NO_VALUE
from workbench.synthesis.rules.wording import MINUS

__all__ = ["MINUS", "points", "two_decimals", "typed"]


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


def typed(p: float | None) -> str:
    """Return a probability as the editor holds it: at most four decimals, empty if there is none.

    >>> typed(0.48), typed(1 / 3), typed(None)
    ('0.48', '0.3333', '')
    """
    return "" if p is None else f"{round(p, 4):g}"


def two_decimals(value: float) -> str:
    """Return a coefficient for a narrow column; the rule's own ``signed`` gives what a recomputation needs.

    >>> two_decimals(-0.25), two_decimals(0.1578)
    ('−0.25', '0.16')
    """
    return f"{MINUS if value < 0 else ''}{abs(value):.2f}"
