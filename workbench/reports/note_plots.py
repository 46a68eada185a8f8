"""Decode the plots of a proof and encode them anew, so that no byte of a kernel's picture reaches a viewer.

A proof's pictures come out of a sealed kernel and are hostile until decoded. What is passed on is a PNG of our own making:
the headless browser that prints the PDF, and a word processor, see nothing else.
"""

import base64
import binascii
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.formatting import notebook_text

#: Plots of one leaf; a proof with more has them in its notebook.
MOST_PLOTS = 3
_LARGEST_FILE = 60_000_000  # bytes of a notebook
_LARGEST_IMAGE = 8_000_000  # characters of base64
_MOST_PIXELS = 16_000_000
_WIDEST = 1600  # pixels; a page of A4 shows no more
_LONGEST_CAPTION = 400
_NUMBER = re.compile(r"^\d+\.\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A PNG and its caption, which is its alternative text too; ``width`` and ``height`` in pixels."""

    png: bytes
    caption: str
    width: int
    height: int


def proof_plots(path: Path, subject: str) -> list[Plot]:
    """Return the first plots of a proof notebook, each captioned by the text cell before it.

    ``subject`` names the proposition and begins every caption. A notebook that cannot be read has none: the audit says so.
    """
    plots: list[Plot] = []
    for data, words in _pictures(path):
        picture = _redrawn(data)
        if picture is not None:
            png, width, height = picture
            caption = f"{subject.rstrip('.')}. {words}".strip()[:_LONGEST_CAPTION]
            plots.append(Plot(png=png, caption=caption, width=width, height=height))
        if len(plots) == MOST_PLOTS:
            break
    return plots


def _pictures(path: Path) -> Iterator[tuple[str, str]]:
    if path.stat().st_size > _LARGEST_FILE:
        return
    try:
        # Not nbformat, whose import takes a second; the audit and the import validate notebooks.
        notebook = json.loads(path.read_bytes())
    except ValueError:
        return
    words = ""
    for cell in _dicts(notebook.get("cells") if isinstance(notebook, dict) else None):
        if cell.get("cell_type") == "markdown":
            words = _caption(notebook_text(cell.get("source")))
            continue
        metadata = cell.get("metadata")
        tags = metadata.get("tags") if isinstance(metadata, dict) else None
        if isinstance(tags, list) and "superseded" in tags:
            continue
        for output in _dicts(cell.get("outputs")):
            bundle = output.get("data")
            for kind in ("image/png", "image/jpeg"):
                if isinstance(bundle, dict) and kind in bundle:
                    yield notebook_text(bundle[kind]), words
                    break


def _redrawn(data: str) -> tuple[bytes, int, int] | None:
    """Encode a picture anew as PNG, with its width and height; None for bytes that are no picture or too large."""
    from PIL import Image, UnidentifiedImageError

    if len(data) > _LARGEST_IMAGE:
        return None
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
        # Only these two decoders: Pillow knows dozens of formats, some of which call other programs.
        with Image.open(io.BytesIO(raw), formats=("PNG", "JPEG")) as picture:
            if picture.width * picture.height > _MOST_PIXELS:
                return None
            drawn = picture.convert("RGB" if picture.mode in ("RGB", "L", "CMYK") else "RGBA")
    # What Pillow raises for bytes that are no picture, or a broken one.
    except (binascii.Error, UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError):
        return None
    if drawn.mode == "RGBA":  # on white, as in the notebook; a dark page would swallow black axes
        ground = Image.new("RGB", drawn.size, "white")
        ground.paste(drawn, mask=drawn.getchannel("A"))
        drawn = ground
    if drawn.width > _WIDEST:
        drawn = drawn.resize((_WIDEST, max(1, round(drawn.height * _WIDEST / drawn.width))))
    target = io.BytesIO()
    drawn.save(target, "PNG", compress_level=4)  # half the time of the default for a tenth more bytes
    return target.getvalue(), drawn.width, drawn.height


def _caption(source: str) -> str:
    """Return the first paragraph of a text cell; its heading if it has none."""
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    headings = [_NUMBER.sub("", line.lstrip("#").strip()) for line in lines if line.startswith("#")]
    return next(iter([line for line in lines if not line.startswith("#")] or headings), "")


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
