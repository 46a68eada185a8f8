"""What came out of a study, as one document: scores with intervals, differences with Holm's correction, a plain summary.

Made of the science room's own functions; only a study that was audited has results.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from proxies.asof.asof_text import NO_TEXT
from workbench.errors import UsageError
from workbench.formatting import counted, signed_interval
from workbench.science.arrays import FloatArray
from workbench.science.comparing.agreement import consensus_matrix, mcnemar_matrix
from workbench.science.comparing.bootstrap import parts_in_order
from workbench.science.comparing.clusters import (
    MIN_CLUSTERS,
    cluster_count,
    day_count,
    event_clusters,
    series_clusters,
)
from workbench.science.comparing.comparison import judge, mixed_comparisons, paired_comparisons
from workbench.science.comparing.mean_intervals import Resampling, rank_correlation_interval
from workbench.science.comparing.mixed import IndexContrast
from workbench.science.comparing.paired import PairedVerdict, holm_matrix
from workbench.science.comparing.score_intervals import interval_card
from workbench.science.documents import consistency_entry
from workbench.science.errors import ScienceError
from workbench.science.pooling.ensembles import divergence_matrix
from workbench.science.scoring.calibration_error import calibrated_error, calibration_error
from workbench.science.scoring.market import market_returns
from workbench.science.scoring.scorecard import ACCURACY_BY_OUTCOME, parts_of, scorecard
from workbench.science.scoring.scores import accuracy, confidence
from workbench.science.scoring.utility import run_variance
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import StudySpec
from workbench.studies.study_scores import (
    caution_rows,
    cost_rows,
    curve_points,
    distance_matrix,
    ensemble_rows,
    mix_scores,
    role_rows,
)
from workbench.studies.study_state import StudyState
from workbench.studies.study_table import pooled_arms, trials_of
from workbench.studies.study_tasks import complements, task_scores

LEVELS = (0.0, 0.5, 1.0)
_SCORES = ("brier", "brier_index", "metaculus_baseline")
_PARTS = (*ACCURACY_BY_OUTCOME, "reliability", "resolution", "uncertainty")
#: What an arm that is made of another's forecasts took, since these did.
_TAKEN = ("cost_usd", "calls", "tokens", "seconds", "nodes", "leaves", "kept")
#: Below this an arm's difference from the reference counts as shown, after Holm's correction.
ALPHA = 0.05
_WIDE = 10  # questions at either end of the list of hard ones


def study_results(spec: StudySpec, exam: StudyExam, state: StudyState, frame: pd.DataFrame) -> dict[str, Any]:
    """Every table of the report as plain JSON values.

    Raises `UsageError`: The study was not audited yet, or no arm has a forecast.
    """
    if state.audited is None:
        raise UsageError(
            f"the results of study {spec.name} are locked until it is done and its leak audit is on record:"
            " `experiment run` finishes it"
        )
    trials = {arm: matrix for arm, matrix in trials_of(frame, exam).items() if np.isfinite(matrix).any()}
    if not trials:
        raise UsageError(f"study {spec.name} has no forecast: `experiment status` says why")
    pooled = pooled_arms(trials)
    reference = spec.reference if spec.reference in pooled else next(iter(pooled))
    arms = {arm: _arm(arm, p, trials[arm], exam, frame, spec) for arm, p in pooled.items()}
    sources = {each.name: each.settings.get("of") for each in spec.arms}
    for arm, row in arms.items():
        source = sources.get(arm)
        if source in arms:
            row |= {name: arms[source][name] for name in _TAKEN}
    differences = _differences(exam, pooled, reference, spec)
    build_up = [arm for arm in spec.build_up if arm in pooled]
    names, consensus = consensus_matrix(pooled)
    _, tests = mcnemar_matrix(pooled, exam.events.outcome)
    return {
        "study": spec.name,
        "note": spec.note,
        "manifest": state.manifest,
        "events": len(exam),
        "tasks": len(exam.tasks),
        "types": [part for part in parts_of(exam.events.kind) if (exam.events.kind == part).any()],
        "left_out": list(exam.left_out),
        "reference": reference,
        "audit": {"checked": state.audited.checked, "findings": list(state.audited.findings)},
        "arms": arms,
        "costs": cost_rows(arms, state.manifest, frame, answered_with=complements(exam.tasks)),
        "roles": role_rows(state.manifest, arms),
        "curves": curve_points(spec, state.manifest, arms),
        "ensemble": ensemble_rows(state.manifest, pooled, exam.events.outcome),
        "differences": differences,
        "build_up": _build_up(exam, {arm: pooled[arm] for arm in build_up}, spec),
        "summary": summary_lines(arms, differences, reference, state),
        "mcnemar": {"arms": names, "p": _matrix(tests), "p_holm": _matrix(holm_matrix(tests))},
        "consensus": {"arms": names, "share": _matrix(consensus)},
        "divergence": {"arms": names, "bits": _matrix(divergence_matrix(pooled)[1])},
        "distance": {"arms": names, "rms": _matrix(distance_matrix(pooled))},
        "caution": caution_rows(exam, pooled),
        "by_category": _categories(exam, pooled),
        "rebalanced": mix_scores(spec.rebalance, exam, pooled),
        "correctness": _correctness(exam, pooled),
        "questions": _extremes(exam, pooled),
        "missing": _missing(frame),
    }


def _arm(
    arm: str, p: FloatArray, trials: FloatArray, exam: StudyExam, frame: pd.DataFrame, spec: StudySpec
) -> dict[str, Any]:
    rows = np.flatnonzero(np.isfinite(p))
    q, o = p[rows], exam.events.outcome[rows]
    own = frame[frame["arm"] == arm]
    scores = scorecard(q, rows, exam.events, (*_SCORES, *_PARTS))
    resampling = Resampling(resamples=spec.resamples)
    ends = interval_card(
        q, rows, exam.events, (*_SCORES, *ACCURACY_BY_OUTCOME), scores, resampling=resampling
    )
    calibrated = calibrated_error(q, series_clusters(exam.events)[rows])
    kinds = parts_in_order(exam.events.kind)
    costs, runs = own["cost_usd"], own[own["run"] != ""].drop_duplicates("run")
    nodes, leaves = (runs[name].astype(float).mean() for name in ("nodes", "leaves"))
    entry: dict[str, Any] = {
        "kind": str(own["kind"].iloc[0]),
        "events": len(rows),
        "clusters": cluster_count(event_clusters(exam.events)[rows]),
        "days": day_count(exam.events, rows),
        # A choice between two is one question with two events.
        "questions": len(set(exam.events.event_id[rows].tolist()) - set(complements(exam.tasks))),
        "missing": int(len(exam) - len(rows)),
        "trials": int(trials.shape[1]),
        "accuracy": accuracy(q, o),
        # One primary score: overall, the plain mean of the question types where the exam has several, as in the differences.
        "brier": scores["brier"]["overall"],
        "brier_index": scores["brier_index"]["overall"],
        "index_name": "Brier Index" if len(kinds) < 2 else f"Brier Index (mean of {' and '.join(kinds)})",
        "ece": calibration_error(q, o),
        "ece_calibrated": calibrated.expected,
        "confidence": confidence(q),
        "p_variance": _p_variance(trials),
        "cost_usd": None if costs.isna().any() else float(costs.sum()),
        "calls": int(own["calls"].sum()),
        "tokens": int(own["tokens"].sum()),
        "seconds": float(own["seconds"].sum()),
        "nodes": None if np.isnan(nodes) else float(nodes),
        "leaves": None if np.isnan(leaves) else float(leaves),
        "kept": int(runs["kept"].fillna(0).sum()),
        **{name: scores[name]["overall"] for name in _PARTS},
        **{
            f"{name}_{side}": (ends[name]["overall"] or (None, None))[place]
            for name in ("brier", "brier_index", *ACCURACY_BY_OUTCOME)
            for place, side in enumerate(("low", "high"))
        },
    }
    entry["by_type"] = scores
    rows_of = {event: row for row, event in enumerate(exam.events.event_id.tolist())}
    tasks = task_scores(exam.tasks, p, trials, exam.events.outcome, rows_of, event_clusters(exam.events))
    # Utility is of the choices, as paper A has it, and of nothing else where there is nothing to choose.
    utility = tasks or dict.fromkeys(("soft", "hard", "variance"))
    entry |= {"tasks": tasks, "soft": utility["soft"], "hard": utility["hard"]}
    entry |= {"run_variance": utility["variance"], "consistency": consistency_entry(q, rows, exam.events)}
    return entry | _betting_returns(p, exam)


def _p_variance(trials: FloatArray) -> float | None:
    whole = trials[np.isfinite(trials).all(axis=1)]
    return run_variance(whole) if whole.shape[0] and whole.shape[1] > 1 else None


def _betting_returns(p: FloatArray, exam: StudyExam) -> dict[str, Any]:
    """Average return and Sharpe ratio of betting against the crowd's price; None where there is none."""
    crowd = "crowd" in exam.events.frame.columns
    price = exam.events.probability("crowd") if crowd else np.full(len(p), np.nan)
    rows = np.flatnonzero(np.isfinite(p) & (price > 0) & (price < 1))
    if len(rows) < 2:
        return {"average_return": None, "sharpe": None, "bets": 0}
    results = {
        f"{level:g}": market_returns(p[rows], price[rows], exam.events.outcome[rows], level)
        for level in LEVELS
    }
    return {
        "average_return": {level: result.average_return for level, result in results.items()},
        "sharpe": {level: result.sharpe for level, result in results.items()},
        "bets": len(rows),
    }


