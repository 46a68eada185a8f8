"""``demo``: the main job on the embedded data, without a key."""

from typing import Annotated

from workbench.cli.common import ISOLATION_OPTION, command, command_name, echo, open_store
from workbench.cli.drive import analyze_claim
from workbench.engine.run.settings import with_preset
from workbench.engine.view import view
from workbench.formatting import percent
from workbench.offline.examples import EXAMPLE_CUTOFF, EXAMPLES, data_reach

DEMO_STATEMENT, DEMO_CUTOFF = EXAMPLES[0], EXAMPLE_CUTOFF


@command
def demo(
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
) -> None:
    """Run the main job on the embedded data, without a key, and say what its answer turned out to be worth."""
    run_id = analyze_claim(DEMO_STATEMENT, DEMO_CUTOFF, with_preset("product", isolation=isolation))
    store = open_store()
    run = view(store, run_id)
    # The lines above have it; what they do not say is that it cannot have reached the answer.
    known = run.state.annotations.outcome is not None
    echo(
        "the outcome was read when the run was over, from rows after the cutoff"
        if known
        else "outcome: not in the embedded data"
    )
    echo("")
    echo(f"tree       {run.folder / 'tree.json'}")
    echo(
        f"proofs     {run.folder / 'proofs'} ({len(list((run.folder / 'proofs').glob('*.ipynb')))} notebooks)"
    )
    echo(f"manifest   {run.folder / 'manifest.json'}")
    program = command_name()
    echo(f"data       embedded, without a key: {data_reach()}")
    echo(f"dashboard  {program} serve {run_id}")
    leaf = next(iter(run.tree.leaves()))
    echo(f"what if    {program} whatif {run_id} --set {leaf}=0.0   (now {percent(run.tree[leaf].p)})")
