"""The claims of a home with their runs, what there is to do, and several answers side by side.

A list of runs is a log; people look after claims. Everything here is made of the rows of ``run_overview``, the newest first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.errors import UsageError
from workbench.formatting import counted, day_words, outcome_words, percent
from workbench.propositions import Proposition
from workbench.questions.claims import Claim
from workbench.questions.grammar import read_claim
from workbench.questions.readings.choice import day_of
from workbench.questions.readings.read import read
from workbench.views.run_overview import age, claim_day, claim_key
from workbench.views.run_view import RunView

#: The tag of a watched claim.
WATCH = "watch"
#: Values of a claim's history that a small line shows.
_MOST_IN_HISTORY = 40
#: Days before the claim's day from which on a person is told: those of `workbench review`.
_NEAR_DAYS = 7
#: Runs side by side: more have no room on a page.
MOST_COMPARED = 4
#: Drivers of a run whose words are read as a person's are: some milliseconds each.
_MOST_READ = 200
_ASKS = {
    "proposed": "Another program proposed this run. Open it to accept or refuse.",
    "waiting": "This run is waiting for your approval.",
    "failed": "This run failed",
    "stopped": "This run stopped early",
    "unreadable": "This run cannot be read",
}


def claims_of(rows: Sequence[Mapping[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """Return a row for each claim, that of the newest run first.

    Each has the newest run with an answer (or the newest at all), ``p``, ``base_rate``, ``answers`` with the run of each, the oldest
    first, ``days`` to its day, its outcome, and whether it is watched.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(claim_key(row.get("statement")) or str(row["run_id"]), []).append(row)
    return [_claim_row(runs, now) for runs in grouped.values()]


def _claim_row(runs: Sequence[Mapping[str, Any]], now: datetime) -> dict[str, Any]:
    answered = [run for run in runs if run.get("p") is not None]
    newest = (answered or runs)[0]
    outcome = next((run["outcome"] for run in runs if run.get("outcome")), None)
    day = claim_day(str(newest.get("statement") or ""))
    p = newest.get("p")
    return {
        "claim": str(newest.get("statement") or newest["run_id"]),
        "run_id": newest["run_id"],
        "p": p,
        "p_text": percent(p),
        "base_rate": newest.get("base_rate"),
        "base_text": percent(newest.get("base_rate")),
        "answers": [
            {"run_id": run["run_id"], "p": run["p"], "p_text": percent(run["p"])}
            for run in reversed(answered[:_MOST_IN_HISTORY])
        ],
        "cutoff": str(newest.get("cutoff") or ""),
        "day": "" if day is None else day.isoformat(),
        "days": None if day is None or outcome else (day - now.date()).days,
        "outcome": "" if outcome is None else f"{outcome_words(outcome['p'])} on {outcome['day']}",
        "state": str(newest.get("state") or newest.get("status") or ""),
        "age": age(newest.get("started_utc"), now),
        "started": str(newest.get("started_utc") or ""),
        "model": str(newest.get("model") or ""),
        "tags": list(newest.get("tags") or ()),
        "watched": any(WATCH in (run.get("tags") or ()) for run in runs),
        "imported": bool(newest.get("imported")),
        "runs": [run["run_id"] for run in runs],
    }


