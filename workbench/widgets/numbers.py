"""Numbers as the widgets write them; probabilities and their changes are written by ``engine.wording``, as everywhere."""

from workbench.synthesis.rules.wording import MINUS

__all__ = ["MINUS", "short_weight", "typed"]


def typed(p: float | None) -> str:
    """Return a probability as the editor holds it: at most four decimals, empty if there is none.

    >>> typed(0.48), typed(1 / 3), typed(None)
    ('0.48', '0.3333', '')
    """
    return "" if p is None else f"{round(p, 4):g}"


def short_weight(value: float) -> str:
    """Return a coefficient for a narrow column; the rule's own ``signed`` gives what a recomputation needs.

    >>> short_weight(-0.25), short_weight(0.1578), short_weight(0.00123)
    ('−0.25', '0.16', '0.001')
    """
    size = abs(value)
    text = f"{size:.2f}" if size >= 0.01 or not value else f"{size:.1g}"
    return f"{MINUS if value < 0 else ''}{text}"
