"""The strongest case against a run's answer and its effect as a what-if. The run itself is not changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.agents.errors import AgentGaveUp
from workbench.agents.red_team import argued_side, counter_case
from workbench.annotations.entries import add_note
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.state import RunState
from workbench.engine.run_texts import tree_as_asked
from workbench.errors import Command, ProviderError, sentence
from workbench.formatting import percent
from workbench.models.costs import forecast_cost
from workbench.propositions import ROOT
from workbench.store import ModelLedger, Store
from workbench.synthesis.whatif.edits import SetValue
from workbench.whatif.run_edits import require_grounded, what_if


async def red_team(store: Store, state: RunState, gateway: ModelGateway) -> dict[str, Any]:
    """Ask for the strongest case against a run's answer, keep it as a note on the claim, and return it with its effect.

    Each ask is at an address of its own (trial 0, an attempt that no reply of the run has), so it is never answered by an
    earlier one. ``after`` is None where a node on the path has no formula.

    Raises `UsageError`: The run has no probability yet. Raises `ProviderError`: The model gave no usable case.
    """
    require_grounded(state)
    tree = state.tree
    attempt = 1 + max(state.seq, ModelLedger(store).last_attempt(state.run_id))
    ask = gateway.asker(run=state.run_id, node=ROOT, trial=0, attempt=attempt, role="critic")
    calls, cutoff = gateway.calls, state.parsed_cutoff()
    try:
        case = await counter_case(
            tree_as_asked(tree, cutoff), cutoff=cutoff, ask=ask, settings=state.settings.agent
        )
    except AgentGaveUp as error:
        raise ProviderError(f"no usable case against the claim: {error}") from None
    whatif = what_if(state, [SetValue(node=leaf, p=p) for leaf, p in case.leaves.items()]).whatif.to_json()
    document = {
        "run_id": state.run_id,
        "model": critic_model(state),
        "argues_that_the_claim_is": argued_side(tree),
        "key_point": case.key_point,
        "case": case.text,
        "leaves": [
            {"id": leaf, "statement": tree[leaf].statement, "p": tree[leaf].p, "argued": p}
            for leaf, p in case.leaves.items()
        ],
        **{name: whatif[name] for name in ("before", "after", "changed")},
        "model_calls": gateway.calls - calls,
    }
    add_note(store, state.run_id, "\n".join(case_lines(document)), node=ROOT, author="red team")
    return document


def case_lines(case: Mapping[str, Any]) -> list[str]:
    """Write the case for a person; the note keeps these lines."""
    moves = [f"{row['id']} {percent(row['p'])} -> {percent(row['argued'])}" for row in case["leaves"]]
    values = [("set", f"{row['id']}={row['argued']:g}") for row in case["leaves"]]
    after = "cannot be recomputed without the model" if case["after"] is None else percent(case["after"])
    return [
        f"Red team ({case['model']}): the case that the claim turns out {case['argues_that_the_claim_is']}",
        "",
        case["case"],
        "",
        f"Key point: {case['key_point']}",
        f"If it holds: {', '.join(moves)}; the claim {percent(case['before'])} -> {after}",
        sentence(
            "Nothing is changed by it: ",
            Command("whatif", (case["run_id"],), (*values, ("scenario", "NAME"))),
            " tries it.",
        ),
    ]


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
