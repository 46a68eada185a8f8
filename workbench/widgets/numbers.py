"""Numbers as the widgets write them; probabilities and their changes are written by ``workbench.formatting``, as everywhere."""

from math import isclose

from workbench.formatting import percent
from workbench.synthesis.rules.wording import MINUS

__all__ = ["MINUS", "is_shown", "short_weight", "typed"]


def typed(p: float | None) -> str:
    """Return a probability as the editor holds it: at most four decimals, empty if there is none.

    >>> typed(0.48), typed(1 / 3), typed(None)
    ('0.48', '0.3333', '')
    """
    return "" if p is None else f"{round(p, 4):g}"


def is_shown(p: float | None, value: float, text: object) -> bool:
    """Whether what was typed, ``text`` read as ``value``, is the number that a page shows for ``p``.

    It shows the field's four decimals, and as a percentage one.

    >>> is_shown(0.66923, 0.6692, "0.6692"), is_shown(0.66923, 0.669, "66.9%"), is_shown(0.66923, 0.669, "0.669")
    (True, True, False)
    """
    if p is None:
        return False
    figures = [p, round(p, 4)]
    if str(text).strip().endswith("%"):
        figures.append(float(percent(p).rstrip("%")) / 100)
    return any(isclose(value, figure, rel_tol=1e-12) for figure in figures)


def short_weight(value: float) -> str:
    """Return a coefficient for a narrow column; the rule's own ``signed`` gives what a recomputation needs.

    >>> short_weight(-0.25), short_weight(0.1578), short_weight(0.00123)
    ('−0.25', '0.16', '0.001')
    """
    size = abs(value)
    text = f"{size:.2f}" if size >= 0.01 or not value else f"{size:.1g}"
    return f"{MINUS if value < 0 else ''}{text}"
