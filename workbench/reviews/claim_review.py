"""Review a watched claim: compare its data, open a new run for what changed, and split the answer's change into its parts."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import orjson

from proxies.asof.clock import Cutoff
from proxies.broker import Broker, open_broker
from workbench.annotations.outcomes import resolve_when_finished
from workbench.engine.assembly import open_engine
from workbench.engine.expected_cost import forecast_of
from workbench.engine.new_run import new_run
from workbench.engine.ownership import own_folder
from workbench.engine.record.fold import load_state
from workbench.engine.record.followed_run import FollowedRun
from workbench.engine.record.recorder import Listener
from workbench.engine.record.run_files import write_atomically
from workbench.engine.record.state import RunState
from workbench.environment import proxy_settings
from workbench.errors import WorkbenchError
from workbench.formatting import counted, day_words, outcome_words, point_change
from workbench.models.costs import CostForecast
from workbench.propositions import NodeId
from workbench.reports import note_page
from workbench.reviews.inputs import LeafInputs, look
from workbench.reviews.review_request import ReviewRequest
from workbench.reviews.watched_claims import WatchedClaim, watched_claims
from workbench.store import ModelLedger, Store
from workbench.store import events as ev
from workbench.store.removal import began_at
from workbench.views.input_split import RunSplits
from workbench.views.kept_changes import CHANGES_FILE
from workbench.views.run_changes import run_changes
from workbench.views.run_view import view

#: Beside a review that moved its claim until somebody was told of it: its row.
UNTOLD_FILE = "untold.json"


@dataclass(slots=True, kw_only=True)
class Doors:
    """The caller's part in a review: the environment, the level of kernels, and where progress goes."""

    environ: Mapping[str, str]
    isolation: str | None = None
    progress: Callable[[Store], AbstractContextManager[Listener]] | None = None
    say: Callable[[str], None] = lambda line: None
    #: Whether a price is paid without a budget; asked with the price in words.
    agrees: Callable[[str], bool] = lambda line: False
    #: Brokers by who reads: what a person may read and a model may not is no secret of the key-free analyst.
    brokers: dict[tuple[str, datetime | None], Broker] = field(default_factory=dict)


async def review(store: Store, request: ReviewRequest, doors: Doors) -> dict[str, Any]:
    """Review the watched claims of a home and return what came of each: ``workbench review``.

    Raises `RunInWork`: Another review of this home is at work.
    """
    with own_folder(store.home / "reviews", what="the review of this data folder"):
        cutoff = Cutoff.parse(request.cutoff)
        spent, rows = 0.0, []
        try:
            for claim in watched_claims(store, request.run):
                left = None if request.budget_usd is None else max(0.0, request.budget_usd - spent)
                untold = _untold_rows(store, claim)
                rows += untold
                if request.due and not claim.due(cutoff.instant):
                    continue
                left_of = request.model_copy(update={"budget_usd": left})
                row = await _review_claim(store, claim, left_of, cutoff, doors)
                spent += row["cost_usd"] or 0.0
                if not untold or row["status"] != "same":
                    rows.append(row)
        finally:
            while doors.brokers:
                await doors.brokers.popitem()[1].aclose()
    return {
        "cutoff": cutoff.text,
        "alert": request.alert,
        "claims": rows,
        "moved": [row["run"] for row in rows if row["moved"]],
        "due": [row["run"] for row in rows if row["near"]],
        "cost_usd": spent,
    }


def _untold_rows(store: Store, claim: WatchedClaim) -> list[dict[str, Any]]:
    rows = []
    for run_id in claim.runs:
        with suppress(OSError, ValueError):
            rows.append(orjson.loads((store.folder(run_id) / UNTOLD_FILE).read_bytes()))
    return rows


def mark_told(store: Store, document: Mapping[str, Any]) -> None:
    """Note that somebody got a review's document: the next review does not repeat its moves."""
    for row in document["claims"]:
        if row["moved"]:
            (store.folder(row["review"]) / UNTOLD_FILE).unlink(missing_ok=True)


