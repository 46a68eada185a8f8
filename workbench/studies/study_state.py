"""The state of a study: a fold over its stream in the event log (``study:NAME``)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import UsageError
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.study_file import StudyCell

SORT = "study"


@dataclass(slots=True, kw_only=True)
class StudyState:
    """What the stream says: the study as it was opened, forecasts made and missing, runs begun, the audit."""

    name: str
    study: dict[str, Any] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    forecasts: dict[StudyCell, ev.ForecastMade] = field(default_factory=dict)
    missing: dict[StudyCell, ev.ForecastMissing] = field(default_factory=dict)
    begun: dict[StudyCell, str] = field(default_factory=dict)
    """Run of a cell that is in work, or was when a kill ended it."""
    audited: ev.StudyAudited | None = None
    first_utc: str = ""
    last_utc: str = ""

    @property
    def cost_usd(self) -> float | None:
        """Dollars of all forecasts that ended; None if one of them has no known price."""
        costs = [each.cost_usd for each in self.forecasts.values()]
        costs += [each.cost_usd for each in self.missing.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    def open_runs(self) -> list[str]:
        """Runs that were begun and whose forecasts have not ended."""
        return sorted({run for cell, run in self.begun.items() if run and not self.ended(cell)})

    def ended(self, cell: StudyCell) -> bool:
        """Whether nothing is left to do for a cell."""
        return cell in self.forecasts or cell in self.missing


def stream_of(name: str) -> str:
    """Name of a study's stream in the log."""
    return f"{SORT}:{name}"


def load_study(store: Store, name: str) -> StudyState:
    """Return the state of a study; raises `UsageError` with those there are."""
    known = store.streams(SORT)
    if name not in known:
        near = (
            f"the studies here are {', '.join(known)}"
            if known
            else "`experiment run FILE` begins the first one"
        )
        raise UsageError(f"there is no study {name!r:.60}; {near}")
    return fold(name, store.events(stream_of(name)))


def fold(name: str, events: Iterable[Any]) -> StudyState:
    """The state after these stored events."""
    state = StudyState(name=name)
    for stored in events:
        state.first_utc = state.first_utc or stored.at_utc
        state.last_utc = stored.at_utc
        match stored.event:
            case ev.StudyOpened(study=study, manifest=manifest):
                state.study, state.manifest = study, manifest
            case ev.ForecastBegun() as event:
                state.begun[_study_cell(event)] = event.run
            case ev.ForecastMade() as event:
                state.forecasts[_study_cell(event)] = event
            case ev.ForecastMissing() as event:
                state.missing[_study_cell(event)] = event
            case ev.StudyAudited() as event:
                state.audited = event
    return state


def _study_cell(event: ev.ForecastBegun | ev.ForecastMade | ev.ForecastMissing) -> StudyCell:
    return StudyCell(arm=event.arm, event=event.node, seed=event.seed, trial=event.trial)
