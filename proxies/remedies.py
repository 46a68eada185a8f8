"""Put the remedy of an error into it as data: a `Command` or an `Option` among the strings of its message.

Each face words them in its own terms: `workbench resume RUN` on the command line, ``wb.resume("RUN")`` in Python, a button on the
page, a tool in MCP. It stands in the lowest room because the broker's and the sandbox's errors are shown by the same faces.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Command:
    """A command that remedies an error: name, arguments, options by setting (True: without a value)."""

    name: str
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of the refused call that remedies an error, and its value (True: a switch); ``by_set``: it has no option of its own."""

    name: str
    value: str | bool = ""
    by_set: bool = False


#: Words a remedy as one face says it.
Terms: TypeAlias = Callable[[Command | Option], str]


def command(name: str, /, *arguments: str, **options: Any) -> Command:
    """Build a remedy: ``command("resume", run_id, yes=True)``."""
    return Command(name, arguments, tuple(options.items()))


def option_text(name: str, value: Any = "") -> str:
    """Write an option as it is typed: ``--budget-usd 5``."""
    typed = "" if value is True or value == "" else f" {shlex.quote(value) if ' ' in str(value) else value}"
    return f"--{name.replace('_', '-')}{typed}"


def shell_terms(remedy: Command | Option) -> str:
    """Write a remedy for a shell."""
    if isinstance(remedy, Option):
        if remedy.by_set:
            return f"--set {remedy.name}{remedy.value and f'={str(remedy.value).lower()}'}"
        return option_text(remedy.name, remedy.value)
    return f"`{' '.join(['workbench', remedy.name, *remedy.arguments, *(option_text(*pair) for pair in remedy.options)])}`"


def sentence(*parts: "str | Command | Option") -> str:
    """Join a text with its remedies in shell terms, for storage; `reworded` converts it back."""
    return "".join(part if isinstance(part, str) else shell_terms(part) for part in parts)


#: A command or an option as `shell_terms` writes it.
_TYPED = re.compile(
    r"`workbench ([^`]+)`|(?<![\w`-])--set ([a-z_]+)\b(?:=([\w.]*\w))?|(?<![\w`-])--([a-z][a-z-]+)(?: ([A-Z]\w*(?:[./=][\w./=,-]*\w)?|\d+(?:\.\d+)?(?!\w)))?"
)


def reworded(text: str, terms: Terms) -> str:
    """Rewrite the remedies in one of our stored lines for another face; never for a stranger's text.

    >>> reworded("it waits: `workbench resume R1` does it", lambda remedy: f"<{remedy.name}>")
    'it waits: <resume> does it'
    """
    return _TYPED.sub(lambda match: terms(_typed(match)), text)


def _typed(match: "re.Match[str]") -> Command | Option:
    if match[2]:
        return Option(match[2], match[3] or "", by_set=True)
    if match[1] is None:
        return Option(match[4].replace("-", "_"), match[5] or "")
    try:
        words = shlex.split(match[1])
    except ValueError:  # a name with a lone quote in it
        words = match[1].split()
    arguments: list[str] = []
    options: list[tuple[str, str | bool]] = []
    for word in words[1:]:
        if word.startswith("--"):
            options.append((word[2:].replace("-", "_"), True))
        elif options and options[-1][1] is True:
            options[-1] = (options[-1][0], word)
        else:
            arguments.append(word)
    return Command(words[0], tuple(arguments), tuple(options))


class Remedied(Exception):
    """An error whose message is one clear line of strings and remedies."""

    #: The face that shows it; set at that face's door.
    terms: Terms = staticmethod(shell_terms)

    def __str__(self) -> str:
        return "".join(
            self.terms(part) if isinstance(part, Command | Option) else str(part) for part in self.args
        )

    @property
    def remedies(self) -> tuple[Command | Option, ...]:
        """The remedies, in the order of the message."""
        return tuple(part for part in self.args if isinstance(part, Command | Option))
