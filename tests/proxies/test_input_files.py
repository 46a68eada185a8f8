"""Files that somebody wrote are read within bounds: each way to stop a reader is refused in one line, its neighbour is read."""

import gzip
import io
import os
import socket
from pathlib import Path

import pytest
import yaml

from proxies.input_files import (
    MOST_COLUMNS,
    MOST_DIGITS,
    MOST_LEVELS,
    CsvForm,
    InputRefused,
    csv_columns,
    csv_form,
    csv_rows,
    parse_csv,
    parse_csv_rows,
    parse_json,
    parse_toml,
    read_bytes,
    read_text,
)
from proxies.yaml_text import parse_yaml
from tests.fakes.processor_time import processor_seconds

NINES = "9" * (MOST_DIGITS + 1)
ALIASES = "a0: &a0 [x, x]\n" + "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))
DEEP = MOST_LEVELS + 1


@pytest.mark.parametrize(
    "text",
    [
        "a: *x", "a: !!set {}", "a: 1\na: 2", "1: a\n'1': b", "--- 1\n--- 2", "{", "a: !x 1", "!x [1]", "a: !!binary YQ==",
        "a: !!int x", "a: &b {c: 1}\nd: *b", "&a [*a]", ALIASES, "<<: *x", "a: 2026-02-31", "? [a]\n: 1", "a: =",
        "[" * DEEP + "]" * DEEP, "- " * 20_000, "[" * 500_000, "a: {" * 20_000, "- x\n" * 60_000, "a: .inf", "a: .nan",
        f"a: {NINES}", f"a: 0x{'f' * 6000}", "a: " + ":".join(["59"] * 50_000), "a: " + ":".join(["59"] * 5000) + ".5",
        "a: '\ud800'", "a: \x00", "x" * 2_000_000,
    ],
)  # fmt: skip
def test_yaml_that_is_not_plain_data_is_refused(text: str) -> None:
    def refused() -> None:
        with pytest.raises(InputRefused) as caught:
            parse_yaml(text, "study.yaml")
        assert str(caught.value).startswith("study.yaml ") and "\n" not in str(caught.value)

    assert processor_seconds(refused, below=5) < 5


@pytest.mark.parametrize(
    "text",
    [
        "", "~", "a", "[]", "{c: 0x1F, d: !!str 1}", "[1, 1.5, '1', yes, null, 1_000, \"\"]",
        "[" * MOST_LEVELS + "]" * MOST_LEVELS, "a: '*x'\nb: '&y'", "a: 9223372036854775807",
    ],
)  # fmt: skip
def test_plain_yaml_reads_as_everywhere(text: str) -> None:
    assert parse_yaml(text, "x") == yaml.safe_load(text)


def test_days_and_whole_numbers_become_text_where_json_has_only_text() -> None:
    assert parse_yaml("day: 2026-01-31\nmix: {2020: 0.5}", "x") == {"day": "2026-01-31", "mix": {"2020": 0.5}}


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP + "]" * DEEP, "[" * 100_000 + "]" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000, NINES, f'{{"a": -{NINES}}}',
        "[" + "0," * 3_000_000 + "0]", "{", "", "[1] 2", "\ud800",
    ],
)  # fmt: skip
def test_json_that_would_stop_a_reader_is_refused(text: str) -> None:
    with pytest.raises(InputRefused, match=r"^q\.json [^\n]*$"):
        parse_json(text, "q.json")


@pytest.mark.parametrize("half", ["\\ud800", "\\uDBFF", "\\udc00", "\\uDE00\\ud83d", "\\ud83dx\\ude00"])
@pytest.mark.parametrize(
    "shape, place",
    [
        ('"{}"', "its text"), ('{{"a": [0, {{"title": "b {} c"}}]}}', r"a\[1\]\.title"), ('[{{"{}": 1}}]', r"\[0\] \(a name\)"),
        ('{{"\\u00e9": "\\ud83d\\ude00", "b": ["x", "{}"]}}', r"b\[1\]"),
    ],
)  # fmt: skip
def test_half_a_letter_is_named_by_its_place(shape: str, place: str, half: str) -> None:
    for text in (shape.format(half), shape.format(half).encode()):
        with pytest.raises(InputRefused, match=rf"^q\.json holds half a letter, [^\n]* in {place}: [^\n]*$"):
            parse_json(text, "q.json")
    # both halves, in either case, and what only looks like one
    whole = shape.format("\\uD83D\\ude00 \\\\ud800 \\u00e9")
    assert "\U0001f600 \\ud800 é" in str(parse_json(whole, "x")).replace("\\\\", "\\")


def test_json_within_the_bounds_is_read() -> None:
    value = parse_json("[" * MOST_LEVELS + "9" * MOST_DIGITS + "]" * MOST_LEVELS, "x")
    for _ in range(MOST_LEVELS):
        (value,) = value
    assert value == int("9" * MOST_DIGITS)
    assert parse_json(b'{"a": 1.5}', "x") == {"a": 1.5}


