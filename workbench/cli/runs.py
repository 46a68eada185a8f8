"""``analyze``, ``resume``, ``runs``, ``show`` and ``demo``: making runs and looking at them."""

import asyncio
import os
import signal
from typing import Annotated, Any

import typer

from workbench.cli.common import (
    BUG,
    EXPECTED,
    ISOLATION,
    STOPPED,
    at_end,
    command,
    emit_json,
    exit_code,
    fail,
    one_line,
    say,
)
from workbench.engine.run.settings import RunSettings
from workbench.engine.run.state import RunState
from workbench.errors import UsageError
from workbench.store import Store, StoredEvent
from workbench.store import events as ev

ISOLATION_OPTION = typer.Option(
    help="Sandbox level: namespaces, landlock, none; without it the best sealed level that works here."
)
_JSON = typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command()(analyze)
    app.command()(resume)
    app.command("runs")(list_runs)
    app.command()(show)
    app.command()(demo)


def open_store() -> Store:
    """Return the store of this environment's home; it is closed when the command ends."""
    from workbench.settings import home_from

    store = Store(home_from(os.environ))
    at_end(store.close)
    return store


@command
def analyze(
    statement: Annotated[str, typer.Argument(help="A proposition that will turn out true or false.")],
    cutoff: Annotated[
        str,
        typer.Option(help="Knowledge cutoff: a date (start of that day in New York), an instant, or now."),
    ],
    model: Annotated[
        str | None, typer.Option(help="offline/analyst, or provider/model as LiteLLM spells it.")
    ] = None,
    api_base: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None,
    grounder: Annotated[str | None, typer.Option(help="How leaves are grounded.")] = None,
    rule: Annotated[str | None, typer.Option(help="How children are combined.")] = None,
    rule_seed: Annotated[int | None, typer.Option(help="Seed of --rule random.")] = None,
    preset: Annotated[
        str, typer.Option(help="Named set of defaults: product, analytica-paper, blf-paper.")
    ] = "product",
    depth: Annotated[
        int | None, typer.Option(help="n of Analytica^n: leaves are analyzed again n - 1 times.")
    ] = None,
    leaf_target: Annotated[
        int | None, typer.Option(help="Expand leaves one after another up to this many.")
    ] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="The analyzer stops after the round that reaches this many.")
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Independent groundings per leaf.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Groundings at once.")] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Stop, resumable, when the model has cost this much.")
    ] = None,
    workers: Annotated[str, typer.Option(help="Where groundings run.")] = "local",
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse data whose date cannot be fully proven.")
    ] = False,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Stop after the tree, with a cost forecast.")
    ] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Break a claim into a tree, ground its leaves in sealed notebooks, and combine them into a probability."""
    from workbench.engine.run.settings import with_preset

    if workers != "local":
        raise UsageError(
            f"workers {workers!r} cannot be used: this version grounds leaves on this machine (--workers local)"
        )
    settings = with_preset(
        preset,
        model=model,
        api_base=api_base,
        grounder=grounder,
        rule=rule,
        rule_seed=rule_seed,
        depth=depth,
        leaf_target=leaf_target,
        max_leaves=max_leaves,
        trials=trials,
        concurrency=concurrency,
        budget_usd=budget_usd,
        isolation=isolation,
        strict=strict,
    )
    run_id = _analyze(statement, cutoff, settings, plan_only=plan_only, as_json=as_json)
    del run_id


def _analyze(
    statement: str, cutoff_text: str, settings: RunSettings, *, plan_only: bool, as_json: bool
) -> str:
    from proxies.asof.clock import Cutoff

    cutoff = Cutoff.parse(cutoff_text)
    store = open_store()
    return _work(
        store,
        settings,
        isolation=settings.isolation,
        as_json=as_json,
        plan_only=plan_only,
        opening=(statement, cutoff),
    )


@command
def resume(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Go on with a run that was stopped; nothing that reached the ledger is asked again.

    The level that the run was made at is not used: kernels start at the one asked for now, and the run's log says so.
    """
    from workbench.engine.run.settings import check_level
    from workbench.engine.run.state import load_state
    from workbench.engine.whatif.edits import adopt_tree_file

    if isolation is not None:
        check_level(isolation)
    store = open_store()
    run_id = store.resolve_run(run)
    adopt_tree_file(store, run_id)
    _work(store, load_state(store, run_id).settings, isolation=isolation, as_json=as_json, run_id=run_id)


@command
def list_runs(as_json: Annotated[bool, _JSON] = False) -> None:
    """List the runs of this home, the newest last."""
    from workbench.engine.run.state import load_state
    from workbench.engine.wording import percent

    store = open_store()
    rows: list[dict[str, Any]] = []
    for run_id in store.run_ids():
        state = load_state(store, run_id)
        belief = state.tree.root.belief
        rows.append(
            {
                "run_id": run_id,
                "statement": state.statement,
                "cutoff": state.cutoff,
                "p": belief.p if belief else None,
                "status": state.status,
                "model": state.settings.model,
                "started_utc": state.started_utc,
                "imported": state.imported.to_json() if state.imported else None,
                **({"not_installed": absent} if (absent := state.not_installed()) else {}),
            }
        )
    if as_json:
        emit_json(rows)
        return
    for row in rows:
        typer.echo(
            f"{row['run_id']}  {row['status']:8}{percent(row['p']):>6}  {row['cutoff']}  {'IMPORTED  ' if row['imported'] else ''}{row['statement']}"
        )
        if "not_installed" in row:
            typer.echo(f"    {row['not_installed']}")
    if not rows:
        say(f"no runs in {store.home} yet: `workbench analyze` or `workbench demo` makes one")


