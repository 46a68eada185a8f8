"""The leak audit of a study or a round: what could have told an arm the answer. It comes before any result is shown.

Checked: texts of questions that were edited after the cutoff (and cut), cutoffs that do not lie before the resolution, a crowd noted after the cutoff, an outcome on record before the forecast,
models trained after a cutoff, and the audit of every run (its data, its dates, its records). Each finding is a line with a count;
what was looked at is counted too. Table arms that read a column named in `HINDSIGHT_COLUMNS` are findings by their name.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from proxies.asof.clock import Cutoff
from workbench.audit.data_checks import late_prompts
from workbench.audit.run_audit import audit_checks
from workbench.engine.hindsight import hindsight
from workbench.engine.record.fold import load_state
from workbench.formatting import first_named
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.arms.run_arms import EngineArm
from workbench.studies.arms.table_arms import ColumnArm
from workbench.studies.rounds.round_state import QUICK, Round, plan_of
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_plan import StudyPlan
from workbench.studies.study_state import StudyState, stream_of


def round_leaks(store: Store, night: Round) -> list[str]:
    """Return the findings of a night, a line each; none for a live night, whose texts are of its own day."""
    if night.cutoff in ("now", "live"):
        return []
    lines = cut_findings(plan_of(store, night, QUICK).exam)
    runs = sorted(run for run in set(night.study.begun.values()) if run)
    late = [(run, prompt) for run in runs for prompt in late_prompts(store, load_state(store, run))]
    if late:
        run, (node, stage, words) = late[0]
        lines.append(
            f"{len(late)} recorded prompts of {len({each for each, _ in late})} runs speak of later than the cutoff, the first in"
            f" run {run}, {node} {stage}: {words[:120]!r}"
        )
    return lines


#: Columns that were made with knowledge of the outcomes; `outcome` is the answer itself.
HINDSIGHT_COLUMNS: Mapping[str, str] = {
    "outcome": "the answer itself",
    "truth": "the truth of a simulated world",
    "prior_static": "a prior computed over all questions, with hindsight",
    "prior_blf_asrun": "a prior of the authors' code, of other questions' outcomes by a faulty subtype",
}

#: Arms that one finding names.
_NAMED = 5


def audit_study(store: Store, plan: StudyPlan, state: StudyState) -> StudyState:
    """Audit what the study's forecasts rest on and put the findings on the log; results may be shown from then on."""
    findings = [*cut_findings(plan.exam), *_exam_findings(plan.exam), *_arm_findings(plan)]
    runs = sorted(
        {each.run for each in state.forecasts.values() if each.run}
        | {each.run for each in state.missing.values() if each.run}
    )
    findings += run_findings(store, runs)
    checked = len(state.forecasts) + len(state.missing)
    event = ev.StudyAudited(checked=checked, findings=tuple(findings))
    store.append(stream_of(state.name), event)
    state.audited = event
    return state


def _exam_findings(exam: StudyExam) -> list[str]:
    def days(column: str) -> list[tuple[str, str, str]]:
        """Each event's day of the column and its cutoff, if the exam has the column."""
        if column not in exam.events.frame.columns:
            return []
        events = exam.events.event_id.tolist()
        noted = zip(events, exam.events.text(column).tolist(), strict=True)
        return [(event, day, exam.cutoffs.get(event, "")) for event, day in noted if day]

    findings = []
    if late := [event for event, day, cutoff in days("resolution_date") if cutoff >= day]:
        findings.append(
            f"{len(late)} events resolve on or before their cutoff, the first is {late[0]}: the answer may be in the data"
        )
    for column in ("crowd_date", "quote_date"):
        if after := [event for event, day, cutoff in days(column) if cutoff and day > cutoff]:
            findings.append(
                f"{len(after)} crowd values were noted after the cutoff, the first is of {after[0]}"
            )
    return findings


def _arm_findings(plan: StudyPlan) -> list[str]:
    findings = []
    late: dict[str, list[str]] = {}
    for name, arm in plan.arms.items():
        if isinstance(arm, ColumnArm):
            findings += _with_hindsight(f"arm {name} reads", arm.spec.split("+"))
        if recipe := getattr(arm, "recipe", None):
            if recipe.pool == "shrink-prior":
                findings += _with_hindsight(f"arm {name} shrinks to", [recipe.prior])
            if recipe.tune in ("in-sample", "as-published") and recipe.pool.startswith("shrink"):
                findings.append(f"arm {name} is tuned on the outcomes that it is scored on ({recipe.tune})")
        if isinstance(arm, EngineArm) and arm.clairvoyant:
            findings.append(
                f"arm {name} is clairvoyant: it may look up the answer, an upper bound and no forecast"
            )
        elif isinstance(arm, EngineArm):
            findings += _with_hindsight(f"arm {name} shows", arm.columns)
            lines = Counter(
                line
                for day in set(plan.exam.cutoffs.values())
                for line in hindsight(arm.base, Cutoff.parse(day))
            )
            for line in sorted(lines)[:3]:
                late.setdefault(line, []).append(name)
    # Of thirty arms with one model the sentence is said once.
    findings += [f"{_arm_names(arms)}: {line}" for line, arms in late.items()]
    return findings


def _with_hindsight(said: str, columns: Collection[str | None]) -> list[str]:
    return [f"{said} {column}: {why}" for column, why in HINDSIGHT_COLUMNS.items() if column in columns]


def cut_findings(exam: StudyExam) -> list[str]:
    """What was cut from the exam's texts, being of after the cutoffs; and which events can be asked of nobody for it."""
    cut, findings = exam.cut(), []
    if cut:
        event, pieces = next(iter(cut.items()))
        first = f"{pieces[0]['reason']}: {pieces[0]['text'][:120]!r}"
        findings.append(
            f"{sum(map(len, cut.values()))} pieces were cut from the texts of {len(cut)} events, the first of {event}, {first}"
        )
    unasked = [reason for event in exam.events.event_id.tolist() if (reason := exam.unasked(event))]
    if unasked:
        findings.append(f"{len(unasked)} events are asked of nobody: {unasked[0]}")
    return findings


def _arm_names(arms: list[str]) -> str:
    return f"arm {arms[0]}" if len(arms) == 1 else f"{len(arms)} arms ({first_named(arms, _NAMED)})"


def run_findings(store: Store, runs: list[str]) -> list[str]:
    """Checks of runs that are not ok, a line for each check with the number of runs."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for run in runs:
        # A check may warn several times of one run, which counts once.
        wanting = {
            (check.verdict, check.name): check.found
            for check in reversed(audit_checks(store, load_state(store, run)))
            if check.verdict != "ok" and check.name != "hindsight"
        }
        for key, words in wanting.items():
            counts[key] += 1
            first.setdefault(key, f"run {run}: {words}")
    return [
        f"{verdict}: {name}, in {count} of {len(runs)} runs ({first[verdict, name][:200]})"
        for (verdict, name), count in sorted(counts.items())
    ]
