"""The one way by which something happens to a run that is being worked on: onto the log first, then shown."""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from proxies.hashing import sha256_of
from workbench.engine.manifest import run_manifest
from workbench.engine.record.fold import apply, load_state
from workbench.engine.record.run_files import write_atomically
from workbench.engine.record.state import RunState
from workbench.errors import WorkbenchError
from workbench.store import Event, Store, StoredEvent
from workbench.store import events as ev
from workbench.store.database import utc_now
from workbench.store.writer import BatchWriter
from workbench.synthesis import UnknownRule

Listener = Callable[[RunState, StoredEvent], None]
#: Files a body and returns the hash that an event names it by.
Put = Callable[[bytes | str], str]
_TREE_STANDS = (ev.TreePlanned, ev.TreeEdited, ev.RunFinished, ev.RunStopped)
_TREE_MOVES = (ev.TreeExpanded, ev.LeafPooled, ev.NodeSynthesized)
_MANIFEST_MOVES = (ev.RunSealed, ev.RunFinished, ev.RunStopped)

#: Seconds between two writes of ``tree.json`` while leaves come in. Rewritten per leaf, 1,000 leaves wrote 2.4 GB and held the
#: event loop for 20 s.
_TREE_EVERY = 2.0
#: And so many times what the last one took, 40 ms for 10,000 leaves on a quiet machine: no tree takes more than a thirtieth.
_TREE_SHARE = 30.0


class Recorder:
    """Appends events to a run and keeps the state they add up to; an async context manager, for one sitting.

    The state moves on at once. The log follows in batches (``store/writer.py`` says what waits for it), then the files,
    then the listener. Leaving the block writes what is left.
    """

    def __init__(self, store: Store, run_id: str, listener: Listener) -> None:
        self.store = store
        self.state = load_state(store, run_id)
        self.writer = BatchWriter(store)
        self._listener = listener
        self._files = RunFiles(store)
        self._bodies: dict[str, bytes] = {}  # filed, and not on disk yet
        self._trouble: Exception | None = None

    def record(self, event: Event | Callable[[Put], Event]) -> None:
        """Move the state on by an event and hand it to the log.

        The event is folded into a copy of the state first: the log is append-only, so an event that cannot be read back (a
        rule that no package registers, a tree that is none) would make the run unreadable for ever.

        Raises `UnknownRule`: A rule that no installed package registers. This, and whatever else the fold raises, leaves the log as it
        was. Raises `StoreFull, OSError`: An earlier event could not be written or shown.
        """
        self._raise_trouble()
        fresh: dict[str, bytes] = {}

        def put(data: bytes | str) -> str:
            raw = data.encode() if isinstance(data, str) else data
            digest = sha256_of(raw)
            fresh[digest] = raw
            return digest

        complete = event(put) if callable(event) else event
        draft, at_utc = self.state.copy(), utc_now()
        # The number is only a guess: runs of one home share a series. The log gives the real one below.
        stored = StoredEvent(draft.seq + 1, draft.run_id, at_utc, complete)
        apply(_Filed(self.store, {**self._bodies, **fresh}), draft, stored)
        if draft.missing != self.state.missing:
            raise UnknownRule(draft.missing[-1])

        def write(store: Store) -> int:
            for raw in fresh.values():
                store.put_body(raw)
            return store.append(draft.run_id, complete, at_utc=at_utc)

        def shown(seq: int) -> None:
            for digest in fresh:
                self._bodies.pop(digest, None)
            draft.seq = draft.changed_seq = seq
            self._show(draft, stored._replace(seq=seq))

        self.writer.put(write, then=shown)
        self._bodies |= fresh
        self.state = draft

    def take_in(self, stored: StoredEvent) -> None:
        """Move the state on by an event that another process put on the log, and show it; its seq is the log's."""
        draft = self.state.copy()
        apply(_Filed(self.store, self._bodies), draft, stored)
        draft.seq = max(draft.seq, self.state.seq)
        self.state = draft
        self._show(draft, stored)

    def _show(self, state: RunState, stored: StoredEvent) -> None:
        # After the commit, in this order: whatever a listener shows, or a reader finds in a file, is already on disk.
        self._files.follow(state, stored.event)
        try:
            self._listener(state, stored)
        except (
            Exception
        ) as error:  # a closed terminal, a screen's bug: raised where the run goes on, not in the log's task
            self._trouble = self._trouble or error

    def _raise_trouble(self) -> None:
        trouble, self._trouble = self._trouble or self._files.trouble(), None
        if trouble is not None:
            raise trouble

    async def committed(self) -> None:
        """Return when everything recorded so far is on disk; raises ``StoreFull``."""
        await self.writer.committed()

    async def settled(self) -> None:
        """Return when everything recorded so far is on disk, in the files, and shown; raises what went wrong there."""
        await self.writer.drained()
        await self._files.written()
        self._raise_trouble()

    async def __aenter__(self) -> "Recorder":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        closing = asyncio.ensure_future(self._close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:  # a second Ctrl-C: what is queued is written all the same
            await closing
            raise
        except (OSError, WorkbenchError):
            if error is None:  # else a full disk has stopped the run already, and that is raised
                raise

    async def _close(self) -> None:
        try:
            await self.settled()
        finally:
            await self.writer.aclose()


class _Filed:
    """Bodies of a store, and those that are on their way into it."""

    def __init__(self, store: Store, pending: Mapping[str, bytes]) -> None:
        self._store = store
        self._pending = pending

    def body(self, digest: str) -> bytes:
        raw = self._pending.get(digest)
        return self._store.body(digest) if raw is None else raw

    def text(self, digest: str) -> str:
        return self.body(digest).decode()


class RunFiles:
    """Writes ``tree.json`` and ``manifest.json`` of one run as its events come in, in a thread; the ``Recorder`` calls it.

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
