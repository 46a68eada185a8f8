"""Why a forecast of a question came out as it did, in words from the records: which driver was wrong, and what was known when. No model is asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from workbench.audit.track_record import surprises
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import WorkbenchError
from workbench.formatting import counted, day_words, outcome_words, percent
from workbench.questions.question import Question, events_of, shown_value
from workbench.questions.sets.proposals import answerable, proposals
from workbench.search.urls import canonical_url
from workbench.store import Store
from workbench.studies.contexts.context import SharedContext
from workbench.studies.contexts.context_store import read_context, stored_contexts
from workbench.studies.rounds.round_results import forecasts_of, round_quantiles
from workbench.studies.rounds.round_state import TREE, Round, load_round, rounds_of
from workbench.synthesis import evaluate

#: A driver that moves the claim by less is named by nobody.
_LEAST_MOVE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class _Last:
    """The newest round that forecast a question."""

    night: Round
    rows: Sequence[Mapping[str, Any]]
    quantiles: Mapping[str, Any]


def post_mortem(store: Store, set_name: str, question: Question) -> dict[str, Any] | None:
    """Return the forecasts of a resolved question, its drivers, what was known when, and ``sentences`` that say it; None where it has none."""
    last = _newest(store, set_name, question)
    if last is None or not (question.outcomes or question.values):
        return None
    context = _context(store, last.night, question)
    drivers = [
        row for event in events_of(question) for row in _drivers(store, last.night, event.id, event.outcome)
    ]
    settled = _settled(store, set_name, question, last.night.instant, context)
    sentences = [*_forecast_words(question, last), *_driver_words(drivers), *_source_words(context, settled, last.night.instant)]  # fmt: skip
    return {
        "round": last.night.name,
        "forecast_on": last.night.instant.isoformat(),
        "forecasts": list(last.rows),
        "quantiles": dict(last.quantiles),
        "drivers": drivers,
        "sources": [] if context is None else [{"title": each.title, "published": each.published, "url": each.url} for each in context.sources],
        "settled_by": settled,
        "sentences": sentences,
    }  # fmt: skip


def _newest(store: Store, set_name: str, question: Question) -> _Last | None:
    for name in reversed(rounds_of(store, set_name)):
        night = load_round(store, name)
        if question.id not in night.questions:
            continue
        p = forecasts_of(night, question)
        rows = [
            {
                "event": event.id,
                "p": p[event.id],
                "crowd": night.crowd.get(event.id),
                "outcome": event.outcome,
                "brier": (p[event.id] - event.outcome) ** 2,
            }
            for event in events_of(question)
            if event.id in p and event.outcome is not None
        ]
        quantiles = round_quantiles(store, night, [question])
        if quantiles or rows:
            return _Last(night=night, rows=rows, quantiles=quantiles)
    return None


def _context(store: Store, night: Round, question: Question) -> SharedContext | None:
    """The context that the forecast read."""
    text = night.contexts.get(question.id)
    rows = [row for row in stored_contexts(store, night.set_name, question.id) if row.text == text]
    return read_context(store, rows[-1]) if rows else None


def _drivers(store: Store, night: Round, event: str, outcome: float | None) -> list[dict[str, Any]]:
    """Drivers of an event's tree: those with an outcome by what they moved, the others by how far they pushed from what came."""
    runs = [
        forecast.run
        for cell, forecast in night.study.forecasts.items()
        if (cell.arm, cell.event) == (TREE, event)
    ]
    try:
        state = load_state(store, runs[-1]) if runs and runs[-1] else None
    except WorkbenchError:  # deleted, or damaged
        state = None
    if state is None or outcome is None or state.tree.root.p is None:
        return []
    rows = surprises(
        [{"run_id": state.run_id, "p": state.tree.root.p, "outcome": outcome}], {state.run_id: state}
    )
    known = {row["node"] for row in rows}
    return [*rows, *(row for row in _pushes(state, outcome) if row["node"] not in known)]


def _pushes(state: RunState, outcome: float) -> list[dict[str, Any]]:
    """What each driver moved the claim by, against 50 % in its place; the farthest from the outcome first."""
    stated = {leaf: state.tree[leaf].p or 0.0 for leaf in state.tree.leaves()}
    rows = []
    for leaf in stated:
        even = evaluate(state.tree, {**stated, leaf: 0.5}).root
        if even is not None and state.tree.root.p is not None:
            moved = even - state.tree.root.p
            rows.append(
                {
                    "run_id": state.run_id,
                    "node": leaf,
                    "statement": state.tree[leaf].statement,
                    "p": stated[leaf],
                    "outcome": None,
                    "moved": moved,
                    "towards_outcome": moved * (1 if outcome else -1) > 0,
                }
            )
    return sorted((row for row in rows if row["towards_outcome"]), key=lambda row: -abs(row["moved"]))


