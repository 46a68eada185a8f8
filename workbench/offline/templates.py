"""Notebook templates: Markdown files in ``notebooks/``, split into steps of cells, filled by jinja2.

A template reads like the notebook it becomes. ``<!-- step -->`` ends one turn of the analyst; prose becomes a Markdown
cell, a ```` ```python ```` fence a code cell. Pieces that several notebooks share are in ``notebooks/parts/`` and
included. ``{{ "{" ~ name }}`` writes a brace in front of a hole, as an f-string in a cell needs it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from workbench.templates import text_environment

if TYPE_CHECKING:
    from jinja2 import Environment, Template

Kind = Literal["markdown", "python"]

_STEP = "<!-- step -->"
_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell to be sent: its kind and its source."""

    kind: Kind
    source: str


def render_steps(name: str, holes: Mapping[str, Any]) -> list[list[Cell]]:
    """Return the steps of a notebook, each a list of cells; the offline analyst sends one step a turn.

    Parameters
    ----------
    name : str
        A template in ``notebooks/``, without ``.md``.
    holes : mapping
        A value for every hole of the template and its parts.

    Raises
    ------
    jinja2.UndefinedError
        A hole has no value.
    """
    return [
        [
            Cell(kind=kind, source=source)
            for kind, template in step
            if (source := template.render(holes).strip("\n"))
        ]
        for step in _steps(name)
    ]


@cache
def _environment() -> "Environment":
    return text_environment("workbench.offline", "notebooks")


@cache
def _steps(name: str) -> list[list[tuple[Kind, "Template"]]]:
    # Split before anything is filled in: a statement that holds a fence or the mark of a step stays inside its cell.
    text = files("workbench.offline").joinpath("notebooks", f"{name}.md").read_text(encoding="utf-8")
    return [_cell_templates(step) for step in text.split(_STEP)]


def _cell_templates(step: str) -> list[tuple[Kind, "Template"]]:
    templates: list[tuple[Kind, Template]] = []
    # A split by a pattern with one group alternates: text, group, text, group, ...
    for number, piece in enumerate(_FENCE.split(step)):
        kind: Kind = "python" if number % 2 else "markdown"
        # white space at a cell's end is of no use; at its beginning it may be the indentation of code
        source = piece.rstrip("\n") if number % 2 else piece.strip()
        templates.append((kind, _environment().from_string(source)))
    return templates
