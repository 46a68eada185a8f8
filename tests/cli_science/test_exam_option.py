"""`score`, `compare` and `returns` on the events of an exam: the same as on files cut by hand."""

from pathlib import Path

import numpy as np
import pytest

from tests.cli_science.runner import refused, run_json, write


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))


HEADER = "event_id,question_key,source,question_type,outcome,crowd\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(3)
    events, forecasts = [HEADER], ["method,event_id,variant,p\n"]
    for i in range(60):
        kind = "market" if i % 3 == 0 else "dataset"
        truth = rng.uniform(0.05, 0.95)
        outcome = int(rng.random() < truth)
        source = "fred" if i % 4 < 2 else "acled"
        events.append(f"e{i:02d},q{i // 2:02d},{source},{kind},{outcome},0.{i % 8 + 1}\n")
        forecasts.append(f"m,e{i:02d},forecast,{truth:.6f}\n")
        if source == "acled":
            forecasts.append(f"only-acled,e{i:02d},forecast,0.4\n")
    return write(tmp_path / "events.csv", "".join(events)), write(
        tmp_path / "forecasts.csv", "".join(forecasts)
    )


@pytest.fixture
def exam(files: tuple[Path, Path], tmp_path: Path) -> dict[str, object]:
    built: dict[str, object] = run_json(
        "exam", "build", "small", "--events", files[0], "--set", "source=fred", "--size", 10
    )
    return built


def cut(path: Path, to: Path, events: list[str]) -> Path:
    """The header of a file and the rows of these events."""
    header, *rows = path.read_text().splitlines()
    column = header.split(",").index("event_id")
    return write(to, "\n".join([header, *[row for row in rows if row.split(",")[column] in events]]) + "\n")


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
    others = write(
        tmp_path / "others.csv",
        "".join(
            line for line in files[0].read_text().splitlines(keepends=True) if not line.startswith(first)
        ),
    )
    forecasts = cut(files[1], tmp_path / "other_forecasts.csv", [f"e{i:02d}" for i in range(1, 60)])
    assert f"lacks 1 of the {len(exam['event_ids'])} events" in refused(
        "score", "--events", others, *words, forecasts
    )
    unresolved = []
    for line in files[0].read_text().splitlines():
        cells = line.split(",")
        unresolved.append(",".join([*cells[:4], "", *cells[5:]]) if cells[0] == first else line)
    still_open = write(tmp_path / "open.csv", "\n".join(unresolved) + "\n")
    assert f"have no outcome in {still_open}, the first is '{first}'" in refused(
        "score", "--events", still_open, *words, files[1]
    )
    # an open event that the exam does not hold stops nobody
    outside = next(f"e{i:02d}" for i in range(60) if f"e{i:02d}" not in exam["event_ids"])
    text = files[0].read_text().splitlines()
    opened = [
        ",".join([*line.split(",")[:4], "", *line.split(",")[5:]]) if line.startswith(outside) else line
        for line in text
    ]
    run_json("score", "--events", write(tmp_path / "o.csv", "\n".join(opened) + "\n"), *words, files[1])


def test_a_bad_cell_is_named_by_its_row_in_the_whole_file(
    files: tuple[Path, Path], exam: dict[str, list[str]], tmp_path: Path
) -> None:
    last = exam["event_ids"][-1]
    lines = files[0].read_text().splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith(last))
    lines[row] = lines[row].rsplit(",", 1)[0] + ",often"
    events = write(tmp_path / "bad.csv", "\n".join(lines) + "\n")
    line = refused(
        *("score", "--set", "baseline=crowd", "--events", events, "--forecasts", files[1], "--exam", "small")
    )
    assert f"row {row}, column 'crowd'" in line
