"""A proof notebook as a page that cannot do anything: read, sanitised, framed.

Whatever a sealed kernel produced is hostile to the screen it is shown on. Three walls, each enough by itself: an allow-list
sanitiser, a content security policy that forbids scripts and fetches, and a frame with an empty ``sandbox``. Functions in here
decide what is shown; ``templates/proof.html.j2`` escapes all of it but what the sanitiser returned (``Markup``).
"""

import base64
import binascii
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from sandbox.jupyter.sanitize import clean_html, clean_markdown, clean_svg
from workbench.agents.grounders.figure_words import caption
from workbench.audit.vintages import vintage_plot
from workbench.errors import UsageError
from workbench.formatting import counted
from workbench.propositions import NodeId
from workbench.store import Store, StoreCorrupt
from workbench.templates import html_environment
from workbench.views.trail import Call, Trail, cell_anchor, evidence_trail, linked_numbers, notebook_cells

if TYPE_CHECKING:
    from jinja2 import Environment

    from workbench.views.run_view import RunView

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
#: A place in the framed document itself. A bare "#id" would be a place in the page around it, where the frame may not go.
FRAGMENT = "about:srcdoc#"
TEXT_LIMIT = 20_000  # characters shown of one text output
IMAGE_LIMIT = 8_000_000  # characters of base64

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What is shown of an output that comes in several kinds: pictures first, since a chart library's HTML needs its script.
_KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml", "text/html", "text/markdown")
_TEXT_KINDS = ("text/latex", "text/plain")


def proof_document(path: Path, *, trail: Trail | None = None, dark: bool = False) -> str:
    """Return the notebook as one HTML document without scripts or outside references.

    With a ``trail`` the report stands above the cells, its numbers lead to the cells that printed them, and each cell leads to
    what its data calls asked and got.

    Superseded cells are folded away, code is folded under its first line, images are data URLs. Scripts, widget views and
    comms are dropped and said to be.

    Raises `UsageError`: The file is missing or is no notebook.
    """
    cells = [_cell_document(cell) for cell in notebook_cells(path)]
    return _page(cells or [_message("The notebook has no cells.")], trail=trail, dark=dark)


def proof_of(run: "RunView", node: NodeId, *, dark: bool = False) -> str:
    """Return a leaf's notebook with what it rests on, or a page that says why there is none."""
    path = run.notebook(node)
    if path is None:
        return message_document(f"{node} has no proof notebook yet.", dark=dark)
    try:
        return proof_document(path, trail=trail_of(run, node), dark=dark)
    except UsageError as error:
        return message_document(str(error), dark=dark)


def trail_of(run: "RunView", node: NodeId) -> Trail | None:
    """Return what a leaf rests on, read from its run's ledger; None where it has no conclusion, or the ledger is damaged."""
    try:
        with Store(run.home) as store:
            return evidence_trail(store, run.state, node)
    except (UsageError, StoreCorrupt):  # the proof is shown without it, and the audit names the damage
        return None


def message_document(text: str, *, dark: bool = False) -> str:
    """Return a page that says one thing, for a node without a notebook."""
    return _page([_message(text)], dark=dark)


def markdown_document(source: str, *, dark: bool = False) -> str:
    """Return a page of a model's Markdown, sanitised."""
    return _page([{"kind": "markdown", "html": Markup(clean_markdown(source))}], dark=dark)


def frame(document: str, *, title: str, style: str = "") -> str:
    """Return the element that shows the document; it may neither run scripts, nor navigate, nor open windows."""
    return _environment().get_template("frame.html.j2").render(document=document, title=title, style=style)


def proof_html(path: Path, *, trail: Trail | None = None) -> str:
    """Return the notebook in its closed frame, which scrolls, for a notebook cell or any page of HTML."""
    style = "width:100%;height:640px;border:1px solid #cfd7de;border-radius:4px;background:#fff"
    return frame(proof_document(path, trail=trail), title=f"proof notebook {path.stem}", style=style)


@cache
def _environment() -> "Environment":
    return html_environment("workbench.widgets", vintage_plot=vintage_plot)


def _page(cells: list[dict[str, Any]], *, dark: bool, trail: Trail | None = None) -> str:
    template = _environment().get_template("proof.html.j2")
    calls: dict[str, list[Call]] = {}
    for call in trail.calls if trail is not None else ():
        calls.setdefault(call.cell or "", []).append(call)
    report = ""
    if trail is not None and trail.report:
        # Sanitised first; what is put in around a number is ours.
        report = Markup(linked_numbers(clean_markdown(trail.report), trail, FRAGMENT))
    return template.render(
        cells=cells,
        calls=calls,
        report=report,
        fragment=FRAGMENT,
        manifest=(trail.manifest_id or "")[:19] if trail is not None else "",
        dark=dark,
        css=_css(dark=dark),
        content_security_policy=Markup(CONTENT_SECURITY_POLICY),
    )