def _differences(
    exam: StudyExam, pooled: Mapping[str, FloatArray], reference: str, spec: StudySpec
) -> list[dict[str, Any]]:
    if len(pooled) < 2:
        return []
    usable = {
        arm: p
        for arm, p in pooled.items()
        if arm == reference or (np.isfinite(p) & np.isfinite(pooled[reference])).any()
    }
    try:
        pairs = paired_comparisons(exam.events, usable, reference, resamples=spec.resamples)
    except ScienceError:
        return []
    return _judged(pairs, mixed_comparisons(exam.events, usable, reference))


def _build_up(exam: StudyExam, pooled: Mapping[str, FloatArray], spec: StudySpec) -> list[dict[str, Any]]:
    pairs: dict[str, Mapping[str, PairedVerdict]] = {}
    mixed: dict[str, Mapping[str, IndexContrast]] = {}
    for (before, p), (arm, q) in pairwise(pooled.items()):
        own = {before: p, arm: q}
        try:
            pairs |= paired_comparisons(exam.events, own, before, resamples=spec.resamples)
        except ScienceError:
            continue
        mixed |= mixed_comparisons(exam.events, own, before)
    previous = {arm: before for before, arm in pairwise(pooled)}
    return [{"before": previous[row["arm"]], **row} for row in _judged(pairs, mixed)]


