"""A file that cannot be used ends in one line with file, row and column, exit 2, and nothing half-written."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from tests.cli_science.runner import refused, run_json, write

HEADER = "event_id,question_key,source,question_type,outcome,crowd,prior_temporal\n"
EVENTS = HEADER + "".join(
    f"{i:03d},q{i // 2},{'fred' if i % 2 else 'acled'},{'market' if i < 10 else 'dataset'},{i % 2},0.{i % 9 + 1},0.4\n"
    for i in range(20)
)
FORECASTS = "method,event_id,trial,p\n" + "".join(
    f"m,{i:03d},{trial},0.{(i * trial) % 9 + 1}\n" for i in range(20) for trial in (1, 2)
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path / "events.csv", EVENTS), write(tmp_path / "forecasts.csv", FORECASTS)


def score(files: tuple[Path, Path], *words: object) -> tuple[object, ...]:
    return ("score", "--events", files[0], "--forecasts", files[1], *words)


def spoil(file: Path, column: str, row: int, value: str) -> None:
    """Put another text into one cell; the header is row 0."""
    lines = [line.split(",") for line in file.read_text(encoding="utf-8").splitlines()]
    lines[row][lines[0].index(column)] = value
    write(file, "\n".join(",".join(line) for line in lines) + "\n")


def leave_out(file: Path, column: str) -> None:
    pd.read_csv(file, dtype=str).drop(columns=column).to_csv(file, index=False)


@pytest.mark.parametrize(
    ("file", "column", "row", "value", "says"),
    [
        (1, "p", 3, "1.2", "1.2 is not a probability between 0 and 1"),
        (1, "p", 3, "-0.1", "-0.1 is not a probability"),
        (1, "p", 4, "nan", "is 'nan'; a number is needed"),
        (1, "p", 4, "", "is empty; a number is needed"),
        (1, "p", 1, "inf", "'inf' is not a number"),
        (1, "event_id", 2, "1", "event '1' is not in"),
        (1, "event_id", 2, " ", "is empty"),
        (1, "method", 5, "", "is empty"),
        (1, "trial", 2, "0", "0 is not a trial number"),
        (1, "trial", 2, "1.5", "1.5 is not a trial number"),
        (0, "outcome", 7, "0.5", "0.5 is neither 0 nor 1"),
        (0, "outcome", 7, "yes", "'yes' is not a number"),
        (0, "source", 7, "", "is empty"),
    ],
)
def test_a_bad_cell_is_named(
    files: tuple[Path, Path], file: int, column: str, row: int, value: str, says: str
) -> None:
    spoil(files[file], column, row, value)
    line = refused(*score(files))
    assert says in line and f"row {row}," in line and repr(column) in line and files[file].name in line


@pytest.mark.parametrize(
    ("file", "column"),
    [*((0, name) for name in HEADER.split(",")[:5]), *((1, name) for name in ("method", "event_id", "p"))],
)
def test_a_missing_column_is_named(files: tuple[Path, Path], file: int, column: str) -> None:
    leave_out(files[file], column)
    assert f"column {column!r}: the column is missing" in refused(*score(files))


def test_a_duplicate_key_names_both_rows(files: tuple[Path, Path]) -> None:
    write(files[1], FORECASTS + "m,003,2,0.4\n")
    line = refused(*score(files))
    assert "row 41" in line and "appears twice, first in row 8" in line
    write(files[0], EVENTS + "004,q2,acled,market,0,0.5,0.4\n")
    line = refused(*score(files))
    assert "event 004 appears twice, first in row 5" in line and "row 21" in line


@pytest.mark.parametrize(
    ("text", "says"), [("", "is empty"), ("method,event_id,trial,p\n", "has a header but no row")]
)
def test_a_file_without_a_row(files: tuple[Path, Path], text: str, says: str) -> None:
    write(files[1], text)
    assert says in refused(*score(files))


def test_a_file_that_is_not_there_or_not_a_table(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert "cannot be read" in refused("score", "--events", tmp_path / "none.csv", "--forecasts", files[1])
    assert "is not a regular file" in refused("score", "--events", tmp_path, "--forecasts", files[1])
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(gzip.compress(FORECASTS.encode())[:-40])
    assert "cannot be read" in refused("score", "--events", files[0], "--forecasts", broken)
    broken.write_bytes(b"PAR1 not parquet at all")
    assert "is no parquet that can be read" in refused("score", "--events", files[0], "--forecasts", broken)
    broken.write_bytes(b"\xff\xfa\x00\x01method")
    assert "is no CSV that can be read" in refused("score", "--events", files[0], "--forecasts", broken)


def test_rows_of_uneven_length(files: tuple[Path, Path]) -> None:
    write(files[1], FORECASTS.replace("m,002,1,", "m,002,1,0.5,"))
    assert "row 5 of the file has 5 cells, the header 4" in refused(*score(files))
    write(files[1], FORECASTS.replace("m,002,1,0.3", "m,002,1"))
    assert "row 5, column 'p'" in refused(*score(files))


def test_trials_and_variants_do_not_mix(files: tuple[Path, Path]) -> None:
    write(files[1], "method,event_id,trial,variant,p\nm,001,1,forecast,0.2\n")
    assert "both 'trial' and 'variant'" in refused(*score(files))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--method x", "has no method 'x'; it has: m"),
        ("--metrics luck", "unknown metric 'luck'"),
        ("--pool vote", "unknown pooling 'vote'"),
        ("--tune x", "unknown tuning 'x'"),
        ("--pool shrink-std --ddof 2", "ddof must be 0 or 1"),
        ("--pool shrink-prior --prior nothing", "the column is missing"),
        ("--by nothing", "the column is missing"),
        ("--subsets 3", "3 trials were asked for"),
    ],
)
def test_options_that_do_not_fit(files: tuple[Path, Path], words: str, says: str) -> None:
    assert says in refused(*score(files, *words.split()))


def test_options_of_the_other_kind_of_file(files: tuple[Path, Path]) -> None:
    published = files[1].with_name("published.csv")
    write(
        published,
        FORECASTS.replace("trial", "variant").replace(",1,0", ",forecast,0").replace(",2,0", ",other,0"),
    )
    assert "no variant 'x'; the file has: forecast, other" in refused(
        "score", "--events", files[0], "--forecasts", published, "--variant", "x"
    )
    assert "--subsets needs a file of trials" in refused(
        "score", "--events", files[0], "--forecasts", published, "--subsets", 1
    )


def test_few_events_are_not_calibrated(files: tuple[Path, Path]) -> None:
    write(files[1], "method,event_id,trial,p\n" + "".join(f"m,{i:03d},1,0.3\n" for i in range(6)))
    assert "m: too few to use: 6 resolved forecasts" in refused(*score(files, "--calibrate", "platt"))
    write(files[1], "method,event_id,trial,p\n" + "".join(f"m,{i:03d},1,0.3\n" for i in range(0, 20)))
    events = EVENTS.splitlines()
    write(
        files[0],
        "\n".join([events[0], *[",".join([*e.split(",")[:4], "0", "0.5", "0.5"]) for e in events[1:]]])
        + "\n",
    )
    assert "0 Yes and 20 No" in refused(*score(files, "--calibrate", "platt"))


def test_prices_that_cannot_be_bet_on(files: tuple[Path, Path]) -> None:
    words = ("returns", "--events", files[0], "--forecasts", files[1])
    write(files[0], EVENTS.replace("001,q0,fred,market,1,0.2", "001,q0,fred,market,1,"))
    assert "event '001' has no price" in refused(*words)
    write(files[0], EVENTS.replace("001,q0,fred,market,1,0.2", "001,q0,fred,market,1,1"))
    assert "strictly between 0 and 1" in refused(*words)
    write(files[0], EVENTS.replace("market", "dataset"))
    assert "no event of question_type market" in refused(*words)
    write(files[0], EVENTS)
    assert "--tie must be one of" in refused(*words, "--tie", "maybe")
    assert "--risk-aversion 'low': write a number" in refused(*words, "--risk-aversion", "low")
    assert "at least 0" in refused(*words, "--risk-aversion", "-1")


def test_gz_csv_and_parquet_read_alike(files: tuple[Path, Path], tmp_path: Path) -> None:
    wanted = run_json(*score(files, "--pool", "mean"))
    packed = [tmp_path / "e.data", tmp_path / "f.csv.gz"]
    for path, target in zip(files, packed, strict=True):
        target.write_bytes(gzip.compress(path.read_bytes()))
    assert run_json(*score((packed[0], packed[1]), "--pool", "mean")) == wanted
    typed = [tmp_path / "e.parquet", tmp_path / "f.parquet"]
    events = pd.read_csv(files[0], dtype={"event_id": str})
    forecasts = pd.read_csv(files[1], dtype={"event_id": str})
    events.to_parquet(typed[0])
    forecasts.to_parquet(typed[1])
    assert run_json(*score((typed[0], typed[1]), "--pool", "mean")) == wanted


def test_a_bad_cell_of_a_parquet_file_is_named_too(files: tuple[Path, Path], tmp_path: Path) -> None:
    frame = pd.read_csv(files[1], dtype={"event_id": str})
    frame.loc[4, "p"] = float("nan")
    frame.to_parquet(tmp_path / "f.parquet")
    assert "row 5, column 'p'" in refused(
        "score", "--events", files[0], "--forecasts", tmp_path / "f.parquet"
    )


def test_ids_that_look_like_numbers_stay_text(files: tuple[Path, Path]) -> None:
    """001 and 1 are two events."""
    write(files[0], EVENTS + "1,q0,fred,market,0,0.5,0.4\n")
    write(files[1], FORECASTS + "m,1,1,0.5\n")
    result = run_json(*score(files))["methods"]["m"]
    assert result["n"]["overall"] == 21 and result["n"]["trials"] == {"1": 1, "2": 20}


def test_events_with_one_and_without_any_trial(files: tuple[Path, Path]) -> None:
    remaining = [line for line in FORECASTS.splitlines() if not line.startswith(("m,000,", "m,001,2"))]
    write(files[1], "\n".join(remaining) + "\n")
    for pool in ("mean", "median", "logit-mean", "first", "shrink-std", "shrink-prior", "shrink-alpha"):
        result = run_json(*score(files, "--pool", pool))["methods"]["m"]
        assert result["n"]["overall"] == 19 and result["n"]["trials"] == {"0": 1, "1": 1, "2": 18}
    imputed = run_json(*score(files, "--pool", "mean", "--set", "dead=impute"))["methods"]["m"]
    plain = run_json(*score(files, "--pool", "mean"))["methods"]["m"]
    assert imputed["n"] == plain["n"] and imputed["brier"] != plain["brier"]
    averaged = run_json(*score(files, "--subsets", 1))["methods"]["m"]
    assert averaged["n"]["overall"] == 18


def test_nothing_half_written(files: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    write(files[1], FORECASTS.replace("m,019,2,0.3", "m,019,2,3"))
    words = ("--events", files[0], "--forecasts", files[1])
    refused("calibrate", "fit", *words, "-o", folder / "model.json")
    refused("returns", *words, "--set", f"log={folder / 'log.csv'}")
    assert list(folder.iterdir()) == []
    write(files[1], FORECASTS)
    assert "cannot write" in refused(
        "calibrate", "fit", *words, "--set", "minimum=4", "-o", tmp_path / "nowhere" / "model.json"
    )
    assert "cannot write" in refused("returns", *words, "--set", f"log={tmp_path / 'nowhere' / 'log.csv'}")


def test_events_without_an_outcome_are_left_out_and_counted(files: tuple[Path, Path]) -> None:
    whole = run_json(*score(files))
    spoil(files[0], "outcome", 1, "")
    spoil(files[0], "outcome", 2, "")
    left = run_json(*score(files))
    assert "without_outcome" not in whole and left["without_outcome"] == 2
    n = [document["methods"]["m"]["n"]["overall"] for document in (whole, left)]
    assert n == [20, 18]
    for row in range(3, 21):
        spoil(files[0], "outcome", row, "")
    assert "row 1, column 'outcome': is empty" in refused(*score(files))
