"""Which forecasts of this home may be scored by what happened, and teach others: one rule for leaves, rounds and scores."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from proxies.asof.clock import Cutoff
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import WorkbenchError
from workbench.questions.grammar import series_of_statement
from workbench.store import Store

_FIGURES = re.compile(
    r"[\d.,]*\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
)


def counts_for(known: Cutoff, day: str, cutoff: Cutoff | None = None) -> bool:
    """Whether a forecast may be scored by an outcome, and teach what is forecast at a cutoff: one rule for runs, rounds and scores.

    `cutoff`: Of what would learn from it: only from outcomes that it can see, and so from no forecast that knew more than it does.
    """
    last_known = known.last_moment_day if known.live else known.last_visible_day
    return last_known.isoformat() < day and (cutoff is None or day <= cutoff.last_visible_day.isoformat())


def topic_of(statement: str) -> str:
    """What a claim is about, whatever its dates and figures: the series of a claim in the grammar, else its words without them.

    Claims on one index from week to week share their luck (`workbench.science.comparing.clusters`).
    """
    return series_of_statement(statement) or " ".join(_FIGURES.sub("#", statement.casefold()).split())


@dataclass(frozen=True, slots=True)
class UnreadRun:
    """A run that this version cannot read, and why."""

    run_id: str
    reason: str


def resolved_runs(store: Store) -> Iterator[RunState | UnreadRun]:
    """Yield every run of this home of which an outcome is on record, imported ones too, oldest first."""
    for run_id in store.run_ids():
        if store.events(run_id, kinds=("outcome.recorded",)):
            try:
                yield load_state(store, run_id)
            except WorkbenchError as error:
                yield UnreadRun(run_id, " ".join(str(error).split())[:120])
