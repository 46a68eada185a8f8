"""Answer about a run with words, cites, and at most one what-if: refused without a cite, and made by rules where no model is asked."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench.conversation.run_look_ups import Cite, RunLookUps
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.propositions import ROOT, NodeId
from workbench.views.answer import answer_sentence, short_name, waterfall

#: Drivers that a part of an explanation names.
_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedAnswer:
    """An answer about a run with its cites."""

    text: str
    cites: tuple[Cite, ...]
    #: A what-if that it proposes; a person tries it, nothing is applied.
    proposal: Mapping[NodeId, float] = field(default_factory=dict)
    #: None where a price is unknown.
    cost_usd: float | None = 0.0
    #: Who answered; "" for rules.
    model: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``workbench ask --json``."""
        return {
            "answer": self.text,
            "cites": [asdict(cite) for cite in self.cites],
            "proposal": {"set": dict(self.proposal)} if self.proposal else None,
            "cost_usd": self.cost_usd,
            "model": self.model or None,
        }


def answer_faults(look_ups: RunLookUps, answer: CitedAnswer) -> list[str]:
    """List the faults of an answer: no cite, a cite that leads nowhere, a what-if that cannot be tried."""
    faults = [] if answer.cites else ["cite what the answer rests on: a driver with a cell or a row"]
    faults += [fault for cite in answer.cites if (fault := look_ups.fault(cite)) is not None]
    for node, p in answer.proposal.items():
        if node not in look_ups.run.tree:
            faults.append(f"the proposal names {node!r:.40}, which is no driver")
        elif not 0 <= p <= 1:
            faults.append(f"the proposal sets {node} to {p}, no probability")
    return faults


def checked(look_ups: RunLookUps, answer: CitedAnswer) -> CitedAnswer:
    """Return an answer whose cites exist; raises ``UsageError`` for any other."""
    if faults := answer_faults(look_ups, answer):
        raise UsageError(f"the answer is refused: {'; '.join(faults)[:400]}")
    return answer


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
    matters = f"{'; '.join(ranges)}." if ranges else "the claim has no drivers."
    changed = f"{run.since}." if run.since else "this run follows no earlier run."
    named = dict.fromkeys([*(part.node for part in parts[:_MOST] if part.node), *(row["id"] for row in rows)])
    return CitedAnswer(
        text=f"Why: {answer_sentence(run.tree, run.base_rate)}\nWhat matters most: {matters}\nWhat changed: {changed}",
        cites=tuple(look_ups.cite_of(node) for node in named or [ROOT]),
    )
