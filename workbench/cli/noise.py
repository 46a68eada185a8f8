"""``noise``: disturbed leaves, and what the root makes of them."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, echo, emit_json, open_store
from workbench.cli.table import show_table
from workbench.engine import documents
from workbench.engine.run.fold import load_state
from workbench.formatting import percent


@command
def noise(
    run: Annotated[str, RUN],
    kind: Annotated[
        str,
        typer.Option(help="normal: p + N(0, level); uncertain: 0.5, reverse: 1 - p, with probability level."),
    ] = "normal",
    level: Annotated[float, typer.Option(help="In [0, 1]; 0 disturbs nothing.")] = 0.1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same draws.")] = 0,
    draws: Annotated[int, typer.Option(help="Disturbed copies of the tree.")] = 200,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Disturb the leaves and print the root's distribution; no model is asked."""
    store = open_store()
    state = load_state(store, store.resolve_run(run))
    study = documents.noise(state, kind, level, seed=seed, draws=draws)
    if as_json:
        emit_json(study)
        return
    echo(
        f"root {percent(study['root'])} undisturbed; {draws} draws of {kind} noise, level {level:g}, seed {seed}"
    )
    echo(f"mean {percent(study['mean'])}, standard deviation {100 * study['sd']:.1f} points")
    show_table(
        [f"{share}%" for share in study["quantiles"]],
        [[percent(value) for value in study["quantiles"].values()]],
    )
    counts = [0] * 20
    for value in study["values"]:
        counts[min(19, int(20 * value))] += 1
    bars = [
        (f"{5 * place}-{5 * place + 5}%", count, "#" * max(1, round(40 * count / max(counts))))
        for place, count in enumerate(counts)
        if count
    ]
    show_table(("root", "draws", ""), bars)
