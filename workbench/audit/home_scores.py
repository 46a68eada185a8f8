"""Score this home's own forecasts: the roots of its resolved runs as a table of events, and their Brier score over time.

A forecast made before its outcome was known to anyone is ``live``, one made later under a cutoff a ``back-test``: never read the
two as one, since nobody can prove what a model had read.
"""

from __future__ import annotations

from datetime import date
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.engine.hindsight import hindsight
from workbench.engine.record.resolved_runs import counts_for, resolved_runs, topic_of
from workbench.engine.record.state import RunState
from workbench.errors import Option, UsageError, command
from workbench.science.comparing.clusters import time_blocks
from workbench.science.comparing.mean_intervals import PLAIN, Resampling
from workbench.science.documents import score_document
from workbench.science.tables import Events, Forecasts
from workbench.store import ApiLedger
from workbench.store import events as ev
from workbench.whatif.stored_reports import run_base_rate

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from workbench.science.recipe import Recipe
    from workbench.store import Store

#: Columns that ``score --own --by`` knows.
OWN_COLUMNS = ("made", "model", "grounder", "rule", "month", "preset", "tag", "horizon", "data", "author")
_METHOD = "own"
#: The row of `own_document` that scores the base rates.
BASE_RATE = "base_rate"


def _run_facts(state: RunState, paths: Collection[str] = ()) -> dict[str, Any] | str:
    """Return the facts of a run that counts, or why it does not; "" for one that has no outcome yet."""
    outcome, belief = state.annotations.outcome, state.tree.root.belief
    if outcome is None:
        return ""
    if state.imported is not None:
        return "imported: somebody else's forecast"
    if belief is None:
        return "no probability of its claim"
    if outcome.p not in (0.0, 1.0):
        return f"came out as a share ({outcome.p:g}): only yes and no are scored"
    cutoff = state.parsed_cutoff()
    if not counts_for(cutoff, outcome.day):
        return f"decided on {outcome.day}, before its cutoff"
    return {
        "run_id": state.run_id,
        "statement": state.statement,
        "topic": topic_of(state.statement),
        "cutoff": state.cutoff,
        "known": cutoff.last_visible_day.isoformat(),
        "day": outcome.day,
        "p": belief.p,
        "base_rate": run_base_rate(state),
        "outcome": outcome.p,
        "brier": outcome.brier(belief.p),
        "made": "live" if state.started_utc[:10] <= outcome.day else "back-test",
        "model": state.settings.model,
        "grounder": state.settings.grounder,
        "rule": state.settings.rule,
        "preset": state.settings.preset,
        "month": outcome.day[:7],
        "tag": " ".join(sorted(state.annotations.tags)) or "none",
        "horizon": _horizon(cutoff.last_visible_day, outcome.day),
        "data": " ".join(sorted({path.partition("/")[0] for path in paths})) or "no data",
        "author": _author(state),
        "recall": bool(hindsight(state.settings, cutoff)),
    }


def _horizon(cutoff_day: date, day: str) -> str:
    """Name the horizon of a forecast: the first of these that it does not pass."""
    days = (date.fromisoformat(day) - cutoff_day).days
    return next((f"up to {most} d" for most in (7, 30, 90, 365) if days <= most), "over a year")


def _author(state: RunState) -> str:
    """Return the typed name of the person who signed the answer off; "unsigned" where nobody did."""
    names = [
        row.event.author for row in state.annotations.sign_offs if isinstance(row.event, ev.ReviewSigned)
    ]
    return names[-1] if names else "unsigned"


def own_runs(store: Store) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return the resolved runs of this home by day of outcome, and those that have an outcome but do not count, with the reason."""
    rows, left_out = [], []
    ledger = ApiLedger(store)
    for state in resolved_runs(store):
        row = (
            _run_facts(state, ledger.paths(state.run_id))
            if isinstance(state, RunState)
            else f"cannot be read: {state.reason}"
        )
        if not isinstance(row, str):
            rows.append(row)
        elif row:
            left_out.append({"run_id": state.run_id, "reason": row})
    return sorted(rows, key=itemgetter("day")), left_out


def own_document(
    store: Store,
    recipe: Recipe,
    *,
    metrics: Sequence[str],
    by: str = "",
    resampling: Resampling | None = None,
) -> dict[str, Any]:
    """Return scores of the own record, with each run and the Brier score month by month: ``score --own``.

    Runs of one claim are one question. Claims about one series (`topic_of`) in one stretch of time are one cluster, and so are claims
    about any series whose windows overlap (`time_blocks`): intervals flip those.

    Raises `UsageError`: No run that counts, or a column that runs do not have.
    """
    if by and by not in OWN_COLUMNS:
        raise UsageError(
            Option("own"), " ", Option("by"), f" is one of {', '.join(OWN_COLUMNS)}, not {by!r:.40}"
        )
    rows, left_out = own_runs(store)
    if not rows:
        why = (
            f"; {len(left_out)} have an outcome that does not count: {left_out[0]['reason']}"
            if left_out
            else ""
        )
        raise UsageError(
            f"no run in this home has an outcome yet{why}: ", command("resolve", "RUN", "yes|no", on="DATE")
        )
    events = own_events(rows)
    # The base rate stands beside every answer, so here too: a row of its own, over the claims that have one.
    baselines = ["0.5", BASE_RATE] if any(row["base_rate"] is not None for row in rows) else ["0.5"]
    forecasts = Forecasts.of(events, {_METHOD: {"forecast": [row["p"] for row in rows]}}, keyed_by="variant")
    document = score_document(
        events, forecasts, recipe, metrics=metrics, by=by, baselines=baselines, resampling=resampling or PLAIN
    )
    return {**document, "runs": rows, "over_time": _over_time(rows), "left_out": left_out}


def own_events(rows: Sequence[dict[str, Any]]) -> Events:
    """Return the claims of `own_runs` as a table of events, in which claims whose windows overlap share a stretch of time."""
    columns = ("statement", "topic", "known", "day", *OWN_COLUMNS)
    words = {name: np.array([row.get(name, "") for row in rows], dtype=str) for name in columns}
    known, day = words.pop("known"), words.pop("day")
    return Events.of(
        [row["outcome"] for row in rows],
        kind=_METHOD,
        question=words.pop("statement"),
        source=_METHOD,
        series=words.pop("topic"),
        forecast_due_date=known,
        resolution_date=day,
        stretch=time_blocks(known, day),
        base_rate=np.array([row["base_rate"] for row in rows], dtype=float),
        **words,
    )


def _over_time(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    months = pd.DataFrame(rows).groupby("month")["brier"]
    table = pd.DataFrame({"n": months.size(), "brier": months.mean()})
    table["brier_so_far"] = months.sum().cumsum() / table["n"].cumsum()
    return [
        {"month": month, "n": n, "brier": brier, "brier_so_far": so_far}
        for month, n, brier, so_far in table.itertuples()
    ]
