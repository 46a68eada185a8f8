"""The notebook of a session: rendered from the journal's cells, valid nbformat 4.5, written by atomic rename."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proxies.atomic import replace_file
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


def render_notebook(
    cells: Sequence[JournalCell], *, title: str = "", metadata: Mapping[str, Any] | None = None
) -> Any:
    """Return the NotebookNode of `cells`.

    A failed cell stays and is tagged ``raises-exception``; one that a later cell mends is also tagged ``superseded`` and
    collapsed. What the sandbox knows of a cell lies under ``metadata.analyst`` of that cell.

    Parameters
    ----------
    metadata : goes under ``metadata.analyst`` of the notebook
    """
    v4 = _format()
    notebook = v4.new_notebook(
        metadata={
            "kernelspec": dict(KERNELSPEC),
            "language_info": dict(LANGUAGE),
            "title": title,
            "analyst": dict(metadata or {}),
        }
    )
    count = 0
    for cell in cells:
        if cell.kind == "markdown":
            source = cell.shown.get("source", cell.source)
            notebook.cells.append(v4.new_markdown_cell(source, id=cell.id))
            continue
        count += 1
        notebook.cells.append(_code_cell(cell, count))
    return notebook


def write_notebook(path: Path, notebook: Any) -> None:
    """Validate and write a notebook so that a reader sees the old or the new one, never half of it."""
    nbformat: Any = importlib.import_module("nbformat")
    nbformat.validate(notebook)
    replace_file(path, nbformat.writes(notebook).encode(), private=True)


def _format() -> Any:
    # loaded late, and untyped on purpose: nbformat declares only half of its functions
    return importlib.import_module("nbformat.v4")


def _code_cell(cell: JournalCell, count: int) -> Any:
    v4 = _format()
    result = cell.result
    tags = []
    if cell.superseded:
        tags.append("superseded")
    if result is not None and result.status != "ok":
        tags.append("raises-exception")
    metadata: dict[str, Any] = {"tags": tags} if tags else {}
    if cell.superseded:
        metadata |= {"collapsed": True, "jupyter": {"source_hidden": True, "outputs_hidden": True}}
    if result is not None:
        metadata["analyst"] = _facts(result) | ({"findings": list(cell.findings)} if cell.findings else {})
    shown = [
        cell.shown.get(str(place), output) for place, output in enumerate(result.outputs if result else ())
    ]
    outputs = [v4.output_from_msg(_as_message(output, count)) for output in shown]
    return v4.new_code_cell(
        cell.source,
        id=cell.id,
        metadata=metadata,
        execution_count=count if result is not None else None,
        outputs=outputs,
    )


def _facts(result: CellResult) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "status": result.status,
        "duration_s": round(result.duration_s, 3),
        "api_calls": result.api_calls,
    }
    if result.api_hashes:
        facts["data"] = list(result.api_hashes)
    if result.limit:
        facts["limit"] = result.limit
    return facts


def _as_message(output: Mapping[str, Any], count: int) -> dict[str, Any]:
    content = {key: value for key, value in output.items() if key != "output_type"}
    if output["output_type"] == "execute_result":
        content["execution_count"] = count
    return {"header": {"msg_type": output["output_type"]}, "content": content}
