"""What the screens need to know of a run."""

from pathlib import Path
from typing import Any, Protocol

from workbench.propositions import NodeId, Tree


class RunView(Protocol):
    """A run to be shown; ``workbench.engine.load_run`` returns one."""

    @property
    def tree(self) -> Tree:
        """The propositions as far as the run has come."""

    @property
    def statement(self) -> str:
        """What the analyst asked."""

    @property
    def cutoff(self) -> str:
        """The knowledge cutoff as the analyst wrote it."""

    @property
    def base_rate(self) -> float | None:
        """How often such claims came true in the past; None where nobody counted."""

    @property
    def folder(self) -> Path:
        """Where the run's files lie."""

    def document(self) -> dict[str, Any]:
        """Return the JSON document of ``workbench show --json``."""

    def notebook(self, node: NodeId) -> Path | None:
        """Return the proof notebook of a leaf, or None."""
