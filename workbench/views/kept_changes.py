"""Read the changes that a review found since the run before it, as stored beside its run: for every screen,
without computing them again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from workbench.engine.record.state import RunState
from workbench.formatting import point_change
from workbench.views.answer import short_name

#: Beside the run: no record, for it can be computed again, and no package carries it.
CHANGES_FILE = "changes.json"
#: Parts of less are not named in a line.
_NAMED_POINTS = 0.0005


def kept_changes(folder: Path) -> dict[str, Any] | None:
    """Read the changes that a review stored in its run's folder; None without."""
    try:
        document = orjson.loads((folder / CHANGES_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("runs") else None


def since_line(state: RunState, folder: Path) -> str | None:
    """Say in one line how a review moved the answer since the run before it; None for a run that is no review."""
    if state.follows is None:
        return None
    carried = len(state.follows.leaves)
    of_all = f"{carried} of {len(state.tree.leaves())} drivers carried over"
    changes = kept_changes(folder)
    if changes is None:
        return f"takes up run {state.follows.run}: {of_all}"
    parts = sorted(
        ((node, row["total"]) for node, row in changes["parts"]["leaves"].items()),
        key=lambda part: -abs(part[1]),
    )
    named = [
        f'"{short_name(state.tree[node], state.statement)}" {point_change(0.0, total)}'
        for node, total in parts[:3]
        if abs(total) >= _NAMED_POINTS and node in state.tree
    ]
    words = [
        f"{point_change(changes['before'], changes['after'])} since run {changes['runs'][0]}",
        *([split_words(changes["split"])] if changes.get("split") else []),
        *([f"most by {', '.join(named)}"] if named else []),
        *([of_all] if carried else []),
    ]
    return "; ".join(words)


def split_words(split: Mapping[str, float]) -> str:
    """Write the three parts of a computed change in words."""
    named = (("rows", "new rows"), ("revisions", "revised rows"), ("time", "shorter horizon"))
    return ", ".join(f"{words} {point_change(0.0, split[name])}" for name, words in named)
