"""Tables for people: whole and plain off a terminal, fitted to one on it."""

import io
import re
import sys

import pytest

from tests.cli_science.runner import refused, run, run_json
from workbench.cli.table import show_table


def printed(capsys: pytest.CaptureFixture[str], header: list[str], rows: list[list[object]]) -> list[str]:
    show_table(header, rows)
    return capsys.readouterr().out.splitlines()


def test_off_a_terminal_nothing_is_coloured_wrapped_or_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    long = "x" * 500
    lines = printed(capsys, ["name", "value"], [[long, 0.5], ["b", None]])
    assert lines == [
        f"{'name':<500}   value",
        f"{long}  0.5000",
        f"{'b':<500}       -",
    ]


def test_names_in_a_file_are_neither_markup_nor_orders_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed(capsys, ["name", "n"], [["[red]a[/red]", 1], ["b\x1b[2Jc\nd", 2]])
    assert lines[1].startswith("[red]a[/red]")
    assert lines[2].startswith("b\ufffd[2Jc\ufffdd") and len(lines) == 3


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_long_cells_wrap_inside_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    show_table(["name", "value"], [["x" * 100, 0.5]])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert sum(line.count("x") for line in lines) == 100


@pytest.mark.parametrize("columns", [20, 40, 60])
def test_on_a_narrow_terminal_no_number_is_broken_or_cut(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    figures = [81.41951, -0.5, 1234.5]
    show_table(["method", "brier index market", "b", "c"], [["pro-high-" * 5, *figures], ["x", *figures]])
    printed_figures = screen.getvalue().split()
    assert [printed_figures.count(f"{figure:.4f}") for figure in figures] == [2, 2, 2]


def test_text_stands_to_the_left_and_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(
        capsys, ["m", "what it is", "p"], [["a", "short", 0.5], ["b", "something longer", -12.25]]
    )
    assert lines == [
        "m  what it is               p",
        "a  short               0.5000",
        "b  something longer  -12.2500",
    ]


def test_models_are_listed_without_a_series() -> None:
    result = run("exceed", "--model", "list")
    assert result.exit_code == 0 and "hybrid" in result.stdout
    assert run_json("exceed", "--model", "list")["models"]["hybrid"] == "half safe-linear, half prior-year"


@pytest.mark.parametrize("left_out", ["--series", "--cutoff", "--on", "--above"])
def test_a_chance_needs_all_four_options(left_out: str) -> None:
    options = {"--series": "x.csv", "--cutoff": "2020-01-01", "--on": "2020-02-01", "--above": "1"}
    del options[left_out]
    words = [word for pair in options.items() for word in pair]
    assert f"{left_out} is missing" in refused("exceed", *words)