@pytest.mark.parametrize(
    "text",
    ["a=0x" + "f" * 6000, "a=" + "9" * 6000, "a=" + "[" * 6000, "a=" + "{a=" * 6000, ".".join("a" * 32_000) + "=1",
     "a=" + "[" * DEEP + "]" * DEEP, "a="],
)  # fmt: skip
def test_toml_that_would_stop_a_reader_is_refused(text: str) -> None:
    def refused() -> None:
        with pytest.raises(InputRefused, match=r"^w\.toml [^\n]*$"):
            parse_toml(text, "w.toml")

    assert processor_seconds(refused, below=5) < 5
    assert parse_toml("[a.b]\nc = 0xff", "x") == {"a": {"b": {"c": 255}}}


def test_csv_rows_are_read_by_their_header() -> None:
    long = "y" * 200_000  # more than the csv module takes by itself
    assert parse_csv_rows(f'\ufeffa,b\n1,"x,{long}"\n\n2,\n', "x") == [{"a": "1", "b": f"x,{long}"}, {"a": "2", "b": ""}]  # fmt: skip
    assert parse_csv("", "x") == []
    for text in ("a,b\n1\n", "a,b\n1,2,3\n", "a,a\n1,2\n", 'a\n"x\n', "," * 3_000_001):
        with pytest.raises(InputRefused, match=r"s\.csv"):
            parse_csv_rows(text, "s.csv")


def test_only_a_regular_file_of_bounded_size_is_read(tmp_path: Path) -> None:
    plain, packed, bomb = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    plain.write_bytes("\ufeffé".encode())
    packed.write_bytes(gzip.compress(b"text"))
    bomb.write_bytes(gzip.compress(bytes(2_000_000)))
    assert (read_text(plain), read_text(packed), len(read_bytes(bomb))) == ("é", "text", 2_000_000)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "cut").write_bytes(gzip.compress(b"text" * 100)[:20])
    (tmp_path / "mad").write_bytes(b"\x1f\x8b" + b"\xff" * 40)
    (tmp_path / "latin").write_bytes(b"\xe9")
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(10**12)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        refused = ["pipe", "zero", "gone", "cut", "mad", "latin", "sparse", "socket", ".", "nowhere", "x" * 5000, "a\0b", "a\nb"]  # fmt: skip
        for name in refused:
            with pytest.raises(InputRefused) as caught:
                read_text(tmp_path / name)
            assert "\n" not in str(caught.value) and len(str(caught.value)) < 500
    with pytest.raises(InputRefused, match="larger than 1 MB"):
        read_bytes(bomb, most=1_000_000)
    with pytest.raises(InputRefused, match="larger than"):
        read_bytes(plain, most=2)


@pytest.mark.parametrize("before", ["", "\n \n", '"a\nb",'])
def test_a_table_that_is_too_wide_is_refused_by_its_header(before: str) -> None:
    def header(text: str) -> list[str]:
        return next(csv_rows(io.StringIO(before + text), "x.csv", CsvForm()))

    assert len(header("a," * (MOST_COLUMNS - 2) + "a\n1\n")) >= MOST_COLUMNS - 1
    with pytest.raises(InputRefused, match=r"x.csv has 2,00[12] columns, at most 2,000 are read"):
        header("a," * MOST_COLUMNS + "a\n")
    with pytest.raises(InputRefused, match="a line of more than 1 MB"):
        header("a" * 1_000_001)


#: What a row may be beside its header, and what it is read as; None: refused by the row's number.
ROWS: dict[str, tuple[str, list[list[str]] | None]] = {
    "as wide": ("a,b\n1,2\n", [["1", "2"]]),
    "longer": ("a,b\n1,2\n3,4,5\n", None),
    "an unquoted comma": ("a,b\n1,5,x\n", None),
    "longer by empty cells": ("a,b\n1,2,,\n", [["1", "2"]]),
    "shorter": ("a,b,c\n1\n2,3\n", [["1", "", ""], ["2", "3", ""]]),
    "a quote without end": ('a,b\n1,"2\n3,4\n', None),
    "an inch within": ('a,b\n1,5" pipe\n', [["1", '5" pipe']]),
    "two lines in quotes": ('a,b\n1,"2\n3"\n', [["1", "2\n3"]]),
    "semicolons": ("a;b\n1,5;x,y\n", [["1,5", "x,y"]]),
    "said": ("sep=|\na|b;c\n1|2\n", [["1", "2"]]),
    "in quotes said": ('"sep=;"\na;b,c,d\n1;2\n', [["1", "2"]]),
    "blank lines": ("\n a,b\n\n1,2\n  \n", [["1", "2"]]),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_is_as_wide_as_its_header_or_refused(case: str) -> None:
    text, rows = ROWS[case]
    read = lambda: csv_columns(io.StringIO(text, newline=""), "x.csv", csv_form(text))  # noqa: E731
    if rows is None:
        with pytest.raises(InputRefused, match=r"row \d"):
            read()
    else:
        assert [list(row) for row in zip(*read()[1], strict=True)] == rows
