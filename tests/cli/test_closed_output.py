"""A reader that goes away (``| head -1``), and streams that were closed before a command began: no traceback, nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import cli_environment, run_cli
from tests.fakes.small_run import RUN, make_small_run

pytestmark = pytest.mark.long

CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
#: Starts the command with streams that are closed, as a shell does for ``>&-``.
CLOSED = "import os, sys; [os.close(n) for n in map(int, sys.argv[1].split(','))]; os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("closed")
    make_small_run(folder / "home")
    return folder


def piped(place: Path, *words: str, both: bool = False) -> tuple[int, str]:
    """Exit code and stderr of a command whose stdout nobody reads any more; with ``both`` its stderr neither."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "workbench.cli.main", *words],
            env=cli_environment(place),
            cwd=place,
            stdout=writing,
            stderr=writing if both else subprocess.PIPE,
            timeout=120,
        )
    finally:
        os.close(writing)
    return done.returncode, (done.stderr or b"").decode()


@pytest.mark.parametrize("words", [("show", RUN)])
def test_a_result_that_nobody_reads_ends_the_command_without_a_word(
    place: Path, words: tuple[str, ...]
) -> None:
    assert piped(place, *words) == (3, "")


@pytest.mark.parametrize("both", [False, True], ids=["stdout", "stdout and stderr"])
def test_a_run_whose_result_nobody_reads_is_kept_and_can_be_resumed(tmp_path: Path, both: bool) -> None:
    code, said = piped(
        tmp_path, "analyze", CLAIM, "--cutoff", "2018-06-30", "--plan-only", "--json", both=both
    )
    assert code == 3 and "Traceback" not in said and "Exception ignored" not in said, said
    assert both or "expanded" in said or "run " in said
    shown = run_cli(tmp_path, "show", "last", "--json")
    assert shown.returncode == 0 and CLAIM in shown.stdout
    assert len(json.loads(shown.stdout)["nodes"]) > 1 or both  # the tree it was planned with


@pytest.mark.parametrize("numbers", ["0,1,2"])
def test_streams_that_are_closed_lead_nowhere_and_no_file_takes_their_numbers(
    place: Path, numbers: str
) -> None:
    before = (place / "home" / "workbench.db").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", CLOSED, numbers, "-m", "workbench.cli.main", "show", RUN],
        env=cli_environment(place),
        cwd=place,
        capture_output=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (place / "home" / "workbench.db").read_bytes() == before
    assert run_cli(place, "show", RUN).returncode == 0


def test_a_terminal_without_the_characters_gets_plain_ones_and_json_the_same_values(place: Path) -> None:
    """Ended with a traceback and exit 1, after the run was paid for."""
    asked = (sys.executable, "-m", "workbench.cli.main", "show", RUN)
    environment = {**cli_environment(place), "PYTHONIOENCODING": "ascii"}
    plain, document = (
        subprocess.run(words, env=environment, cwd=place, capture_output=True, timeout=120)
        for words in (asked, (*asked, "--json"))
    )
    assert plain.returncode == document.returncode == 0, plain.stderr
    assert b"+-" in plain.stdout and plain.stdout.isascii() and b"\\u" not in plain.stdout
    whole = run_cli(place, "show", RUN, "--json")
    assert document.stdout.isascii() and json.loads(document.stdout) == json.loads(whole.stdout)
