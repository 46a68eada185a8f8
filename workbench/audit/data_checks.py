"""Check a run's data: records unchanged, the cutoff of every call, dates in answers, residual risk, leaves that read nothing."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

from proxies.asof.asof_text import as_of
from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from proxies.ledger import CATALOGUE, LedgerRow
from workbench.audit.check import Answer, Records, Verdict
from workbench.audit.data_read import no_data_lines
from workbench.audit.run_findings import DEPTH, finding_lines, run_findings, run_findings_in_steps
from workbench.engine.record.state import RunState
from workbench.formatting import counted
from workbench.search.engines import ENGINES
from workbench.store import ModelLedger, Store, StoreCorrupt
from workbench.store import events as ev

#: The web's filter is shown what it is to remove.
_NO_PROMPT = ("filter",)
_SHOWN = 160  # characters of a piece on a line


def cut_texts(records: Records) -> list[Answer]:
    """List the pieces cut from the words that people wrote of the claim; no answer where there are none."""
    cut = records.state.cut
    if not cut:
        return []
    piece = f"the first from the {cut[0].field}, {cut[0].reason}: {cut[0].text[:_SHOWN]!r}"
    return [("ok", f"{len(cut)} pieces were cut, {piece}")]


def kept_leaves(records: Records) -> list[Answer]:
    """Warn of leaves that could not be analysed more deeply: the tree is flatter than asked for."""
    rows = run_findings(records.state, {}) if records.state.kept else []
    return [("warn", line) for line in finding_lines([row for row in rows if row["check"] == DEPTH])]


def prompts(records: Records) -> list[Answer]:
    """Check whether a recorded prompt speaks of later than the cutoff."""
    late = list(late_prompts(records.store, records.state))
    if not late:
        return [("ok", "no recorded prompt speaks of later than the cutoff")]
    first = "; ".join(f"{node} {stage}: {words[:_SHOWN]!r}" for node, stage, words in late[:3])
    return [("warn", f"{len(late)} recorded prompts speak of later than the cutoff ({first})")]


def late_prompts(store: Store, state: RunState) -> Iterator[tuple[str, str, str]]:
    """Yield node, stage and words of each recorded prompt that speaks of later than the cutoff; none for a live run.

    The rules are those of `as_of`; of words whose author may have meant what is ahead nothing is said. The run's own propositions
    count for nothing: a claim may be in the past tense.
    """
    cutoff = state.parsed_cutoff()
    if cutoff.live:
        return
    statements = [state.tree[node].statement for node in state.tree]
    read: dict[str, tuple[str, ...]] = {}
    for node, stage, digest, content in ModelLedger(store).prompts(state.run_id):
        if stage in _NO_PROMPT:
            continue
        if digest not in read:
            read[digest] = _late(content, cutoff, statements)
        for words in read[digest]:
            yield node, stage, words


def _late(content: str, cutoff: Cutoff, statements: list[str]) -> tuple[str, ...]:
    pieces = as_of(content, cutoff, kind="record").cut
    return tuple(
        piece.text for piece in pieces if not any(statement in piece.text for statement in statements)
    )


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ENGINE_PATHS = frozenset(engine.path for engine in ENGINES.values())
#: A call's instant is of the clock of whoever made it, and a worker's may be so far from the log's (workers.facts.CLOCK_BOUND).
_CLOCKS = timedelta(seconds=5)
#: Events at which nobody works on a run any more, until it is resumed.
_ENDS = (ev.RunStopped, ev.RunFinished, ev.RunImported)


def stored_bodies(records: Records) -> list[Answer]:
    """Check whether every body has the hash that it is filed under."""
    digests = {use.digest for use in records.store.run_bodies(records.state.run_id)}
    for digest in sorted(digests):
        try:
            records.store.body(digest)
        except StoreCorrupt as error:
            return [("bad", str(error))]
    return [("ok", f"{len(digests)} requests, replies and answers are as they were written, by their hashes")]


def clamped_at_cutoff(records: Records) -> list[Answer]:
    """Check whether every call of a dated run was made at its cutoff or an earlier one, and answered as of it."""
    state, rows = records.state, records.rows
    pinned = _moment(state.cutoff_instant)
    late = [row for row in rows if not _at_or_before(_dated(row.cutoff), pinned)]
    if late:
        return [("bad", f"{len(late)} data calls were made at a later cutoff than {state.cutoff}")]
    return _answered_as_asked(rows) or [
        ("ok", f"all {len(rows)} data calls were clamped at {state.cutoff_instant} or earlier")
    ]


def clamped_when_made(records: Records) -> list[Answer]:
    """Check whether every call of a live run was made while it was in work, and answered as of its own instant."""
    rows, stretches = records.rows, _stretches(records)
    strange = [
        row for row in rows if not any(_within(_moment(row.at_utc), *stretch) for stretch in stretches)
    ]
    if strange:
        first = f"the first is {strange[0].path} at {strange[0].at_utc}"
        return [("bad", f"{len(strange)} data calls were made while nobody worked on the run: {first}")]
    later = [
        row
        for row in rows
        if not _is_live(row.cutoff) and not _at_or_before(_dated(row.cutoff), _moment(row.at_utc))
    ]
    if later:
        return [("bad", f"{len(later)} data calls were made at a later cutoff than their own instant")]
    return _answered_as_asked(rows) or [
        ("ok", f"all {len(rows)} data calls were made during the run, each as of its own instant")
    ]


def _answered_as_asked(rows: list[LedgerRow]) -> list[Answer]:
    """Name answers that are as of another instant than their call; none where all fit."""
    off = [
        row
        for row in rows
        if row.answer is not None and not row.path.startswith(CATALOGUE) and not _fits(row)
    ]
    if not off:
        return []
    as_of = off[0].answer.meta.get("as_of") if off[0].answer is not None else None
    first = f"the first is {off[0].path}, asked at {off[0].cutoff}, answered as of {as_of}"
    return [("bad", f"{len(off)} answers are as of another instant than their call: {first}"[:400])]


def _fits(row: LedgerRow) -> bool:
    as_of = row.answer.meta.get("as_of") if row.answer is not None else None
    if _is_live(row.cutoff):
        moment, instant = _moment(row.at_utc), _dated(as_of)
        return _is_live(as_of) or (
            moment is not None and instant is not None and abs(moment - instant) <= _CLOCKS
        )
    # Not every answer states its instant.
    return as_of is None or _at_or_before(_dated(as_of), _dated(row.cutoff))


def _stretches(records: Records) -> list[tuple[datetime | None, datetime | None, bool]]:
    """List the stretches in which somebody worked on the run; one that a kill ended lasts until the next."""
    kinds = ("run.started", "run.resumed", "run.stopped", "run.finished", "run.imported")
    stretches: list[tuple[datetime | None, datetime | None, bool]] = []
    begun: datetime | None = None
    for stored in records.store.events(records.state.run_id, until=records.state.seq, kinds=kinds):
        moment = _moment(stored.at_utc)
        if begun is not None:
            stretches.append((begun, moment, False))
        begun = None if isinstance(stored.event, _ENDS) else moment
    if begun is not None:
        stretches.append((begun, None, True))
    return stretches


def _within(moment: datetime | None, begun: datetime | None, ended: datetime | None, open_end: bool) -> bool:
    if moment is None or begun is None or moment < begun - _CLOCKS:
        return False
    return open_end or (ended is not None and moment <= ended + _CLOCKS)


def _at_or_before(instant: datetime | None, bound: datetime | None) -> bool:
    # What cannot be read counts as late: a check must not pass on what it does not understand.
    return instant is not None and bound is not None and instant <= bound


def _is_live(text: object) -> bool:
    return isinstance(text, str) and text.strip().lower() in ("now", "live")


def _dated(text: object) -> datetime | None:
    """Parse the instant of a cutoff; None where it names none, as ``live`` does."""
    if not isinstance(text, str) or _is_live(text):
        return None
    try:
        return Cutoff.parse(text).instant
    except ProxyError:
        return None


def _moment(text: str) -> datetime | None:
    """Parse an instant of the log or a ledger; None where it is none, as a stranger's package may have it."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else None