async def _review_claim(
    store: Store, claim: WatchedClaim, request: ReviewRequest, cutoff: Cutoff, doors: Doors
) -> dict[str, Any]:
    state, now = claim.state, cutoff.instant
    row = _unchanged(claim, now)
    if claim.resolved(now):
        _share_outcome(store, claim)
        return {**row, **_closed(state)}
    if claim.begun is not None and request.changed:
        words = f"Review {claim.begun} has started and continues at the next review."
        return {**row, "status": "begun", "words": words}
    if claim.begun is not None:
        return await _work_on(store, row, claim.begun, state, request, doors)
    if row["day"] is not None and row["days_left"] < 0:
        await resolve_when_finished(store, state.run_id)
        return {**row, **_closed(load_state(store, state.run_id), row["day"])}
    if state.parsed_cutoff().instant >= now:
        return {**row, "words": "Already analyzed as of this cutoff."}
    inputs = await look(store, state, cutoff, _broker(store, state, doors))
    row["leaves"] = {node: of_leaf.to_json(cutoff.text) for node, of_leaf in inputs.items()}
    row["releases"] = {name: day for of_leaf in inputs.values() for name, day in of_leaf.releases.items()}
    if trouble := next((of_leaf.trouble for of_leaf in inputs.values() if of_leaf.trouble), ""):
        return {**row, "status": "failed", "words": f"A source did not answer: {trouble}", "exit": 4}
    if not any(of_leaf.changes or of_leaf.settled_from for of_leaf in inputs.values()):
        return row
    again = [node for node, of_leaf in inputs.items() if of_leaf.regrounded]
    price = _price_again(state, again)
    words = f"New data for {len(again)} of {counted(len(inputs), 'driver')}; {price_words(price)}"
    if request.changed:
        return {**row, "status": "changed", "words": words}
    if again and price.cost_usd != 0.0:
        budget = request.budget_usd
        if budget is None and not doors.agrees(f"{state.statement}: {words}"):
            return {**row, "status": "priced", "words": f"{words}: not bought", "exit": 2}
        if budget is not None and (not price.cost_usd or budget < price.cost_usd):
            return {**row, "status": "priced", "words": f"{words}: over the budget", "exit": 3}
    review_id = _open_review(store, state, cutoff, inputs, request.budget_usd)
    return await _work_on(store, row, review_id, state, request, doors)


def _unchanged(claim: WatchedClaim, now: datetime) -> dict[str, Any]:
    """The row of a claim behind which nothing has changed."""
    state, review_at = claim.state, claim.next_review()
    return {
        "run": state.run_id,
        "statement": state.statement,
        "before": state.tree.root.p,
        "after": state.tree.root.p,
        "cutoff": state.cutoff,
        "day": claim.day.isoformat() if claim.day else None,
        "days_left": claim.days_left(now),
        "near": claim.near(now),
        "next_review": review_at.isoformat() if review_at else None,
        "status": "same",
        "words": "No data behind this claim has changed.",
        "leaves": {},
        "releases": {},
        "review": None,
        "changes": None,
        "moved": False,
        "exit": 0,
        "cost_usd": 0.0,
    }


def _closed(state: RunState, day: str = "") -> dict[str, Any]:
    """What a row says of a claim whose day, ``day`` unless its outcome names it, is over."""
    outcome = state.annotations.outcome
    if outcome is None:
        words = f"Closed on {day_words(day)}. Record the outcome."
        return {"status": "over", "words": words, "near": True}
    words = f"Closed on {day_words(outcome.day)}. Outcome: {outcome_words(outcome.p)}."
    return {"status": "resolved", "words": words, "near": False}


def _share_outcome(store: Store, claim: WatchedClaim) -> None:
    outcome = claim.state.annotations.outcome
    assert outcome is not None, "the caller has looked"
    for run_id in claim.runs:
        if not store.events(run_id, kinds=("outcome.recorded",)):
            said = {"source": outcome.source, "author": outcome.author}
            recorded = ev.OutcomeRecorded.model_validate({"p": outcome.p, "day": outcome.day, **said})
            store.append(run_id, recorded)


