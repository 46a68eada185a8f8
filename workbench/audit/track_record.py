"""The track record of a home in full: reliability, sharpness, calibration before and after, overrides, and which driver was wrong.

Forecasts made before anybody knew the outcome (``live``) and those made later under a cutoff (``back-test``) stand apart everywhere.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.annotations.estimates import people_scores
from workbench.audit.forecast_histories import mean_of
from workbench.audit.home_scores import own_events, own_runs
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.formatting import counted, signed_figure
from workbench.propositions import ROOT
from workbench.science.comparing.clusters import cluster_count, event_clusters
from workbench.science.comparing.mean_intervals import PLAIN, loss_interval, share_interval
from workbench.science.comparing.own_correction import ENOUGH, learn_correction
from workbench.science.comparing.paired import PairedVerdict, paired_test
from workbench.science.documents.skill_words import skill_line
from workbench.science.pooling.shrinkage import trial_logits
from workbench.spreadsheet import guard_formula
from workbench.synthesis import evaluate
from workbench.synthesis.whatif.edits import SetValue, play

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from workbench.science.table_cells import StrArray
    from workbench.store import Store

ORIGINS = ("live", "back-test")
#: Bins of the reliability table.
_TENTHS = 10
#: Brier score of always 50 %.
_COIN = 0.25
Row = dict[str, Any]


def track_record(store: Store) -> dict[str, Any]:
    """Return the record of a home, live and back-test apart: ``score --own`` prints it and ``--json`` has it as ``record``."""
    rows, left_out = own_runs(store)
    states = {row["run_id"]: load_state(store, row["run_id"]) for row in rows}
    return {
        **{origin: _record_of([row for row in rows if row["made"] == origin], states) for origin in ORIGINS},
        "left_out": left_out,
    }


def _record_of(rows: Sequence[Row], states: Mapping[str, RunState]) -> dict[str, Any] | None:
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    against = _against_base("", rows)
    based = frame.loc[frame["base_rate"].notna(), "brier"]
    return {
        **{name: against[name] for name in ("n", "clusters", "days")},
        "recall": int(frame["recall"].sum()),
        "brier": against["brier"],
        "base_rate": {
            "n": against["base_n"],
            "brier": against["base_brier"],
            "own_brier": mean_of(based.tolist()),
            "line": against["line"],
        },
        "sharpness": {
            "from_half": float((frame["p"] - 0.5).abs().mean()),
            "variance": float(frame["p"].var(ddof=0)),
        },
        "reliability": reliability(frame["p"].tolist(), frame["outcome"].tolist(), _clusters(rows)),
        "calibration": _calibration(frame),
        "overrides": overrides(rows, states),
        "surprises": surprises(rows, states),
        "people": people_scores([states[row["run_id"]] for row in rows], live=rows[0]["made"] == "live"),
    }


def reliability(p: Sequence[float], outcome: Sequence[float], clusters: ArrayLike) -> list[Row]:
    """Return the forecasts by tenths of probability: how often they came true, with an interval over clusters.

    ``low`` and ``high`` are None where a tenth holds fewer than six clusters.
    """
    bins = []
    forecasts, came, labels = np.array(p), np.array(outcome, dtype=float), np.asarray(clusters)
    tenths = np.minimum(_TENTHS - 1, (_TENTHS * forecasts).astype(int))
    for tenth in range(_TENTHS):
        inside = np.flatnonzero(tenths == tenth)
        if not len(inside):
            continue
        interval = share_interval(came[inside], labels[inside], events=len(inside))
        bins.append(
            {
                "from": tenth / _TENTHS,
                "to": (tenth + 1) / _TENTHS,
                "n": len(inside),
                "clusters": cluster_count(labels[inside]),
                "said": mean_of(forecasts[inside].tolist()),
                "true": mean_of(came[inside].tolist()),
                **dict(zip(("low", "high"), interval or (None, None), strict=True)),
            }
        )
    return bins


def record_card(rows: Sequence[Row]) -> Row:
    """Return the own record as the home page shows it, of the rows of `own_runs`; empty where nothing is resolved.

    ``groups`` holds lists of `_against_base` by what they are parted by: live and back-test, then each of them by horizon and by
    tag, where it has more than one. ``reliability`` has the tenths of each (`reliability`).
    """
    if not rows:
        return {}
    by_origin = {name: [row for row in rows if row["made"] == name] for name in ORIGINS}
    by_origin = {name: of_origin for name, of_origin in by_origin.items() if of_origin}
    groups = {"all": [_against_base(name, of_origin) for name, of_origin in by_origin.items()]}
    for column in ("horizon", "tag"):
        listed = []
        for name, of_origin in by_origin.items():
            values = {value for row in of_origin for value in _values_of(row, column)}
            for value in sorted(values, key=_days_first):
                inside = [row for row in of_origin if value in _values_of(row, column)]
                listed.append(_against_base(f"{value}, {name}", inside))
        if len(listed) > len(by_origin):
            groups[column] = listed
    return {
        "n": len(rows),
        "groups": groups,
        "reliability": {
            name: reliability(
                [row["p"] for row in of_origin], [row["outcome"] for row in of_origin], _clusters(of_origin)
            )
            for name, of_origin in by_origin.items()
        },
    }


def _days_first(value: str) -> tuple[int, str]:
    """Order "up to 30 d" before "up to 90 d", and both before what has no number."""
    digits = "".join(filter(str.isdigit, value))
    return int(digits) if digits and len(digits) < 6 else 1_000_000, value


def _values_of(row: Row, column: str) -> list[str]:
    return str(row[column]).split() if column == "tag" else [str(row[column])]


def _against_base(name: str, rows: Sequence[Row]) -> Row:
    """Compare the Brier score of some runs with that of their base rates, with intervals over clusters.

    An interval is None below six clusters; ``base_n`` counts the runs that have a base rate, at which alone the two are compared;
    ``line`` says in words what the comparison means, and where the score is worse than that of always 50 %; None where neither is to say.
    """
    clusters, frame = _clusters(rows), pd.DataFrame(rows)
    is_based = frame["base_rate"].notna()
    based = frame[is_based]
    of_base = (based["base_rate"].astype(float) - based["outcome"]) ** 2
    gains = of_base - based["brier"]
    test = None
    if len(based):
        test = paired_test(
            gains.to_numpy(), clusters[is_based.to_numpy()], resamples=PLAIN.resamples, seed=PLAIN.seed
        ).on_days(based["known"].nunique())
    return {
        "name": name,
        "n": len(rows),
        "clusters": cluster_count(clusters),
        "days": _days(rows),
        "brier": mean_of(frame["brier"].tolist()),
        "interval": loss_interval(frame["brier"].tolist(), clusters),
        "base_n": len(based),
        "base_brier": mean_of(of_base.tolist()),
        "gain": mean_of(gains.tolist()),
        "gain_interval": None if test is None else test.interval,
        "line": _skill_words(test, rows),
    }


def _skill_words(test: PairedVerdict | None, rows: Sequence[Row]) -> str | None:
    runs, brier = len(rows), mean_of([row["brier"] for row in rows]) or 0.0
    worse = f"Brier score {brier:.3f}: always 50% scores 0.250, which is better." if brier > _COIN else ""
    if test is None:
        return worse or None
    among = f"{test.n} of " if test.n != runs else ""
    line = skill_line(
        test,
        f"{among}{counted(runs, 'run')} asked on {counted(_days(rows), 'day')}",
        subject="the answers",
        rival="their base rates",
        gain="gain in Brier score",
        written=partial(signed_figure, digits=3),
    )
    return f"{line} {worse}".strip()


def _clusters(rows: Sequence[Row]) -> StrArray:
    return event_clusters(own_events(rows))


def _days(rows: Sequence[Row]) -> int:
    return len({row["known"] for row in rows})


def _calibration(frame: pd.DataFrame) -> Row:
    """Judge a calibration learned from the record on questions left out; or say that there are too few to use it."""
    learned = learn_correction(
        trial_logits(frame[["p"]].to_numpy()),
        np.full(len(frame), np.nan),
        frame["outcome"].to_numpy(dtype=float),
        frame["statement"].tolist(),
        shrinks=False,
    )
    enough = learned.questions >= ENOUGH
    return {
        "questions": learned.questions,
        "slope": learned.calibration_slope if enough else None,
        "offset": learned.calibration_offset if enough else None,
        "brier_before": learned.brier_raw,
        "brier_after": learned.brier,
        "verdict": learned.reason or "better calibrated" if enough else f"too few to use: {learned.reason}",
    }


def overrides(rows: Sequence[Row], states: Mapping[str, RunState]) -> list[Row]:
    """Compare every saved scenario that sets values by hand on a resolved claim with the model, by Brier scores."""
    listed = []
    for row in rows:
        state = states[row["run_id"]]
        for scenario in state.scenarios.scenarios.values():
            if not any(isinstance(edit, SetValue) for edit in scenario.edits):
                continue
            value = play(state.tree, scenario.edits).tree.root.p
            if value is None:
                continue
            listed.append(
                {
                    "run_id": row["run_id"],
                    "scenario": scenario.name,
                    "author": scenario.author,
                    "p": value,
                    "model": row["p"],
                    "outcome": row["outcome"],
                    "gain": row["brier"] - (value - row["outcome"]) ** 2,
                }
            )
    return listed


def surprises(rows: Sequence[Row], states: Mapping[str, RunState]) -> list[Row]:
    """Return the drivers of resolved claims that were wrong, with the move of the claim had their outcome been known.

    The largest move first; a driver without an outcome on record says nothing (``workbench resolve RUN --leaves``).
    """
    listed = []
    for row in rows:
        state = states[row["run_id"]]
        for node, outcome in state.annotations.leaf_outcomes.items():
            p = state.tree[node].p if node in state.tree else None
            if p is None or node == ROOT:
                continue
            with_outcome = evaluate(
                state.tree,
                {leaf: state.tree[leaf].p or 0.0 for leaf in state.tree.leaves()} | {node: outcome.p},
            ).root
            if with_outcome is None:
                continue
            listed.append(
                {
                    "run_id": row["run_id"],
                    "node": node,
                    "statement": state.tree[node].statement,
                    "p": p,
                    "outcome": outcome.p,
                    "moved": with_outcome - row["p"],
                    "towards_outcome": (with_outcome - row["p"]) * (1 if row["outcome"] else -1) > 0,
                }
            )
    return sorted(listed, key=lambda row: -abs(row["moved"]))


def table_bytes(rows: Sequence[Row], path: Path) -> bytes:
    """Return the own forecasts as a table in the format of a file's name: ``.parquet``, else CSV; raises ``UsageError``."""
    texts = [
        {name: guard_formula(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    ]
    frame = pd.DataFrame(texts)
    if path.suffix != ".parquet":
        return frame.to_csv(index=False).encode()
    try:
        return bytes(frame.to_parquet(index=False))
    except ImportError as error:
        raise UsageError("parquet needs the package pyarrow: install it or name a .csv") from error
