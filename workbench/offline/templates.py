"""Notebook templates: Markdown files in ``notebooks/``, split into steps of cells, with holes and parts.

A template reads like the notebook it becomes. ``<!-- step -->`` ends one turn of the analyst; prose becomes a
Markdown cell, a ```` ```python ```` fence a code cell. ``{{name}}`` is a hole, ``{{> part name=value}}`` puts
in ``notebooks/parts/part.md``, whose holes see the same values and the given ones. A hole without a value is an
error, and so is a part that does not exist.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

_PART = re.compile(r"^([ \t]*)\{\{> (\w+)((?: \w+=(?:\{\{\w+\}\}|[\w.]+))*)\}\}", re.MULTILINE)
_HOLE = re.compile(r"\{\{(\w+)\}\}")
_STEP = "<!-- step -->"
_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell to be sent: its kind and its source."""

    kind: Literal["markdown", "python"]
    source: str


def render_steps(name: str, holes: Mapping[str, str]) -> list[list[Cell]]:
    """The steps of a notebook, each a list of cells.

    Parameters
    ----------
    name : str
        A template in ``notebooks/``, without ``.md``.
    holes : mapping
        A text for every hole of the template and its parts.

    Raises
    ------
    KeyError
        A hole has no value.
    """
    return [_cells(_fill(part, holes)) for part in _read(f"{name}.md").split(_STEP)]


@cache
def _read(path: str) -> str:
    return files("workbench.offline").joinpath("notebooks", path).read_text(encoding="utf-8")


def _fill(text: str, holes: Mapping[str, str]) -> str:
    def part(found: re.Match[str]) -> str:
        given = dict(pair.split("=", 1) for pair in found[3].split())
        inner = {**holes, **{key: _fill(value, holes) for key, value in given.items()}}
        return _fill(_read(f"parts/{found[2]}.md").rstrip("\n"), inner)

    text = _PART.sub(part, text)
    filled = _HOLE.sub(lambda found: holes[found[1]], text)
    return filled if filled == text else _fill(filled, holes)


def _cells(step: str) -> list[Cell]:
    cells: list[Cell] = []
    for number, piece in enumerate(_FENCE.split(step)):
        source = piece.strip("\n").strip() if number % 2 == 0 else piece.rstrip("\n")
        if source:
            cells.append(Cell(kind="python" if number % 2 else "markdown", source=source))
    return cells
