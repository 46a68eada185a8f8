"""Documents made in Python are the ones the command line prints, and plain JSON."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli_science.runner import files as write_files
from tests.cli_science.runner import run_json
from workbench.errors import UsageError
from workbench.science import documents
from workbench.science.recipe import Recipe
from workbench.science.tables import Events, Forecasts, read_events, read_forecasts


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    i = np.arange(40)
    ids = np.array([f"e{k}" for k in i])
    events = {
        "event_id": ids,
        "question_key": [f"q{k // 2}" for k in i],
        "source": np.where(i % 4, "fred", "acled"),
        "question_type": np.where(i % 2, "market", "dataset"),
        "outcome": i % 3 % 2,
        "crowd": (i % 8 + 1) / 10,
    }
    forecasts = {
        "method": np.tile(np.repeat(["a", "b"], 3), 40),
        "event_id": np.repeat(ids, 6),
        "trial": np.tile([1, 2, 3], 80),
        "p": np.random.default_rng(8).uniform(0.05, 0.95, 240).round(4),
    }
    written = write_files(tmp_path, events, forecasts)
    return written[1], written[3]


def plain(document: Any) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


def test_scores_comparisons_and_returns_are_what_the_command_line_prints(files: tuple[Path, Path]) -> None:
    words = ("--events", files[0], "--forecasts", files[1])
    events = read_events(files[0])
    forecasts = read_forecasts(files[1], events)
    score = documents.score_document(events, forecasts, Recipe(pool="mean"), by="source", baselines=["0.5"])
    assert plain(score) == run_json(
        "score", *words, "--pool", "mean", "--by", "source", "--set", "baseline=0.5"
    )
    compare = documents.compare_document(events, forecasts, Recipe(), "b", resamples=100, unit="both")
    assert plain(compare) == run_json(
        "compare", *words, "--reference", "b", "--set", "resamples=100", "--unit", "both"
    )
    against = compare["paired_bootstrap"]["question"]["a"]
    assert [part for part, result in against.items() if "p_holm" in result] == ["overall"]
    values = documents.market_forecasts(forecasts, methods=["a"])
    returns = documents.returns_document(events, values)
    assert plain(returns) == run_json("returns", *words, "--method", "a")
    rows = documents.position_rows(events, values, rules=documents.BettingRules(levels=(0.0,)))
    assert len(rows) == 20 and all(len(row) == len(documents.POSITION_COLUMNS) for row in rows)
    assert sum(row[8] for row in rows) == pytest.approx(returns["methods"]["a"]["total_payoff"]["0"])


def test_a_calibration_and_what_it_does_are_what_the_command_line_prints(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    words = ("--events", files[0], "--forecasts", files[1], "--method", "a")
    events = read_events(files[0])
    forecasts = read_forecasts(files[1], events)
    model, report = documents.calibration_document(events, forecasts, "a", factors=["source"], minimum=4)
    saved = tmp_path / "model.json"
    assert plain(report) == run_json(
        "calibrate", "fit", *words, "--set", "by=source", "--set", "minimum=4", "-o", saved
    )
    applied = documents.calibrated_document(model, events, forecasts, methods=["a"])
    assert plain(applied) == run_json("calibrate", "apply", saved, *words)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda e, f: documents.score_document(e, f, Recipe(), methods=["x"]), "has no method 'x'"),
        (lambda e, f: documents.score_document(e, f, Recipe(), subsets=2), "needs a file of trials"),
        (lambda e, f: documents.compare_document(e, f, Recipe(), "m"), "nothing to compare"),
        (
            lambda e, f: documents.compare_document(e, f, Recipe(), "0.5", unit="day"),
            "question, event or both",
        ),
        (lambda e, f: documents.returns_document(e, {}), "no event of question_type market"),
        (lambda e, f: documents.calibration_document(e, f, "m"), "too few to use"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_line(call: Any, line: str) -> None:
    events = Events.of([1, 0])
    forecasts = Forecasts.of(events, {"m": {"forecast": [0.5, 0.2]}}, keyed_by="variant")
    with pytest.raises(UsageError, match=line):
        call(events, forecasts)
