"""``decide``: from analyzed options to probabilities that sum to 1, and a decision (paper A, C.1 and 5.1)."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, command, emit_json, open_store


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
    from workbench.engine.run.state import load_state
    from workbench.engine.whatif.edits import require_grounded
    from workbench.engine.wording import percent
    from workbench.synthesis.coherence.options import analyzed_options, option_probabilities
    from workbench.synthesis.coherence.options import decide as taken_as_true

    store = open_store()
    states = [load_state(store, store.resolve_run(run)) for run in runs]
    for state in states:
        require_grounded(state)
    names = [state.statement for state in states]
    if len(states) == 1:
        names.append(f"not: {names[0]}")
    analyzed = analyzed_options(names) if len(states) == 1 else tuple(names)
    roots = {name: state.tree.root.p or 0.0 for name, state in zip(names, states, strict=False)}
    shares = option_probabilities(names, {name: roots[name] for name in analyzed})
    limit = states[0].settings.threshold if threshold is None else threshold
    # Of two, the first is taken when it is above the threshold; of more, the likeliest.
    if len(names) == 2:
        choice = names[0] if taken_as_true(shares[names[0]], limit) else names[1]
    else:
        choice = max(names, key=lambda name: shares[name])
    if as_json:
        rows = [{"option": name, "p": roots.get(name), "probability": shares[name]} for name in names]
        emit_json({"options": rows, "threshold": limit, "decision": choice})
        return
    for name in names:
        typer.echo(f"{percent(shares[name]):>7}  {name}")
    typer.echo(f"decision: {choice} (threshold {limit:g})")