@command
def show(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Print a run's tree, with the rule of every inner node."""
    from workbench.cli.render import run_lines
    from workbench.engine.view import view

    store = open_store()
    found = view(store, store.resolve_run(run))
    if as_json:
        emit_json(found.document())
    else:
        typer.echo("\n".join(run_lines(found)))


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

    run_id = _analyze(
        DEMO_STATEMENT,
        DEMO_CUTOFF,
        with_preset("product", isolation=isolation),
        plan_only=False,
        as_json=False,
    )
    store = open_store()
    found = view(store, run_id)
    p = found.tree.root.p
    typer.echo(asyncio.run(_known_outcome(found.statement, found.cutoff, p)))
    typer.echo("")
    typer.echo(f"tree       {found.folder / 'tree.json'}")
    typer.echo(
        f"proofs     {found.folder / 'proofs'} ({len(list((found.folder / 'proofs').glob('*.ipynb')))} notebooks)"
    )
    typer.echo(f"manifest   {found.folder / 'manifest.json'}")
    typer.echo(f"dashboard  .venv/bin/workbench serve {run_id}")
    leaf = next(iter(found.tree.leaves()))
    typer.echo(
        f"what if    .venv/bin/workbench whatif {run_id} --set {leaf}=0.0   (now {percent(found.tree[leaf].p)})"
    )


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


def _work(
    store: Store,
    settings: RunSettings,
    *,
    isolation: str | None,
    as_json: bool,
    run_id: str | None = None,
    opening: tuple[str, Any] | None = None,
    plan_only: bool = False,
) -> str:
    """Open or take up a run, work on it, print it, and leave with the exit code that its end stands for."""
    from workbench.cli.render import run_lines
    from workbench.engine.view import view

    error: BaseException | None = None
    box: dict[str, str] = {} if run_id is None else {"run": run_id}

    async def job() -> None:
        await _drive(store, settings, box, isolation=isolation, opening=opening, plan_only=plan_only)

    try:
        asyncio.run(job())
    except (KeyboardInterrupt, asyncio.CancelledError) as stop:
        error = stop
    except EXPECTED as stop:
        if exit_code(stop) == BUG:  # a damaged store, a prompt of ours that does not fit: the traceback helps
            raise
        error = stop
    if "run" not in box:
        assert error is not None
        fail(error)
    found = view(store, box["run"])
    if as_json and (error is None or _code(error) in (STOPPED, 4)):
        emit_json(found.document())
    elif error is None:
        typer.echo("\n".join(run_lines(found)))
    if plan_only and error is None:
        from workbench.engine.run.forecast import cost_line

        say(cost_line(found.state))
    if error is not None:
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            say(f"workbench: stopped by hand; `workbench resume {box['run']}` goes on")
        else:
            hint = (
                ""
                if _code(error) in (2, ISOLATION) or "resume" in str(error)
                else f" (`workbench resume {box['run']}` goes on)"
            )
            say(f"workbench: {one_line(error)}{hint}")
        raise typer.Exit(_code(error))
    return box["run"]


def _code(error: BaseException) -> int:
    return STOPPED if isinstance(error, KeyboardInterrupt | asyncio.CancelledError) else exit_code(error)


async def _drive(
    store: Store,
    settings: RunSettings,
    box: dict[str, str],
    *,
    isolation: str | None,
    opening: tuple[str, Any] | None,
    plan_only: bool,
) -> None:
    from workbench.engine.run.assembly import open_engine
    from workbench.engine.run.opening import new_run

    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    async with open_engine(
        store, settings, environ=os.environ, isolation=isolation, listener=progress
    ) as engine:
        if opening is not None:
            statement, cutoff = opening
            await engine.check(statement, cutoff, settings)
            box["run"] = new_run(store, statement, cutoff, settings)
            say(f"run {box['run']}  {settings.model}  cutoff {cutoff.text}")
        await engine.work(box["run"], plan_only=plan_only)


def progress(state: RunState, stored: StoredEvent) -> None:
    """Tell the person on stderr what just happened."""
    from workbench.engine.wording import percent

    event = stored.event
    leaves = len(list(state.tree.leaves()))
    match event:
        case ev.TreePlanned():
            say(f"tree of {len(list(state.tree.ids()))} propositions, {leaves} of them leaves")
        case ev.RunSealed(isolation="none"):
            say(
                "WARNING: isolation is none: code written by a model runs with your rights and sees your files and network"
            )
        case ev.LeafPooled():
            say(f"  {event.node:8} {percent(event.p):>6}  grounded ({len(state.pooled)} of {leaves})")
        case ev.NodeSynthesized():
            say(f"  {event.node:8} {percent(event.p):>6}  synthesized")
        case ev.LeafFailed():
            say(
                f"  {event.node:8} attempt {event.attempt} failed: {event.reason[:200]}{'' if event.final else ' (again)'}"
            )
        case ev.NodeFailed():
            say(f"  {event.node:8} failed: {event.reason[:200]}")
        case _:
            pass
