"""calibrate, exam, exceed, elicit, and what score and returns print for people."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli_science.runner import files as write_files
from tests.cli_science.runner import refused, run, run_json, write


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(5)
    i = np.arange(120)
    truth = rng.uniform(0.05, 0.95, 120)
    events = {
        "event_id": [f"e{k:03d}" for k in i],
        "question_key": [f"q{k // 2:02d}" for k in i],
        "source": np.where(i % 4 < 2, "fred", "acled"),
        "question_type": np.where(i % 3, "dataset", "market"),
        "outcome": (rng.random(120) < truth).astype(int),
        "crowd": (i % 8 + 1) / 10,
        "subtype": np.where(i % 2, "a", "b"),
        "horizon_days": np.array([7, 30, 90])[i % 3],
        "forecast_due_date": [f"2025-{1 + k % 12:02d}-15" for k in i],
        "resolution_date": [f"2026-01-{1 + k % 28:02d}" for k in i],
    }
    overconfident = 1 / (1 + ((1 - truth) / truth) ** 4)
    forecasts = {"method": "m", "event_id": events["event_id"], "variant": "forecast", "p": overconfident}
    written = write_files(tmp_path, events, forecasts)
    return written[1], written[3]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    return tmp_path


def words(files: tuple[Path, Path]) -> tuple[object, ...]:
    return ("--events", files[0], "--forecasts", files[1])


def test_a_calibration_is_learned_kept_and_applied(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, output = tmp_path / "model.json", tmp_path / "calibrated.csv.gz"
    report = run_json(
        "calibrate",
        "fit",
        *words(files),
        "--set",
        "by=source,topic,horizon",
        "--set",
        "threshold=true",
        "-o",
        model,
    )
    assert 0.15 < report["slope"] < 0.6  # the forecasts are four times too sure
    assert (
        report["left_out"]["brier_after"] < report["left_out"]["brier_before"] and report["questions"] == 60
    )
    assert set(report["deltas"]) == {"source", "topic", "horizon"}
    assert set(report["deltas"]["horizon"]) == {"<=7", "<=30", "<=90"}
    assert report["in_sample"]["log_loss_after"] < report["in_sample"]["log_loss_before"]
    assert report["threshold_fit"]["accuracy"] >= report["threshold_fit"]["accuracy_at_half"]
    applied = run_json("calibrate", "apply", model, *words(files), "-o", output)["forecasts"]
    from workbench.science.calibrating.calibration import load_calibration
    from workbench.science.tables import read_events, read_forecasts

    events = read_events(files[0])
    again = load_calibration(model)
    raw = read_forecasts(files[1], events).variant("m", "forecast")
    wanted = again.apply(raw, {name: events.factor(name) for name in again.deltas})
    written = read_forecasts(output, events).variant("m", "calibrated")
    assert np.abs(written - wanted).max() < 1e-12
    assert np.abs(np.array([row["p"] for row in applied]) - wanted).max() < 1e-12
    assert {row["yes"] for row in applied} == {0, 1}
    assert all(row["yes"] == (row["p"] > report["threshold_fit"]["threshold"]) for row in applied)
    scored = run_json("score", "--events", files[0], "--forecasts", output, "--variant", "calibrated")
    assert scored["methods"]["m"]["brier"]["overall"] > 0


def test_a_calibration_meets_new_events(files: tuple[Path, Path], tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    run_json("calibrate", "fit", *words(files), "--set", "by=source", "-o", model)
    events = write(tmp_path / "new.csv", "event_id,question_key,source,question_type\nn1,n1,kalshi,market\n")
    forecasts = write(tmp_path / "new_f.csv", "method,event_id,p\nm,n1,0.9\n")
    result = run("calibrate", "apply", model, "--events", events, "--forecasts", forecasts)
    assert result.exit_code == 0 and "not seen" in result.stderr and "kalshi" in result.stderr
    (row,) = list(csv.DictReader(result.stdout.splitlines()))
    saved = json.loads(model.read_text())
    wanted = 1 / (1 + np.exp(-(saved["slope"] * np.log(9) + saved["offset"])))
    assert abs(float(row["p"]) - wanted) < 1e-12


def test_calibration_refusals(files: tuple[Path, Path], tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    assert "too few to use" in refused("calibrate", "fit", *words(files), "--set", "minimum=500", "-o", model)
    run_json("calibrate", "fit", *words(files), "--set", "by=source", "-o", model)
    saved = json.loads(model.read_text())
    for text, says in (
        ("not json", "is no JSON"),
        (json.dumps(saved | {"slope": None}), "broken field"),
        (json.dumps(saved | {"extra": 1}), "unknown field 'extra'"),
    ):
        write(model, text)
        assert says in refused("calibrate", "apply", model, *words(files))
    pd.read_csv(files[0]).assign(outcome="").to_csv(files[0], index=False)
    assert "nothing can be fitted" in refused("calibrate", "fit", *words(files), "-o", model)


def test_an_exam_is_built_listed_and_rebuilt(files: tuple[Path, Path], home: Path) -> None:
    build = (
        "exam",
        "build",
        "first",
        "--events",
        files[0],
        "--set",
        "stratify=source",
        "--set",
        "per_stratum=7",
        "--set",
        "seed=3",
    )
    first = run_json(*build)
    assert first["strata"] == {"acled": 7, "fred": 7} and first["questions"] == 14
    assert run_json(*build) == first
    second = run_json(*build[:2], "second", *build[3:], "--set", "offset=7")
    assert not set(first["event_ids"]) & set(second["event_ids"])
    shown = run_json("exam", "list")
    assert [exam["name"] for exam in shown["exams"]] == ["first", "second"]
    assert run("exam", "list").stdout.count("sha256:") == 2
    path = home / "exams" / "first.json"
    path.write_text(path.read_text().replace(first["event_ids"][0], "e999"))
    assert "does not fit its digest" in run_json("exam", "list")["broken"][0]["problem"]


def test_exam_refusals(files: tuple[Path, Path], tmp_path: Path) -> None:
    build = ("exam", "build", "x", "--events", files[0])
    assert "cannot name" in refused("exam", "build", "../x", "--events", files[0])
    assert "no training cutoff is known" in refused(*build, "--model", "mystery-9")
    assert "would be empty" in refused(*build, "--due-from", "2030-01")
    assert "were asked for" in refused(*build, "--size", 1000)
    assert "not both" in refused(*build, "--size", 1, "--set", "per_stratum=1")
    assert "neither a date" in refused(*build, "--due-from", "soon")
    assert "has no source 'x'" in refused(*build, "--set", "source=x")
    assert list(tmp_path.glob("exams/*")) == []


def test_the_safety_filter(files: tuple[Path, Path], tmp_path: Path) -> None:
    build = ("exam", "build", "x", "--events", files[0])
    everything = run_json(*build)
    safe = run_json(*build, "--model", "anthropic/claude-sonnet-4-6")
    assert safe["questions"] + safe["unsafe"] == everything["questions"]
    due = dict(line.split(",")[::8][:2] for line in files[0].read_text().splitlines()[1:])
    assert min(due[event] for event in safe["event_ids"]) > "2025-04-30"
    later = run_json(*build, "--model", "anthropic/claude-sonnet-4-6", "--set", "margin_days=40")
    assert len(later["event_ids"]) < len(safe["event_ids"])
    assert run_json(*build, "--model", "offline/analyst")["event_ids"] == everything["event_ids"]


def test_exceedance_of_a_series(tmp_path: Path) -> None:
    days = np.arange("2020-01-01", "2021-01-01", dtype="datetime64[D]")
    walk = 100 + np.cumsum(np.random.default_rng(1).normal(size=len(days)))
    rows = "".join(f"{day},{value:.6f}\n" for day, value in zip(days, walk, strict=True))
    series = write(tmp_path / "series.csv", "date,value\n" + rows)
    last = walk[days == np.datetime64("2020-11-30")][0]
    ask = ("exceed", "--series", series, "--cutoff", "2020-12-01", "--on", "2020-12-05,2020-12-20")
    result = run_json(*ask, "--above", f"{last:.6f},{last + 3:.6f}", "--model", "walk,linear,hybrid,knn")
    assert result["last"] == {
        "day": "2020-11-30",
        "value": pytest.approx(last, abs=1e-6),
        "observations": 335,
    }
    chance = {(r["model"], r["day"], r["above"]): r["p"] for r in result["chances"]}
    assert len(chance) == 16
    walks = [p for (model, _, above), p in chance.items() if model == "walk" and abs(above - last) < 1]
    assert all(abs(p - 0.5) < 1e-6 for p in walks)
    (unnamed,) = run_json(*ask[:5], "--on", "2020-12-05", "--above", f"{last:.6f}")["chances"]
    assert unnamed["model"] == "ensemble", (
        "the forecaster of quantity and the key-free tree, where none is named"
    )
    assert "336" not in run(*ask, "--above", "100").stdout.splitlines()[0]
    assert "hybrid" in run(*ask, "--above", "1", "--model", "list").stdout
    assert "lies before the cutoff" in refused(*ask[:5], "--on", "2020-11-01", "--above", 1)
    assert "unknown time-series model" in refused(*ask, "--above", 1, "--model", "oracle")
    assert "row 2, column 'date'" in refused(
        "exceed",
        "--series",
        write(tmp_path / "bad.csv", "date,value\n2020-01-01,1\nx,2\n"),
        *ask[3:],
        "--above",
        1,
    )


def test_elicitation_by_hand(tmp_path: Path) -> None:
    answers = write(
        tmp_path / "answers.csv",
        "event_id,kind,value,confidence\n"
        "a,variant,0.6,\na,variant,0.7,\na,variant,0.5,\na,variant,0.8,\n"
        "a,yes,0.7,\na,no,0.5,\n"
        "a,vote,1,0.9\na,vote,1,0.8\na,vote,0,0.5\na,vote,1,0.3\n"
        "b,vote,1,\nb,vote,0,\n",
    )
    result = run_json("elicit", "--answers", answers)["events"]
    assert result["a"]["ensemble"] == pytest.approx(0.65, abs=1e-12)  # (0.6 + 0.7 + 0.5 + 0.8) / 4
    assert result["a"]["both_directions"] == pytest.approx(0.6, abs=1e-12)  # (0.7 + 1 - 0.5) / 2
    assert result["a"]["votes"] == pytest.approx(0.75, abs=1e-12)  # 3 of 4
    assert result["a"]["weighted_votes"] == pytest.approx(0.8, abs=1e-12)  # 2.0 of 2.5
    assert result["b"] == {"votes": 0.5}
    for rows, says in (
        ("a,vote,0.5\n", "row 1, column 'value'"),
        ("a,guess,0.5\n", "none of variant"),
        ("a,yes,0.5\na,yes,0.5\n", "two answers"),
    ):
        bad = write(tmp_path / "bad.csv", f"event_id,kind,value\n{rows}")
        assert says in refused("elicit", "--answers", bad)
