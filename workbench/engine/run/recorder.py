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

    def record(self, event: Event | Callable[[], Event]) -> None:
        """Append an event, move the state on, rewrite the files that show it, and tell the listener.

        The event is folded into a copy of the state before it is appended: the log is append-only, so an event that cannot
        be read back (a rule that no package registers, a tree that is none) would make the run unreadable for ever.

        Parameters
        ----------
        event : Event or callable
            A callable files the event's bodies and returns it: bodies and event are one transaction then, and an event
            that is refused leaves no bodies behind.

        Raises
        ------
        UnknownRule
            A rule that no installed package registers. This, and whatever else the fold raises, leaves the log as it was.
        """
        draft = self.state.copy()
        with self.store.transaction():
            complete = event() if callable(event) else event
            # The number is only a guess here: runs of one home share a series. The log gives the real one below.
            apply(self.store, draft, StoredEvent(draft.seq + 1, draft.run_id, utc_now(), complete))
            if draft.missing != self.state.missing:
                raise UnknownRule(draft.missing[-1])
            draft.seq = self.store.append(draft.run_id, complete)
        # After the commit, in this order: whatever a listener shows, or a reader finds in a file, is already on disk.
        self.state = draft
        self._files.follow(draft, complete)
        self._listener(draft, StoredEvent(draft.seq, draft.run_id, utc_now(), complete))
