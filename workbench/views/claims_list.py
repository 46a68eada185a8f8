"""The claims of a home with their runs, what of them needs a person, and several answers side by side.

A list of runs is a log; people look after claims. Everything here is made of the rows of ``run_overview``, the newest first.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from workbench.formatting import outcome_words, percent, point_change
from workbench.propositions import Tree
from workbench.views.answer import answer_sentence
from workbench.views.run_overview import age, claim_day, claim_key
from workbench.views.run_view import RunView

#: The tag of a watched claim.
WATCH = "watch"
#: Values of a claim's history that a small line shows.
_MOST_IN_HISTORY = 40
#: A change of an answer that a person is told of, and days before the claim's day from which on they are: those of `workbench review`.
_MOVED, _NEAR_DAYS = 0.05, 7
_ASKS = {
    "proposed": "proposed by another program",
    "waiting": "waits for your word",
    "failed": "failed",
    "stopped": "stopped before its end",
    "unreadable": "cannot be read",
}


def claims_of(rows: Sequence[Mapping[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """Return a row for each claim, that of the newest run first.

    Each has the newest run with an answer (or the newest at all), ``p``, ``change`` since the answer before, ``base_rate``,
    ``history`` of answers, the oldest first, ``days`` to its day, its outcome, and whether it is watched.
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
        "change": None if len(answered) < 2 else answered[0]["p"] - answered[1]["p"],
        "base_rate": newest.get("base_rate"),
        "base_text": percent(newest.get("base_rate")),
        "history": [run["p"] for run in reversed(answered[:_MOST_IN_HISTORY])],
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


def needs_you(rows: Sequence[Mapping[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """Return all that waits for a person, newest first: runs that wait, failed or stopped, claims due for review, outcomes.

    ``kind`` is ``waiting``, ``failed``, ``stopped``, ``unreadable``, ``due``, ``soon`` (its day is at most seven days away),
    ``moved`` (by five points or more) or ``resolved``; the last two have ``at``, when it came: the page shows those since the last visit. A run is left out where a later one of its claim took its place.
    """
    needs: list[dict[str, Any]] = []
    seen: set[str] = set()
    for row in rows:
        claim = claim_key(row.get("statement")) or str(row["run_id"])
        if claim in seen:
            continue
        seen.add(claim)
        state = str(row.get("state") or row.get("status") or "")
        entry = {"run_id": row["run_id"], "claim": str(row.get("statement") or row["run_id"]), "at": ""}
        if state in _ASKS:
            reason = str(row.get("reason") or "").strip()
            words = f"{_ASKS[state]}: {reason}" if reason else _ASKS[state]
            needs.append({**entry, "kind": state, "words": words})
        elif (review := row.get("next_review")) is not None and review <= now:
            needs.append({**entry, "kind": "due", "words": f"due for another look since {review.date()}"})
        elif (days := _days_to(row, now)) is not None and days <= _NEAR_DAYS:
            left = {0: "today", 1: "tomorrow"}.get(days, f"in {days} days")
            needs.append(
                {**entry, "kind": "soon", "words": f"its day is {left}; the answer is {percent(row['p'])}"}
            )
        elif row.get("outcome") is None and abs(row.get("change") or 0.0) >= _MOVED:
            words = f"moved by {point_change(row['before']['p'], row['p'])}, to {percent(row['p'])}"
            needs.append({**entry, "kind": "moved", "words": words, "at": str(row.get("started_utc") or "")})
        elif (outcome := row.get("outcome")) is not None:
            score = "" if outcome.get("brier") is None else f", Brier score {outcome['brier']:.3f}"
            words = f"came out: {outcome_words(outcome['p'])} on {outcome['day']}{score}"
            needs.append(
                {**entry, "kind": "resolved", "words": words, "at": str(outcome.get("at_utc") or "")}
            )
    return needs


def _days_to(row: Mapping[str, Any], now: datetime) -> int | None:
    """Count the days to an open answer's day; None where there is none."""
    day = claim_day(str(row.get("statement") or ""))
    if day is None or row.get("p") is None or row.get("outcome") or day < now.date():
        return None
    return (day - now.date()).days


def compared(runs: Sequence[RunView]) -> dict[str, Any]:
    """Return several runs side by side: their answers, and each driver's probability in those that have it.

    Drivers are the same where their statements are.
    """
    names: dict[str, str] = {}
    for run in runs:
        for node in run.tree.ids():
            if node != run.tree.root.id:
                names.setdefault(claim_key(run.tree[node].statement), run.tree[node].statement)
    values = [_by_statement(run.tree) for run in runs]
    return {
        "runs": [
            {
                "run_id": run.run_id,
                "claim": run.statement,
                "sentence": answer_sentence(run.tree, run.base_rate),
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
        "drivers": [
            {"statement": statement, "p": [probabilities.get(key) for probabilities in values]}
            for key, statement in names.items()
        ],
    }


def _by_statement(tree: Tree) -> dict[str, float | None]:
    return {claim_key(tree[node].statement): tree[node].p for node in tree.ids() if node != tree.root.id}
