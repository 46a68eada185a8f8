"""The leak audit of a night: what was cut from its questions' texts, and what recorded prompts hold of after the cutoff all the same."""

from workbench.engine.evidence.asked_text_audit import late_prompts
from workbench.engine.run.fold import load_state
from workbench.experiments.audit import cut_findings
from workbench.store import Store
from workbench.tournament.night import QUICK, Night, step_plan


def night_leaks(store: Store, night: Night) -> list[str]:
    """Return the findings of a night, a line each; none for a live night, whose texts are of its own day."""
    if night.cutoff in ("now", "live"):
        return []
    plan = step_plan(
        store,
        night.name,
        night.study.manifest,
        QUICK,
        budget_usd=night.budget_usd,
        concurrency=night.concurrency,
    )
    lines = cut_findings(plan.exam)
    runs = sorted(run for run in set(night.study.begun.values()) if run)
    late = [(run, prompt) for run in runs for prompt in late_prompts(store, load_state(store, run))]
    if late:
        run, (node, stage, words) = late[0]
        lines.append(
            f"{len(late)} recorded prompts of {len({each for each, _ in late})} runs speak of later than the cutoff, the first in"
            f" run {run}, {node} {stage}: {words[:120]!r}"
        )
    return lines
