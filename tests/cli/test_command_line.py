"""The tests' own way to run a command shows what a process shows."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli, run_process
from tests.fakes.screens import RUN, make_run
from workbench.cli import commands, main


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("analyze", "The moon is made of cheese", "--cutoff", "2018-06-30"),
        ("whatif", RUN, "--set", "P2.1=0.0", "--add", "P2=It rains", "--json"),
        ("export", RUN, "--to", "csv"),
    ],
    ids=lambda words: words[0],
)
def test_in_this_process_or_in_one_of_its_own(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    make_run(tmp_path / "home")
    here, there = run_cli(tmp_path, *arguments), run_process(tmp_path, *arguments)
    assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)
    assert here.stdout or here.stderr


def test_the_sentences_are_those_of_the_docstrings() -> None:
    written = (commands._SENTENCES).read_text(encoding="utf-8")
    assert written == commands.sentences(), "run python -m workbench.cli.commands"


def test_a_command_of_two_names_is_one() -> None:
    root: Any = main._commands()
    for group in ("annotate", "critique", "science"):
        for name, command in root.commands[group].commands.items():
            assert root.commands[name] is command


def loaded(*words: str) -> set[str]:
    """What the command loads beyond what a bare interpreter has."""
    code = (
        "import sys; bare = set(sys.modules); sys.argv = ['workbench', *sys.argv[1:]]\n"
        "from workbench.cli.entry import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print('loaded', *set(sys.modules) - bare)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=True
    )
    first, *names = done.stdout.splitlines()[-1].split()
    assert first == "loaded", done.stdout
    return set(names)


def test_the_version_loads_hardly_anything() -> None:
    assert len(loaded("--version")) < 60


def test_the_help_loads_no_command_and_a_command_no_other() -> None:
    files = {commands.target_of(place).__module__ for place in commands.places()}
    for group in ((), ("questions",), ("keys",)):
        assert loaded(*group, "--help") & files == set()
    assert loaded("help", "claims") & files == {
        "workbench.cli.full_help",
        "workbench.operations.claim_reading",
    }


def offered(home: Path, *words: str) -> list[str]:
    done = run_process(
        home,
        _WORKBENCH_COMPLETE="complete_bash",
        COMP_WORDS=" ".join(("workbench", *words)),
        COMP_CWORD=str(len(words)),
    )
    return done.stdout.split()


def test_tab_offers_commands_and_runs(tmp_path: Path) -> None:
    """S3: No shell completion."""
    assert set(offered(tmp_path, "re")) == {"read", "resume", "refit", "reground", "review"}, (
        "not the names from before the groups"
    )
    assert offered(tmp_path, "show", "") == [] and not (tmp_path / "home").exists(), "Tab makes no home"
    make_run(tmp_path / "home")
    assert offered(tmp_path, "show", "2018") == [RUN]
