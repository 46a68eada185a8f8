"""A leaf's proof notebook as a caller has it: its path, its cells, a harmless view."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.engine.view import RunView


class Proof:
    """A proof notebook: its path, its cells, and a sanitised view in a notebook."""

    def __init__(self, path: Path, *, run: "RunView | None" = None, node: str = "") -> None:
        self.path = path
        self._run, self._node = run, node

    def notebook(self) -> Any:
        """Return the notebook as an ``nbformat`` node."""
        import nbformat

        return nbformat.read(self.path, as_version=4)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return f"proof notebook {self.path}"

    def _repr_html_(self) -> str:
        from workbench.widgets.proof import proof_html, trail_of

        return proof_html(self.path, trail=trail_of(self._run, self._node) if self._run else None)