@cache
def _css(*, dark: bool) -> Markup:
    colours = HtmlFormatter(style="github-dark" if dark else "friendly", nobackground=True).get_style_defs(
        ".code"
    )
    own = (files("workbench.widgets") / "static" / "proof.css").read_text(encoding="utf-8")
    return Markup(own + str(colours))


# --- a cell and its outputs as the values that the template wants, told apart by "kind" ------------------------


def _message(line: str) -> dict[str, Any]:
    return {"kind": "message", "line": line}


def _cell_document(cell: Mapping[str, Any]) -> dict[str, Any]:
    source = _joined(cell.get("source", ""))
    if cell.get("cell_type") == "markdown":
        return {"kind": "markdown", "html": Markup(clean_markdown(source))}
    if cell.get("cell_type") != "code":
        return {"kind": "raw", "source": source}
    raw_outputs = [output for output in _list(cell.get("outputs")) if isinstance(output, dict)]
    anchor = cell_anchor(cell.get("id", ""))
    outputs = [_output(output, caption(anchor or "a cell", source)) for output in raw_outputs]
    if "superseded" in _list(_dict(cell.get("metadata")).get("tags")):
        failed = next((o.get("ename") for o in raw_outputs if o.get("output_type") == "error"), None)
        why = f"Earlier attempt, {failed}" if failed else "Earlier attempt"
        return {"kind": "superseded", "id": anchor, "why": why, "code": _code(source), "outputs": outputs}
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    return {
        "kind": "code",
        "id": anchor,
        "first_line": first[:120],
        "lines": len(source.splitlines()),
        "code": _code(source) if source.strip() else "",
        "outputs": outputs,
    }


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _code(source: str) -> Markup:
    # Safe: pygments escapes the source it colours.
    return Markup(highlight(source, PythonLexer(), HtmlFormatter(cssclass="code")))


def _output(output: Mapping[str, Any], picture: str) -> dict[str, Any]:
    """Return an output for the template; ``picture`` says in words what a figure of its cell shows."""
    kind = output.get("output_type")
    if kind == "stream":
        name = "warning" if output.get("name") == "stderr" else "print"
        return _text_part(_joined(output.get("text", "")), name)
    if kind == "error":
        trace = _output_text("\n".join(map(str, _list(output.get("traceback")))))
        line = f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
        return {"kind": "error", "line": line, "trace": trace}
    data = _dict(output.get("data"))
    for mime in _KINDS:
        if mime in data and (shown := _rich(mime, _joined(data[mime]), picture)) is not None:
            return shown
    for mime in _TEXT_KINDS:
        if mime in data:
            return _text_part(_joined(data[mime]), "value")
    names = ", ".join(sorted(map(str, data))) or "nothing"
    return _message(f"An interactive output is not shown here ({names}).")


def _rich(mime: str, content: str, picture: str) -> dict[str, Any] | None:
    if mime == "text/markdown":
        return {"kind": "rich", "html": Markup(clean_markdown(content))}
    if mime == "text/html":
        clean = clean_html(content)
        # If only scripts were in it, the sanitiser leaves empty tags: then the output's plain text says more. An image is
        # content.
        visible = re.sub(r"<(?!img\b)[^>]*>", "", clean).strip()
        return {"kind": "rich", "html": Markup(clean)} if visible else None
    if len(content) > IMAGE_LIMIT:
        return _message(f"An image of {len(content) // 1_000_000} MB is not shown.")
    if mime == "image/svg+xml":
        return {"kind": "svg", "html": Markup(clean_svg(content, alt=picture)), "alt": picture}
    try:  # decoded and encoded again: what goes into the attribute is base64 and nothing else
        encoded = base64.b64encode(base64.b64decode("".join(content.split()), validate=True)).decode()
    except (binascii.Error, ValueError):
        return _message("A broken image is not shown.")
    return {"kind": "image", "mime": mime, "base64": encoded, "alt": picture}


def _text_part(text: str, name: str) -> dict[str, Any]:
    return {"kind": "text", "name": name, "text": _output_text(text)}


def _output_text(text: str) -> str:
    """Return the text without terminal colours, cut at the limit; empty if it is only white space."""
    # Before the cut, which could otherwise end inside a colour sequence and show its rest as text.
    text = _ANSI.sub("", text)
    if len(text) > TEXT_LIMIT:
        text = (
            text[:TEXT_LIMIT] + f"\n... {counted(len(text) - TEXT_LIMIT, 'more character')} in the notebook"
        )
    return text if text.strip() else ""


def _joined(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
