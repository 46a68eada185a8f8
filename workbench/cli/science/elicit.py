"""`elicit`: pool several answers of one model to one question."""

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.options import AsJson
from workbench.cli.table import show_table
from workbench.science.documents import elicit_document
from workbench.science.tables import read_answers


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
    document = elicit_document(read_answers(answers))
    if json:
        emit_json(document)
        return
    kinds = ["ensemble", "both_directions", "votes", "weighted_votes"]
    show_table(
        ["event", *kinds],
        [[event, *[entry.get(kind) for kind in kinds]] for event, entry in document["events"].items()],
    )
