"""A message that tells a person to use an option names one that exists, where it says."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import typer

from workbench.cli.commands import places, target_of
from workbench.cli.lazy import SHARED
from workbench.cli.main import app
from workbench.errors import option_text
from workbench.operations.analysis import Resume
from workbench.requests import fields_of

ROOT = Path(__file__).resolve().parents[2]
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
#: Options of other programs that our messages name.
_OTHERS = {"--allow-root", "--version", "--zygote"}
#: Files that hold the words of a command line that they start, and no message that names an option.
_STARTERS = {
    ROOT / "workbench/engine/detached.py",
    ROOT / "workbench/reports/note_pdf.py",
}


def options() -> dict[str, set[str]]:
    """Every command's options, with the names of their groups; ``Option(...)`` of what only ``--set`` reaches is worded by the face."""
    known: dict[str, set[str]] = {}

    def collect(command: object, name: str) -> None:
        for child_name, child in getattr(command, "commands", {}).items():
            collect(child, child_name)
        known.setdefault(name, set(SHARED)).update(
            text for param in getattr(command, "params", ()) for text in (*param.opts, *param.secondary_opts)
        )

    collect(typer.main.get_command(app), "workbench")
    return known


def texts(source: str) -> Iterator[str]:
    """The strings of a source that are no docstrings; an f-string's fixed parts count each."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    skipped = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.value


def named(source: str) -> set[str]:
    """Options that a file's texts spell, and those that its errors name as what mends them."""
    if "--" not in source and "Option(" not in source:  # most files: not worth reading as a program
        return set()
    remedies = re.findall(r"\bOption\(\s*\"(\w+)\"(?!, by_set)", source)
    return spelt(source) | {option_text(name) for name in remedies}


def spelt(source: str) -> set[str]:
    """Options that a file's texts spell."""
    return {option for text in texts(source) for option in _OPTION.findall(text)}


def settable() -> set[str]:
    """What ``--set`` reaches, as `option_text` writes it: a command that lacks the option words it as ``--set NAME``."""
    operations = [each for each in map(target_of, places()) if isinstance(each, type)]
    names = {each.name for operation in operations for each in fields_of(operation) if each.says.by_set}
    return {option_text(name) for name in names}


def test_every_option_named_in_a_message_exists() -> None:
    known = set().union(*options().values()) | _OTHERS | {"--help"}
    reached = settable()
    missing = {
        f"{path.relative_to(ROOT)}: {option}"
        for room in ("workbench", "sandbox", "proxies")
        for path in set((ROOT / room).rglob("*.py")) - _STARTERS
        for option in named(path.read_text(encoding="utf-8"))
        if option not in known
        and not (option in reached and option not in spelt(path.read_text(encoding="utf-8")))
    }
    assert not missing, "no command has it:\n" + "\n".join(sorted(missing))


def test_a_message_that_names_an_option_nobody_has_is_noticed() -> None:
    assert named('raise UsageError(f"use --no-such-thing {x}")') == {"--no-such-thing"}
    assert named('raise UsageError("use ", Option("no_such_thing"))') == {"--no-such-thing"}
    assert named('"""--in-a-docstring"""') == set()


def test_what_a_stopped_run_is_told_to_use_is_there_when_it_is_resumed() -> None:
    """Budgets, prices, servers: what stopped a run can be changed by `resume` itself."""
    own_web = ROOT / "workbench/engine/access/own_web.py"  # a person's `search`, no run
    declared = ROOT / "workbench/engine/run_settings.py"  # where options are declared, and no message
    budget = set((ROOT / "workbench/engine").rglob("*.py")) - _STARTERS - {own_web, declared}
    wanted = set().union(*(named(path.read_text(encoding="utf-8")) for path in budget))
    assert {"--budget-usd", "--budget-tokens", "--budget-calls", "--price", "--api-base"} <= wanted
    # What a leaf that was cut off says.
    wanted |= named((ROOT / "workbench/agents/dialogue.py").read_text(encoding="utf-8"))
    assert "--max-tokens" in wanted
    by_set = {option_text(each.name) for each in fields_of(Resume) if each.says.by_set}
    assert wanted <= options()["resume"] | by_set
