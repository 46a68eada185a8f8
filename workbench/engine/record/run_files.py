"""The files beside the database: their names, and how one is written whole or not at all."""

from pathlib import Path
from typing import Any

import orjson

from proxies.atomic import replace_file
from proxies.hashing import sha256_of_file
from workbench.engine.run_settings import MAX_NUMBER
from workbench.errors import UsageError
from workbench.propositions import NodeId, Tree
from workbench.propositions.ids import require_id
from workbench.store import Store


def notebook_name(node: NodeId, trial: int) -> str:
    """Return the proof notebook's file name: ``P2.1.ipynb``, and ``P2.1.t2.ipynb`` for the second trial.

    Raises ``IdMismatch`` for a node that is no id: a path is made of it.
    """
    _check_numbers(trial)
    return f"{require_id(node)}.ipynb" if trial == 1 else f"{require_id(node)}.t{trial}.ipynb"


def session_name(node: NodeId, trial: int, attempt: int) -> str:
    """Return the name of a grounding's session: ``P2.1.1.1``; raises ``IdMismatch`` for a node that is no id."""
    _check_numbers(trial, attempt)
    return f"{require_id(node)}.{trial}.{attempt}"


def journal_name(node: NodeId, trial: int, attempt: int) -> str:
    """Return the file name of a session's journal: ``P2.1.1.1.jsonl``."""
    return f"{session_name(node, trial, attempt)}.jsonl"


def _check_numbers(*numbers: object) -> None:
    for number in numbers:
        # Not isinstance: True is an int to it, and would end up in a file name.
        if type(number) is not int or not 1 <= number <= MAX_NUMBER:
            raise UsageError(f"trials and attempts are numbers from 1 to {MAX_NUMBER}, not {number!r:.40}")


def put_tree(store: Store, tree: Tree) -> str:
    """File a tree as a body and return its hash."""
    return store.put_body(tree_body(tree))


def tree_body(tree: Tree) -> bytes:
    """Return the body as which a tree is filed."""
    return orjson.dumps(tree.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def manifest_id(store: Store, run_id: str) -> str | None:
    """Return the id that every export of a run carries: the hash of its ``manifest.json``, as ``sha256sum`` prints it.

    Of the file and not of a manifest made anew: that one would hold the packages of whoever exports. A package carries the
    file along, so the id is the same in another home. None while a run has no manifest.
    """
    path = store.folder(run_id) / "manifest.json"
    return sha256_of_file(path) if path.is_file() else None


def write_atomically(path: Path, value: Any) -> None:
    """Write a JSON document so that a reader sees the old or the new one, never half of it."""
    write_text_atomically(path, orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file for its owner so that a reader sees the old or the new one, never half of it."""
    replace_file(path, text.encode(), private=True)


def write_notebook(path: Path, book: Any) -> None:
    """Write a valid proof notebook that evidence rendered.

    Not synced to the disk: the evidence that it shows lies in the log, which a power cut may cost its last commits as well,
    and a thousand syncs take longer than all else that a thousand leaves cost.
    """
    import nbformat

    # The writer of its own version: that of the package validates once more (0.1 ms, a tenth of what a leaf costs).
    text = nbformat.versions[book["nbformat"]].writes_json(book)
    replace_file(path, text.encode(), private=True, sync=False)
