"""Compare methods with a reference: paired test, the paper's bootstrap, mixed model, additive effects and the sample sizes they need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, IntArray
from workbench.science.comparing.bootstrap import Draws, PairedResult, parts_in_order, stratified_index
from workbench.science.comparing.clusters import (
    MIN_CLUSTERS,
    cluster_count,
    day_count,
    event_clusters,
    fewest,
)
from workbench.science.comparing.mixed import IndexContrast, index_contrast, mixed_model, pooled_error
from workbench.science.comparing.paired import (
    NOT_SHOWN,
    RESAMPLES,
    SEED,
    PairedVerdict,
    holm,
    paired_tests,
)
from workbench.science.errors import DomainError
from workbench.science.scoring.adjusted import additive_effects, two_way_anova
from workbench.science.tables import Events

Values = Mapping[str, FloatArray]
#: Below this a p value shows a difference.
ALPHA = 0.05
Document = dict[str, Any]


def _common(values: Values, names: Sequence[str]) -> IntArray:
    return np.flatnonzero(np.all([np.isfinite(values[name]) for name in names], axis=0))


def paired_comparisons(
    events: Events,
    values: Values,
    reference: str,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, dict[str, PairedVerdict]]:
    """Compare every method with the reference in Brier Index points, by question type and overall: verdicts rest on this test.

    A difference of two indices is the mean difference of the Brier scores over the sum of the two roots; that slope is held fixed.
    Overall is the plain mean of the question types, so an event of a small type weighs more.
    Each pair is compared on the events both answered; estimates above 0 favour the method. Verdicts are those of each part by itself
    (see `judge`), None where the events were asked on fewer than six days, or nobody knows when.

    >>> events = Events.of([1, 0, 1, 0], kind=["market", "market", "dataset", "dataset"])
    >>> values = {"good": np.array([0.9, 0.1, 0.8, 0.2]), "poor": np.full(4, 0.5)}
    >>> test = paired_comparisons(events, values, "poor")["good"]["overall"]
    >>> round(test.estimate, 6), test.p, test.verdict
    (35.0, 0.125, None)
    """
    clusters = event_clusters(events)
    results: dict[str, dict[str, PairedVerdict]] = {}
    for names, rows in _groups(values, reference):
        outcome, kind = events.outcome[rows], events.kind[rows]
        briers = np.column_stack([(values[name][rows] - outcome) ** 2 for name in (*names, reference)])
        kinds = parts_in_order(kind)
        points, weights = np.empty((len(rows), len(names))), np.empty(len(rows))
        for part in kinds:
            inside = kind == part
            part_briers = briers[inside]
            roots = np.sqrt(part_briers.mean(axis=0))
            slope = 100.0 / np.maximum(
                roots[:-1] + roots[-1], 1e-150
            )  # two perfect methods differ by 0 all the same
            points[inside] = slope * (part_briers[:, -1:] - part_briers[:, :-1])
            weights[inside] = 1.0 / inside.sum()
        whole = np.ones(len(rows), dtype=bool)
        for part, inside in {**{part: kind == part for part in kinds}, "overall": whole}.items():
            tests = paired_tests(
                points[inside],
                clusters[rows][inside],
                weights=weights[inside],
                resamples=resamples,
                seed=seed,
            )
            days = day_count(events, rows[inside])
            for name, test in zip(names, tests, strict=True):
                results.setdefault(name, {})[part] = test.on_days(days)
    return {name: results[name] for name in values if name in results}


def _groups(values: Values, reference: str) -> list[tuple[list[str], IntArray]]:
    # Keyed by the bytes of the row numbers: an array cannot be a key.
    groups: dict[bytes, tuple[list[str], IntArray]] = {}
    for name in values:
        if name == reference:
            continue
        rows = _common(values, (name, reference))
        if not len(rows):
            raise DomainError(f"{name} and {reference} share no event")
        groups.setdefault(rows.tobytes(), ([], rows))[0].append(name)
    return list(groups.values())


def bootstrap_comparisons(
    events: Events,
    values: Values,
    reference: str,
    *,
    by_question: bool = True,
    resamples: int = 5000,
    seed: int = 0,
    draws: Draws = "index",
) -> dict[str, dict[str, PairedResult]]:
    """Compare by the paired bootstrap of BLF, App. G.2: the paper's tables print it, and it gives no verdict of ours.

    With few questions its intervals are too narrow and its p values too small.

    >>> events = Events.of([1, 0, 1, 0], kind=["market", "market", "dataset", "dataset"])
    >>> values = {"good": np.array([0.9, 0.1, 0.8, 0.2]), "poor": np.full(4, 0.5)}
    >>> round(bootstrap_comparisons(events, values, "poor", resamples=20)["good"]["overall"].difference, 6)
    35.0
    """
    results: dict[str, dict[str, PairedResult]] = {}
    for names, rows in _groups(values, reference):
        columns = (*names, reference)
        briers = np.column_stack([(values[name][rows] - events.outcome[rows]) ** 2 for name in columns])
        table = stratified_index(
            briers,
            columns,
            events.kind[rows],
            clusters=events.question[rows] if by_question else None,
            resamples=resamples,
            seed=seed,
            draws=draws,
        )
        for name in names:
            results[name] = {part: table.pair(name, reference, part) for part in table.estimates}
    return {name: results[name] for name in values if name in results}


def judge(
    results: Mapping[str, Mapping[str, PairedVerdict]],
    mixed: Mapping[str, Mapping[str, IndexContrast]],
    *,
    alpha: float = ALPHA,
    part: str = "overall",
) -> dict[str, PairedVerdict]:
    """Judge all methods compared: after Holm's correction, and only where the mixed model sees the same side.

    >>> test = PairedVerdict(n=6, clusters=6, estimate=1.0, low=0.5, high=1.5, p=0.03125)
    >>> unsure = IndexContrast(difference=1.0, error=1.0, low=-1.0, high=3.0)
    >>> judge({"m": {"overall": test}}, {"m": {"overall": unsure}})["m"].verdict
    'no difference shown'
    """
    # A method may lack the part: it answered no event of that type.
    raised = holm({name: parts[part].p for name, parts in results.items() if part in parts})
    verdicts = {}
    for name, p_holm in raised.items():
        test = replace(results[name][part], p_holm=p_holm).judged(alpha=alpha, comparisons=len(raised))
        if test.verdict in ("better", "worse"):
            contrast = mixed.get(name, {}).get(part)
            agrees = contrast is not None and (contrast.low > 0 if test.estimate > 0 else contrast.high < 0)
            if not agrees:
                test = replace(test, verdict=NOT_SHOWN, reason="the mixed model does not agree")
        verdicts[name] = test
    return verdicts


def mixed_comparisons(events: Events, values: Values, reference: str) -> dict[str, dict[str, IndexContrast]]:
    """Compare every method with the reference by a mixed model of Brier scores, in Brier Index points.

    Source: BLF, App. G.2 (mixed-effects robustness check).

    >>> events = Events.of([1, 0, 1, 0], kind=["market", "market", "dataset", "dataset"])
    >>> values = {"good": np.array([0.9, 0.1, 0.8, 0.2]), "poor": np.full(4, 0.5)}
    >>> round(mixed_comparisons(events, values, "poor")["good"]["overall"].difference, 6)
    35.0
    """
    by_method: dict[str, dict[str, IndexContrast]] = {name: {} for name in values if name != reference}
    for name, contrasts in by_method.items():
        for part in sorted(set(events.kind.tolist())):
            scores, methods, questions = [], [], []
            for label in (name, reference):
                rows = np.flatnonzero((events.kind == part) & np.isfinite(values[label]))
                scores.append((values[label][rows] - events.outcome[rows]) ** 2)
                methods.append(np.full(len(rows), label, dtype=object))
                questions.append(events.question[rows])
            if min(len(labels) for labels in methods) < 2:
                continue
            fit = mixed_model(np.concatenate(scores), np.concatenate(methods), np.concatenate(questions))
            contrasts[str(part)] = index_contrast(fit, name, reference)
    for contrasts in by_method.values():
        parts = list(contrasts.values())
        if parts:
            gap = float(np.mean([c.difference for c in parts]))
            error = pooled_error([c.error for c in parts])
            contrasts["overall"] = IndexContrast(
                difference=gap, error=error, low=gap - 1.959964 * error, high=gap + 1.959964 * error
            )
    return by_method


def _qualified(values: Values, *, complete: bool) -> list[str]:
    """Names of the methods, of those that answered everything where ``complete``."""
    return [name for name, p in values.items() if not complete or np.isfinite(p).all()]


def effect_table(events: Events, values: Values, *, complete: bool) -> Document | None:
    """Two-way additive fit of the score 1 - |p - o| per event; None when fewer than two methods qualify.

    Source: BLF, App. G.2.

    >>> events = Events.of([1, 0, 1, 0], kind=["market", "market", "dataset", "dataset"])
    >>> values = {"good": np.array([0.9, 0.1, 0.8, 0.2]), "poor": np.full(4, 0.5)}
    >>> {name: round(effect, 6) for name, effect in effect_table(events, values, complete=True)["alpha"].items()}
    {'good': 0.175, 'poor': -0.175}
    """
    names = _qualified(values, complete=complete)
    if len(names) < 2:
        return None
    scores = np.array([1.0 - np.abs(values[name] - events.outcome) for name in names])
    rows = np.flatnonzero(np.isfinite(scores).any(axis=0))
    scores = scores[:, rows]
    n = np.isfinite(scores).sum(axis=1)
    fit = additive_effects(scores)
    by_method = {"alpha": fit.method, "raw_mean": np.nansum(scores, axis=1) / n, "n": n}
    return {
        "methods": names,
        "mu": fit.mean,
        **{key: dict(zip(names, column.tolist(), strict=True)) for key, column in by_method.items()},
        "gamma": dict(zip(events.event_id[rows].tolist(), fit.question.tolist(), strict=True)),
        "gamma_sd": float(fit.question.std()),
        "sweeps": fit.sweeps,
    }


def trial_anova(events: Events, trials: Values, *, complete: bool) -> Document | None:
    """Analyse the variance of the score 1 - |p - o| per method, question and trial; None when fewer than two qualify.

    Source: BLF, App. G.1 (Table 20). Scores are averaged over the dates of a question first.

    >>> events = Events.of([1, 0, 1, 0], kind=["market", "market", "dataset", "dataset"])
    >>> values = {"good": np.array([0.9, 0.1, 0.8, 0.2]), "poor": np.full(4, 0.5)}
    >>> trial_anova(events, values, complete=True)["df_residual"]
    3
    """
    names = _qualified(trials, complete=complete)
    if len(names) < 2:
        return None
    tables = []
    for name in names:
        score = pd.DataFrame(1.0 - np.abs(trials[name].reshape(len(events), -1) - events.outcome[:, None]))
        means = score.groupby(events.question).mean().stack().dropna()
        tables.append(pd.DataFrame({"score": means, "method": name}).reset_index(names=["question", "trial"]))
    table = pd.concat(tables)
    return {"methods": names, **two_way_anova(table["score"], table["method"], table["question"])}


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """Units needed to see a mean difference with the wanted power, and the power of the data at hand."""

    needed: int | None
    """None when the difference is 0: no number would do; at least the clusters that any verdict needs."""
    have: int
    power: float

    def sentence(self, unit: str = "questions") -> str:
        """Say the hint in words."""
        if self.needed is None:
            return f"no difference to find: no number of {unit} would show it"
        if self.needed <= self.have:
            return f"{self.have} {unit} are enough for a difference of this size (power {self.power:.2f})"
        return f"you would need {self.needed} {unit}, you have {self.have} (power {self.power:.2f})"


def sample_size_hint(difference: ArrayLike, *, clusters: ArrayLike | None = None) -> SampleSize:
    """Units that a paired difference as large as the observed one would need to be found significant (5%, power 80%).

    `compare` prints it under its table. It takes the observed difference for the true one, which is optimistic once
    the data have been looked at. Normal approximation.
    """
    from statsmodels.stats.power import normal_power, normal_sample_size_one_tail

    d = np.asarray(difference, dtype=np.float64)
    if clusters is not None:
        codes = fewest(clusters)
        d = np.bincount(codes, weights=d) / np.bincount(codes)
    if len(d) < 2 or not np.isfinite(d).all():
        raise DomainError("a sample-size hint needs at least 2 finite differences")
    mean, deviation = float(d.mean()), float(d.std(ddof=1))
    if mean == 0.0:
        return SampleSize(needed=None, have=len(d), power=ALPHA)
    if deviation == 0.0:
        return SampleSize(needed=MIN_CLUSTERS, have=len(d), power=1.0)
    effect = abs(mean) / deviation
    return SampleSize(
        # Half the level in one tail: the other tail's share of a two-sided power is nil at any useful power.
        needed=max(MIN_CLUSTERS, ceil(normal_sample_size_one_tail(effect, 0.8, ALPHA / 2))),
        have=len(d),
        power=float(normal_power(effect, len(d), ALPHA)),
    )


def size_hints(events: Events, values: Values, reference: str) -> dict[str, SampleSize]:
    """Estimate the clusters each comparison would need to show its difference in Brier score; one cluster tells nothing.

    >>> events = Events.of([1, 0, 1, 0], kind=["market", "market", "dataset", "dataset"])
    >>> values = {"good": np.array([0.9, 0.1, 0.8, 0.2]), "poor": np.full(4, 0.5)}
    >>> size_hints(events, values, "poor")["good"].needed
    6
    """
    hints, clusters = {}, event_clusters(events)
    for name, p in values.items():
        if name != reference:
            rows = _common(values, (name, reference))
            if cluster_count(clusters[rows]) < 2:
                continue
            o = events.outcome[rows]
            gap = (p[rows] - o) ** 2 - (values[reference][rows] - o) ** 2
            hints[name] = sample_size_hint(gap, clusters=clusters[rows])
    return hints
