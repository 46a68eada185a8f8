"""Split a forecast's change into new rows, revised rows and the shorter horizon, by running the forecaster on inputs that never were.

Only a deterministic forecaster can be asked so: the key-free analyst's, whose numbers are computed from rows on the ledger.
"""

from collections.abc import Callable, Mapping

from proxies.errors import ProxyError
from workbench.engine.record.state import RunState
from workbench.questions.decision import Rows, resolve
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.recorded_rows import RecordedCall, recorded_rows
from workbench.store import ApiLedger, Store

#: How far the forecaster may lie from the number on record: the digits that a notebook prints.
_PRINTED = 1e-5

SeriesRows = Mapping[str, Rows]


def input_split(
    before: SeriesRows, after: SeriesRows, chance: Callable[[SeriesRows], float]
) -> dict[str, float]:
    """Split a change into new rows, revised rows and the shorter horizon; the parts sum to the whole.

    The shorter horizon is what would have come of the series standing still since: each new day with the last known value. New rows
    are what their values bring beyond that, so they come after it; with that, each part is the average over the orders.
    """
    last = {name: str(rows[-1]["date"]) if rows else "" for name, rows in before.items()}
    revised = {
        name: [row for row in rows if str(row["date"]) <= last.get(name, "")] for name, rows in after.items()
    }
    new = {
        name: [row for row in rows if str(row["date"]) > last.get(name, "")] for name, rows in after.items()
    }

    def still(old: SeriesRows) -> SeriesRows:
        return {
            name: [*rows, *({"date": row["date"], "value": rows[-1]["value"]} for row in new[name] if rows)]
            for name, rows in old.items()
        }

    def moved(old: SeriesRows) -> SeriesRows:
        return {name: [*rows, *new[name]] for name, rows in old.items()}

    changed = any(list(before[name]) != revised[name] for name in before)
    grown = any(new.values())
    start, end = chance(before), chance(after)
    start_revised = chance(revised) if changed else start
    flat, flat_revised, full = start, start_revised, start
    if grown:
        flat = chance(still(before))
        flat_revised = chance(still(revised)) if changed else flat
        full = chance(moved(before)) if changed else end
    # The three orders in which new rows follow the passing of time: time rows revisions, time revisions rows, revisions time rows.
    return {
        "rows": ((full - flat) + 2 * (end - flat_revised)) / 3,
        "revisions": ((end - full) + (flat_revised - flat) + (start_revised - start)) / 3,
        "time": (2 * (flat - start) + (flat_revised - start_revised)) / 3,
    }


class RunSplits:
    """Splits the change between two runs of the key-free analyst; claims on one series share their paths."""

    def __init__(self, store: Store, before: RunState, after: RunState) -> None:
        self._runs = (before, after)
        self._paths = ClaimPaths()
        self._computes = all(run.settings.stays_here for run in self._runs)
        ledger = ApiLedger(store)
        self._calls: list[list[RecordedCall]] = [
            [(row.path, row.asked, row.answer.data) for row in ledger.rows(run.run_id) if row.answer]
            for run in (self._runs if self._computes else ())
        ]

    def of(self, statement: str, p_before: float, p_after: float) -> dict[str, float] | None:
        """Return the split of a proposition's change; None where the forecaster does not give both numbers on record."""
        if not self._computes:
            return None
        try:
            claim = read_claim(statement).going_on()
            before, after = (
                recorded_rows(claim, calls, run.parsed_cutoff().last_moment_day)
                for calls, run in zip(self._calls, self._runs, strict=True)
            )

            def chance(rows: SeriesRows) -> float:
                try:
                    return self._paths.chance(claim, rows)
                except ClaimRefused:  # its day is over: it came out
                    return float(resolve(claim, rows, before))

            error = max(abs(chance(before) - p_before), abs(chance(after) - p_after))
            split = input_split(before, after, chance) if error <= _PRINTED else None
        except (ClaimRefused, ProxyError):
            return None
        if split is None:
            return None
        # what the printed digits round away belongs to no part: it is shared out, so that they sum to the change on record
        rest = (p_after - p_before - sum(split.values())) / len(split)
        return {name: value + rest for name, value in split.items()}
