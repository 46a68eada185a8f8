"""``show``: a run's tree, with the rule of every inner node."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, echo, emit_json, open_store


@command
def show(
    run: Annotated[str, RUN],
    whole: Annotated[
        bool, typer.Option("--all", help="All propositions of a large tree, which is folded otherwise.")
    ] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Print a run's tree, with the rule of every inner node."""
    from workbench.engine.view import view
    from workbench.engine.wording import run_lines

    store = open_store()
    loaded = view(store, store.resolve_run(run))
    if as_json:
        emit_json(loaded.document())
    else:
        echo("\n".join(run_lines(loaded, whole=whole)))