def to_do(rows: Sequence[Mapping[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """Return all that asks for an act of a person, newest first: runs that wait or failed, claims due for review or for an outcome.

    ``kind`` is ``proposed``, ``waiting``, ``failed``, ``stopped``, ``unreadable``, ``due``, ``soon`` (its day is at most seven days
    away) or ``over`` (its day has passed, and no outcome is recorded). A run is left out where a later one of its claim took its place.
    """
    acts: list[dict[str, Any]] = []
    seen: set[str] = set()
    for row in rows:
        claim = claim_key(row.get("statement")) or str(row["run_id"])
        if claim in seen:
            continue
        seen.add(claim)
        state = str(row.get("state") or row.get("status") or "")
        days = _days_to(row, now)
        if state in _ASKS:
            reason = str(row.get("reason") or "").strip()
            kind, words = state, f"{_ASKS[state]}{f': {reason}' if reason else ''}"
        elif (review := row.get("next_review")) is not None and review <= now:
            kind, words = "due", f"Review has been due since {day_words(review.date())}."
        elif days is not None and days < 0:
            kind, words = "over", f"Closed {counted(-days, 'day')} ago. Record the outcome."
        elif days is not None and days <= _NEAR_DAYS:
            left = "today" if days == 0 else f"in {counted(days, 'day')}"
            kind, words = "soon", f"Closes {left}. Probability {percent(row['p'])}: review it."
        else:
            continue
        claimed = str(row.get("statement") or row["run_id"])
        acts.append({"run_id": row["run_id"], "claim": claimed, "kind": kind, "words": words})
    return acts


def _days_to(row: Mapping[str, Any], now: datetime) -> int | None:
    """Count the days to the day of an answer without an outcome, negative where it has passed; None where there is none."""
    day = claim_day(str(row.get("statement") or ""))
    if day is None or row.get("p") is None or row.get("outcome"):
        return None
    return (day - now.date()).days


def compared(runs: Sequence[RunView]) -> dict[str, Any]:
    """Return several runs side by side: their answers, and each driver's probability in those that have it.

    Drivers are the same where their readings ask the same of one series, in other words or over other days; of several such the one
    that ends last stands beside the one that ends last. ``same`` says that all runs have one value.
    """
    drivers = [_drivers_by_meaning(run) for run in runs]
    keys = dict.fromkeys(key for of_run in drivers for key in of_run)
    rows = []
    for key in keys:
        nodes = [of_run.get(key) for of_run in drivers]
        statement = next(node.statement for node in nodes if node is not None)
        rows.append(
            {
                "statement": statement,
                "p": [None if node is None else node.p for node in nodes],
                # what another run calls it
                "words": [
                    ""
                    if node is None or claim_key(node.statement) == claim_key(statement)
                    else node.statement
                    for node in nodes
                ],
            }
        )
    return {
        "runs": [
            {
                "run_id": run.run_id,
                "claim": run.statement,
                "p": run.tree.root.p,
                "base_rate": run.base_rate,
                "cutoff": run.cutoff,
                "model": run.state.settings.model,
                "outcome": None
                if (outcome := run.state.annotations.outcome) is None
                else f"{outcome_words(outcome.p)} on {outcome.day}",
            }
            for run in runs
        ],
        "drivers": rows,
    }


def _drivers_by_meaning(run: RunView) -> dict[tuple[object, int], Proposition]:
    """Return the drivers of a run by what is asked of which series, and by place among those of which the same is asked."""
    alike: dict[object, list[tuple[date, Proposition]]] = {}
    drivers = [node for node in run.tree.propositions() if node.id != run.tree.root.id]
    for node in drivers:
        claim = _claim_of(node.statement, run.state.parsed_cutoff(), freely=len(drivers) <= _MOST_READ)
        if claim is None:
            alike.setdefault(claim_key(node.statement), []).append((date.max, node))
        else:
            asked = replace(claim, start=None, end=date.max, level=None, upper=None, times=1, notes=())
            alike.setdefault(asked, []).append((claim.end, node))
    return {
        (key, place): node
        for key, nodes in alike.items()
        for place, (_, node) in enumerate(sorted(nodes, key=lambda pair: pair[0], reverse=True))
    }


def _claim_of(statement: str, cutoff: Cutoff, *, freely: bool) -> Claim | None:
    """Return what a driver states of a series; None where it is about none, or can be read in several ways."""
    try:
        return read_claim(statement)
    except UsageError:
        reading = read(statement, day_of(cutoff)).best if freely else None
        return None if reading is None else reading.claim
