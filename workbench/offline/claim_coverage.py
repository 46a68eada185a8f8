"""Decide whether a claim can be treated, before anything is started, and what would make it so; every screen asks here."""

import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.catalogue.loader import load_catalogue
from workbench.blocking import run_blocking
from workbench.environment import home_from, proxy_settings
from workbench.errors import ClaimRefused, Option, WorkbenchError
from workbench.models.model_options import OFFLINE
from workbench.offline.offline_model import OfflineAnalyst
from workbench.offline.visible_past import broker_history, visible
from workbench.questions.claims import Claim
from workbench.questions.decision import LONGEST_DAYS, Rows, appraise, check
from workbench.questions.readings.choice import Asker, ReadClaim, choice_of, read_for_run
from workbench.questions.readings.slots import ClaimReading, Readings
from workbench.questions.series.known_series import data_end
from workbench.questions.series.series_registry import source_of_rows

#: Mends most refusals: a model that reads any text.
ANY_MODEL = "PROVIDER/NAME"
#: Before its end, a claim without a start is proposed to be asked.
_HALF_YEAR = timedelta(days=183)
#: The last day of a cutoff is the day before it, and a month's value comes out weeks after the month: a first usable cutoff is looked
#: for so many days further on.
_RELEASE_DAYS = (1, 4, 8, 20, 40, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Tells whether a reading can be treated; ``fix`` gives the change that helps, by name of the setting: cutoff, source, model.

    ``reason`` says why not, or what its data depend on.

    ``first`` and ``last`` are the days of the first and last value of its series, where it is one at hand.
    """

    treatable: bool
    reason: str = ""
    fix: Mapping[str, str] = field(default_factory=dict)
    first: date | None = None
    last: date | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        days = {name: day and day.isoformat() for name, day in (("first", self.first), ("last", self.last))}
        return {"treatable": self.treatable, "reason": self.reason, "fix": dict(self.fix), "history": days}


class UntreatableClaim(ClaimRefused):
    """Raised for a claim that the chosen model cannot treat; ``document`` is that of `workbench.read`."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        coverage = document["coverage"]
        # Other remedies stand in the analyst's own reason.
        cutoff = coverage["fix"].get("cutoff")
        super().__init__(
            coverage["reason"],
            *((" (it can be asked with ", Option("cutoff", cutoff), ")") if cutoff else ()),
        )


def reading_document(
    readings: Readings, cutoff: Cutoff, model: str, number: int | None = None
) -> dict[str, Any]:
    """Return the readings of a text with the coverage of the best, or of the one that was chosen, from 1; every screen gives it."""
    reading = readings.best if number is None else choice_of(readings, number)
    found = coverage_here(reading, cutoff, model)
    if reading is None and readings.refusal and not found.treatable:
        found = replace(found, reason=readings.refusal)
    return {**readings.document(), "coverage": found.document()}


def claim_to_ask(
    readings: Readings,
    cutoff: Cutoff,
    model: str,
    *,
    number: int | None = None,
    first: bool = False,
    ask: Asker | None = None,
) -> ReadClaim:
    """Return the claim that a run is opened with; called before anything is stored.

    A language model is asked any text. ``number``, ``first`` and ``ask`` are as for `read_for_run`.

    Raises `UnclearClaim`: As `read_for_run`. Raises `UntreatableClaim`: The key-free analyst cannot treat it. Raises `UsageError`: There is
    no such reading.
    """
    claim = read_for_run(readings, key_free=model == OFFLINE, number=number, first=first, ask=ask)
    if model == OFFLINE and claim.reading is not None:
        found = coverage_here(claim.reading, cutoff, model)
        if not found.treatable:
            raise UntreatableClaim({**readings.document(), "coverage": found.document()})
    return claim


def coverage(reading: ClaimReading | None, cutoff: Cutoff, model: str) -> Coverage:
    """Decide whether a model can treat a reading at a cutoff; no network is used and nothing is stored.

    A language model treats any text. Of the key-free analyst it is asked what the analyst asks itself before a run is opened.
    """
    if model != OFFLINE:
        return Coverage(treatable=True)
    # A day's room: where it is already tomorrow, New York's day of that date is yet to begin.
    if not cutoff.live and cutoff.instant > datetime.now(UTC) + timedelta(days=1):
        reason = f"the cutoff {cutoff.text} is in the future, and no data is known beyond today"
        return Coverage(treatable=False, reason=reason, fix={"cutoff": "now"})
    if reading is None:
        return Coverage(treatable=False, reason="the claim has no single reading", fix={"model": ANY_MODEL})
    claim = reading.claim
    if claim is None:
        unknown = [series.article for series in reading.says.unheld]
        reason = (
            f"no source here holds {' or '.join(unknown)}"
            if unknown
            else f"the key-free analyst cannot treat this relation yet ({reading.says.pattern})"
        )
        return Coverage(treatable=False, reason=reason, fix={"model": ANY_MODEL})
    claim = claim.going_on()
    first, last = claim.about.first, data_end(claim.about)
    try:
        if all(series.embedded for series in (claim.about, claim.against) if series is not None):
            run_blocking(_appraise(claim, cutoff))
        else:  # its values are of a network, which the run asks before it is opened
            check(claim, cutoff.last_moment_day)
    except WorkbenchError as error:
        usable = (
            None
            if first is None or last is None or claim.end > last
            else run_blocking(_usable_cutoff(claim, cutoff))
        )
        fix = {"model": ANY_MODEL} if usable is None else {"cutoff": usable.isoformat()}
        return Coverage(treatable=False, reason=str(error), fix=fix, first=first, last=last)
    return Coverage(treatable=True, first=first, last=last)


def coverage_here(reading: ClaimReading | None, cutoff: Cutoff, model: str) -> Coverage:
    """Return `coverage` as of this machine: not treatable without the key of a series' source; a network can only be named."""
    found = coverage(reading, cutoff, model)
    if model != OFFLINE or not found.treatable or reading is None or reading.claim is None:
        return found
    sources = {source_of_rows(name).source for name in reading.claim.going_on().sources} - {"embedded"}
    if not sources:
        return found
    settings = proxy_settings(os.environ, home_from(os.environ))
    for source in load_catalogue(settings.catalogue_folder).sources():
        if source.name not in sources:
            continue
        if source.key and source.name not in settings.keys:
            reason = f"this claim needs data from {source.name}: set {source.key.variable} and restart"
            return replace(found, treatable=False, reason=reason, fix={"model": ANY_MODEL})
        if source.hosts:
            off = "" if settings.network else ", which is off here (WORKBENCH_NETWORK)"
            found = replace(found, reason=f"The data come from {source.name} over the network{off}.")
    return found


#: Rows of embedded series by name and instant: a page asks for the same at each rest of the typing, and they take 0.1 s to filter.
_known: dict[tuple[str, datetime], Sequence[dict[str, Any]]] = {}
_MOST_KNOWN = 32


async def _observe(series_id: str, cutoff: Cutoff) -> Sequence[dict[str, Any]]:
    key = series_id, cutoff.instant
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = await broker_history(None)(series_id, cutoff)
    return _known[key]


async def _appraise(claim: Claim, cutoff: Cutoff) -> None:
    await OfflineAnalyst(_observe).appraised(claim.statement, cutoff.text)


async def _usable_cutoff(claim: Claim, refused: Cutoff) -> date | None:
    """Find the cutoff nearest to a refused one at which the claim can be treated; None where there is none."""
    latest = (claim.start or claim.end) - timedelta(days=1)
    if refused.live or refused.last_moment_day >= latest:
        proposed = claim.start or claim.end - _HALF_YEAR
        if await _treatable(claim, proposed):
            return proposed
    rows = await visible(_observe, claim.sources, Cutoff.parse(latest.isoformat()))
    first = _first_usable(claim, rows, latest)
    if first is None:
        return None
    for days in _RELEASE_DAYS:
        if await _treatable(claim, first + timedelta(days=days)):
            return first + timedelta(days=days)
    return None


async def _treatable(claim: Claim, day: date) -> bool:
    try:
        await _appraise(claim, Cutoff.parse(day.isoformat()))
    except ClaimRefused:
        return False
    return True


def _first_usable(claim: Claim, rows: Mapping[str, Rows], latest: date) -> date | None:
    """Find the first day on which enough is known, by bisection: more history and a nearer end only help."""
    days = {name: [str(row["date"]) for row in part] for name, part in rows.items()}

    def enough(day: date) -> bool:
        visible_rows = {
            name: part[: bisect_right(days[name], day.isoformat())] for name, part in rows.items()
        }
        try:
            appraise(claim, visible_rows, day)
        except ClaimRefused:
            return False
        return True

    low, high = claim.end - timedelta(days=LONGEST_DAYS), latest
    low = max(claim.about.first or low, low)
    if enough(low) or not enough(high):
        return low if enough(low) else None
    while (high - low).days > 1:
        middle = low + (high - low) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
