"""A run as a document that a person reads as its tree."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from workbench.engine.record.state import RunState
    from workbench.store import Store
    from workbench.views.run_view import RunView


@dataclass(frozen=True, slots=True)
class RecordProcess:
    """The process that measures a run's record beside it, and until when (``time.monotonic``) a command waits for it."""

    pid: int | None = None
    until: float = 0.0

    def wait(self) -> None:
        """Return when the record is there, or when the time for it is over."""
        from workbench.engine.detached import wait_for_record

        wait_for_record(self.pid, self.until - time.monotonic())


class RunDocument(dict[str, Any]):
    """What ``show --json`` prints of a run, with the run that it is of."""

    run: RunView
    measured = RecordProcess()

    @classmethod
    def of(cls, store: Store, state: RunState) -> Self:
        """Return the document of a run as it is now."""
        from workbench.views.run_view import view_of

        run = view_of(store, state)
        document = cls(run.document())
        document.run = run
        return document

    def lines(self, **how: Any) -> list[str]:
        """Return the lines of `run_lines`."""
        from workbench.views.wording import run_lines

        return run_lines(self.run, **how)