def _judged(
    pairs: Mapping[str, Mapping[str, PairedVerdict]], mixed: Mapping[str, Mapping[str, IndexContrast]]
) -> list[dict[str, Any]]:
    rows = []
    for arm, test in judge(pairs, mixed, alpha=ALPHA).items():
        low, high = test.interval or (None, None)
        contrast = mixed[arm].get("overall")
        ends = {f"mixed_{name}": getattr(contrast, name, None) for name in ("difference", "low", "high")}
        own = {"arm": arm, **test.to_json(), "low": low, "high": high, "looked_at": len(pairs)}
        rows.append({**own, **ends, "verdict": test.verdict or "no verdict"})
    return rows


def summary_lines(
    arms: Mapping[str, Mapping[str, Any]],
    differences: list[dict[str, Any]],
    reference: str,
    state: StudyState,
) -> list[str]:
    """The findings in plain sentences; what the data cannot tell is "no difference shown", never "no difference"."""
    # Arms that answered fewer events, as a market does, are not ranked with those that answered the hard ones too.
    most = max(row["events"] for row in arms.values())
    ranked = {arm: row for arm, row in arms.items() if row["events"] == most}
    best = max(ranked, key=lambda arm: ranked[arm]["brier_index"])
    top = arms[best]
    ends = (
        f"(an interval needs {MIN_CLUSTERS} clusters, these are {top['clusters']})"
        if top["brier_index_low"] is None
        else f"[{top['brier_index_low']:.1f}, {top['brier_index_high']:.1f}]"
    )
    lines = [
        f"Highest {top['index_name']} of the arms that answered all {most} events: {best}, {top['brier_index']:.1f} {ends}."
    ]
    fewer = {arm: row["events"] for arm, row in arms.items() if row["events"] < most}
    if fewer:
        counts = ", ".join(f"{arm} ({count} of {most})" for arm, count in fewer.items())
        lines.append(f"Not ranked with them, since they answered fewer: {counts}.")
    for row in differences:
        holm = f"{row['p_holm']:.3f}" if row["p_holm"] >= 0.001 else "below 0.001"
        interval = None if row["low"] is None else (row["low"], row["high"])
        amount = f"{signed_interval(row['difference'], interval)} points, Holm p {holm}, {counted(row['clusters'], 'cluster')} of {counted(row['n'], 'event')}"
        if row["verdict"] in ("better", "worse"):
            lines.append(f"{row['arm']} is {row['verdict']} than {reference}: {amount}.")
        else:
            why = f"; {row['reason']}" if row["reason"] else ""
            lines.append(f"{row['arm']} against {reference}: {row['verdict']} ({amount}{why}).")
    if len(differences) > 1:
        lines.append(
            f"{len(differences)} arms were compared with {reference}: one family, p after Holm's correction for them."
        )
    kept = [f"{arm} {row['kept']}" for arm, row in arms.items() if row.get("kept")]
    if kept:
        lines.append(
            f"Leaves that stayed as they were though deeper analysis was asked for: {', '.join(kept)}. The audit of each run has the reasons."
        )
    assert state.audited is not None
    findings = len(state.audited.findings)
    lines.append(
        "The leak audit found nothing."
        if not findings
        else f"The leak audit has {counted(findings, 'finding')}: read before the figures."
    )
    return lines


