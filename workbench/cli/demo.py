"""``demo``: the main job on the embedded data, without a key."""

import asyncio
from typing import Annotated

import typer

from workbench.cli.common import ISOLATION_OPTION, command, command_name, open_store
from workbench.cli.drive import analyze_claim

DEMO_STATEMENT = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
DEMO_CUTOFF = "2018-06-30"


@command
def demo(
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
) -> None:
    """Run the main job on the embedded data, without a key, and say what its answer turned out to be worth."""
    from workbench.engine.run.settings import with_preset
    from workbench.engine.view import view
    from workbench.engine.wording import percent

    run_id = analyze_claim(DEMO_STATEMENT, DEMO_CUTOFF, with_preset("product", isolation=isolation))
    store = open_store()
    run = view(store, run_id)
    p = run.tree.root.p
    # Only now, when the run is finished: it reads rows after the cutoff, which nothing before this line may see.
    typer.echo(asyncio.run(_known_outcome(run.statement, run.cutoff, p)))
    typer.echo("")
    typer.echo(f"tree       {run.folder / 'tree.json'}")
    typer.echo(
        f"proofs     {run.folder / 'proofs'} ({len(list((run.folder / 'proofs').glob('*.ipynb')))} notebooks)"
    )
    typer.echo(f"manifest   {run.folder / 'manifest.json'}")
    program = command_name()
    typer.echo(f"dashboard  {program} serve {run_id}")
    leaf = next(iter(run.tree.leaves()))
    typer.echo(f"what if    {program} whatif {run_id} --set {leaf}=0.0   (now {percent(run.tree[leaf].p)})")


async def _known_outcome(statement: str, cutoff: str, p: float | None) -> str:
    """Say, from the embedded data after the cutoff, how the claim turned out; only a finished run is told this."""
    from workbench.engine.run.outcome import known_outcome

    outcome = await known_outcome(statement, cutoff)
    if outcome is None or p is None:
        return "known outcome: not in the embedded data"
    return (
        f"known outcome, read after the run from rows after the cutoff: {'true' if outcome else 'false'}"
        f" (Brier score {(p - outcome) ** 2:.3f}; always 50% scores 0.250, 0 is perfect)"
    )
