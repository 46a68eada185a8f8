"""A proof notebook as a page that cannot do anything: read, sanitised, framed.

Whatever a sealed kernel produced is hostile to the screen it is shown on. Three walls, each enough by itself: an allow-list
sanitiser, a content security policy that forbids scripts and fetches, and a frame with an empty ``sandbox``.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from sandbox.jupyter.sanitize import clean_html, clean_markdown, clean_svg
from workbench.errors import UsageError

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
TEXT_LIMIT = 20_000  # characters shown of one text output
FILE_LIMIT = 60_000_000  # bytes
IMAGE_LIMIT = 8_000_000  # characters of base64

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What is shown of an output that comes in several kinds: pictures first, since a chart library's HTML needs its script.
_KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml", "text/html", "text/markdown")
_TEXT_KINDS = ("text/latex", "text/plain")


def proof_document(path: Path, *, dark: bool = False) -> str:
    """Return the notebook as one HTML document without scripts or outside references.

    Superseded cells are folded away, code is folded under its first line, images are data URLs. Scripts, widget views and
    comms are dropped and said to be.

    Raises
    ------
    UsageError
        The file is missing or is no notebook.
    """
    cells = _cells(path)
    body = (
        "\n".join(_cell(cell) for cell in cells if isinstance(cell, dict))
        or '<p class="aside">The notebook has no cells.</p>'
    )
    return _page(body, dark=dark)


def _cells(path: Path) -> list[Any]:
    # Read as JSON: nbformat's validator takes a second to import, and a notebook that bends the schema is shown as far as
    # it can be.
    try:
        if path.stat().st_size > FILE_LIMIT:
            raise UsageError(f"{path.name} has {path.stat().st_size // 1_000_000} MB, too much for this page")
        notebook = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"no notebook at {path}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path.name} cannot be read as a notebook: {type(error).__name__}") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise UsageError(f"{path.name} is not a notebook of format 4")
    return cells


def message_document(text: str, *, dark: bool = False) -> str:
    """Return a page that says one thing, for a node without a notebook."""
    return _page(f'<p class="aside">{escape(text)}</p>', dark=dark)


def markdown_document(source: str, *, dark: bool = False) -> str:
    """Return a page of a model's Markdown, sanitised."""
    return _page(f'<section class="text">{clean_markdown(source)}</section>', dark=dark)


def frame(document: str, *, title: str) -> str:
    """Return the element that shows the document; it may neither run scripts, nor navigate, nor open windows."""
    return (
        f'<iframe class="wb-frame" sandbox="" referrerpolicy="no-referrer" title="{escape(title)}" '
        f'srcdoc="{escape(document)}"></iframe>'
    )


def proof_html(path: Path, *, height: int = 640) -> str:
    """Return the notebook in its closed frame, for a notebook cell or any page of HTML.

    Parameters
    ----------
    path : Path
        The .ipynb file.
    height : int
        Pixels; the frame scrolls.
    """
    style = f'style="width:100%;height:{height}px;border:1px solid #cfd7de;border-radius:4px;background:#fff"'
    return frame(proof_document(path), title=f"proof notebook {path.stem}").replace(
        "<iframe ", f"<iframe {style} ", 1
    )


def _page(body: str, *, dark: bool) -> str:
    # Links open in a new window, which the frame's sandbox refuses: a click leads nowhere, the address can be copied.
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
        f'<meta name="referrer" content="no-referrer"><base target="_blank">'
        f"<style>{_style(dark)}</style></head>"
        f'<body class="{"dark" if dark else "light"}">{body}</body></html>'
    )


@lru_cache(maxsize=2)
def _style(dark: bool) -> str:
    colours = HtmlFormatter(style="github-dark" if dark else "friendly", nobackground=True).get_style_defs(
        ".code"
    )
    return (files("workbench.widgets") / "static" / "proof.css").read_text(encoding="utf-8") + str(colours)


def _cell(cell: Mapping[str, Any]) -> str:
    source = _joined(cell.get("source", ""))
    if cell.get("cell_type") == "markdown":
        return f'<section class="text">{clean_markdown(source)}</section>'
    if cell.get("cell_type") != "code":
        return f'<section class="text"><pre>{escape(source)}</pre></section>'
    outputs = [output for output in _list(cell.get("outputs")) if isinstance(output, dict)]
    shown = "".join(_output(output) for output in outputs)
    if "superseded" in _list(_dict(cell.get("metadata")).get("tags")):
        failed = next((o.get("ename") for o in outputs if o.get("output_type") == "error"), None)
        why = f"Earlier attempt, {failed}" if failed else "Earlier attempt"
        return f'<details class="superseded"><summary>{escape(why)}</summary>{_code(source)}{shown}</details>'
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    count = len(source.splitlines())
    summary = f"<code>{escape(first[:120])}</code><span>{count} line{'s' if count != 1 else ''}</span>"
    folded = (
        f'<details class="cell"><summary>{summary}</summary>{_code(source)}</details>'
        if source.strip()
        else ""
    )
    return f'<section class="work">{folded}{shown}</section>'


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _code(source: str) -> str:
    return str(highlight(source, PythonLexer(), HtmlFormatter(cssclass="code")))


def _output(output: Mapping[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        name = "warning" if output.get("name") == "stderr" else "print"
        return _text(_joined(output.get("text", "")), name)
    if kind == "error":
        trace = _ANSI.sub("", "\n".join(map(str, _list(output.get("traceback")))))
        line = f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
        return f'<details class="error"><summary>{escape(line)}</summary>{_text(trace, "error")}</details>'
    data = _dict(output.get("data"))
    for mime in _KINDS:
        if mime in data and (shown := _rich(mime, _joined(data[mime]))):
            return shown
    for mime in _TEXT_KINDS:
        if mime in data:
            return _text(_joined(data[mime]), "value")
    names = ", ".join(sorted(map(str, data))) or "nothing"
    return f'<p class="aside">An interactive output is not shown here ({escape(names)}).</p>'


def _rich(mime: str, content: str) -> str:
    """Return the output as HTML, or nothing where too little is left of it."""
    if mime == "text/markdown":
        return f'<div class="rich">{clean_markdown(content)}</div>'
    if mime == "text/html":
        kept = clean_html(content)
        return f'<div class="rich">{kept}</div>' if re.sub(r"<(?!img\b)[^>]*>", "", kept).strip() else ""
    if len(content) > IMAGE_LIMIT:
        return f'<p class="aside">An image of {len(content) // 1_000_000} MB is not shown.</p>'
    if mime == "image/svg+xml":
        return clean_svg(content, alt="figure")
    try:  # decoded and encoded again: what goes into the attribute is base64 and nothing else
        encoded = base64.b64encode(base64.b64decode("".join(content.split()), validate=True)).decode()
    except (binascii.Error, ValueError):
        return '<p class="aside">A broken image is not shown.</p>'
    return f'<img alt="figure" src="data:{mime};base64,{encoded}">'


def _text(text: str, name: str) -> str:
    text = _ANSI.sub("", text)
    if len(text) > TEXT_LIMIT:
        text = text[:TEXT_LIMIT] + f"\n... {len(text) - TEXT_LIMIT} more characters in the notebook"
    return f'<pre class="{name}">{escape(text)}</pre>' if text.strip() else ""


def _joined(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
