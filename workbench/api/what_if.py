"""A what-if as a caller has it: the edits as they are written, and their outcome."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.blocking import run_blocking
from workbench.engine.access.look_up_records import stored_look_ups
from workbench.engine.assembly import open_gateway
from workbench.formatting import percent
from workbench.propositions.edits import Edit
from workbench.store import Store
from workbench.terminal import printable
from workbench.views.wording import brought_lines
from workbench.whatif.full_resynthesis import full_what_if, plan_full, price_line
from workbench.whatif.run_edits import WhatIfResult

if TYPE_CHECKING:
    from workbench.engine.record.state import RunState


def ask_again(store: Store, state: "RunState", edits: "Sequence[Edit]") -> WhatIfResult:
    """Return the outcome of edits with the synthesizer asked again for the ancestors; says the price on stderr first."""
    plan, _ = plan_full(state, edits)
    sys.stderr.write(price_line(state, plan.nodes) + "\n")

    async def work() -> WhatIfResult:
        return await full_what_if(
            state, edits, open_gateway(store, state), looked_up=stored_look_ups(store, state)
        )

    return run_blocking(work())


class WhatIfView:
    """The outcome of a what-if.

    Attributes
    ----------
    before, after : float or None
        Probability of the root in [0, 1]; ``after`` is None where a node on the path has no value or no formula.
    changed : tuple of Change
        Edited nodes and moved ancestors, each with ``id``, ``before``, ``after``.
    stale : tuple of str
        Nodes that only a full resynthesis can recompute.
    overrides : list of dict
        Values held by somebody: ``id``, ``p``, ``author``, ``reason``, ``expires``, ``model_p``.
    asked_again : list of dict
        What a full resynthesis brought, by proposition: ``rule``, ``weights``, ``key_factor`` and ``report``, each before and
        after; empty unless ``full``.
    model_calls : int
        How often the model was asked; 0 unless ``full``.
    """

    def __init__(self, result: WhatIfResult) -> None:
        self._result = result
        self.before = result.whatif.before
        self.after = result.whatif.after
        self.changed = result.whatif.changed
        self.stale = result.whatif.stale
        self.overrides = result.to_json()["overrides"]
        self.asked_again = [change.to_json() for change in result.asked_again or ()]
        self.model_calls = result.model_calls

    def to_json(self) -> dict[str, Any]:
        """Return what ``workbench whatif --json`` prints."""
        return self._result.to_json()

    def __repr__(self) -> str:
        lines = [f"{item.id:8}{percent(item.before)} -> {percent(item.after)}" for item in self.changed]
        for change in self._result.asked_again or ():
            lines += [printable(line) for line in brought_lines(change)]
        return "\n".join([*lines, f"claim   {percent(self.before)} -> {percent(self.after)}"])
