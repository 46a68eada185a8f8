"""Sum up a run's checks in three marks that open: its proofs, its data before the cutoff, its coherence."""

from dataclasses import dataclass

from workbench.audit.data_read import DATA_READ
from workbench.audit.run_audit import Check, Verdict, last_checks
from workbench.engine.record.state import RunState
from workbench.steps import Steps
from workbench.store import Store

#: The checks of the audit by the question that they answer.
_QUESTIONS = {
    "Verified": (
        "records unchanged",
        DATA_READ,
        "proof notebooks",
        "proofs verified",
        "notebook histories",
        "origin",
    ),
    "Leak audit": (
        "cutoff of every call",
        "dates in the data",
        "risk of later knowledge",
        "sandbox",
        "hindsight",
    ),
    "Coherence": ("claim recomputed", "drivers recomputed", "coherence", "conclusions"),
}
_WORSE: dict[Verdict, int] = {"ok": 0, "warn": 1, "bad": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """One question with the worst verdict of its checks: ``ok``, ``warn`` (a person should look) or ``bad``; and when they were made."""

    name: str
    verdict: Verdict
    checks: tuple[Check, ...]
    checked_utc: str


def run_badges(store: Store, state: RunState) -> Steps[list[Badge]]:
    """Make the marks of a run, out of the audit's checks; a question without a check is left out.

    A run whose checks were made in this home since its records last changed is not audited for it (`kept_checks`).
    """
    last = yield from last_checks(store, state)
    badges = []
    for name, wanted in _QUESTIONS.items():
        answers = tuple(check for check in last.checks if check.name in wanted)
        if answers:
            worst = max((check.verdict for check in answers), key=_WORSE.__getitem__)
            badges.append(Badge(name=name, verdict=worst, checks=answers, checked_utc=last.checked_utc))
    return badges
