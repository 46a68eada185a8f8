"""The files beside the database: ``tree.json`` and ``manifest.json``, rewritten whole as the run moves on.

They are for people and other programs; the event log stays the truth.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from proxies.atomic import replace_file
from workbench.engine.run.manifest import manifest
from workbench.engine.run.state import RunState
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev

_TREE_STANDS = (ev.TreePlanned, ev.TreeEdited, ev.RunFinished, ev.RunStopped)
_TREE_MOVES = (ev.TreeExpanded, ev.LeafPooled, ev.NodeSynthesized)
_MANIFEST_MOVES = (ev.RunSealed, ev.RunFinished, ev.RunStopped)


#: Seconds between two writes of ``tree.json`` while leaves come in. Rewritten per leaf, 1,000 leaves wrote 2.4 GB and held the
#: event loop for 20 s.
_TREE_EVERY = 2.0


class RunFiles:
    """Writes ``tree.json`` and ``manifest.json`` of one run as its events come in; called by the ``Recorder``.

    ``tree.json`` is whole when the run is planned, stopped or finished. While leaves come in it is written at most every two
    seconds and without the reports, which are most of its bytes and lie in the log.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        # So the first change is written at once, also by a clock that starts at 0.
        self._written = -_TREE_EVERY

    def follow(self, state: RunState, event: ev.Event) -> None:
        """Rewrite the files that an event changed."""
        folder = self._store.folder(state.run_id)
        if isinstance(event, _TREE_STANDS):
            write_atomically(folder / "tree.json", state.tree.to_json())
        elif isinstance(event, _TREE_MOVES) and self._clock() - self._written >= _TREE_EVERY:
            write_atomically(folder / "tree.json", _without_reports(state.tree.to_json()))
            self._written = self._clock()
        if isinstance(event, _MANIFEST_MOVES):
            write_atomically(folder / "manifest.json", run_manifest(self._store, state))


def _without_reports(tree: dict[str, Any]) -> dict[str, Any]:
    for node in tree["nodes"]:
        if node.get("belief"):
            node["belief"]["report"] = ""
    return tree


def run_manifest(store: Store, state: RunState) -> dict[str, Any]:
    """Return the manifest of a run: its settings, cutoff, status, calls, cost and the hashes of the data it read."""
    models, data = ModelLedger(store), ApiLedger(store)
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
        data=sorted(data.content_hashes(state.run_id)),
    )


def write_atomically(path: Path, value: Any) -> None:
    """Write a JSON document so that a reader sees the old or the new one, never half of it."""
    write_text_atomically(path, orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old or the new one, never half of it."""
    replace_file(path, text.encode())


def write_notebook(path: Path, book: Any) -> None:
    """Write a proof notebook that evidence rendered; raises ``nbformat.ValidationError`` where it is none."""
    import nbformat

    nbformat.validate(book)
    write_text_atomically(path, str(nbformat.writes(book)))  # type: ignore[no-untyped-call]
