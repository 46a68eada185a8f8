"""Whether a claim can be treated, before anything is started, and what would make it so."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.models.model_options import OFFLINE
from workbench.questions.claims import Claim
from workbench.questions.decision import check
from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.slots import SlotReading
from workbench.questions.series.known_series import data_end

#: What mends most refusals: a model that reads any text.
ANY_MODEL = "PROVIDER/NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Whether a reading can be treated; ``fix`` says what to change by the name of the setting: cutoff, source, model.

    ``first`` and ``last`` are the days of the first and last value of its series, where it is one at hand.
    """

    treatable: bool
    reason: str = ""
    fix: dict[str, str] = field(default_factory=dict)
    first: date | None = None
    last: date | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        days = {name: day and day.isoformat() for name, day in (("first", self.first), ("last", self.last))}
        return {"treatable": self.treatable, "reason": self.reason, "fix": self.fix, "history": days}


def coverage(reading: SlotReading | None, cutoff: Cutoff, model: str) -> Coverage:
    """Return whether a model can treat a reading at a cutoff; nothing is read but the calendar of the series.

    A language model treats any text. The key-free analyst takes claims of its grammar about the embedded series, as far as they reach.
    """
    if model != OFFLINE:
        return Coverage(treatable=True)
    if reading is None:
        return Coverage(treatable=False, reason="the claim has no single reading", fix={"model": ANY_MODEL})
    claim = reading.claim
    if claim is None:
        unknown = [each for each in reading.series if ":" not in each]
        reason = (
            f"no source here holds {' or '.join(unknown)}"
            if unknown
            else f"the key-free analyst cannot treat this relation yet ({reading.relation})"
        )
        return Coverage(treatable=False, reason=reason, fix={"model": ANY_MODEL})
    claim = claim.going_on()
    first, last = claim.about.first, data_end(claim.about)
    fix = (
        {"model": ANY_MODEL}
        if last is not None and claim.end > last
        else {"cutoff": _earlier(claim).isoformat()}
    )
    try:
        check(claim, cutoff.last_moment_day)
    except ClaimRefused as refused:
        return Coverage(treatable=False, reason=str(refused), fix=fix, first=first, last=last)
    return Coverage(treatable=True, first=first, last=last)


def _earlier(claim: Claim) -> date:
    """Return a cutoff from which the claim is still open: its start, or half a year before its end."""
    return claim.start or claim.end - timedelta(days=183)