def _broker(store: Store, state: RunState, doors: Doors) -> Broker:
    reader: Literal["person", "model"] = "person" if state.settings.stays_here else "model"
    # Its own requests are asked anew, of services by the version that answered them; most runs share one broker all the same.
    settings = proxy_settings(
        doors.environ, store.home, reader=reader, services_at=began_at(store, state.run_id)
    )
    key = (reader, settings.services_at)
    if key not in doors.brokers:
        doors.brokers[key] = open_broker(settings)
    return doors.brokers[key]


def _price_again(state: RunState, again: list[NodeId]) -> CostForecast:
    return forecast_of(
        state.settings,
        leaves=[state.tree[node] for node in again],
        inner=0,
        claim=state.statement,
        cutoff=state.parsed_cutoff(),
    )


def price_words(price: CostForecast) -> str:
    """Write the price of collecting evidence again."""
    if price.cost_usd is None:
        return f"about {counted(price.model_calls or 0, 'call')}, price unknown"
    return "free of charge" if price.cost_usd == 0 else f"about ${price.cost_usd:.2f}"


def _open_review(
    store: Store, state: RunState, cutoff: Cutoff, inputs: Mapping[NodeId, LeafInputs], budget: float | None
) -> str:
    follows = FollowedRun.of(
        state.run_id,
        state.tree,
        {
            node: leaf_inputs.carried(state, cutoff.text)
            for node, leaf_inputs in inputs.items()
            if not leaf_inputs.regrounded
        },
        # Rules that a model stated stand until somebody asks for others; the key-free analyst's follow from the past known by now.
        keep_rules=not state.settings.stays_here,
    )
    settings = state.settings if budget is None else replace(state.settings, budget_usd=budget)
    with store.transaction():
        run_id = new_run(store, state.statement, cutoff, settings, read_as=state.read_as, follows=follows)
        if state.annotations.tags:
            store.append(run_id, ev.NoteAdded(tags=tuple(state.annotations.tags)))
    return run_id


async def _work_on(
    store: Store, row: dict[str, Any], review_id: str, before: RunState, request: ReviewRequest, doors: Doors
) -> dict[str, Any]:
    """Run a review, new or cut off before, and return its row; replies in its ledger are not paid for again."""
    state = load_state(store, review_id)
    error: WorkbenchError | None = None
    try:
        with nullcontext() if doors.progress is None else doors.progress(store) as listener:
            async with open_engine(
                store,
                state.settings,
                environ=doors.environ,
                isolation=doors.isolation,
                listener=listener,
                say=doors.say,
            ) as engine:
                await engine.work(review_id)
    except WorkbenchError as caught:  # of this claim: the others are reviewed all the same
        error = caught
    row = {**row, "review": review_id, "cost_usd": ModelLedger(store).cost(review_id)}
    if error is not None:
        words = " ".join(str(error).split())[:300]
        status = "stopped" if error.exit_code == 3 else "failed"
        return {**row, "status": status, "words": words, "exit": error.exit_code}
    first, second = view(store, before.run_id), view(store, review_id)
    changes = await asyncio.to_thread(
        lambda: run_changes(first, second, RunSplits(store, first.state, second.state))
    )
    moved = abs(changes["after"] - changes["before"]) > request.alert
    row = {
        **row,
        "status": "reviewed",
        "words": f"{point_change(changes['before'], changes['after'])} since run {before.run_id}",
        "after": changes["after"],
        "changes": changes,
        "moved": moved,
    }
    if moved:  # first: by the file of changes the review counts as done
        write_atomically(store.folder(review_id) / UNTOLD_FILE, row)
    write_atomically(store.folder(review_id) / CHANGES_FILE, changes)
    await asyncio.to_thread(note_page.write_report, store, second.state)  # only now: it says what changed
    with suppress(WorkbenchError):  # what cannot be told yet is no failure of the review
        await resolve_when_finished(store, review_id)
    return row
