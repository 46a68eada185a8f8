"""Documents made in Python are the ones the command line prints, and plain JSON."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli_science.runner import refused, run, run_json, write
from workbench.errors import UsageError
from workbench.forecasts.series.exceedance import exceed_document
from workbench.forecasts.series.series_history import History
from workbench.science import documents
from workbench.science.recipe import Recipe
from workbench.science.tables import Events, Forecasts, read_answers, read_events, read_forecasts, read_series


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(8)
    events = ["event_id,question_key,source,question_type,outcome,crowd\n"]
    forecasts = ["method,event_id,trial,p\n"]
    for i in range(40):
        kind = "market" if i % 2 else "dataset"
        events.append(f"e{i},q{i // 2},{'fred' if i % 4 else 'acled'},{kind},{i % 3 % 2},0.{i % 8 + 1}\n")
        forecasts += [f"{m},e{i},{k},{rng.uniform(0.05, 0.95):.4f}\n" for m in "ab" for k in (1, 2, 3)]
    return write(tmp_path / "e.csv", "".join(events)), write(tmp_path / "f.csv", "".join(forecasts))


def plain(document: Any) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


def test_scores_comparisons_and_returns_are_what_the_command_line_prints(files: tuple[Path, Path]) -> None:
    words = ("--events", files[0], "--forecasts", files[1])
    events = read_events(files[0])
    forecasts = read_forecasts(files[1], events)
    score = documents.score_document(events, forecasts, Recipe(pool="mean"), by="source", baselines=["0.5"])
    assert plain(score) == run_json("score", *words, "--pool", "mean", "--by", "source", "--baseline", "0.5")
    compare = documents.compare_document(events, forecasts, Recipe(), "b", resamples=100, unit="both")
    assert plain(compare) == run_json(
        "compare", *words, "--reference", "b", "--resamples", 100, "--unit", "both"
    )
    against = compare["paired_bootstrap"]["question"]["a"]
    assert [part for part, result in against.items() if "p_holm" in result] == ["overall"]
    values = documents.market_forecasts(forecasts, methods=["a"])
    returns = documents.returns_document(events, values)
    assert plain(returns) == run_json("returns", *words, "--method", "a")
    rows = documents.position_rows(events, values, rules=documents.BettingRules(levels=(0.0,)))
    assert len(rows) == 20 and all(len(row) == len(documents.POSITION_COLUMNS) for row in rows)
    assert sum(row[8] for row in rows) == pytest.approx(returns["methods"]["a"]["total_payoff"]["0"])


def test_a_greedy_ensemble_is_compared_like_a_method(files: tuple[Path, Path]) -> None:
    words = ("compare", "--events", files[0], "--forecasts", files[1], "--resamples", 20)
    document = run_json(*words, "--reference", "a", "--ensemble", "greedy")
    found = document["ensemble"]
    assert set(document["paired_bootstrap"]["question"]) == {"b", found["name"]}
    assert found["in_sample_brier"] <= found["brier"]
    assert sum(each["questions"] for each in found["chosen"]) == found["questions"] == 20
    assert "which flatters" in run(*words, "--reference", "a", "--ensemble", "greedy").stdout
    assert "have seen it" in refused(
        *words, "--reference", "a", "--ensemble", "greedy", "--pool", "shrink-std"
    )
    assert "two methods" in refused(*words, "--reference", "0.5", "--ensemble", "greedy", "--method", "a")
    assert "none, greedy" in refused(*words, "--reference", "a", "--ensemble", "all")


def test_a_calibration_and_what_it_does_are_what_the_command_line_prints(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    words = ("--events", files[0], "--forecasts", files[1], "--method", "a")
    events = read_events(files[0])
    forecasts = read_forecasts(files[1], events)
    model, report = documents.calibration_document(events, forecasts, "a", factors=["source"], minimum=4)
    saved = tmp_path / "model.json"
    assert plain(report) == run_json(
        "calibrate", "fit", *words, "--by", "source", "--minimum", 4, "-o", saved
    )
    applied = documents.calibrated_document(model, events, forecasts, methods=["a"])
    assert plain(applied) == run_json("calibrate", "apply", saved, *words)


def test_series_and_answers_are_what_the_command_line_prints(tmp_path: Path) -> None:
    days = np.arange("2020-01-01", "2020-06-01", dtype="datetime64[D]")
    lines = "".join(f"{day},{i % 7}\n" for i, day in enumerate(days))
    series = write(tmp_path / "s.csv", "date,value\n" + lines)
    exceed = exceed_document(
        History.of(*read_series(series)), cutoff="2020-05-01", targets=["2020-05-09"], levels=[2.0, 5.0]
    )
    words = ("--cutoff", "2020-05-01", "--on", "2020-05-09", "--above", "2,5")
    assert plain(exceed) == run_json("exceed", "--series", series, *words)
    answers = write(tmp_path / "a.csv", "event_id,kind,value,confidence\ne,vote,1,0\ne,yes,0.7,\ne,no,0.5,\n")
    elicit = documents.elicit_document(read_answers(answers))
    assert plain(elicit) == run_json("elicit", "--answers", answers)
    assert elicit["events"]["e"]["weighted_votes"] is None  # a vote without any confidence weighs nothing


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
