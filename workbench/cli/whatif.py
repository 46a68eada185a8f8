"""``whatif``: change a tree in thought, see what moves, and keep it as a named scenario."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, emit_json, open_store, say
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.engine.run.state import RunState
    from workbench.engine.whatif.edits import WhatIfResult
    from workbench.propositions.edits import Edit
    from workbench.store import Store


@command
def whatif(
    run: Annotated[str, RUN],
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="NODE=P, as often as you like; an inner node is pinned.")
    ] = None,
    adds: Annotated[
        list[str] | None,
        typer.Option(
            "--add",
            help='PARENT=STATEMENT, or "PARENT, Negative=STATEMENT": a new proposition; --set gives it a value.',
        ),
    ] = None,
    removes: Annotated[
        list[str] | None, typer.Option("--remove", help="NODE: leave it out, with what is below.")
    ] = None,
    pins: Annotated[
        list[str] | None, typer.Option("--pin", help="NODE: hold it at the value it has now.")
    ] = None,
    unpins: Annotated[
        list[str] | None, typer.Option("--unpin", help="NODE: give it back to the model or its children.")
    ] = None,
    restatements: Annotated[
        list[str] | None, typer.Option("--restate", help="NODE=TEXT: other words for a proposition.")
    ] = None,
    same_meaning: Annotated[
        bool, typer.Option("--same-meaning", help="Restated propositions keep their values.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Ask the synthesizer again for the ancestors.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before paying for --full.")] = False,
    scenario: Annotated[
        str | None, typer.Option(help="Keep this what-if under a name, on top of what it holds already.")
    ] = None,
    rationale: Annotated[str, typer.Option(help="What the scenario supposes, and why.")] = "",
    author: Annotated[str, typer.Option(help="Who holds the set values, and whose scenario it is.")] = "",
    reason: Annotated[str, typer.Option(help="Why the set values replace the model's.")] = "",
    expires: Annotated[
        str | None, typer.Option(help="Until when the set values hold: a date or an instant.")
    ] = None,
    probability: Annotated[
        float | None, typer.Option(help="How likely the scenario is held, for the mix.")
    ] = None,
    base_seq: Annotated[
        int | None, typer.Option(help="The scenario's record this was made on (seq of `scenarios --json`).")
    ] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Edit nodes and see which ancestors move; the run itself is not changed.

    The edits of one call are made in the order unpin, restate, add, remove, pin, set.
    """
    from workbench.engine.run.state import load_state
    from workbench.engine.whatif import edits as engine
    from workbench.engine.whatif.saved import save_scenario
    from workbench.store import utc_now

    store = open_store()
    run_id = store.resolve_run(run)
    state = load_state(store, run_id)
    texts = engine.EditTexts(
        settings=settings or (),
        adds=adds or (),
        removes=removes or (),
        pins=pins or (),
        unpins=unpins or (),
        restatements=restatements or (),
        same_meaning=same_meaning,
    )
    now = utc_now()
    fresh = texts.edits(engine.parse_override(author if settings else "", reason, expires, now=now))
    known = state.scenarios.scenarios.get(scenario) if scenario is not None else None
    if not fresh and known is None:
        raise UsageError(
            "nothing is changed: give --set NODE=P, --add, --remove, --pin, --unpin or --restate"
        )
    edits: tuple[Edit, ...] = (*(known.edits if known else ()), *fresh)
    result = engine.what_if(state, edits, now=now)
    if full:
        result = _full(store, state, edits, yes=yes)
    if scenario is not None:
        records = (*fresh, *result.rules)
        save_scenario(
            store,
            run_id,
            scenario,
            records,
            author=author,
            rationale=rationale,
            probability=probability,
            base_seq=base_seq,
        )
    _explain(result)
    if as_json:
        emit_json(result.to_json())
    else:
        _print(result, state)


def _full(store: "Store", state: "RunState", edits: "tuple[Edit, ...]", *, yes: bool) -> "WhatIfResult":
    from workbench.engine.gateway import open_gateway
    from workbench.engine.whatif import edits as engine

    plan, _ = engine.plan_full(state, edits)
    # The price first: --full is the only what-if that asks a model.
    say(engine.price_line(state, plan.nodes))
    # Only a person at a terminal is asked: a script would wait for ever.
    if not yes and plan.nodes and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm("go on?", abort=True, err=True)
    return asyncio.run(engine.full_what_if(state, edits, open_gateway(store, state)))


def _explain(result: "WhatIfResult") -> None:
    if result.whatif.after is not None:
        return
    if result.valueless:
        node = result.valueless[0]
        say(f"{', '.join(result.valueless)} has no value that still holds: give it one with --set {node}=P")
    else:
        stale = ", ".join(result.whatif.stale)
        say(f"{stale} cannot be recomputed without the model: ask it again with --full")


def _print(result: "WhatIfResult", state: "RunState") -> None:
    from workbench.engine.wording import percent

    whatif = result.whatif
    for change in whatif.changed:
        home = whatif.tree if change.id in whatif.tree else state.tree
        gone = "" if change.id in whatif.tree else "  (removed)"
        typer.echo(
            f"{change.id:8}{percent(change.before):>6} -> {percent(change.after):>6}  {home[change.id].statement}{gone}"
        )
    for row in result.to_json()["overrides"]:
        until = f", until {row['expires']}" if row["expires"] else ""
        why = f": {row['reason']}" if row["reason"] else ""
        typer.echo(
            f"{row['id']:8}{percent(row['p']):>6} held by {row['author']}{until}{why}; the model says {percent(row['model_p'])}"
        )
    calls = f"{result.model_calls} model calls"
    typer.echo(f"root    {percent(whatif.before):>6} -> {percent(whatif.after):>6}  ({calls})")
