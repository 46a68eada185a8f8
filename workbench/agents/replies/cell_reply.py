"""Reading notebook cells out of a reply: ``<markdown_cell>``, ``<python_cell>``, ``<TERMINATE_NOTEBOOK>``.

A tag opens a cell when nothing but blanks, or the end of another cell, stands before it on its line; so a cell may
speak of tags, and prose may name one. A tag in the middle of a line opens a cell too if its closing tag comes before
any other opening one. A Python cell ends at the first closing tag at which its source parses as Python, else at the
first one of all: a closing tag inside a string literal ends nothing.
"""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from workbench.agents.errors import MalformedReply
from workbench.models.thoughts import is_python

TERMINATE = "<TERMINATE_NOTEBOOK>"

_OPENING = re.compile(r"<(markdown|python)_cell>")
_OPENING_ON_OWN_LINE = re.compile(r"^[ \t]*<(?:markdown|python)_cell>", re.MULTILINE)
_FENCE_TOP = re.compile(r"```[ \t]*+(?:python3?|py|ipython)?[ \t]*\n", re.IGNORECASE)
_TERMINATE = re.compile(r"</?[ ]?TERMINATE_NOTEBOOK[ ]?/?>", re.IGNORECASE)
_CODE_FENCE = re.compile(
    # One that is not closed ends with the text: no later one is closed either, and is not looked for from each of them.
    r"^[ \t]*```[ \t]*+(python3?|py|ipython|)[ \t]*\n(.*?)(^[ \t]*```[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_MOST_FENCES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCell:
    """One cell as the model wrote it, outer blank lines and a fence around the whole of it removed."""

    kind: Literal["markdown", "code"]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCells:
    """What a reply holds: its cells in order, and whether it asks to end the notebook outside of them."""

    cells: tuple[ReplyCell, ...]
    terminate: bool


def find_cells(text: str) -> ReplyCells:
    """Cells of a reply in order, and whether ``<TERMINATE_NOTEBOOK>`` stands outside of them.

    Raises `MalformedReply`: A cell is empty or not closed.
    """
    cells: list[ReplyCell] = []
    prose: list[str] = []
    position = 0
    while opening := _OPENING.search(text, position):
        kind: Literal["markdown", "code"] = "code" if opening[1] == "python" else "markdown"
        if not _opens(text, opening, after=position if cells else None):
            prose.append(text[position : opening.end()])
            position = opening.end()
            continue
        prose.append(text[position : opening.start()])
        end, after = _closing(text, opening)
        source = _tidy(text[opening.end() : end], code=kind == "code")
        if not source.strip():
            raise MalformedReply(f"a <{opening[1]}_cell> is empty; leave it out or fill it")
        cells.append(ReplyCell(kind=kind, source=source))
        position = after
    prose.append(text[position:])
    # By line ends, so that what stood before and behind a cell cannot run together into a tag.
    outside = "\n".join(prose)
    if not cells and not _TERMINATE.search(outside):
        cells = _fenced_cells(text)
    # in backticks it may be only spoken of, unless there is nothing else the reply could be for
    quoted = "" if not cells else "`"
    said = any(
        not quoted or outside[match.start() - 1 : match.start()] != quoted
        for match in _TERMINATE.finditer(outside)
    )
    return ReplyCells(cells=tuple(cells), terminate=said)


def _fenced_cells(text: str) -> list[ReplyCell]:
    fences = [match for match, _ in zip(_CODE_FENCE.finditer(text), range(_MOST_FENCES), strict=False)]
    fences = [match for match in fences if match[3]]
    labelled = [match for match in fences if match[1]]
    if not labelled and len(fences) == 1 and is_python(fences[0][2]) and not _is_data(fences[0][2]):
        labelled = fences
    sources = (_tidy(match[2], code=True) for match in labelled)
    return [ReplyCell(kind="code", source=source) for source in sources if source.strip()]


def _is_data(source: str) -> bool:
    # A JSON object is an expression of Python too.
    return source.lstrip().startswith(("{", "["))


def _opens(text: str, opening: re.Match[str], *, after: int | None) -> bool:
    line_start = text.rfind("\n", 0, opening.start()) + 1
    if after is not None:
        line_start = max(line_start, after)
    if not text[line_start : opening.start()].strip():
        return True
    following = _OPENING.search(text, opening.end())
    behind = len(text) if following is None else following.start()
    return text.find(f"</{opening[1]}_cell>", opening.end(), behind) != -1


def _closing(text: str, opening: re.Match[str]) -> tuple[int, int]:
    tag = f"</{opening[1]}_cell>"
    # 50 tries are plenty for honest code and keep a reply of nothing but closing tags from costing minutes
    closings = re.compile(re.escape(tag)).finditer(text, opening.end())
    ends = [match.start() for match in islice(closings, _MOST_FENCES)]
    if not ends and opening[1] == "python":
        rest = _tidy(text[opening.end() :], code=True)
        if rest.strip() and not _OPENING.search(rest) and is_python(rest):
            return len(text), len(text)
    if not ends:
        raise MalformedReply(
            f"a <{opening[1]}_cell> has no {tag}; close every cell before the next one opens"
        )
    chosen = ends[0]
    if opening[1] == "python":
        chosen = next(
            (end for end in ends if is_python(_tidy(text[opening.end() : end], code=True))), ends[0]
        )
        if chosen != ends[0]:
            return chosen, chosen + len(tag)
    # Another cell opens before the closing tag, which is then that cell's; unless this source is Python as it stands,
    # so that the opening tag is inside one of its strings.
    if _OPENING_ON_OWN_LINE.search(text, opening.end(), chosen) and not (
        opening[1] == "python" and is_python(_tidy(text[opening.end() : chosen], code=True))
    ):
        raise MalformedReply(f"a <{opening[1]}_cell> has no {tag} before the next cell opens")
    return chosen, chosen + len(tag)


def _tidy(source: str, *, code: bool) -> str:
    lines = source.split("\n")
    first = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
    tidy = "\n".join(lines[first:]).rstrip()
    if code and (top := _FENCE_TOP.match(tidy)) and tidy.endswith("\n```"):
        # 4: the line end and the closing fence.
        return tidy[top.end() : -4]
    return tidy
