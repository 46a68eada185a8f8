"""`score`, `compare` and `returns` on the events of an exam: the same as on files cut by hand."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli_science.runner import files as write_files
from tests.cli_science.runner import refused, run_json
from workbench.questions.sets.exams import Exam, ExamError, ExamRules


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(3)
    i, truth = np.arange(60), rng.uniform(0.05, 0.95, 60)
    events = pd.DataFrame({
        "event_id": [f"e{k:02d}" for k in i],
        "question_key": [f"q{k // 2:02d}" for k in i],
        "source": np.where(i % 4 < 2, "fred", "acled"),
        "question_type": np.where(i % 3, "dataset", "market"),
        "outcome": (rng.random(60) < truth).astype(int),
        "crowd": (i % 8 + 1) / 10,
    })  # fmt: skip
    ids = {"m": events["event_id"], "only-acled": events["event_id"][events["source"] == "acled"]}
    forecasts = pd.concat(
        pd.DataFrame({"method": name, "event_id": some, "variant": "forecast", "p": truth[some.index]})
        for name, some in ids.items()
    )
    written = write_files(tmp_path, events, forecasts)
    return written[1], written[3]


@pytest.fixture
def exam(files: tuple[Path, Path], tmp_path: Path) -> dict[str, object]:
    built: dict[str, object] = run_json(
        "exam", "build", "small", "--events", files[0], "--set", "source=fred", "--size", 10
    )
    return built


def changed(path: Path, to: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Path:
    change(pd.read_csv(path, dtype=str)).to_csv(to, index=False)
    return to


def cut(path: Path, to: Path, events: Sequence[str]) -> Path:
    """The rows of a file that are of these events."""
    return changed(path, to, lambda table: table[table["event_id"].isin(events)])


def without_outcome(table: pd.DataFrame, event: str) -> pd.DataFrame:
    return table.assign(outcome=table["outcome"].where(table["event_id"] != event, ""))


@pytest.mark.parametrize(
    "command",
    [
        ("score", "--metrics", "brier,abi,ece,log_loss", "--by", "source", "--set", "baseline=0.5"),
        ("score", "--calibrate", "platt", "--loo", "question"),
        ("compare", "--reference", "crowd", "--set", "resamples=50"),
        ("returns", "--set", "by=source"),
    ],
    ids=["score", "calibrated", "compare", "returns"],
)
def test_an_exam_scores_as_the_files_cut_by_hand(
    files: tuple[Path, Path], exam: dict[str, list[str]], tmp_path: Path, command: tuple[str, ...]
) -> None:
    chosen = exam["event_ids"]
    assert 0 < len(chosen) < 60
    events = cut(files[0], tmp_path / "cut_events.csv", chosen)
    forecasts = cut(files[1], tmp_path / "cut_forecasts.csv", chosen)
    by_hand = run_json(*command, "--events", events, "--forecasts", forecasts)
    document = run_json(*command, "--events", files[0], "--forecasts", files[1], "--exam", "small")
    assert document.pop("exam") == {
        "name": "small",
        "events": len(chosen),
        "questions": 10,
        "digest": exam["digest"],
    }
    assert document == by_hand
    whole = run_json(*command, "--events", files[0], "--forecasts", files[1])
    assert "exam" not in whole and whole != by_hand


def test_a_log_of_an_exam_holds_its_events_only(
    files: tuple[Path, Path], exam: dict[str, list[str]], tmp_path: Path
) -> None:
    log = tmp_path / "log.csv"
    words = ("returns", "--events", files[0], "--forecasts", files[1], "--exam", "small")
    run_json(*words, "--set", f"log={log}")
    logged = {line.split(",")[2] for line in log.read_text().splitlines()[1:]}
    assert logged and logged < set(exam["event_ids"])


@pytest.mark.parametrize("command", [("score",), ("compare", "--reference", "0.5"), ("returns",)])
def test_an_exam_that_is_not_there_or_was_changed_is_refused(
    files: tuple[Path, Path], exam: dict[str, list[str]], tmp_path: Path, command: tuple[str, ...]
) -> None:
    words = (*command, "--events", files[0], "--forecasts", files[1], "--exam")
    assert "there is no exam 'smal'" in (line := refused(*words, "smal")) and "there is: small" in line
    assert "there is no exam '../exams/small'" in refused(*words, "../exams/small")
    path = tmp_path / "exams" / "small.json"
    saved = path.read_text()
    path.write_text(saved.replace(exam["event_ids"][0], "e59"))
    assert "does not fit its digest" in (line := refused(*words, "small")) and str(path) in line
    path.write_bytes(b"\xff")
    assert "is no UTF-8 text" in refused(*words, "small")
    path.write_text(saved)
    run_json(*words, "small")


def test_an_exam_of_other_or_open_events_is_refused(
    files: tuple[Path, Path], exam: dict[str, list[str]], tmp_path: Path
) -> None:
    first = exam["event_ids"][0]
    words = ("--exam", "small", "--forecasts")
    rest = [f"e{i:02d}" for i in range(60) if f"e{i:02d}" != first]
    others = cut(files[0], tmp_path / "others.csv", rest)
    forecasts = cut(files[1], tmp_path / "other_forecasts.csv", rest)
    assert f"lacks 1 of the {len(exam['event_ids'])} events" in refused(
        "score", "--events", others, *words, forecasts
    )
    still_open = changed(files[0], tmp_path / "open.csv", lambda table: without_outcome(table, first))
    assert f"have no outcome in {still_open}, the first is '{first}'" in refused(
        "score", "--events", still_open, *words, files[1]
    )
    # an open event that the exam does not hold stops nobody
    outside = next(event for event in rest if event not in exam["event_ids"])
    opened = changed(files[0], tmp_path / "o.csv", lambda table: without_outcome(table, outside))
    run_json("score", "--events", opened, *words, files[1])


def test_a_bad_cell_is_named_by_its_row_in_the_whole_file(
    files: tuple[Path, Path], exam: dict[str, list[str]], tmp_path: Path
) -> None:
    last = exam["event_ids"][-1]
    row = pd.read_csv(files[0])["event_id"].tolist().index(last) + 1
    events = changed(
        files[0],
        tmp_path / "bad.csv",
        lambda table: table.assign(crowd=table["crowd"].where(table["event_id"] != last, "often")),
    )
    line = refused(
        *("score", "--set", "baseline=crowd", "--events", events, "--forecasts", files[1], "--exam", "small")
    )
    assert f"row {row}, column 'crowd'" in line


@pytest.mark.parametrize("name", ["questions", "unsafe", "strata"])
@pytest.mark.parametrize("count", ["Infinity", "-Infinity", "NaN", "1e400"])
def test_an_exam_with_a_count_that_is_none_has_a_broken_field(name: str, count: str) -> None:
    exam = Exam(rules=ExamRules(name="x"), event_ids=("a", "b"), questions=2, unsafe=0, strata={"s": 2})
    document = exam.to_json()
    assert Exam.from_json(json.loads(json.dumps(document))) == exam
    document[name] = {"s": json.loads(count)} if name == "strata" else json.loads(count)
    with pytest.raises(ExamError, match=f"^{name}.* of an exam must be a finite number"):
        Exam.from_json(document)
