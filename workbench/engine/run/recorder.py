"""The one way by which something happens to a run that is being worked on: onto the log first, then shown."""

from collections.abc import Callable

from workbench.engine.run.files import RunFiles
from workbench.engine.run.state import RunState, apply, load_state
from workbench.store import Event, Store, StoredEvent
from workbench.store.database import utc_now
from workbench.synthesis import UnknownRule

Listener = Callable[[RunState, StoredEvent], None]


class Recorder:
    """Appends events to a run and keeps the state they add up to.

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
        self._listener = listener
        self._files = RunFiles(store)

    def record(self, event: Event) -> None:
        """Append an event, move the state on, rewrite the files that show it, and tell the listener.

        The event is folded into a copy of the state before it is appended: the log is append-only, so an event that cannot
        be read back (a rule that no package registers, a tree that is none) would make the run unreadable for ever.
        Raises ``UnknownRule`` for a rule that no installed package registers, and whatever else the fold raises; nothing is
        on the log then.
        """
        draft = self.state.copy()
        apply(self.store, draft, StoredEvent(self.state.seq + 1, self.state.run_id, utc_now(), event))
        if draft.missing != self.state.missing:
            raise UnknownRule(draft.missing[-1])
        seq = self.store.append(self.state.run_id, event)
        draft.seq = seq
        self.state = draft
        self._files.follow(draft, event)
        self._listener(draft, StoredEvent(seq, draft.run_id, utc_now(), event))
