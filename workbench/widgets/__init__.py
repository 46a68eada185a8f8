"""The screens: tree, what-if, evidence. Only in here is ipywidgets imported, and only when something is shown."""

from importlib import import_module
from typing import Any

__all__ = ["TreeWidget", "dashboard", "explorer", "open_dashboard", "proof_html", "tree_html"]

_HOMES = {
    "TreeWidget": "tree_widget",
    "dashboard": "run_page",
    "explorer": "proofs.cell_views",
    "open_dashboard": "home_page",
    "proof_html": "proofs.proof_view",
    "tree_html": "tree_widget",
}


def __getattr__(name: str) -> Any:
    """Import a screen when it is first asked for: ``import workbench`` must stay light."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
