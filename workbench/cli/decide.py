"""``decide``: from analyzed options to probabilities that sum to 1, and a decision (paper A, C.1 and 5.1)."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, command, echo, emit_json, open_store


@command
def decide(
    runs: Annotated[
        list[str], typer.Argument(help="One run per option; a single run stands against its negation.")
    ],
    threshold: Annotated[
        float | None,
        typer.Option(help="Above this a proposition counts as true; the run's preset says without it."),
    ] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Turn the roots of runs into the probabilities of exclusive options and name the one to take."""
    from workbench.engine import documents
    from workbench.engine.run.state import load_state
    from workbench.engine.wording import percent

    store = open_store()
    states = [load_state(store, store.resolve_run(run)) for run in runs]
    document = documents.decision(states, threshold)
    if as_json:
        emit_json(document)
        return
    for row in document["options"]:
        echo(f"{percent(row['probability']):>7}  {row['option']}")
    echo(f"decision: {document['decision']} (threshold {document['threshold']:g})")
