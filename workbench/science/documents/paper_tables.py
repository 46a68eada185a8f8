"""The document that `paper-tables` prints."""

from workbench.science.documents.forecasts import Document
from workbench.science.tables import Events, Forecasts


def paper_tables_document(
    events: Events, published: Forecasts, trials: Forecasts, *, resamples: int = 5000, seed: int = 20261121
) -> Document:
    """Tables 1, 9 and 17 of paper B as printed, beside ours: what `paper-tables` prints."""
    # Only this command reads the module of printed figures, so no other document pays for it.
    from workbench.science.comparing.paper_tables import UNREACHABLE, paper_tables

    cells = paper_tables(events, published, trials, resamples=resamples, seed=seed)
    return {
        "cells": [
            {
                "table": c.table,
                "row": c.row,
                "column": c.column,
                "printed": c.printed,
                "ours": c.ours,
                "difference": c.difference,
                "agrees": c.agrees,
                "printed_note": c.printed_note,
                "our_note": c.our_note,
                "why": c.why,
            }
            for c in cells
        ],
        "unreachable": [{"what": what, "why": why} for what, why in UNREACHABLE],
    }
