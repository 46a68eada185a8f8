"""``whatif``: change a tree in thought, see what moves, and keep it as a named scenario."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from workbench.cli.common import AsJson, RunId, command, confirm, echo, emit_json, open_store, say
from workbench.cli.request_options import options_of
from workbench.cli.table import show_table
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.formatting import percent, point_change
from workbench.propositions import Tree
from workbench.propositions.edits import Edit
from workbench.requests import takes
from workbench.store import Store, utc_now
from workbench.views.wording import brought_lines
from workbench.whatif import run_edits as engine
from workbench.whatif.edit_remarks import edit_remarks
from workbench.whatif.edit_request import WhatIfRequest
from workbench.whatif.run_edits import WhatIfResult
from workbench.whatif.saved_scenarios import save_scenario
from workbench.whatif.tree_documents import ways_to_reach


@command
@takes("edits", options_of(WhatIfRequest))
def whatif(
    run: RunId,
    edits: Mapping[str, Any],
    reach: Annotated[
        str | None,
        typer.Option(
            "--reach", help="P: say what it would take for the claim to be there, such as 0.5 or 50%."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before paying for --full, nor before keeping its rules.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Edit drivers and see which ancestors move; the run itself is not changed.

    The edits of one call are made in the order unpin, restate, add, remove, polarity, report, rule, weight, pin, set.
    """
    store = open_store()
    run_id = store.resolve_run(run)
    state = load_state(store, run_id)
    request = WhatIfRequest.typed(**edits)
    full, scenario = request.full, request.scenario
    now = utc_now()
    override = request.override(now)
    if reach is not None and (full or scenario is not None):
        raise UsageError("--reach only asks: leave out --full and --scenario")
    if reach is not None and not request.has_edits:
        engine.require_grounded(state)
        _show_ways(state.tree, reach, as_json=as_json)
        return
    played, fresh = engine.edits_on(state, request, scenario, override)
    result = engine.what_if(state, played, now=now)
    if reach is not None:
        _show_ways(result.whatif.tree, reach, as_json=as_json)
        return
    if full:
        result = _full(store, state, played, yes=yes)
        if not as_json:
            _print_rules(result)
        if scenario is not None and result.asked_again:
            confirm(f"keep this as {scenario}?", yes=yes)
    if scenario is not None:
        records = (*fresh, *result.answer_edits)
        save_scenario(
            store,
            run_id,
            scenario,
            records,
            author=request.author,
            rationale=request.rationale,
            probability=request.probability,
            base_seq=request.base_seq,
        )
    for remark in edit_remarks(state.tree, played):
        say(remark.line)
    _explain(result)
    if as_json:
        emit_json(result.to_json())
    else:
        _print(result, state)


def _show_ways(tree: Tree, text: str, *, as_json: bool) -> None:
    ways = ways_to_reach(tree, text)
    if as_json:
        emit_json(ways)
        return
    low, high = ways["reachable"]
    echo(
        f"claim {percent(ways['root'])}, to reach {percent(ways['target'])}; reachable {percent(low)} to {percent(high)}"
    )
    rows = [
        (
            way["id"],
            percent(way["p"]),
            percent(way["needed"]),
            point_change(way["p"], way["needed"]),
            tree[way["id"]].statement,
        )
        for way in ways["alone"]
    ]
    if rows:
        show_table(("alone", "now", "needed", "change", "statement"), rows)
    else:
        echo("no driver does it alone")
    if ways["share"] is None:
        echo("nor do all drivers together")
    else:
        echo(
            f"or every driver {percent(ways['share'])} of its way towards the end that moves the claim there"
        )


def _full(store: Store, state: RunState, edits: tuple[Edit, ...], *, yes: bool) -> WhatIfResult:
    # asyncio and ssl: --full alone asks a model
    import asyncio

    from workbench.engine.access.look_up_records import stored_look_ups
    from workbench.engine.assembly import open_gateway
    from workbench.whatif import full_resynthesis as asking_again

    plan, _ = asking_again.plan_full(state, edits)
    # The price first: --full is the only what-if that asks a model.
    say(asking_again.price_line(state, plan.nodes))
    if plan.nodes:
        confirm("go on?", yes=yes)
    return asyncio.run(
        asking_again.full_what_if(
            state, edits, open_gateway(store, state), looked_up=stored_look_ups(store, state)
        )
    )


def _print_rules(result: WhatIfResult) -> None:
    rows = []
    for change in result.asked_again or ():
        before, after = change.before, change.after
        rows.append((after.id, "value", before.p, after.p, after.statement))
        rows += [("", each.name, each.before, each.after, each.statement) for each in change.weights]
    if rows:
        show_table(("asked", "of", "before", "now", "statement"), rows)
    for change in result.asked_again or ():
        for line in brought_lines(change):
            echo(line)


def _explain(result: WhatIfResult) -> None:
    if result.whatif.after is not None:
        return
    if result.valueless:
        node = result.valueless[0]
        say(f"{', '.join(result.valueless)} has no value that still holds: give it one with --set {node}=P")
    else:
        stale = ", ".join(result.whatif.stale)
        say(f"{stale} cannot be recomputed without the model: ask it again with --full")


def _print(result: WhatIfResult, state: RunState) -> None:
    whatif = result.whatif
    rows = []
    for change in whatif.changed:
        home = whatif.tree if change.id in whatif.tree else state.tree
        gone = "" if change.id in whatif.tree else "  (removed)"
        statement = f"{home[change.id].statement}{gone}"
        rows.append((change.id, percent(change.before), percent(change.after), statement))
    calls = f"({result.model_calls} model calls)"
    rows.append(("claim", percent(whatif.before), percent(whatif.after), calls))
    show_table(("driver", "before", "after", "statement"), rows)
    for row in result.to_json()["overrides"]:
        until = f", until {row['expires']}" if row["expires"] else ""
        why = f": {row['reason']}" if row["reason"] else ""
        echo(
            f"{row['id']}: {percent(row['p'])} held by {row['author']}{until}{why}; the model says {percent(row['model_p'])}"
        )
