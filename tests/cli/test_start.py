"""A command starts at once: what is listed without being imported, and what is imported by a command that hardly does anything."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest
import typer

from workbench.cli import answers, main, questions, science, tournament
from workbench.cli.lazy import Table

TABLES: dict[str, Table] = {
    "": main.COMMANDS,
    "questions": questions.COMMANDS,
    "tournament": tournament.COMMANDS,
    "annotate": answers.ANNOTATE,
    "critique": answers.CRITIQUE,
    "science": science.SCIENCE,
}


@pytest.mark.parametrize("group", TABLES)
def test_the_line_of_the_list_is_the_first_of_the_command(group: str) -> None:
    root = typer.main.get_command(main.app)
    commands = root.commands[group].commands if group else root.commands  # type: ignore[attr-defined]
    for name, (place, line) in TABLES[group].items():
        module, _, attribute = place.partition(":")
        target = getattr(import_module(module), attribute)
        said = commands[name].help.split("\n\n")[0].replace("\n", " ")
        assert said == line, name
        assert commands[name].name == name
        if not isinstance(target, typer.Typer):
            assert inspect.getdoc(target) == commands[name].help and target.__module__ == module, name


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
    files = {place.partition(":")[0] for table in TABLES.values() for place, _ in table.values()}
    files -= {
        answers.__name__,
        science.__name__,
    }  # tables, which the old names of their commands stand in too
    assert loaded("--help") & files == set()
    assert loaded("questions", "--help") & files == {"workbench.cli.questions"}
    assert loaded("keys", "--help") & files == set()
