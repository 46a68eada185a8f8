"""The rows of a claim's series out of data calls on record: what a leaf saw of them, without asking again."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, resolve
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.series_registry import source_of_rows

#: A data call: its path, what was asked, and the answer.
RecordedCall = tuple[str, Mapping[str, Any], Any]


def recorded_rows(
    claim: Claim, calls: Iterable[RecordedCall], through: date | None = None
) -> dict[str, Rows]:
    """Return the rows of a claim's series by the names of its sources, out of the calls that gave them.

    Raises `ClaimRefused`: No call gave the rows of a source.
    """
    listed = list(calls)
    rows: dict[str, Rows] = {}
    for name in sorted(set(claim.sources)):
        ref = source_of_rows(name)
        path, params = ref.call(datetime.now(UTC))
        # Instants and days move with the cutoff; what names the series does not.
        named = {
            key: value for key, value in params.items() if isinstance(value, str) and not value[:4].isdigit()
        }
        answer = next(
            (
                data
                for call_path, call_params, data in listed
                if call_path == path and all(call_params.get(key) == value for key, value in named.items())
            ),
            None,
        )
        if answer is None:
            raise ClaimRefused(f"no data call on record gave the rows of {name}")
        rows[name] = list(answer) if ref.source == "embedded" else ref.rows(answer, through)
    return rows


def recorded_outcome(statement: str, calls: Iterable[RecordedCall], seen_until: str) -> bool:
    """Return how a leaf whose day is over came out, by rows on record; a leaf without a start is measured from its last day seen.

    Raises ``ClaimRefused`` where it is no claim about a series, or a value that decides it is missing.
    """
    claim = read_claim(statement).going_on()
    rows = recorded_rows(claim, calls)
    seen = {name: [row for row in part if str(row["date"]) <= seen_until] for name, part in rows.items()}
    return resolve(claim, rows, seen)
