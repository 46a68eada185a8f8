"""Describe a run without a model: why, what matters most, what changed since the run before."""

from workbench.conversation.cited_answer import CitedAnswer
from workbench.conversation.run_look_ups import RunLookUps
from workbench.formatting import percent
from workbench.propositions import ROOT
from workbench.views.answer import answer_sentence, short_name, waterfall

#: Drivers that a part names.
_MOST = 3


def rule_answer(look_ups: RunLookUps) -> CitedAnswer:
    """Say why, what matters most and what changed, a line each, from the values of the run's screens."""
    run = look_ups.run
    steps = waterfall(run.tree)
    parts = [part for part in steps.parts if part.node is not None] if steps is not None else []
    rows = [row for row in look_ups.sensitivity() if row["id"] in run.tree and row["id"] != ROOT][:_MOST]
    ranges = [
        f"{row['id']} ({short_name(run.tree[row['id']], run.statement)}) moves the claim between {percent(row['low'])} and {percent(row['high'])}"
        for row in rows
        if row["low"] is not None
    ]
    matters = f"{'; '.join(ranges)}." if ranges else "the claim has no drivers that a rule combines."
    changed = f"{run.since}." if run.since else "this run takes up no earlier run."
    named = dict.fromkeys([*(part.node for part in parts[:_MOST] if part.node), *(row["id"] for row in rows)])
    return CitedAnswer(
        text=f"Why: {answer_sentence(run.tree, run.base_rate)}\nWhat matters most: {matters}\nWhat changed: {changed}",
        cites=tuple(look_ups.cite_of(node) for node in named or [ROOT]),
    )
