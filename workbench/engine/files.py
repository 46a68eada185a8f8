"""The files beside the database: ``tree.json`` and ``manifest.json``, rewritten whole as the run moves on.

They are for people and other programs; the event log stays the truth.
"""

from pathlib import Path
from typing import Any

import orjson

from sandbox.atomic import replace_file
from workbench.engine.manifest import manifest
from workbench.engine.state import RunState
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev

_TREE_MOVES = (
    ev.TreeExpanded, ev.TreePlanned, ev.TreeEdited, ev.LeafPooled, ev.NodeSynthesized, ev.RunFinished, ev.RunStopped
)  # fmt: skip
_MANIFEST_MOVES = (ev.RunSealed, ev.RunFinished, ev.RunStopped)


def write_files(store: Store, state: RunState, event: ev.Event) -> None:
    """Rewrite the files that ``event`` changed."""
    folder = store.folder(state.run_id)
    if isinstance(event, _TREE_MOVES):
        write_atomically(folder / "tree.json", state.tree.to_json())
    if isinstance(event, _MANIFEST_MOVES):
        write_atomically(folder / "manifest.json", run_manifest(store, state))


def run_manifest(store: Store, state: RunState) -> dict[str, Any]:
    """Return what ran, with what, at what price."""
    models, data = ModelLedger(store), ApiLedger(store)
    hashes = {
        row.answer.meta["content_hash"]
        for row in data.rows(state.run_id)
        if row.answer is not None and "content_hash" in row.answer.meta
    }
    return manifest(
        run_id=state.run_id,
        statement=state.statement,
        cutoff={
            "asked": state.cutoff,
            "instant": state.cutoff_instant,
            "rule": "known before the instant, exclusive",
        },
        settings=state.settings.to_json(),
        isolation=state.isolation,
        status=state.status,
        started_utc=state.started_utc,
        model_calls=models.count(state.run_id),
        api_calls=data.count(state.run_id),
        cost_usd=models.cost(state.run_id),
        data=sorted(hashes),
    )


def write_atomically(path: Path, value: Any) -> None:
    """Write a JSON document so that a reader sees the old or the new one, never half of it."""
    write_text_atomically(path, orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old or the new one, never half of it."""
    replace_file(path, text.encode())
