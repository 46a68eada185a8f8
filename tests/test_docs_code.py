"""No block of code in the manual is made up: commands are taken by the command line, Python compiles, data parses.

Blocks whose effects are tested too: the tutorials (test_tutorials.py), adding parts (test_extending.py), rules, own data, services.
"""

import ast
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import typer

from proxies.yaml_text import parse_yaml
from workbench.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Language and text of each fenced block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def command_lines(text: str) -> list[list[str]]:
    """The words of each line that calls ``workbench``, comments and continued lines read as a shell does."""
    lines = []
    for line in text.replace("\\\n", " ").splitlines():
        if "workbench " not in line:
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while words and (
            "=" in words[0] or words[0] in ("pipx", "run", "--spec", "analyst-workbench", "sudo")
        ):
            words = words[1:]
        if words and words[0] in ("workbench", ".venv/bin/workbench"):
            end = next((n for n, word in enumerate(words) if word in ("|", ">", "&&", ";", "2>")), len(words))
            lines.append(words[1:end])
    return lines


def complaint(words: list[str]) -> str:
    """What the command line says against these words; empty if it takes them. Nothing is run."""
    target: Any = typer.main.get_command(app)
    rest = list(words)
    while rest and getattr(target, "commands", None):
        if rest[0].startswith("-"):
            return ""  # --help, --version
        if rest[0] not in target.commands:
            return f"no command {rest[0]}"
        target = target.commands[rest.pop(0)]
    try:
        target.make_context(words[0], rest)
    except typer.Exit:
        return ""
    except Exception as error:  # click's own, of whichever copy typer brings
        said = getattr(error, "format_message", None)
        if said is None:
            raise
        return str(said())
    return ""


LINES = [
    (page, words)
    for page in PAGES
    for kind, text in blocks_of(page)
    if kind in ("", "console", "bash", "sh")
    for words in command_lines(text)
]


def test_every_command_of_the_manual_is_one() -> None:
    complaints = [(page.name, words, complaint(words)) for page, words in LINES]
    assert [line for line in complaints if line[2]] == []


def test_a_command_that_is_none_is_seen() -> None:
    assert len(LINES) > 40
    assert complaint(["analyse", "x"]) == "no command analyse"
    assert "--cutof" in complaint(["analyze", "x", "--cutof", "2018-06-30"])
    assert command_lines("$ A=b workbench runs  # all\n$ ls") == [["runs"]]


def emptied(code: str) -> list[str]:
    """What a shell would make nothing of: ``$8`` in no single quotes, "oil hits $80" being "oil hits 0" there."""
    return re.findall(r"\$\d", re.sub(r"'[^'\n]*'", "", code))


def test_a_shell_leaves_the_amounts_of_a_claim_as_they_are_typed() -> None:
    assert emptied('workbench read "oil hits $80"') and not emptied(
        "workbench read 'oil hits $80' -o $HOME/x"
    )
    for page in PAGES:
        typed = [text for kind, text in blocks_of(page) if kind in ("", "console", "sh")]
        inline = re.findall(r"`([^`\n]+ [\"'][^`\n]+)`", page.read_text(encoding="utf-8"))
        assert [code for code in (*typed, *inline) if emptied(code)] == [], page.name


def test_every_block_is_of_its_language() -> None:
    for page in PAGES:
        for kind, text in blocks_of(page):
            if kind == "python":
                compile(text, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            elif kind == "yaml":
                parse_yaml(text, page.name)
            elif kind == "toml":
                tomllib.loads(text)
            elif kind == "json":
                json.loads(text)
            else:
                assert kind in ("", "console", "sh", "text"), f"a block of {kind}: say how it is checked"
