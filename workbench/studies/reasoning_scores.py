"""How sound the reasoning of a study's arms is: five scores from 1 to 5 that a model gives a sample of their reports (paper P, section 4.3).

The judge sees a statement, the report on it and its probability, never the outcome or the arm. Its scores are on the study's stream, so
that the report shows them beside the forecasts' own, and no report is judged twice by one model.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.agents.base import AgentSettings
from workbench.agents.errors import AgentGaveUp
from workbench.agents.judges import DIMENSIONS, judge_report
from workbench.engine.record.fold import load_state
from workbench.errors import Option, UsageError
from workbench.models.base import Asker, NodeRef
from workbench.models.costs import REPLY_TOKENS, price_of
from workbench.science.comparing.paired import paired_test
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.study_state import StudyState, stream_of

#: Of a report with what the judge is told of it (benchmarks.grounders).
_REPORT_TOKENS = 11_000


class Report(NamedTuple):
    """One report to judge: the arm and run that wrote it, and its leaf."""

    arm: str
    run: str
    node: str


def reports_to_judge(store: Store, state: StudyState, model: str, *, per_arm: int) -> list[Report]:
    """Reports that this model has not judged yet: of each arm so many runs, chosen by a hash, with all of their leaves."""
    runs: dict[str, set[str]] = {}
    for cell, forecast in state.forecasts.items():
        if forecast.run:
            runs.setdefault(cell.arm, set()).add(forecast.run)
    reports = []
    for arm, own in runs.items():
        for run in sorted(own, key=lambda run: hashlib.sha256(run.encode()).digest())[:per_arm]:
            tree = load_state(store, run).tree
            reports += [
                Report(arm, run, node)
                for node in tree.leaves()
                if (run, node, model) not in state.judged and tree[node].belief is not None
            ]
    return reports


def judging_cost(model: str, reports: int, prices: Mapping[str, Sequence[float]]) -> tuple[int, float | None]:
    """Calls and dollars that judging is expected to take; None where the price is not known."""
    price = price_of(model, prices)
    usd = None if price is None else reports * (_REPORT_TOKENS * price.input + REPLY_TOKENS * price.output)
    return reports, usd


async def judge_reports(
    store: Store,
    state: StudyState,
    reports: Sequence[Report],
    *,
    model: str,
    ask: Asker,
    say: Callable[[str], None] = lambda line: None,
) -> StudyState:
    """Have each report judged and put on the study's stream, one by one, so that a kill costs one call at most.

    A report for which the judge gives no usable scores is said and left for another time.

    Raises
    ------
    UsageError
        A judge that is no language model.
    BudgetStop, ProviderError
        From the asker; the same call goes on.
    """
    if model.startswith("offline/"):
        raise UsageError("only a language model can judge: ", Option("model", "PROVIDER/NAME"))
    for report in reports:
        run = load_state(store, report.run)
        proposition = run.tree[report.node]
        assert proposition.belief is not None
        try:
            judged = await judge_report(
                NodeRef(id=report.node, statement=proposition.statement),
                proposition.belief.report,
                proposition.belief.p,
                cutoff=run.parsed_cutoff(),
                ask=ask,
                settings=AgentSettings(),
            )
        except AgentGaveUp as error:
            say(f"{report.arm}, {report.run} {report.node}: no usable scores ({str(error)[:120]})")
            continue
        event = ev.ReasoningJudged(
            node=report.node, run=report.run, arm=report.arm, model=model, scores=dict(judged.scores)
        )
        store.append(stream_of(state.name), event)
        state.judged[report.run, report.node, model] = event
    return state


def reasoning_rows(state: StudyState, clusters: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row per arm and judge: mean of each of the five scores, and of all five with its interval over clusters; None of too few.

    The leaves of one run count as one report, since they share its writer and its question. ``clusters`` has the cluster of each event:
    several runs on one question are reports of one cluster.
    """
    labels = {
        forecast.run: clusters.get(cell.event, cell.event) for cell, forecast in state.forecasts.items()
    }
    by_arm: dict[tuple[str, str], dict[str, list[list[float]]]] = {}
    for event in state.judged.values():
        runs = by_arm.setdefault((event.arm, event.model), {})
        runs.setdefault(event.run, []).append([event.scores[name] for name in DIMENSIONS])
    rows = []
    for (arm, model), runs in by_arm.items():
        scores = np.array([np.mean(leaves, axis=0) for leaves in runs.values()])
        means = scores.mean(axis=1)
        test = paired_test(means, [labels.get(run, run) for run in runs])
        low, high = test.interval or (None, None)
        rows.append(
            {
                "arm": arm,
                "judge": model,
                "reports": len(runs),
                "clusters": test.clusters,
                "scores": dict(zip(DIMENSIONS, scores.mean(axis=0).tolist(), strict=True)),
                "mean": test.estimate,
                "low": low,
                "high": high,
            }
        )
    return rows
