"""The analyst workbench: claims as trees, leaves grounded in sealed notebooks, roots that can be recomputed.

>>> import workbench as wb
>>> analysis = await wb.analyze("...", cutoff="2018-06-30")   # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

from workbench.version import __version__

if TYPE_CHECKING:
    from workbench.api import (
        Analysis,
        add_documents,
        add_source,
        analyze,
        analyze_sync,
        api_doc,
        apis,
        call,
        coherence,
        decide,
        doctor,
        import_run,
        open_page,
        open_run,
        quantity,
        read,
        resume,
        review,
        runs,
        search_web,
    )


__all__ = [
    "Analysis",
    "__version__",
    "add_documents",
    "add_source",
    "analyze",
    "analyze_sync",
    "api_doc",
    "apis",
    "call",
    "coherence",
    "decide",
    "doctor",
    "import_run",
    "open_page",
    "open_run",
    "quantity",
    "read",
    "resume",
    "review",
    "runs",
    "search_web",
]


def __getattr__(name: str) -> Any:
    # Lazy, so that `import workbench` and `workbench --help` stay quick.
    if name in __all__:
        from workbench import api

        return getattr(api, name)
    if not name.startswith("_"):
        from workbench.plug_points import OPERATIONS, plugin_names

        if name.replace("_", "-") in plugin_names(OPERATIONS):
            from workbench.api.operation_function import function_named

            return function_named(name)
    raise AttributeError(f"module 'workbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    # Tab in a notebook shows what is public, loaded or not, and nothing else of this file.
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Make ``%load_ext workbench`` bring the magics."""
    from workbench import magics

    magics.load_ipython_extension(shell)
