"""The files beside the database: ``tree.json``, ``manifest.json`` (what ran, so that a figure can be traced), a trial's files and their names."""

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

from proxies.atomic import replace_file
from proxies.hashing import sha256_of_file
from workbench.engine.state import RunState
from workbench.errors import UsageError
from workbench.propositions import NodeId, Tree
from workbench.propositions.ids import require_id
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev
from workbench.version import __version__

#: Largest number of a trial or attempt; both stand in file names.
MAX_NUMBER = 9999


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
    # yaml and pydantic, to parse prompts; a screen that lists runs takes names of files from here
    from workbench.prompts import fingerprints

    return {
        **facts,
        "workbench": __version__,
        "code": code_hash(),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": packages(),
        "installed": installed(),
        "prompts": fingerprints(),
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
