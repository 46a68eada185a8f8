"""A command starts at once: what is listed without being imported, and what is imported by a command that hardly does anything."""

import subprocess
import sys
from typing import Any

from workbench.cli import commands, main


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
