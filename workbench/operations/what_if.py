"""Change a tree in thought, see what moves, and keep it as a named scenario."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from workbench.errors import UsageError
from workbench.formatting import counted, percent, point_change
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, Table, columns
from workbench.operations.fields import NumberText, RunName
from workbench.requests import Says
from workbench.whatif.edit_request import EditRequest, Probability, parse_override
from workbench.whatif.typed_values import TypedValue

if TYPE_CHECKING:
    from workbench.engine.record.state import RunState
    from workbench.propositions import Tree
    from workbench.synthesis.whatif.edits import Edit
    from workbench.whatif.run_edits import WhatIfResult


class WhatIf(EditRequest, Operation):
    """Edit drivers and see what moves above them. The run itself is not changed.

    The edits of one call are made in the order unpin, restate, add, remove, polarity, report, rule, weight, pin, set.
    """

    places = ("run",)

    run: RunName
    full: Annotated[
        bool,
        Says(
            text="Ask the synthesizer again for the ancestors, and show its rules and words beside the old."
        ),
    ] = False
    scenario: Annotated[
        str | None, Says(text="Keep this what-if under a name, on top of what it holds already.")
    ] = None
    author: Annotated[str, Says(text="Who holds the set values, and whose scenario it is.")] = ""
    reason: Annotated[str, Says(text="Why the set values replace the model's.", more=True)] = ""
    expires: Annotated[
        str | None, Says(text="Until when the set values hold: a date or an instant.", more=True)
    ] = None
    rationale: Annotated[str, Says(text="What the scenario supposes, and why.", more=True)] = ""
    probability: Annotated[
        Probability | None,
        Says(text="The probability of the scenario, for the mix.", form="P from 0 to 1", more=True),
    ] = None
    base_seq: Annotated[
        int | None,
        Says(text="The scenario's record this was made on (its seq).", form="N", more=True),
    ] = None
    reach: Annotated[
        NumberText | None,
        Says(text="Say what it would take for the claim to be there, such as 0.5 or 50%.", form="P"),
    ] = None

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the claim before and after, every driver that moved, and what a full resynthesis brought; or the ways to ``reach``."""
        from workbench.store import utc_now
        from workbench.whatif.edit_remarks import edit_remarks
        from workbench.whatif.run_edits import edits_on, require_grounded, what_if
        from workbench.whatif.saved_scenarios import save_scenario

        if self.reach is not None and (self.full or self.scenario is not None):
            raise UsageError("--reach changes nothing: leave out --full and --scenario")
        state, now = home.state(self.run), utc_now()
        if self.reach is not None and not self.has_edits:
            require_grounded(state)
            return _ways(state.tree, str(self.reach))
        author = self.author if self.values else ""
        override = parse_override(author, self.reason, self.expires, now=now)
        edits, fresh = edits_on(state, self, self.scenario, override)
        # Before anything is asked or kept: an edit that the tree refuses reaches neither model nor store.
        result = what_if(state, edits, now=now)
        if self.reach is not None:
            return _ways(result.whatif.tree, str(self.reach))
        if self.full:
            result = await _asked_again(home, state, edits)
        document = _document(state.tree, result)
        document["remarks"] = [remark.line for remark in edit_remarks(state.tree, edits)] + _missing(result)
        if self.scenario is not None:
            if result.asked_again:
                home.so_far = document
                for change in document["asked_again"]:
                    home.say("\n".join(_brought(change)))
                home.confirm(f"keep this as {self.scenario}?")
            save_scenario(
                home.store, state.run_id, self.scenario, (*fresh, *result.answer_edits),
                author=self.author, rationale=self.rationale, probability=self.probability, base_seq=self.base_seq,
            )  # fmt: skip
        return document

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return every driver that moved, whose values hold, and what the synthesizer brought; or the ways to ``reach``."""
        if self.reach is not None:
            yield from _show_ways(document)
            return
        from workbench.synthesis.rules.equation_text import signed

        yield from map(Remark, document["remarks"])
        for change in document.get("asked_again", ()):
            ends = [percent(change["p"][when]) for when in ("before", "after")]
            asked = [[change["id"], "probability", *ends, change["statement"]]]
            for row in change["weights"]:
                ends = ["" if row[when] is None else signed(row[when]) for when in ("before", "after")]
                name = "constant" if row["name"] == "intercept" else f"weight of {row['name']}"
                asked.append(["", name, *ends, row["statement"]])
            yield Table(["asked", "of", "before", "now", "statement"], asked)
            yield from _brought(change)
        rows = [
            {**row, "statement": f"{row['statement']}{'  (removed)' * row['removed']}"}
            for row in document["changed"]
        ]
        count = document["model_calls"]
        calls = f"({counted(count, 'model call')})"
        rows.append({**document, "id": "claim", "statement": calls})
        yield columns(rows, driver="id", before="before %", after="after %", statement="statement")
        if band := document.get("band"):
            yield band["line"]
        for row in document["overrides"]:
            until = f", until {row['expires']}" if row["expires"] else ""
            why = f": {row['reason']}" if row["reason"] else ""
            value = TypedValue(row["p"], row.get("low"), row.get("high")).words()
            yield f"{row['id']}: {value} set by {row['author']}{until}{why}. The model's probability: {percent(row['model_p'])}"


def _ways(tree: Tree, target: str) -> dict[str, Any]:
    from workbench.whatif.tree_documents import ways_to_reach

    ways = ways_to_reach(tree, target)
    return {**ways, "alone": [{**way, "statement": tree[way["id"]].statement} for way in ways["alone"]]}


def _show_ways(ways: dict[str, Any]) -> Iterator[Block]:
    low, high = map(percent, ways["reachable"])
    yield f"Claim {percent(ways['root'])}, target {percent(ways['target'])}. The drivers can move the claim from {low} to {high}."
    if ways["alone"]:
        rows = [{**way, "change": point_change(way["p"], way["needed"])} for way in ways["alone"]]
        yield columns(rows, alone="id", now="p %", needed="needed %", change="change", statement="statement")
    else:
        yield "No single driver is enough."
    if ways["share"] is None:
        yield "All drivers together are not enough either."
    else:
        yield f"All drivers together would have to move {percent(ways['share'])} of the way towards certainty."


async def _asked_again(home: Home, state: RunState, edits: tuple[Edit, ...]) -> WhatIfResult:
    from workbench.engine.access.look_up_records import stored_look_ups
    from workbench.engine.assembly import open_gateway
    from workbench.whatif.full_resynthesis import full_what_if, plan_full, price_line

    nodes, _ = plan_full(state, edits)
    # The price first: this is the only what-if that asks a model.
    home.say(price_line(state, nodes))
    if nodes:
        home.confirm("go on?")
    gateway = open_gateway(home.store, state)
    return await full_what_if(state, edits, gateway, looked_up=stored_look_ups(home.store, state))


def _document(base: Tree, result: WhatIfResult) -> dict[str, Any]:
    document, tree = result.to_json(), result.whatif.tree
    for row in document["changed"]:
        row["removed"] = row["id"] not in tree
        row["statement"] = (base if row["removed"] else tree)[row["id"]].statement
    return document


def _missing(result: WhatIfResult) -> list[str]:
    if result.whatif.after is not None:
        return []
    if nodes := result.valueless:
        return [f"{', '.join(nodes)} has no value that still holds: give it one with --set {nodes[0]}=P"]
    return [
        f"{', '.join(result.whatif.stale)} cannot be recomputed without the model: ask it again with --full"
    ]


def _brought(change: dict[str, Any]) -> list[str]:
    """Compare a driver before and after a full resynthesis, in words: rules, key factors, texts."""
    lines = []
    for name, words in (("rule", "rule"), ("key_factor", "key factor"), ("report", "text")):
        before, after = (change[name][when] or "none" for when in ("before", "after"))
        if before == after:
            lines.append(f"{change['id']} {words}, as before: {after}")
        else:
            lines += [f"{change['id']} {words} before: {before}", f"{change['id']} {words} now: {after}"]
    return lines
