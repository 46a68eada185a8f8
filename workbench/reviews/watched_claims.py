"""Find the watched claims: the newest finished run of each claim with the tag ``watch``, its days left, its next review."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, command
from workbench.questions.sets.schedule import HalvingSchedule
from workbench.store import Store
from workbench.views.claims_list import WATCH
from workbench.views.kept_changes import kept_changes
from workbench.views.run_overview import Summary, claim_day, claim_key, summaries

#: From so many days before its day on a claim is near.
NEAR_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedClaim:
    """A watched claim."""

    #: Its newest finished run.
    state: RunState
    #: All its finished runs, oldest first.
    runs: tuple[str, ...] = ()
    #: A review of that run that was begun and is not finished.
    begun: str | None = None

    @property
    def day(self) -> date | None:
        """The day on which the claim is decided, where it names one."""
        return claim_day(self.state.statement)

    def resolved(self, now: datetime) -> bool:
        """Whether its outcome is on record; one of a later day is not known yet where a history is replayed."""
        outcome = self.state.annotations.outcome
        return outcome is not None and outcome.day < now.date().isoformat()

    def days_left(self, now: datetime) -> int | None:
        """Count the days left; below 0 where its day is over."""
        return None if self.day is None else (self.day - now.date()).days

    def near(self, now: datetime) -> bool:
        """Whether a person should look now: its day is near, or over without an outcome."""
        left = self.days_left(now)
        return not self.resolved(now) and left is not None and left <= NEAR_DAYS

    def next_review(self) -> datetime | None:
        """Return the instant of its next review: halfway between its last cutoff and its day (paper P, section 2)."""
        if self.day is None:
            return None
        close = datetime.combine(self.day, time(), UTC) + timedelta(days=1)
        last = self.state.parsed_cutoff().instant
        return HalvingSchedule().after(last, close) if last < close else None

    def due(self, now: datetime) -> bool:
        """Whether its next review has come."""
        review = self.next_review()
        return not self.resolved(now) and review is not None and review <= now


def watched_claims(store: Store, named: str | None = None) -> list[WatchedClaim]:
    """Return the watched claims, in the order in which they were first asked; with ``named`` the claim of that run.

    Raises `UsageError`: The run that is named has no answer yet, or is somebody else's.
    """
    newest: dict[str, Summary] = {}
    finished: dict[str, list[str]] = {}
    begun: dict[str, str] = {}
    for run in reversed(list(summaries(store))):
        # `workbench runs` says what is wrong with one that cannot be read
        if "unreadable" in run.row or run.row["imported"] is not None:
            continue
        key = claim_key(run.row["statement"])
        if run.row["status"] == "done" and run.row["p"] is not None:
            if _was_killed_at_its_end(store, run, newest.get(key)):
                begun[key] = run.run_id
                continue
            newest[key] = run
            finished.setdefault(key, []).append(run.run_id)
            begun.pop(key, None)
        elif run.follows is not None:
            begun[key] = run.run_id
    chosen: Sequence[str] = [key for key, run in newest.items() if WATCH in run.row["tags"]]
    if named is not None:
        state = load_state(store, store.resolve_run(named))
        key = claim_key(state.statement)
        if key not in newest:
            raise UsageError(
                f"run {state.run_id} has no answer of this home to review: ", command("resume", state.run_id)
            )
        chosen = [key]
    return [
        WatchedClaim(
            state=load_state(store, newest[key].run_id),
            runs=tuple(finished[key]),
            begun=review
            if (review := begun.get(key))
            and (follows := load_state(store, review).follows) is not None
            and follows.run == newest[key].run_id
            else None,
        )
        for key in chosen
    ]


def _was_killed_at_its_end(store: Store, review: Summary, before: Summary | None) -> bool:
    if review.follows is None or before is None or review.follows != before.run_id:
        return False
    return kept_changes(store.folder(review.run_id)) is None
