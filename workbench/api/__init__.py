"""The Python API: analyze a claim, open an earlier run, and ask of it whatever the command line can ask.

Each function and method returns the document that the command of its name prints with ``--json`` (``workbench.views``).
"""

from workbench.api.functions import (
    add_documents,
    add_source,
    analyze,
    api_doc,
    apis,
    call,
    coherence,
    decide,
    doctor,
    open_page,
    quantity,
    read,
    resume,
    review,
    runs,
    search_web,
)
from workbench.api.run_handle import Analysis, Proof
from workbench.api.run_list import (
    analyze_sync,
    import_run,
    open_run,
)

__all__ = [
    "Analysis",
    "Proof",
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
