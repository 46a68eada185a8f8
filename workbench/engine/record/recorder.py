"""The one way by which something happens to a run that is being worked on: onto the log first, then shown."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType

from proxies.hashing import sha256_of
from workbench.engine.manifest import RunFiles
from workbench.engine.record.fold import apply, load_state
from workbench.engine.record.state import RunState
from workbench.errors import WorkbenchError
from workbench.store import Event, Store, StoredEvent
from workbench.store.database import utc_now
from workbench.store.writer import BatchWriter
from workbench.synthesis import UnknownRule

Listener = Callable[[RunState, StoredEvent], None]
#: Files a body and returns the hash that an event names it by.
Put = Callable[[bytes | str], str]


class Recorder:
    """Appends events to a run and keeps the state they add up to; an async context manager, for one sitting.

    The state moves on at once. The log follows in batches (``store/writer.py`` says what waits for it), then the files,
    then the listener. Leaving the block writes what is left.

    Parameters
    ----------
    store : Store
    run_id : str
    listener : callable
        Called with the new state and the event, after the event is on disk.
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

        Parameters
        ----------
        event : Event or callable
            A callable gets what files a body and returns the event: bodies and event are one transaction then, and an event
            that is refused leaves no bodies behind.

        Raises
        ------
        UnknownRule
            A rule that no installed package registers. This, and whatever else the fold raises, leaves the log as it was.
        StoreFull, OSError
            An earlier event could not be written or shown.
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
