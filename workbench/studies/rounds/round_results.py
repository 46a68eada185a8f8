"""What a night came to: per event its trials, its tree, the forecast that counts, and what does not fit together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from math import fsum
from statistics import stdev
from typing import Any

import numpy as np

from workbench.engine.proof_check import stored_evidence
from workbench.engine.record.fold import load_state
from workbench.errors import WorkbenchError
from workbench.questions.question import Question, QuestionEvent, asked_events, shown_value, targets_of
from workbench.questions.sets.question_sets import load_set
from workbench.questions.sets.schedule import HalvingSchedule, next_review
from workbench.science.pooling.pool import pool
from workbench.science.scoring.quantile_curve import PERCENTILES
from workbench.store import Store
from workbench.studies.leak_audit import round_leaks
from workbench.studies.rounds.round_coherence import coherent, set_findings
from workbench.studies.rounds.round_record import OwnRecord, RawForecast, raw_forecast, read_record
from workbench.studies.rounds.round_state import QUICK, TREE, Round, load_round, open_events, rounds_of
from workbench.studies.rounds.triage import closer_look_gain, days_left
from workbench.studies.study_file import StudyCell
from workbench.synthesis.coherence.findings import Finding

#: Trials further apart than this, or a forecast further from the crowd, is flagged for a person to look at.
WIDE_SPREAD, FAR_FROM_CROWD = 0.1, 0.2
_LONGEST_RATIONALE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
    """One event of a night."""

    event: str
    question: str
    statement: str
    url: str
    crowd: float | None
    days_left: float | None
    #: Of the quick pass; ``spread`` is their standard deviation (None of fewer than two), ``mean``, ``median`` and ``logit_mean`` are
    #: three ways of pooling them.
    trials: tuple[float, ...]
    spread: float | None
    mean: float | None
    median: float | None
    logit_mean: float | None
    #: The quick pass by model, and together as its rules pool it.
    by_model: Mapping[str, float]
    direct: float | None
    #: What its tree says.
    tree: float | None
    #: ``direct`` and the tree in logit space, alike until the own record knows better; the one that there is where the other is missing.
    raw: float | None
    #: ``raw`` pulled toward the crowd by the own record; None where the record corrects nothing.
    shrunk: float | None
    #: The forecast: ``shrunk`` after calibration by the own record, ``raw`` where the record corrects nothing.
    p: float | None
    #: ``p`` made to fit the other events of its question.
    coherent: float | None
    #: What a closer look may gain (`closer_look_gain`).
    gain: float | None
    flags: tuple[str, ...]
    #: Of its forecasts, the tree's last.
    runs: tuple[str, ...]
    #: Why trials are missing, "" if none is.
    missing: str
    key_factor: str
    rationale: str
    next_review: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object."""
        return {**asdict(self), **{name: list(getattr(self, name)) for name in ("trials", "flags", "runs")}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundResults:
    """The rows of a night, the most to gain first, the findings over them, the leak audit, and the own record; None where it is not used."""

    night: Round
    record: OwnRecord | None
    rows: tuple[ForecastRow, ...]
    findings: tuple[Finding, ...]
    leaks: tuple[str, ...] = ()
    quantiles: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The document of ``tournament show``."""
        night = self.night
        return {
            "night": night.name,
            "set": night.set_name,
            "cutoff": night.cutoff,
            "instant": night.instant.isoformat(),
            "rules": asdict(night.rules),
            "cost_usd": night.cost_usd,
            "own_record": None if self.record is None else asdict(self.record),
            "forecasts": [row.to_json() for row in self.rows],
            "quantiles": dict(self.quantiles),
            "promoted": {node: event.by for node, event in night.promoted.items()},
            "findings": [finding.to_json() for finding in self.findings],
            "leaks": list(self.leaks),
            "left_out": [{"id": entry, "reason": reason} for entry, reason in night.left_out],
        }


def round_results(store: Store, night: Round) -> RoundResults:
    """Read what stands on record; asks nobody."""
    questions = load_set(store, night.set_name)
    events = open_events(questions, night.questions)
    entries = [questions.questions[name] for name in night.questions if name in questions.questions]
    times = forecast_times(store, night.set_name, entries)
    record = read_record(night.study.manifest)
    bare = [
        _forecast_row(store, night, record, questions.questions[event.question], event, times)
        for event in events
    ]
    p = {row.event: row.p for row in bare if row.p is not None}
    mended = coherent(entries, p)
    # What was asked as one distribution is one: pooled option by option, it is brought back to a sum of 1.
    choices = {entry.id for entry in entries if entry.kind == "options" and entry.exclusive}
    rows = [
        replace(
            row,
            coherent=mended.get(row.event),
            p=mended.get(row.event, row.p) if row.question in choices else row.p,
        )
        for row in bare
    ]
    rows.sort(key=lambda row: (-(row.gain or 0.0), row.event))
    return RoundResults(
        night=night,
        record=record,
        rows=tuple(rows),
        findings=tuple(set_findings(entries, p)),
        leaks=tuple(round_leaks(store, night)),
        quantiles=round_quantiles(store, night, entries),
    )


def round_quantiles(
    store: Store, night: Round, entries: Iterable[Question]
) -> dict[str, dict[str, float | str]]:
    """Quantiles of each number or date (ISO day) that a night asked by percentiles: the mean over its trials, level by level."""
    pooled: dict[str, dict[str, float | str]] = {}
    for question, target in ((entry, each) for entry in entries for each in targets_of(entry)):
        alone = len(question.horizons) < 2
        own = [event.id for event in asked_events(question) if alone or event.horizon == target.horizon]
        runs = dict.fromkeys(
            forecast.run
            for cell, forecast in night.study.forecasts.items()
            if cell.arm == QUICK and cell.event in own and forecast.run
        )
        stated = [each for run in runs if (each := _percentiles(store, run))]
        if stated:
            pooled[target.id] = {
                f"{float(level) / 100:g}": shown_value(
                    question, fsum(each[level] for each in stated) / len(stated)
                )
                for level in PERCENTILES
            }
    return pooled


def newest_quantiles(store: Store, set_name: str, question: Question) -> dict[str, float | str]:
    """Quantiles of the newest night of a set that forecast this number, at its last horizon; empty without one."""
    for name in reversed(rounds_of(store, set_name)):
        found = round_quantiles(store, load_round(store, name), [question])
        if found:
            return list(found.values())[-1]
    return {}


def _percentiles(store: Store, run_id: str) -> Mapping[str, float]:
    try:
        state = load_state(store, run_id)
        evidence = stored_evidence(store, state, state.tree.root.id, 1)
    except WorkbenchError:  # deleted, or damaged
        return {}
    stated = evidence.outcomes
    return stated if set(stated) == set(PERCENTILES) else {}


def forecast_times(store: Store, set_name: str, questions: Iterable[Question]) -> dict[str, list[datetime]]:
    """When each question was forecast in the nights of its set, by id: the nights' instants, the oldest first."""
    owner = {event.id: question.id for question in questions for event in asked_events(question)}
    times: dict[str, set[datetime]] = {}
    for name in rounds_of(store, set_name):
        night = load_round(store, name)
        for cell in night.study.forecasts:
            if cell.event in owner:
                times.setdefault(owner[cell.event], set()).add(night.instant)
    return {question: sorted(moments) for question, moments in times.items()}


def _forecast_row(
    store: Store,
    night: Round,
    record: OwnRecord | None,
    question: Question,
    event: QuestionEvent,
    times: Mapping[str, list[datetime]],
) -> ForecastRow:
    forecasts = night.study.forecasts
    cells = [StudyCell(QUICK, event.id, 0, trial) for trial in range(1, night.rules.trials + 1)]
    quick = [forecasts[cell] for cell in cells if cell in forecasts]
    tree = forecasts.get(StudyCell(TREE, event.id, 0, 1))
    own = raw_forecast(night, event.id)
    if not event.part and targets_of(question):  # a number itself: its quantiles are the forecast
        own = RawForecast(tree=own.tree)
    trials, raw = own.trials, own.p
    pools = {how: _pooled(trials, how) for how in ("mean", "median", "logit-mean")}
    # The crowd of that evening: a set that was fetched again since then knows better.
    crowd = night.crowd.get(event.id, event.crowd)
    p, shrunk = _corrected(record, raw, trials, crowd)
    reasons = [each.reason for cell, each in night.study.missing.items() if cell.event == event.id]
    runs = [forecast.run for forecast in (*quick, *([tree] if tree else [])) if forecast.run]
    key_factor, rationale = _run_words(store, runs[-1]) if runs else ("", "")
    review = next_review(question, times.get(question.id, []), HalvingSchedule(least_gap=timedelta(hours=1)))
    spread = stdev(trials) if len(trials) > 1 else None
    return ForecastRow(
        event=event.id,
        question=question.id,
        statement=event.statement,
        url=question.url,
        crowd=crowd,
        days_left=days_left(question, night.instant),
        trials=trials,
        spread=spread,
        mean=pools["mean"],
        median=pools["median"],
        logit_mean=pools["logit-mean"],
        by_model=own.by_model,
        direct=own.direct,
        tree=own.tree,
        raw=raw,
        shrunk=shrunk,
        p=p,
        coherent=p,
        gain=None if raw is None or not trials else closer_look_gain(trials, raw, crowd),
        flags=_flags(spread, p, crowd, reasons),
        runs=tuple(runs),
        missing="; ".join(dict.fromkeys(reasons)),
        key_factor=key_factor,
        rationale=rationale,
        next_review="" if review is None else review.isoformat(timespec="minutes"),
    )


def _corrected(
    record: OwnRecord | None, raw: float | None, trials: Sequence[float], crowd: float | None
) -> tuple[float | None, float | None]:
    """The forecast that counts, and what stood before calibration; None where the record corrects nothing."""
    if raw is None or record is None or not record.corrects:
        return raw, None
    shrunk = record.shrunk(raw, trials, crowd)
    return record.calibrated(shrunk), shrunk


def forecasts_of(night: Round, question: Question) -> dict[str, float]:
    """Return the forecast of each event of a question as the night left it, also once it is resolved."""
    record = read_record(night.study.manifest)
    stated = {}
    for event in () if targets_of(question) else asked_events(question):
        own = raw_forecast(night, event.id)
        p, _ = _corrected(record, own.p, own.trials, night.crowd.get(event.id))
        if p is not None:
            stated[event.id] = p
    return {**stated, **coherent([question], stated)} if question.kind == "options" else stated


def _flags(
    spread: float | None, p: float | None, crowd: float | None, reasons: Sequence[str]
) -> tuple[str, ...]:
    flags = []
    if spread is not None and spread > WIDE_SPREAD:
        flags.append("trials disagree")
    if p is not None and crowd is not None and abs(p - crowd) > FAR_FROM_CROWD:
        flags.append("far from the crowd")
    if reasons:
        flags.append("trials missing" if p is not None else "no forecast")
    return tuple(flags)


def _pooled(trials: Sequence[float], how: str) -> float | None:
    return float(pool(np.array([trials], dtype=float), how)[0]) if trials else None


def _run_words(store: Store, run_id: str) -> tuple[str, str]:
    """Key factor and report of a run's claim; nothing where the run was deleted or cannot be read."""
    try:
        belief = load_state(store, run_id).tree.root.belief
    except WorkbenchError:
        return "", ""
    if belief is None:
        return "", ""
    return belief.key_factor, belief.report.strip()[:_LONGEST_RATIONALE]
