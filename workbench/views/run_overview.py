"""The rows of a list of runs: each run's facts, and beyond its own log how its claim's p moved since the run before, its age, when to look again.

Command line, Python API and first page show the same rows.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from proxies.hashing import sha256_of
from workbench.engine.ownership import phase_here
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, WorkbenchError
from workbench.formatting import plain_numbers
from workbench.plug_points import (
    ANALYZERS,
    EVIDENCE,
    GROUNDERS,
    MODELS,
    RULES,
    SOURCES,
    SYNTHESIZERS,
    plugin_names,
)
from workbench.questions.grammar import read_claim
from workbench.questions.sets.schedule import HalvingSchedule
from workbench.store import Store
from workbench.version import __version__
from workbench.whatif.stored_reports import run_base_rate

#: Raised when what a summary holds changes.
_SUMMARY_FORM = 2
_ISO_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def listed_runs(
    store: Store,
    now: datetime,
    *,
    tags: Sequence[str] = (),
    search: str = "",
    limit: int | None = None,
    texts: bool = False,
) -> list[dict[str, Any]]:
    """Return the rows of a home's runs with their course, the newest last; ``documents.runs`` says which and what is in them.

    ``next_review`` is a datetime here. ``texts`` adds what a search looks into, as ``text``.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"the limit must be at least 1, not {limit}")
    wanted = {tag.casefold() for tag in tags}
    words = search.casefold().split()
    run_ids = store.run_ids()
    rows: dict[str, dict[str, Any]] = {}
    for summary in summaries(store, texts=bool(words) or texts):
        if limit is not None and len(rows) == limit:
            break
        row = summary.row
        # one that cannot be read is in every list: it says why
        if "unreadable" in row or (
            wanted <= set(row["tags"]) and all(word in summary.text for word in words)
        ):
            rows[summary.run_id] = {**row, **({"text": summary.text} if texts else {})}
    chosen = set(rows)
    if len(rows) < len(run_ids):
        claims = {claim_key(row["statement"]) for row in rows.values()} - {""}
        # what a limit or a search left out, and the course of a listed claim needs all the same
        others = {name for name, statement in store.claims().items() if claim_key(statement) in claims}
        for summary in summaries(store, only=others - chosen):
            if "unreadable" not in summary.row:  # it has no p to compare with
                rows[summary.run_id] = summary.row
    ordered = [rows[run_id] for run_id in run_ids if run_id in rows]
    return [row for row in with_course(ordered, now) if row["run_id"] in chosen]


class Summary(NamedTuple):
    """A run's row in lists; ``follows`` is the run that it reviews, ``text`` all that a search looks at."""

    run_id: str
    row: dict[str, Any]
    follows: str | None
    text: str


def summaries(store: Store, *, texts: bool = False, only: Collection[str] | None = None) -> Iterator[Summary]:
    """Yield every run, or ``only`` some, the newest first; logs are folded of those alone to which something happened."""
    made_by = _made_by()
    stored = store.summaries(made_by, texts=texts)
    fresh: list[tuple[str, int, str, str]] = []
    try:
        for run_id in reversed(store.run_ids()):
            if only is not None and run_id not in only:
                continue
            if run_id in stored:
                facts, text = stored[run_id]
            else:
                try:
                    state = load_state(store, run_id)
                    text = searched_text(state)
                    follows = state.follows.run if state.follows is not None else None
                    facts = orjson.dumps({"row": run_row(state), "follows": follows}).decode()
                except WorkbenchError as error:  # also a newer workbench's event, or a tree that is none
                    yield Summary(run_id, _unreadable_row(run_id, error), None, "")
                    continue
                # whose package it was depends on the keys that are trusted at the time
                if state.imported is None:
                    fresh.append((run_id, state.seq, facts, text))
            document = orjson.loads(facts)
            document["row"]["state"] = phase_here(document["row"]["state"], store.folder(run_id))
            yield Summary(run_id, document["row"], document["follows"], text)
    finally:
        store.keep_summaries(made_by, fresh)


def _made_by() -> str:
    groups = (MODELS, ANALYZERS, GROUNDERS, SYNTHESIZERS, EVIDENCE, RULES, SOURCES)
    return (
        f"{_SUMMARY_FORM} {__version__} {sha256_of(repr([plugin_names(group) for group in groups]).encode())}"
    )


def claim_key(statement: object) -> str:
    """Return the key that runs of one claim share: its words, whatever their case, the spaces between them and the style of their numbers."""
    return plain_numbers(" ".join(str(statement or "").split()).casefold())


def searched_text(state: RunState) -> str:
    """Return the text in which a search for runs looks, in lower case: claim, propositions, model, people's words."""
    statements = [node.statement for node in state.tree.propositions()]
    parts = (state.run_id, state.statement, state.settings.model, *statements)
    return "\n".join([*parts, state.annotations.words()]).casefold()


