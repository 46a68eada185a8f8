"""Commands and groups of them: each is imported when it is called, and all take the same options besides their own."""

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from workbench.cli.commands import COMMANDS, LISTED, PANELS, Place, sentence_of, target_of
from workbench.plug_points import OPERATIONS, load_plugin, plugin_names
from workbench.requests import fields_of

#: The options that every command takes, anywhere on the line; they are parsed here and nowhere else.
SHARED = ("--json", "--yes", "--set")
_LINE = (
    "With every command: --yes (nothing is asked) and, where it has an answer, --json (one JSON document)."
)


class _Shared:
    """Parses the shared options for a command or group; what was given stands in the context's ``meta``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest: list[str] = []
        words = iter(args)
        for word in words:
            name, _, value = word.partition("=")
            if word == "--":
                rest += [word, *words]
            elif name == "--set":
                pairs = ctx.meta.setdefault(name, [])
                pairs.append(value or next(words, ""))
                if not pairs[-1]:
                    raise typer.BadParameter("--set: write NAME=VALUE")
            elif word in SHARED:
                ctx.meta[word] = True
            else:
                rest.append(word)
        parsed: list[str] = super().parse_args(ctx, rest)  # type: ignore[misc]
        return parsed


class _Function(_Shared, TyperCommand):
    """A command that is no operation: it has no document and no settings."""

    def invoke(self, ctx: Any) -> Any:
        if refused := [name for name in ("--json", "--set") if name in ctx.meta]:
            raise typer.BadParameter(f"{ctx.info_name} takes no {refused[0]}")
        return super().invoke(ctx)


class OperationCommand(_Shared, TyperCommand):
    """The command of an operation; its short help ends with what else it takes."""

    operation: Any

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Say of a field without an option how it is given."""
        named = {
            option: each.word
            for each in fields_of(self.operation)
            if each.says.by_set
            for option in (f"--{each.word.replace('_', '-')}", each.says.short and f"-{each.says.short}")
            if option
        }
        for word in args[: args.index("--") if "--" in args else None]:
            if name := named.get(word.partition("=")[0]):
                raise typer.BadParameter(f"{word} is not an option here: write --set {name}=VALUE")
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the options that it lists, and the names of the others."""
        more = [param.opts[0] for param in self.params if getattr(param, "hidden", False)]
        named = [*self.operation.set_fields()]
        takes = [" ".join(more)] * bool(more) + [f"--set NAME=VALUE for {', '.join(named)}"] * bool(named)
        last = f"More: {'; '.join(takes)} (`workbench help COMMAND` says what each is). " if takes else ""
        self.epilog = "\n\n".join([*self.operation.more_help(), last + _LINE])
        super().format_help(ctx, formatter)


class _LazyGroup(_Shared, TyperGroup):
    """Lists its commands by their sentences alone; whatever asks for a command has it imported."""

    commands: "_Commands"

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with self._listed():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        with self._listed():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listed(self) -> Iterator[None]:
        commands = self.commands
        self.commands = commands.lines()  # type: ignore[assignment]
        try:
            yield
        finally:
            self.commands = commands


class _Commands(MutableMapping[str, Any]):
    """Commands by name, each imported at its first use."""

    def __init__(self, table: Mapping[str, Place], plugins: str = "") -> None:
        self._table, self._plugins = table, plugins

    def lines(self) -> dict[str, TyperCommand]:
        panel_of = {name: panel for panel, table in PANELS.items() for name in table} if self._plugins else {}
        return {
            name: TyperCommand(
                name=name,
                help=sentence_of(place),
                rich_help_panel=panel_of.get(name),
                hidden=bool(panel_of) and name not in LISTED,
            )
            for name, place in self._table.items()
        } | {name: self[name] for name in self._added()}

    def _added(self) -> tuple[str, ...]:
        return plugin_names(self._plugins) if self._plugins else ()

    def __getitem__(self, name: str) -> Any:
        if name in self._table:
            return _command(name, self._table[name])
        if name in self._added():
            return _of_package(name)
        raise KeyError(name)

    def __setitem__(self, name: str, command: Any) -> None:
        raise TypeError("commands are added in the table")

    def __delitem__(self, name: str) -> None:
        raise TypeError("commands are removed in the table")

    def __iter__(self) -> Iterator[str]:
        return iter([*self._table, *self._added()])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Root(_LazyGroup):
    """All commands, and those of installed packages."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": _Commands(COMMANDS, OPERATIONS), "epilog": _LINE})


@cache
def _of_package(name: str) -> Any:
    command = command_from(name, load_plugin(OPERATIONS, name))
    command.rich_help_panel = "Of installed packages"
    return command


@cache
def _command(name: str, place: Place) -> Any:
    """Return the command at a place: one object, also where an old name is another way to it."""
    if isinstance(place, str):
        return command_from(name, target_of(place))
    attributes: dict[str, Any] = {"no_args_is_help": not place.alone, "epilog": _LINE}
    if place.alone:
        alone = command_from(name, target_of(place.alone))
        attributes |= {"invoke_without_command": True, "params": alone.params, "callback": alone.callback}
    return _LazyGroup(name=name, help=place.about, commands=_Commands(place.commands), **attributes)  # type: ignore[arg-type]


def command_from(name: str, target: Any) -> Any:
    """Return the command of an operation or of a function."""
    app = typer.Typer(add_completion=False)
    if not isinstance(target, type):
        app.command(name, cls=_Function)(target)
        return typer.main.get_command(app)
    from workbench.cli.operation_command import command_of  # not for a help

    app.command(name, cls=OperationCommand)(command_of(target))
    command: Any = typer.main.get_command(app)
    command.operation = target
    return command
