"""What this home's earlier nights came to: shrinkage and calibration learned from it, put on record when a night is opened.

A forecast counts only if its outcome was decided after what it knew and on a day that is visible at the new night's cutoff
(`workbench.engine.record.resolved_runs.counts_for`). Shrinkage pulls a forecast toward the crowd of that night (toward the own share of Yes
where there was none), the more its trials disagreed (BLF, App. C.9); global Platt scaling follows (App. C.11). Both are judged
together on questions that they were not fitted on, and used only if they are shown to help there (`learn_correction`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from workbench.engine.record.resolved_runs import counts_for, resolved_runs
from workbench.engine.record.state import RunState
from workbench.propositions import ROOT
from workbench.questions.sets.question_sets import load_set, resolved_days
from workbench.science.arrays import FloatArray, logit, sigmoid
from workbench.science.calibrating.calibration import Calibration
from workbench.science.comparing.own_correction import ENOUGH, OwnCorrection, learn_correction
from workbench.science.pooling.pool import pool
from workbench.science.pooling.shrinkage import TrialLogits, trial_logits
from workbench.science.pooling.tuning import FLOOR_GRID
from workbench.store import Store
from workbench.studies.rounds.round_state import QUICK, TREE, Round, load_round, rounds_of
from workbench.studies.study_file import StudyCell
from workbench.synthesis.rules.pooled import EVEN, PooledRule, together


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedForecast:
    """A forecast of an earlier night with its outcome; ``question`` names its set too, ``p`` is the raw value."""

    question: str
    trials: tuple[float, ...]
    p: float
    crowd: float | None
    outcome: float
    #: direct, tree: Both ways of asking, where there were both.
    direct: float | None = None
    tree: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRecord(OwnCorrection):
    """What was learned from resolved forecasts of this home, and what a tree has earned."""

    #: How many it was learned from.
    forecasts: int
    #: Last day whose outcomes counted.
    until: str
    #: Weight of a tree beside the direct forecasts of its event, in logit space.
    tree_weight: float = EVEN

    @property
    def corrects(self) -> bool:
        """Whether forecasts are changed by it."""
        return not self.reason

    def line(self) -> str:
        """What it is and what it does, for people."""
        head = f"own record: {self.forecasts} resolved forecasts of {self.questions} questions up to {self.until}"
        if self.tree_weight != EVEN:
            head += f", a tree counts {self.tree_weight:.0%} beside the direct forecasts"
        if self.brier_raw is None or self.brier is None:
            return f"{head}; nothing is corrected: {self.reason}"
        scores = f"Brier score {self.brier_raw:.4f} raw, {self.brier:.4f} corrected (each question left out)"
        if not self.corrects:
            return f"{head}, {scores}; nothing is corrected: {self.reason}"
        return (
            f"{head}, {scores}; shrunk with floor {self.floor:g} and slope {self.slope:g}, then calibrated with slope"
            f" {self.calibration_slope:.3g} and offset {self.calibration_offset:+.3g}"
        )

    def shrunk(self, p: float, trials: Sequence[float], crowd: float | None) -> float:
        """A forecast pulled toward the crowd, or the own share of Yes, as far as its trials disagree."""
        values = FLOOR_GRID.forecasts(
            _logits([p], [tuple(trials)]), _priors([crowd], self.base_rate), (self.floor, self.slope)
        )
        return float(values[0])

    def calibrated(self, p: float) -> float:
        """A shrunk forecast after calibration."""
        fit = Calibration(slope=self.calibration_slope, offset=self.calibration_offset)
        return float(fit.apply([p])[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class RawForecast:
    """What the trials and the tree of an event come to, before the own record corrects it; None of what there is not."""

    trials: tuple[float, ...] = ()
    #: By model, each its own trials pooled.
    by_model: Mapping[str, float] = field(default_factory=dict)
    #: The models' together; each counts alike, however many trials it had.
    direct: float | None = None
    tree: float | None = None
    #: The direct forecast and the tree together.
    p: float | None = None


def raw_forecast(night: Round, event: str) -> RawForecast:
    """Pool the trials of an event by model, the models, and these with the tree."""
    rules, forecasts = night.rules, night.study.forecasts
    own: dict[str, list[float]] = {}
    trials = []
    for trial in range(1, rules.trials + 1):
        made = forecasts.get(StudyCell(QUICK, event, 0, trial))
        if made is not None:
            trials.append(made.p)
            own.setdefault(rules.model_of(trial), []).append(made.p)
    by_model = {model: pooled(values, rules.pool) for model, values in own.items()}
    direct = pooled(list(by_model.values())) if by_model else None
    made = forecasts.get(StudyCell(TREE, event, 0, 1))
    tree = None if made is None else made.p
    record = read_record(night.study.manifest)
    return RawForecast(
        trials=tuple(trials),
        by_model=by_model,
        direct=direct,
        tree=tree,
        p=together(direct, tree, EVEN if record is None else record.tree_weight),
    )


def pooled(values: Sequence[float], how: str = "logit-mean") -> float:
    """Forecasts of one event as one; equal ones come back to the last bit.

    >>> pooled([0.3, 0.3]), round(pooled([0.2, 0.8]), 6), pooled([0.1, 0.2, 0.9], "median")
    (0.3, 0.5, 0.2)
    """
    if len(set(values)) == 1:
        return values[0]
    return float(pool(np.array([sorted(values)], dtype=float), how)[0])


def learned_tree_weight(forecasts: Sequence[ResolvedForecast]) -> float:
    """The weight of a tree that did best in log score over questions that had both ways, drawn to one half as by `ENOUGH` more of them.

    One half where fewer than `ENOUGH` are resolved.
    """
    both = [each for each in forecasts if each.direct is not None and each.tree is not None]
    questions = {each.question for each in both}
    if len(questions) < ENOUGH:
        return EVEN
    counts = Counter(each.question for each in both)
    share = np.array([1 / counts[each.question] for each in both])
    ways = logit(np.array([[each.direct, each.tree] for each in both], dtype=float))
    outcome = np.array([each.outcome for each in both])
    weights = np.linspace(0, 1, 21)
    chances = sigmoid(np.outer(1 - weights, ways[:, 0]) + np.outer(weights, ways[:, 1]))
    scores = np.where(outcome == 1, np.log(chances), np.log1p(-chances)) @ share
    best = float(weights[int(np.argmax(scores))])
    return (len(questions) * best + ENOUGH * EVEN) / (len(questions) + ENOUGH)


def resolved_forecasts(store: Store, cutoff: Cutoff) -> Iterator[ResolvedForecast]:
    """Yield the last forecast of every event of any night that `counts_for` the cutoff."""
    newest: dict[tuple[str, str], Round] = {}
    for name in rounds_of(store):
        night = load_round(store, name)
        # A later night must not stand in front of one that this night may learn from.
        if night.instant <= cutoff.instant:
            newest |= {(night.set_name, cell.event): night for cell in night.study.forecasts}
    outcomes = {name: resolved_days(store, name) for name in {name for name, _ in newest}}
    for set_name in sorted(outcomes):
        for event in load_set(store, set_name).events():
            earlier = newest.get((set_name, event.id))
            outcome, day = outcomes[set_name].get(event.id, (None, ""))
            if earlier is None or outcome not in (0.0, 1.0) or not day:
                continue
            if not counts_for(Cutoff.parse(earlier.cutoff, now=earlier.instant), day, cutoff):
                continue
            raw = raw_forecast(earlier, event.id)
            if raw.p is not None:
                yield ResolvedForecast(
                    question=f"{set_name}/{event.question}",
                    trials=raw.trials,
                    p=raw.p,
                    crowd=earlier.crowd.get(event.id),
                    outcome=float(outcome),
                    direct=raw.direct,
                    tree=raw.tree,
                )


def learn(
    forecasts: Sequence[ResolvedForecast], until: str, claims: Sequence[ResolvedForecast] = ()
) -> OwnRecord:
    """Shrinkage and calibration that fit these forecasts, and whether they are shown to help questions left out.

    ``claims`` teach the weight of a tree alone: nobody chose them for a round.
    """
    facts: dict[str, Any] = {"forecasts": len(forecasts), "until": until}
    facts["tree_weight"] = learned_tree_weight([*forecasts, *claims])
    if not forecasts:
        return OwnRecord(**facts, questions=0, reason="no forecast is resolved yet")
    correction = learn_correction(
        _logits([each.p for each in forecasts], [each.trials for each in forecasts]),
        _priors([each.crowd for each in forecasts], float("nan")),
        np.array([each.outcome for each in forecasts]),
        [each.question for each in forecasts],
    )
    return OwnRecord(**facts, **asdict(correction))


def own_tree_weight(store: Store, cutoff: Cutoff) -> float:
    """The weight of a tree beside direct forecasts that rounds and single claims of this home have shown up to a cutoff."""
    return learned_tree_weight([*resolved_forecasts(store, cutoff), *resolved_claims(store, cutoff)])


def resolved_claims(store: Store, cutoff: Cutoff) -> Iterator[ResolvedForecast]:
    """Yield every claim of this home that was forecast by its drivers and directly and that `counts_for` the cutoff."""
    for state in resolved_runs(store):
        if not isinstance(state, RunState) or state.imported is not None:
            continue
        root, outcome = state.tree.root, state.annotations.outcomes().get(ROOT)
        rule, known = root.rule, state.parsed_cutoff()
        if (
            outcome is None
            or outcome.p not in (0.0, 1.0)
            or not isinstance(rule, PooledRule)
            or not rule.numeric
        ):
            continue
        p = {child.id: child.p for child in state.tree.children(ROOT) if child.p is not None}
        if len(p) < len(root.children) or root.p is None or not counts_for(known, outcome.day, cutoff):
            continue
        yield ResolvedForecast(
            question=state.statement,
            trials=(),
            p=root.p,
            crowd=None,
            outcome=outcome.p,
            direct=rule.direct,
            tree=rule.tree(p),
        )


def own_record(store: Store, cutoff: Cutoff) -> OwnRecord:
    """The record that a night with this cutoff may use."""
    until = cutoff.last_visible_day.isoformat()
    return learn(list(resolved_forecasts(store, cutoff)), until, list(resolved_claims(store, cutoff)))


def read_record(facts: Mapping[str, Any]) -> OwnRecord | None:
    """The record in a night's manifest; None where there is none, or the night was told to do without."""
    return OwnRecord(**facts["own_record"]) if facts.get("own_record") else None


def _logits(p: Sequence[float] | FloatArray, trials: Sequence[tuple[float, ...]]) -> TrialLogits:
    width = max(1, *(len(own) for own in trials))
    # An event that has a tree and no trial left has nothing that disagrees.
    rows = [own or (value,) for own, value in zip(trials, p, strict=True)]
    spread = trial_logits([[*own, *[float("nan")] * (width - len(own))] for own in rows])
    return TrialLogits(mean=logit(np.asarray(p, dtype=float)), spread=spread.spread, count=spread.count)


def _priors(crowd: Sequence[float | None], base_rate: float) -> FloatArray:
    return np.array([base_rate if each is None else each for each in crowd])