def _settled(
    store: Store, set_name: str, question: Question, instant: datetime, context: SharedContext | None
) -> list[dict[str, Any]]:
    """The pages that settled a question, oldest first, and whether the forecast could have read them."""
    made = proposals(store, set_name)
    found = [made[part.asked.id] for part in answerable(question) if part.asked.id in made]
    read = {canonical_url(each.url) for each in context.sources} if context is not None else set()
    rows = [
        {
            "url": source["url"],
            "title": source["title"],
            "published": source["published"],
            "quote": source["quote"],
            "before_forecast": source["published"] < instant.date().isoformat(),
            "in_context": canonical_url(source["url"]) in read,
        }
        for proposal in found
        for source in proposal.sources
        if source["counts"]
    ]
    return sorted(rows, key=lambda row: row["published"])


def _forecast_words(question: Question, last: _Last) -> Iterator[str]:
    on = day_words(last.night.instant.date())
    came = f" on {day_words(question.resolved_on)}" if question.resolved_on else ""
    for target, quantiles in last.quantiles.items():
        value, low, high = question.values.get(target), quantiles["0.05"], quantiles["0.95"]
        if value is not None:
            place = "inside" if _number(low) <= value <= _number(high) else "outside"
            yield f"The forecast of {on} had a median of {quantiles['0.5']} and 90% between {low} and {high}. The answer{came} was {shown_value(question, value)}, {place} that range."
    for row in last.rows if not last.quantiles else ():
        part = row["event"].removeprefix(question.id).lstrip("#@")
        named = f" for {part}" if part else ""
        right = (row["p"] > 0.5) == (row["outcome"] > 0.5)
        yield f"The forecast of {on}{named} was {percent(row['p'])}. The outcome{came} was {outcome_words(row['outcome'])}, {'the likelier' if right else 'the less likely'} side."
        if row["crowd"] is not None:
            nearer = abs(row["crowd"] - row["outcome"]) < abs(row["p"] - row["outcome"])
            yield f"The crowd was at {percent(row['crowd'])}, {'nearer to' if nearer else 'no nearer to'} the outcome."


def _number(value: float | str) -> float:
    return float(date.fromisoformat(value).toordinal()) if isinstance(value, str) else value


def _driver_words(drivers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    known = [row for row in drivers if row["outcome"] is not None and abs(row["moved"]) >= _LEAST_MOVE]
    for row in known[:3]:
        helped = "towards" if row["towards_outcome"] else "away from"
        yield (
            f'The driver "{row["statement"]}" was put at {percent(row["p"])} and came out {outcome_words(row["outcome"])}. '
            f"Had that been known, the claim would have moved {abs(100 * row['moved']):.0f} points {helped} the outcome."
        )
    unknown = [row for row in drivers if row["outcome"] is None and abs(row["moved"]) >= _LEAST_MOVE]
    if unknown and not any(row["towards_outcome"] for row in known):
        row = unknown[0]
        yield (
            f'The driver "{row["statement"]}" at {percent(row["p"])} pushed the claim furthest from the outcome, by {abs(100 * row["moved"]):.0f} points. '
            f"No outcome of this driver is on record: `workbench resolve {row['run_id']} yes|no --node {row['node']}`."
        )


def _source_words(
    context: SharedContext | None, settled: Sequence[Mapping[str, Any]], instant: datetime
) -> Iterator[str]:
    if context is None:
        yield "The forecast read no gathered sources."
    else:
        days = sorted(each.published[:10] for each in context.sources if each.published)
        newest = f", the newest of {day_words(days[-1])}" if days else ""
        count = len(context.sources)
        yield f"The forecast read {counted(count, 'source')}{newest}."
    for row in settled[:1]:
        published = date.fromisoformat(row["published"])
        if row["in_context"]:
            yield f"The page that first settled the question ({row['url']}, {day_words(published)}) was among them."
        elif row["before_forecast"]:
            yield f"The page that first settled the question ({row['url']}) was published on {day_words(published)}, before the forecast, and the search did not find it."
        else:
            days_after = (published - instant.date()).days
            yield f"The page that first settled the question ({row['url']}) was published on {day_words(published)}, {counted(days_after, 'day')} after the forecast."
