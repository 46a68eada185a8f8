"""`elicit`: pool several answers of one model to one question."""

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.options import AsJson, show_table


@command
def elicit(
    answers: Annotated[
        Path,
        typer.Option(
            "--answers",
            help="CSV: event_id, kind (variant, yes, no, vote), value, confidence (votes only, may be empty).",
        ),
    ],
    json: AsJson = False,
) -> None:
    """Pool what one model answered when asked in several ways: variants, both directions, repeated votes."""
    from workbench.science.pooling.elicitation import both_directions, prompt_ensemble, self_consistency
    from workbench.science.tables import read_answers

    found: dict[str, dict[str, float | None]] = {}
    for event, given in read_answers(answers).items():
        entry: dict[str, float | None] = {}
        if given.variants:
            entry["ensemble"] = float(prompt_ensemble([given.variants])[0])
        if given.yes is not None and given.no is not None:
            entry["both_directions"] = float(both_directions([given.yes], [given.no])[0])
        if given.votes:
            entry["votes"] = float(self_consistency([given.votes])[0])
            if any(c is not None for c in given.confidence):
                weights = [[float("nan") if c is None else c for c in given.confidence]]
                weighted = float(self_consistency([given.votes], weights)[0])
                entry["weighted_votes"] = None if weighted != weighted else weighted
        found[event] = entry
    if json:
        emit_json({"events": found})
        return
    kinds = ["ensemble", "both_directions", "votes", "weighted_votes"]
    show_table(
        ["event", *kinds], [[event, *[entry.get(kind) for kind in kinds]] for event, entry in found.items()]
    )
