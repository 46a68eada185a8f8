"""What a figure shows, in words: title, axes and reference lines as the cell that drew it names them.

A model that takes no pictures reads this in place of the picture, and so does anybody once old pictures leave the dialogue.
"""

import ast
import warnings

from workbench.syntax_tree import syntax_tree

_TITLES = {"title": "title", "set_title": "title", "suptitle": "title"}
_AXES = {"xlabel": "x", "set_xlabel": "x", "ylabel": "y", "set_ylabel": "y"}
_LINES = {"axhline": "line at y", "axvline": "line at x"}
_LIMITS = {"set_xlim": "x range", "xlim": "x range", "set_ylim": "y range", "ylim": "y range"}
_LONGEST = 80


def caption(label: str, source: str) -> str:
    """Return one line about the figures that a cell draws.

    >>> caption("Python cell 2", "ax.set_title('S&P 500 close'); ax.set_ylabel('points'); ax.axhline(2700)")
    "figure of Python cell 2: title 'S&P 500 close'; y 'points'; line at y 2700"
    """
    parts = _described(source)
    return (
        f"figure of {label}: {'; '.join(parts)}"
        if parts
        else f"figure of {label}, which names neither title nor axes"
    )


def _described(source: str) -> list[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a line magic, a null byte
        return []
    parts: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            part = _part(node.func.attr, node)
            if part is not None and part not in parts:
                parts.append(part)
    order = {"title": 0, "x": 1, "y": 2}
    return sorted(parts[:12], key=lambda part: order.get(part.partition(" ")[0], 3))


def _part(name: str, call: ast.Call) -> str | None:
    names = _TITLES | _AXES | _LINES | _LIMITS
    if name not in names or not call.args:
        return None
    values = [ast.unparse(argument) for argument in call.args[: 2 if name in _LIMITS else 1]]
    return f"{names[name]} {', '.join(values)}"[:_LONGEST]
