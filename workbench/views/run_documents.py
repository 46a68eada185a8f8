"""The list of runs and a run as JSON: ``runs --json``, ``show --json``, and what the Python API gives for them.

The documents of other screens stand beside this one, by what they are about; those about forecasts in ``workbench.science``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from workbench.store import Store
from workbench.views.run_overview import listed_runs
from workbench.views.run_view import view


def runs(
    store: Store, *, tags: Sequence[str] = (), search: str = "", limit: int | None = None
) -> list[dict[str, Any]]:
    """Return the runs of a home, the newest last: ``workbench runs``.

    With ``tags`` those that have all of them, with ``search`` those in which every word occurs (claim, propositions, model,
    notes, comments, tags), with ``limit`` the newest so many of them. Raises ``StoreCorrupt`` if the database itself cannot
    be read.
    """
    rows = listed_runs(store, datetime.now(UTC), tags=tags, search=search, limit=limit)
    return [
        {**row, "next_review": None if (review := row["next_review"]) is None else review.isoformat()}
        for row in rows
    ]


def show(store: Store, run_id: str) -> dict[str, Any]:
    """Return a run with all its nodes: ``workbench show``, ``analyze``, ``resume`` and ``import``."""
    return view(store, run_id).document()
