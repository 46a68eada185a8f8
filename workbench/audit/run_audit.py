"""The audit page of a run: checks that anybody can repeat from the database alone, each with what it found, and marks that sum them up.

A check is ``ok``, ``warn`` (a person should look) or ``bad`` (the run does not hold what it claims).
"""

from dataclasses import asdict, dataclass
from typing import Any

from workbench.audit import data_checks as data
from workbench.audit import proof_checks as proofs
from workbench.audit.check import AuditQuestion, Check, Records, Verdict, says, says_nothing
from workbench.audit.cost_breakdown import time_and_money
from workbench.audit.data_read import DATA_READ
from workbench.audit.kept_checks import KeptChecks, checks_key, keep_checks, kept_checks
from workbench.audit.run_findings import DEPTH
from workbench.engine.manifest import run_manifest
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.steps import Steps, at_once
from workbench.store import Store, utc_now

__all__ = ["QUESTIONS", "Badge", "Check", "Verdict", "audit_checks", "audit_run", "last_checks", "run_badges"]

_BODIES = AuditQuestion("records unchanged", data.stored_bodies)
#: Every check, with other looks for the kinds of run (``RunKind``) that it would judge wrongly.
QUESTIONS = (
    _BODIES,
    AuditQuestion(
        "cutoff of every call",
        data.clamped_at_cutoff,
        {"no_data": says("no data call is on record"), "live": data.clamped_when_made},
    ),
    AuditQuestion(
        "dates in the data",
        data.dated_before_cutoff,
        {
            "no_data": says("no answer is on record"),
            "live": says("the run is live: nothing is later than now"),
        },
    ),
    AuditQuestion(
        "risk of later knowledge",
        data.residual_risk,
        {"no_data": says("nothing to rate: no answer is on record")},
    ),
    AuditQuestion(DATA_READ, data.leaves_read_data),
    AuditQuestion("conclusions", data.held_to_what_was_shown),
    AuditQuestion("claim recomputed", proofs.root_recomputed, {"no_tree": proofs.root_alone}),
    AuditQuestion("drivers recomputed", proofs.trials_pooled),
    AuditQuestion("looked up while combining", proofs.look_ups),
    AuditQuestion("coherence", proofs.coherence, {"no_tree": says("one claim contradicts nothing")}),
    AuditQuestion("web results", data.web_results),
    AuditQuestion("cut texts", data.cut_texts),
    AuditQuestion(DEPTH, data.kept_leaves),
    AuditQuestion("prompts", data.prompts, {"live": says("the run is live: nothing is later than now")}),
    AuditQuestion("sandbox", proofs.isolation, {"no_kernel": proofs.without_kernel}),
    AuditQuestion(
        "hindsight",
        proofs.known_outcome,
        {
            "clairvoyant": says(
                "clairvoyant: it may look up the answer, an upper bound and no forecast", "warn"
            ),
            "live": says("the cutoff is now: nothing that a model was trained on is later"),
        },
    ),
    AuditQuestion("second reading", proofs.second_opinions),
    AuditQuestion("origin", says_nothing, {"imported": proofs.origin}),
    AuditQuestion("proof notebooks", proofs.proof_notebooks),
    AuditQuestion("proofs verified", proofs.proofs_verified),
    AuditQuestion("notebook histories", proofs.anchored_journals),
    AuditQuestion("cost", proofs.cost),
)


def audit_run(store: Store, run_id: str, state: RunState | None = None) -> dict[str, Any]:
    """Return the audit: the checks, whether all hold, where time and money went, and the manifest.

    The checks are made whatever an earlier audit found. ``kind`` names what is special of the run. ``state`` where the caller has folded the run's log as it stands now.
    """
    state = state or load_state(store, run_id)
    records = Records(store, state)
    checks = at_once(_check_anew(records)).checks
    readable = not _damaged(checks)
    return {
        "run_id": state.run_id,
        "statement": state.statement,
        "cutoff": state.cutoff,
        "kind": list(records.kind.names()) if readable else [],
        "passed": all(check.verdict != "bad" for check in checks),
        "checks": [asdict(check) for check in checks],
        "spending": records.spending if readable else [],
        "time_and_money": time_and_money(store, state) if readable else None,
        "web": records.web if readable else [],
        "manifest": run_manifest(store, state) if readable else None,
    }


def audit_checks(store: Store, state: RunState) -> list[Check]:
    """Return the checks, that of the stored bodies first, and alone where it fails: the others read those bodies."""
    return at_once(_check_anew(Records(store, state))).checks


def last_checks(store: Store, state: RunState) -> Steps[KeptChecks]:
    """Return the checks last made in this home of these very records; makes them where there are none."""
    last = kept_checks(store, state.run_id, checks_key(store, state))
    return last or (yield from _check_anew(Records(store, state)))


def _check_anew(records: Records) -> Steps[KeptChecks]:
    store, state = records.store, records.state
    key = checks_key(store, state)  # before a check looks: a row that comes meanwhile then makes another key
    checks = yield from _answers_checks(records)
    kept = KeptChecks(key=key, checked_utc=utc_now(), checks=checks)
    keep_checks(store, state.run_id, kept)
    return kept


def _answers_checks(records: Records) -> Steps[list[Check]]:
    checks = yield from _BODIES.answers(records)
    if not _damaged(checks):
        for question in QUESTIONS[1:]:
            yield
            checks += yield from question.answers(records)
    return checks


def _damaged(checks: list[Check]) -> bool:
    return checks[0].name == _BODIES.name and checks[0].verdict == "bad"


#: The checks of the audit by the question that they answer.
_MARKS = {
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
    for name, wanted in _MARKS.items():
        answers = tuple(check for check in last.checks if check.name in wanted)
        if answers:
            worst = max((check.verdict for check in answers), key=_WORSE.__getitem__)
            badges.append(Badge(name=name, verdict=worst, checks=answers, checked_utc=last.checked_utc))
    return badges
