"""Render the notebook of a session from its journal: valid nbformat 4.5, written by atomic rename."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proxies.atomic import replace_file
from proxies.json_text import Fields, Row
from sandbox.types import CellResult, JournalCell

KERNELSPEC = {"name": "analyst", "display_name": "Analyst", "language": "python"}
LANGUAGE = {
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "pygments_lexer": "ipython3",
    "codemirror_mode": {"name": "ipython", "version": 3},
    "nbconvert_exporter": "python",
}


def render_notebook(cells: Sequence[JournalCell], *, title: str = "", metadata: Fields | None = None) -> Any:
    """Render `cells` as a NotebookNode.

    A failed cell stays and is tagged ``raises-exception``; one that a later cell mends is also tagged ``superseded`` and
    collapsed. What the sandbox knows of a cell lies under ``metadata.analyst`` of that cell.
    """
    nbformat = _nbformat()
    rendered = []
    count = 0
    for cell in cells:
        if cell.kind == "markdown":
            source = cell.shown.get("source", cell.source)
            rendered.append({"id": cell.id, "cell_type": "markdown", "metadata": {}, "source": source})
            continue
        count += 1
        rendered.append(_code_cell(cell, count))
    notebook = nbformat.from_dict(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {
                "kernelspec": KERNELSPEC,
                "language_info": LANGUAGE,
                "title": title,
                "analyst": metadata or {},
            },
            "cells": rendered,
        }
    )
    # Once and whole, by the compiled schema: nbformat's makers of cells and outputs validate each by the slow one, and that was
    # half of what a comparison of a proof took.
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        raise ValueError(f"no cell of a notebook: {error.message}") from error
    return notebook


def write_notebook(path: Path, notebook: Any) -> None:
    """Validate and write a notebook; a reader sees the old or the new one, never half of it."""
    nbformat = _nbformat()
    nbformat.validate(notebook)
    replace_file(path, nbformat.writes(notebook).encode(), private=True)


def _nbformat() -> Any:
    # loaded late, and untyped on purpose: nbformat declares only half of its functions
    return importlib.import_module("nbformat")


def _code_cell(cell: JournalCell, count: int) -> Row:
    result = cell.result
    tags = []
    if cell.superseded:
        tags.append("superseded")
    if result is not None and result.status != "ok":
        tags.append("raises-exception")
    metadata: Row = {"tags": tags} if tags else {}
    if cell.superseded:
        metadata |= {"collapsed": True, "jupyter": {"source_hidden": True, "outputs_hidden": True}}
    if result is not None:
        metadata["analyst"] = _facts(result) | ({"findings": list(cell.findings)} if cell.findings else {})
    outputs = [
        cell.shown.get(str(place), output) for place, output in enumerate(result.outputs if result else ())
    ]
    return {
        "id": cell.id,
        "cell_type": "code",
        "metadata": metadata,
        "execution_count": count if result is not None else None,
        "source": cell.source,
        "outputs": [_output(output, count) for output in outputs],
    }


def _facts(result: CellResult) -> Row:
    facts: Row = {
        "status": result.status,
        "duration_s": round(result.duration_s, 3),
        "api_calls": result.api_calls,
    }
    if result.api_hashes:
        facts["data"] = list(result.api_hashes)
    if result.limit:
        facts["limit"] = result.limit
    return facts


#: What a notebook has of an output of each type.
_PARTS = {
    "stream": ("name", "text"),
    "error": ("ename", "evalue", "traceback"),
    "display_data": ("data", "metadata"),
    "execute_result": ("data", "metadata"),
}


def _output(output: Fields, count: int) -> Row:
    kind = output["output_type"]
    parts = {"output_type": kind} | {part: output[part] for part in _PARTS[kind]}
    return parts | {"execution_count": count} if kind == "execute_result" else parts
