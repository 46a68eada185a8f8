"""A run as a document that a person reads as its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from workbench.engine.record.state import RunState
    from workbench.store import Store
    from workbench.views.run_view import RunView


class RunDocument(dict[str, Any]):
    """What ``show --json`` prints of a run, with the run that it is of."""

    run: RunView

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