def dated_before_cutoff(records: Records) -> list[Answer]:
    """Count rows of answers that are dated after the cutoff, by endpoint."""
    last = Cutoff.parse(records.state.cutoff).last_moment_day
    late: Counter[str] = Counter()
    dated = 0
    for row in records.rows:
        # Only a warning below: what was announced before the cutoff may well be dated after it.
        for day in _row_days(row.answer.data if row.answer else None):
            dated += 1
            if day > last:
                late[row.path] += 1
    if late:
        named = ", ".join(f"{path} ({count})" for path, count in late.most_common(5))
        return [
            (
                "warn",
                f"rows dated after the cutoff, look whether they were announced before it: {named}",
            )
        ]
    return [("ok", f"{dated} dated rows, none after {last}")]


def _row_days(value: Any) -> list[date]:
    days, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            text = item.get("date")
            if isinstance(text, str) and _DAY.match(text):
                try:
                    days.append(date.fromisoformat(text[:10]))
                except ValueError:
                    continue  # 2018-02-30 in a vendor's row is no day
            pending.extend(child for child in item.values() if isinstance(child, dict | list))
        elif isinstance(item, list):
            pending.extend(item)
    return days


def residual_risk(records: Records) -> list[Answer]:
    """Sum up the risk of later knowledge in the answers, and the rows dropped and calls refused."""
    rows = records.rows
    levels = Counter(str(row.answer.meta.get("residual", "none")) for row in rows if row.answer)
    refused = sum(1 for row in rows if row.refused)
    dropped = sum(row.rows_dropped for row in rows)
    text = ", ".join(f"{count} with {level} risk" for level, count in sorted(levels.items()))
    verdict: Verdict = "warn" if levels.get("high") else "ok"
    return [
        (verdict, f"data calls: {text or 'none answered'}; {dropped} rows held back, {refused} calls refused")
    ]