def run_row(state: RunState) -> dict[str, Any]:
    """Return the facts of one run from its own log."""
    belief, outcome = state.tree.root.belief, state.annotations.outcome
    return {
        "run_id": state.run_id,
        "statement": state.statement,
        "cutoff": state.cutoff,
        "p": belief.p if belief else None,
        "status": state.status,
        "state": state.phase,
        "model": state.settings.model,
        "started_utc": state.started_utc,
        "imported": state.imported.to_json() if state.imported else None,
        "outcome": outcome.to_json(belief.p if belief else None) if outcome is not None else None,
        "tags": list(state.annotations.tags),
        "base_rate": run_base_rate(state),
        "reason": state.reason,
        **({"not_installed": absent} if (absent := state.not_installed()) else {}),
    }


def _unreadable_row(run_id: str, error: WorkbenchError) -> dict[str, Any]:
    names = (
        "statement",
        "cutoff",
        "p",
        "status",
        "state",
        "model",
        "started_utc",
        "imported",
        "outcome",
        "base_rate",
        "reason",
    )
    facts: dict[str, Any] = {**dict.fromkeys(names), "tags": []}
    reason = " ".join(str(error).split())
    return {"run_id": run_id, **facts, "status": "unreadable", "unreadable": reason}


def with_course(rows: Sequence[Mapping[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """Return rows of runs, oldest first, each with its course over time.

    ``before`` is the run before of the same claim that has a probability (``run_id`` and ``p``), None for the first;
    ``change`` the p of this run less that one's; ``age`` the time since it was begun, in words; ``next_review`` the instant at which a finished run's claim is to be judged again, halfway between its last run and its
    day (paper P, section 2), None where the claim is decided, over, has no day, or a later run took its place.
    """
    halving = HalvingSchedule()
    last: dict[str, dict[str, Any]] = {}
    times: dict[str, int] = {}
    listed: list[dict[str, Any]] = []
    for row in rows:
        entry = {
            **row,
            "age": age(row.get("started_utc"), now),
            "before": None,
            "change": None,
            "next_review": None,
        }
        listed.append(entry)
        claim = claim_key(row.get("statement"))
        if row.get("p") is None or not claim:
            continue
        earlier = last.get(claim)
        if earlier is not None:
            entry["before"] = {"run_id": earlier["run_id"], "p": earlier["p"]}
            entry["change"] = row["p"] - earlier["p"]
            earlier["next_review"] = None
        last[claim] = entry
        times[claim] = times.get(claim, 0) + 1
        if row.get("outcome") is None and times[claim] < halving.most:
            entry["next_review"] = _next_review(str(row["statement"]), row.get("started_utc"), halving, now)
    return listed


def _next_review(
    statement: str, started_utc: str | None, schedule: HalvingSchedule, now: datetime
) -> datetime | None:
    day = claim_day(statement)
    if day is None or started_utc is None:
        return None
    try:
        started = datetime.fromisoformat(started_utc)
    except ValueError:  # a stranger's package may hold what is no instant
        return None
    close = datetime.combine(day, time(), UTC) + timedelta(days=1)
    if started.tzinfo is None or now >= close:
        return None
    return schedule.after(started, close)


@lru_cache(maxsize=4096)
def claim_day(statement: str) -> date | None:
    """Return the day that decides a claim: as the key-free analyst reads it, else the last date it names.

    >>> claim_day("VIX closes above 20 on 31 December 2018"), claim_day("A treaty is signed by 2027-03-01"), claim_day("So it is")
    (datetime.date(2018, 12, 31), datetime.date(2027, 3, 1), None)

    A day of the calendar's last year is none: there is no day after it, on which it could be said how it came out.
    """
    day = _day_named(statement)
    return None if day is None or day.year == MAXYEAR else day


def _day_named(statement: str) -> date | None:
    try:
        return read_claim(statement).end
    except UsageError:
        days = []
        for text in _ISO_DATE.findall(statement):
            try:
                days.append(date.fromisoformat(text))
            except ValueError:  # 2026-02-31
                continue
        return max(days, default=None)


def age(started_utc: str | None, now: datetime) -> str:
    """Say how long ago a run was begun, in the largest unit that fits; empty where nobody knows.

    >>> age("2026-11-20T12:00:00+00:00", datetime(2026, 11, 22, 18, tzinfo=UTC)), age(None, datetime.now(UTC))
    ('2 d', '')
    """
    try:
        seconds = (now - datetime.fromisoformat(started_utc or "")).total_seconds()
    except (ValueError, TypeError):
        return ""
    for size, unit in ((365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "now"
