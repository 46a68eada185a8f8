"""What mends an error, as data in it: a `Command` or an `Option` among the strings of its message.

Each face words them in its own terms: `workbench resume RUN` on the command line, ``wb.resume("RUN")`` in Python, a button on the
page, a tool in MCP. It stands in the lowest room because the broker's and the sandbox's errors are shown by the same faces.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Command:
    """A command that mends an error: its name, its arguments, its options by the names of settings (True: without a value)."""

    name: str
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of the refused call that mends an error, and what to write for it (True: a switch)."""

    name: str
    value: str | bool = ""


#: Words a remedy as one face says it.
Terms: TypeAlias = Callable[[Command | Option], str]


def command(name: str, /, *arguments: str, **options: Any) -> Command:
    """Return a remedy: ``command("resume", run_id, yes=True)``."""
    return Command(name, arguments, tuple(options.items()))


def option_text(name: str, value: Any = "") -> str:
    """Return an option as it is typed: ``--budget-usd 5``."""
    shown = "" if value is True or value == "" else f" {shlex.quote(value) if ' ' in str(value) else value}"
    return f"--{name.replace('_', '-')}{shown}"


def shell_terms(remedy: Command | Option) -> str:
    """Return what to type in a shell."""
    if isinstance(remedy, Option):
        return option_text(remedy.name, remedy.value)
    return f"`{' '.join(['workbench', remedy.name, *remedy.arguments, *(option_text(*pair) for pair in remedy.options)])}`"


class Remedied(Exception):
    """An error whose message is one clear line, made of strings and of what mends it."""

    #: The face that shows it; set at that face's door.
    terms: Terms = staticmethod(shell_terms)

    def __str__(self) -> str:
        return "".join(
            self.terms(part) if isinstance(part, Command | Option) else str(part) for part in self.args
        )

    @property
    def remedies(self) -> tuple[Command | Option, ...]:
        """What mends it, in the order of the message."""
        return tuple(part for part in self.args if isinstance(part, Command | Option))