def _matrix(values: Any) -> list[list[float | None]]:
    return [[None if not np.isfinite(value) else float(value) for value in row] for row in np.asarray(values)]


def _categories(exam: StudyExam, pooled: Mapping[str, FloatArray]) -> dict[str, Any]:
    columns = exam.events.frame.columns
    column = next((name for name in ("category", "subtype", "source") if name in columns), None)
    if column is None:
        return {}
    # As one question type: a category's events count alike, whatever type they are of (paper A, Table 7; BLF, Figure 8).
    events = replace(exam.events, kind=np.full(len(exam), "all"))
    metrics = ("brier", "brier_index", "accuracy", *ACCURACY_BY_OUTCOME)
    labels = exam.events.text(column)

    def entry(p: FloatArray, name: str) -> dict[str, Any]:
        rows = np.flatnonzero(np.isfinite(p) & (labels == name))
        card = scorecard(p[rows], rows, events, metrics)
        return {"category": name, "n": len(rows), **{name: card[name]["overall"] for name in metrics}}

    return {
        "column": column,
        "arms": {
            arm: [entry(p, name) for name in np.unique(labels[np.isfinite(p)]).tolist()]
            for arm, p in pooled.items()
        },
    }


def _correctness(exam: StudyExam, pooled: Mapping[str, FloatArray]) -> list[dict[str, Any]]:
    """Rank correlation of each arm's Brier score with volatility, horizon and volume, with an interval (paper A, App. D.6)."""
    rows = []
    clusters = event_clusters(exam.events)
    for column in ("volatility", "horizon_days", "volume"):
        if column not in exam.events.frame.columns:
            continue
        values = exam.events.number(column)
        for arm, p in pooled.items():
            known = np.isfinite(values) & np.isfinite(p)
            if known.sum() < 8 or np.ptp(values[known]) == 0:
                continue
            scores = (p[known] - exam.events.outcome[known]) ** 2
            if np.ptp(scores) < 1e-12:
                continue  # an arm that is equally wrong everywhere, as always 0.5 is
            rho, ends = rank_correlation_interval(values[known], scores, clusters[known])
            low, high = ends or (None, None)
            counts = {
                "n": int(known.sum()),
                "rank_correlation": rho,
                "clusters": cluster_count(clusters[known]),
            }
            rows.append({"column": column, "arm": arm, **counts, "low": low, "high": high})
    return rows


def _extremes(exam: StudyExam, pooled: Mapping[str, FloatArray]) -> dict[str, list[dict[str, Any]]]:
    """The questions that all arms together called best and worst (paper A, App. D.6)."""
    mean = pd.DataFrame([(p - exam.events.outcome) ** 2 for p in pooled.values()]).mean()
    order = mean.dropna().sort_values(kind="stable").index.tolist()

    def entry(row: int) -> dict[str, Any]:
        event = str(exam.events.event_id[row])
        return {
            "event": event,
            "statement": exam.statements.get(event, NO_TEXT).text[:200],
            "outcome": float(exam.events.outcome[row]),
            "mean_brier": float(mean[row]),
        }

    return {
        "easiest": [entry(row) for row in order[:_WIDE]],
        "hardest": [entry(row) for row in reversed(order[-_WIDE:])],
    }


def _missing(frame: pd.DataFrame) -> list[dict[str, Any]]:
    counts = Counter(frame.loc[frame["missing"] != "", ["arm", "missing"]].itertuples(index=False, name=None))
    return [{"arm": arm, "reason": reason, "forecasts": count} for (arm, reason), count in counts.items()]
