"""Every command line that was ever documented still says the same: recorded lines are parsed anew, recorded options still exist.

``recorded/lines.jsonl`` holds the command lines that the tests of this folder used on 23 November 2026, each after the function that
ran; ``recorded/options.txt`` every command of that day with its options. A line is taken off either only with the option's end.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from workbench.cli.main import app

FOLDER = Path(__file__).parent / "recorded"
LINES = [json.loads(line) for line in (FOLDER / "lines.jsonl").read_text(encoding="utf-8").splitlines()]
OPTIONS = [line.split(" | ") for line in (FOLDER / "options.txt").read_text(encoding="utf-8").splitlines()]


def function_of(command: Any) -> str:
    function = command.callback
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "__qualname__", "")


def called(words: list[str]) -> str:
    """The function that a command line runs; it is read as far as that, and nothing is run."""
    command: Any = typer.main.get_command(app)
    context: Any = None
    name = "workbench"
    while True:
        try:
            context = command.make_context(name, list(words), parent=context)
        except typer.Exit:  # a help that was asked for, or the version
            return function_of(command)
        if not hasattr(command, "commands"):
            return function_of(command)
        words = [*context._protected_args, *context.args]
        if not words:
            return function_of(command)
        name, command, words = command.resolve_command(context, words)


@pytest.mark.long
def test_every_recorded_command_line_calls_what_it_called() -> None:
    wrong = {}
    for function, *words in LINES:
        try:
            now = called(words)
        except Exception as error:
            now = f"{type(error).__name__}: {error}"
        if now != function:
            wrong[" ".join(words)] = now
    assert not wrong
    assert len(LINES) > 400


@pytest.mark.parametrize("line", OPTIONS, ids=lambda line: str(line[0]))
def test_every_recorded_option_is_taken(line: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    names, *options = line
    for name in names.removesuffix(" |").split():
        command = command.commands[name]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    assert set(" ".join(options).split()) <= known


def test_a_command_line_that_nobody_reads_is_noticed() -> None:
    for words in (["whatif", "last", "--no-such-option"], ["no-such-command"], ["analyze", "It rains"]):
        with pytest.raises(Exception, match=r"No such|Missing"):
            called(words)