def leaves_read_data(records: Records) -> list[Answer]:
    """Warn of leaves that read no data, whatever their reports say."""
    if records.without_data:
        return [("warn", line) for line in no_data_lines(records.without_data)]
    valued = [leaf for leaf in records.state.tree.leaves() if records.state.tree[leaf].belief is not None]
    if not valued:
        return [("ok", "no driver has a value yet")]
    return [("ok", f"each of the {len(valued)} drivers with evidence read data")]


def held_to_what_was_shown(records: Records) -> Iterator[Answer | None]:
    """Warn of each conclusion, statement and weight that contradicts the run's own evidence."""
    findings = yield from run_findings_in_steps(records.state, {})
    rows = [row for row in findings if row["check"] != DEPTH]  # a question of its own
    for line in finding_lines(rows):
        yield "warn", line
    if not rows:
        yield "ok", "no conclusion contradicts its notebook or itself"


def web_results(records: Records) -> list[Answer]:
    """Count the search results that layers 1 and 2 removed; no answer where nobody searched.

    The document lists every verdict under ``web``.
    """
    searches = [row for row in records.rows if row.path in _ENGINE_PATHS]
    if not searches and not records.web:
        return []
    dropped = sum(not verdict["keep"] for verdict in records.web)
    late = sum(row.rows_dropped for row in searches)
    return [
        (
            "ok",
            f"{counted(len(searches), 'call of search engines', 'calls of search engines')}, {late} rows left out by date or words; the filter read "
            f"{counted(len(records.web), 'result')} and removed {dropped}",
        )
    ]
