"""The strongest case against a run's answer and its effect as a what-if. The run itself is not changed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.agents.errors import AgentGaveUp
from workbench.agents.red_team import CounterCase, argued_side, counter_case
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.state import RunState
from workbench.engine.run_texts import tree_as_asked
from workbench.errors import Command, ProviderError, sentence
from workbench.formatting import percent
from workbench.models.costs import forecast_cost
from workbench.propositions.edits import SetValue
from workbench.store import ModelLedger, Store
from workbench.synthesis import WhatIf
from workbench.whatif.run_edits import require_grounded, what_if


@dataclass(frozen=True, slots=True, kw_only=True)
class RedTeam:
    """A case against a run's answer and its effect; ``whatif.after`` is None where a node on the path has no formula."""

    run_id: str
    model: str
    side: str
    case: CounterCase
    whatif: WhatIf
    state: RunState
    model_calls: int

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``workbench redteam --json``."""
        tree = self.state.tree
        return {
            "run_id": self.run_id,
            "model": self.model,
            "argues_that_the_claim_is": self.side,
            "key_point": self.case.key_point,
            "case": self.case.text,
            "leaves": [
                {"id": leaf, "statement": tree[leaf].statement, "p": tree[leaf].p, "argued": p}
                for leaf, p in self.case.leaves.items()
            ],
            **{name: self.whatif.to_json()[name] for name in ("before", "after", "changed")},
            "model_calls": self.model_calls,
        }

    def lines(self) -> list[str]:
        """Write the case for a person; the note keeps these lines."""
        tree = self.state.tree
        moves = [f"{leaf} {percent(tree[leaf].p)} -> {percent(p)}" for leaf, p in self.case.leaves.items()]
        after = (
            "cannot be recomputed without the model"
            if self.whatif.after is None
            else percent(self.whatif.after)
        )
        values = [("set", f"{leaf}={p:g}") for leaf, p in self.case.leaves.items()]
        what_if_command = Command("whatif", (self.run_id,), (*values, ("scenario", "NAME")))
        return [
            f"RED TEAM ({self.model}): the case that the claim turns out {self.side}",
            "",
            self.case.text,
            "",
            f"Key point: {self.case.key_point}",
            f"If it holds: {', '.join(moves)}; the claim {percent(self.whatif.before)} -> {after}",
            sentence("Nothing is changed by it: ", what_if_command, " tries it."),
        ]


async def red_team(store: Store, state: RunState, gateway: ModelGateway) -> RedTeam:
    """Ask for the strongest case against a run's answer; ``annotations.entries.keep_case`` keeps it as a note.

    Each ask is at an address of its own (trial 0, an attempt that no reply of the run has), so it is never answered by an
    earlier one.

    Raises `UsageError`: The run has no probability yet. Raises `ProviderError`: The model gave no usable case.
    """
    require_grounded(state)
    attempt = 1 + max(state.seq, ModelLedger(store).last_attempt(state.run_id))
    ask = gateway.asker(run=state.run_id, node=state.tree.root.id, trial=0, attempt=attempt, role="critic")
    calls = gateway.calls
    try:
        case = await counter_case(
            tree_as_asked(state.tree, state.parsed_cutoff()),
            cutoff=state.parsed_cutoff(),
            ask=ask,
            settings=state.settings.agent,
        )
    except AgentGaveUp as error:
        raise ProviderError(f"no usable case against the claim: {error}") from None
    moved = [SetValue(node=leaf, p=p) for leaf, p in case.leaves.items()]
    return RedTeam(
        run_id=state.run_id,
        model=critic_model(state),
        side=argued_side(state.tree),
        case=case,
        whatif=what_if(state, moved).whatif,
        state=state,
        model_calls=gateway.calls - calls,
    )


def critic_model(state: RunState) -> str:
    """Return the name of the model that argues: the critic's, else the run's."""
    return state.settings.models.get("critic", state.settings.model)


def with_model(
    state: RunState,
    model: str | None,
    api_base: str | None,
    prices: Mapping[str, list[float]] | None = None,
) -> RunState:
    """Return the state with another model in every role, for this question only; unchanged where none is named.

    ``prices`` are what its tokens cost where LiteLLM's list does not say.
    """
    if prices:
        state = state.copy()
        state.settings = replace(state.settings, prices={**state.settings.prices, **prices})
    if model is None and api_base is None:
        return state
    changed = state.copy()
    changed.settings = replace(
        state.settings, model=model or state.settings.model, api_base=api_base, models={}, fallback=[]
    )
    if api_base is not None:
        changed.server_seq = state.seq + 1  # a server that the person at this machine named
    return changed


def price_of_case(state: RunState) -> str:
    """Estimate the price of the case, as one line."""
    forecast = forecast_cost(critic_model(state), leaves=0, inner=1)
    price = "price unknown" if forecast.cost_usd is None else f"about ${forecast.cost_usd:.4f}"
    return f"asking {critic_model(state)} for the case against the claim: 1 call or a few, {price}"
