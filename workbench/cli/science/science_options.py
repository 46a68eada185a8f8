"""What the science commands share: options, lists of words and numbers, files read and written whole."""

import csv
import gzip
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import echo, emit_json, say, unlisted
from workbench.cli.table import show_table
from workbench.environment import home_from
from workbench.errors import UsageError
from workbench.output_files import write_output
from workbench.questions.sets.exams import Exam, find_exam
from workbench.science.tables import Events, Forecasts, read_events, read_forecasts
from workbench.spreadsheet import guard_formula
from workbench.terminal import printable


def write_whole(path: Path, text: str) -> None:
    """Write text by an atomic rename, gzipped when the name ends in ``.gz``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", "x")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    data = text.encode()
    if path.suffix == ".gz":
        # Without the time of writing equal results are equal bytes.
        data = gzip.compress(data, mtime=0)
    try:
        path.parent.stat()  # a folder that is missing is a mistyped path: it is not made
        write_output(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV with a header, no text a formula; lines end in a plain newline on every platform."""
    lines = []
    for row in (header, *rows):
        text = io.StringIO()
        # \r\n, because the writer quotes only the line ends that it writes itself, and a lone \r would end a row
        guarded = [guard_formula(value) if isinstance(value, str) else value for value in row]
        csv.writer(text, lineterminator="\r\n").writerow(guarded)
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def print_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV on stdout: as they are for another program, harmless for a terminal."""
    text = csv_text(header, rows)
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV, gzipped when the name ends in ``.gz``; the file appears whole or not at all."""
    write_whole(path, csv_text(header, rows))


EventsFile = Annotated[Path, typer.Option("--events", help="Events: CSV (gzip too) or parquet.")]
ForecastsFile = Annotated[Path, typer.Option("--forecasts", help="Forecasts: CSV (gzip too) or parquet.")]
QuantilesFile = Annotated[
    Path,
    typer.Option(
        "--quantiles", help="Forecasts of numbers: method, event_id, share, value; CSV (gzip too) or parquet."
    ),
]
Methods = Annotated[str, typer.Option("--method", help="Methods, by comma; all when not given.")]
Variant = Annotated[str, unlisted("--variant", help="Which published forecast of a file that has several.")]
Pool = Annotated[str, unlisted("--pool", help="How trials are pooled.")]
AsJson = Annotated[bool, unlisted("--json", help="Print one JSON document.")]
Seed = Annotated[int, unlisted("--seed", help="Seed of the resampling.")]
Resamples = Annotated[
    int,
    unlisted("--resamples", min=0, help="Resamples behind each 95 % interval; 0 for none."),
]
ExamName = Annotated[
    str | None,
    unlisted("--exam", help="Only the events of this exam (`exam build` makes one)."),
]


def listed(text: str) -> list[str]:
    """Words separated by commas, in order, without repetition.

    Examples
    --------
    >>> listed("a, b,a")
    ['a', 'b']
    """
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def numbers(text: str, *, option: str) -> list[float]:
    """Numbers separated by commas.

    Examples
    --------
    >>> numbers("0,0.25", option="--risk-aversion")
    [0.0, 0.25]
    """
    try:
        values = [float(word) for word in listed(text)]
    except ValueError as error:
        raise UsageError(f"{option} wants numbers separated by commas, not {text!r}") from error
    if not values:
        raise UsageError(f"{option} wants at least one number")
    return values


def parsed_day(text: str, *, option: str) -> date:
    """A day, as YYYY-MM-DD.

    Examples
    --------
    >>> parsed_day("2018-12-31", option="--on")
    datetime.date(2018, 12, 31)
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} wants a day such as 2018-12-31, not {text!r:.40}") from None


def with_interval(value: float | None, interval: Sequence[float] | None) -> str | float | None:
    """A number of a table with its interval, in one word so that a pipe can cut the table up.

    Examples
    --------
    >>> with_interval(0.25, [0.2, 0.3]), with_interval(0.25, None), with_interval(81.234, [79.5, 83.1])
    ('0.250[0.200,0.300]', 0.25, '81.2[79.5,83.1]')
    """
    if value is None or interval is None:
        return value
    digits = 1 if abs(value) >= 10 else 3
    return f"{value:.{digits}f}[{interval[0]:.{digits}f},{interval[1]:.{digits}f}]"


def print_consistency(document: Mapping[str, Any]) -> None:
    """Print how far each method's forecasts hang together, where outcomes exclude or imply each other; nothing elsewhere."""
    rows = [
        (name, entry["consistency"]) for name, entry in document["methods"].items() if "consistency" in entry
    ]
    if not rows:
        return
    names = ("exclusive", "exclusive_sets", "gap", "chain", "chains")
    echo("")
    show_table(
        ["consistency", *(name.replace("_", " ") for name in names)],
        [[label, *(entry[name] for name in names)] for label, entry in rows],
    )


def print_quantile_scores(document: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the document of `quantile_document`: a row per method, CRPS (lower is better) apart from every Brier score."""
    if as_json:
        emit_json(dict(document))
        return
    units, levels = document["units"], len(document["shares"])
    # Of few levels it is some way off the CRPS of the whole distribution, and comparable within one table only.
    score = f"CRPS by {levels} level{'s' * (levels != 1)}"
    bands = ("0.5", "0.8", "0.9")
    show_table(
        [
            "method",
            "n",
            *(f"{score}, {unit}" if unit else score for unit in units),
            "% of range",
            *(f"in {float(band):.0%} band" for band in bands),
            "PIT, 10 bins",
        ],
        [
            [name, 0, *[None] * (len(units) + 5)]
            if not entry["n"]
            else [
                name,
                entry["n"],
                *(
                    None if mean is None else with_interval(mean["mean"], mean["interval"])
                    for mean in (*map(entry["crps"].get, units), entry["crps_percent"])
                ),
                *(
                    None if (share := entry["coverage"].get(band)) is None else f"{share:.0%}"
                    for band in bands
                ),
                " ".join(map(str, entry["pit"])),
            ]
            for name, entry in document["methods"].items()
        ],
    )
    for name, entry in document["methods"].items():
        if entry["missing"]:
            say(f"{name} has no forecast of {entry['missing']} of {document['numbers']} numbers")


def exams_folder() -> Path:
    """Where `exam build` puts its files and ``--exam`` looks for them."""
    return home_from(os.environ) / "exams"


def load(events: Path, forecasts: Path, *, exam: str | None = None) -> tuple[Events, Forecasts, Exam | None]:
    """Both files, checked against each other and cut down to the events of an exam if one is named.

    Forecasts are checked against the whole file of events first: an exam chooses among good rows, it does not hide bad
    ones. Only the events that are scored need an outcome.
    """
    if exam is None:
        table = read_events(events)
        return table, read_forecasts(forecasts, table), None

    chosen = find_exam(exams_folder(), exam)
    # With an exam only the chosen events are scored, so the others may still be unresolved.
    table = read_events(events, unresolved=True)
    rows = chosen.rows(table)
    return table.take(rows), read_forecasts(forecasts, table).take(rows), chosen


def with_exam(document: dict[str, object], exam: Exam | None) -> dict[str, object]:
    """The document, and which exam its numbers are of."""
    return document if exam is None else {**document, "exam": exam.summary()}
