"""``manifest.json``: what ran, so that a figure can be traced; and the writer that keeps it and ``tree.json`` up with a run's events."""

import asyncio
import hashlib
import platform
import time
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from workbench.engine.record.run_files import write_atomically
from workbench.engine.record.state import RunState
from workbench.prompts import TODAY
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev
from workbench.version import __version__

#: The packages whose behaviour reaches a number; all others follow from the lock.
PACKAGES = (
    "jupyter_client", "nbformat", "ipykernel", "ipython", "ipywidgets", "voila", "litellm", "pandas", "numpy", "scipy",
    "matplotlib", "arch", "fredapi", "yfinance", "httpx", "pydantic", "anywidget",
)  # fmt: skip


@cache
def packages() -> dict[str, str]:
    """Return the installed version of each package that matters, ``"missing"`` where it is not installed.

    Read once per process (40 ms): that is what it imports.
    """
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "missing"
    return versions


@cache
def installed() -> dict[str, str]:
    """Return the version of every installed package by its name, sorted; what `packages` leaves out may matter one day."""
    versions = {str(item.metadata["Name"] or ""): item.version for item in metadata.distributions()}
    return {name: versions[name] for name in sorted(versions, key=str.lower) if name}


@cache
def code_hash() -> str:
    """Return one hash over the Python sources of the three packages, so that a local change shows.

    Read once per process: that is the code which runs.
    """
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for room in ("workbench", "sandbox", "proxies"):
        for file in sorted((root / room).rglob("*")):
            if file.suffix in {".py", ".md", ".yaml", ".js", ".css"} and "__pycache__" not in file.parts:
                # NUL ends the name and the content: text that is moved from one to the other changes the hash.
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return "sha256:" + digest.hexdigest()


def manifest(**facts: Any) -> dict[str, Any]:
    """Return the manifest: the given facts of the run, and what it ran on."""
    return {
        **facts,
        "workbench": __version__,
        "code": code_hash(),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": packages(),
        "installed": installed(),
        "prompts": TODAY.fingerprints(),
    }


_TREE_STANDS = (ev.TreePlanned, ev.TreeEdited, ev.RunFinished, ev.RunStopped)
_TREE_MOVES = (ev.TreeExpanded, ev.LeafPooled, ev.NodeSynthesized)
_MANIFEST_MOVES = (ev.RunSealed, ev.RunFinished, ev.RunStopped)


#: Seconds between two writes of ``tree.json`` while leaves come in. Rewritten per leaf, 1,000 leaves wrote 2.4 GB and held the
#: event loop for 20 s.
_TREE_EVERY = 2.0
#: And so many times what the last one took, 40 ms for 10,000 leaves on a quiet machine: no tree takes more than a thirtieth.
_TREE_SHARE = 30.0


class RunFiles:
    """Writes ``tree.json`` and ``manifest.json`` of one run as its events come in, in a thread; called by the ``Recorder``.

    ``tree.json`` is whole when the run is planned, stopped or finished. While leaves come in it is written at most every two
    seconds, a large one more rarely, and without the reports, which are most of its bytes and lie in the log. A file that is due again before it was
    written is written once, as the newest event has it.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        # So the first change is written at once, also by a clock that starts at 0.
        self._written = -_TREE_EVERY
        self._took = 0.0  # seconds that the last files took
        self._due: dict[str, Callable[[], Any]] = {}  # file name -> what makes its content
        self._task: asyncio.Task[None] | None = None
        self._trouble: Exception | None = None

    def follow(self, state: RunState, event: ev.Event) -> None:
        """Have the files rewritten that an event changed; they are when ``written`` returns."""
        if isinstance(event, _TREE_STANDS):
            self._due["tree.json"] = state.tree.to_json
        elif isinstance(event, _TREE_MOVES) and self._clock() - self._written >= max(
            _TREE_EVERY, _TREE_SHARE * self._took
        ):
            self._due["tree.json"] = lambda: _without_reports(state.tree.to_json())
            self._written = self._clock()
        if isinstance(event, _MANIFEST_MOVES):
            self._due["manifest.json"] = lambda: run_manifest(self._store, state)
        if self._due and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work(self._store.folder(state.run_id)))

    async def written(self) -> None:
        """Return when every file that is due was written, or could not be."""
        while self._task is not None:
            await asyncio.shield(self._task)

    def trouble(self) -> Exception | None:
        """Return, once, why a file could not be written."""
        trouble, self._trouble = self._trouble, None
        return trouble

    async def _work(self, folder: Path) -> None:
        def write(due: dict[str, Callable[[], Any]]) -> None:
            for name, content in due.items():
                write_atomically(folder / name, content())

        try:
            while self._due:
                due, self._due = self._due, {}
                begun = self._clock()
                await asyncio.to_thread(write, due)
                self._took = self._clock() - begun
        except Exception as error:  # a full disk: the Recorder raises it where the run goes on
            self._trouble = error
        finally:
            self._task = None


def _without_reports(tree: dict[str, Any]) -> dict[str, Any]:
    for node in tree["nodes"]:
        if node.get("belief"):
            node["belief"]["report"] = ""
    return tree


def run_manifest(store: Store, state: RunState) -> dict[str, Any]:
    """Return the manifest of a run: its settings, cutoff, status, calls, cost and the hashes of the data it read."""
    models, data = ModelLedger(store), ApiLedger(store)
    document = manifest(
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
    document["prompts"] |= recorded_prompts(store, state.run_id)  # those that it began with
    return document


def recorded_prompts(store: Store, run_id: str) -> dict[str, dict[str, Any]]:
    """Return version and hash of the prompts that a run's manifest names; none where it has no manifest, or one nobody can read."""
    try:
        document = orjson.loads((store.folder(run_id) / "manifest.json").read_bytes())
        return {
            str(name): {"version": each.get("version"), "sha256": each["sha256"]}
            for name, each in document["prompts"].items()
            if isinstance(each["sha256"], str)
        }
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return {}
