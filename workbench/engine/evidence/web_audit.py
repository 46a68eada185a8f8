"""What the filter of web results did in a run: every verdict with its reason, from the run's own ledger. For people, never for an agent."""

from __future__ import annotations

from typing import Any

from workbench.search.leak_filter import STAGE, recorded_verdicts
from workbench.store import ModelLedger, Store


def web_verdicts(store: Store, run_id: str) -> list[dict[str, Any]]:
    """Return every result that the filter judged, oldest first: ``node, trial, title, url, keep, reason, model``.

    What layer 1 left out stands, counted by reason, with each data call; what was blocked or removed by rule follows again from
    the recorded answers.
    """
    return [
        {
            "node": node,
            "trial": trial,
            "title": title,
            "url": url,
            "keep": verdict.keep,
            "reason": verdict.reason,
            "model": verdict.model,
        }
        for node, trial, prompt, reply in ModelLedger(store).exchanges(run_id, STAGE)
        for title, url, verdict in recorded_verdicts(prompt, reply.text, model=reply.model)
    ]
