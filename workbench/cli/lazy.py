"""A group of commands that imports a command's file when it is called, as in click's documentation (LazyGroup)."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from workbench.cli.common import unlisted
from workbench.plug_points import load_plugin, plugin_names

#: Name of a command -> where it is (``module:name`` of a function or a ``typer.Typer``) and the line that lists it.
Table = Mapping[str, tuple[str, str]]
#: Panels of the help, each with its commands; those under an empty name work and are not listed.
Panels = Mapping[str, Table]
UNLISTED = ""


def lazy_group(commands: Table, panels: Panels | None = None, *, plugins: str = "") -> type[TyperGroup]:
    """Return the class of a group with these commands, for ``typer.Typer(cls=...)``; they are listed in the table's order.

    Parameters
    ----------
    commands : mapping
    panels : mapping, optional
        Under which panels they are listed.
    plugins : str
        Group of entry points whose operations are commands too, under a panel of their own.
    """
    panel_of = {name: panel for panel, table in (panels or {}).items() for name in table}

    class LazyGroup(_LazyGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands = _Commands(commands, panel_of, plugins)

    return LazyGroup


class _LazyGroup(TyperGroup):
    """Lists its commands by their lines alone; whatever asks for a command has it imported."""

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

    def __init__(self, table: Table, panel_of: Mapping[str, str], plugins: str) -> None:
        self._table, self._panel_of, self._plugins = table, panel_of, plugins
        self._loaded: dict[str, Any] = {}

    def lines(self) -> dict[str, TyperCommand]:
        return {
            name: TyperCommand(
                name=name,
                help=line,
                rich_help_panel=self._panel_of.get(name),
                hidden=self._panel_of.get(name) == UNLISTED,
            )
            for name, (_, line) in self._table.items()
        } | {name: _of_package(name, self._plugins) for name in self._added()}

    def _added(self) -> tuple[str, ...]:
        return plugin_names(self._plugins) if self._plugins else ()

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            if name not in self._table:
                if name not in self._added():
                    raise KeyError(name)
                self._loaded[name] = _of_package(name, self._plugins)
                return self._loaded[name]
            command = self._loaded[name] = _load(name, self._table[name][0])
            command.hidden = self._panel_of.get(name) == UNLISTED
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        raise TypeError("commands are added in the table")

    def __delitem__(self, name: str) -> None:
        raise TypeError("commands are removed in the table")

    def __iter__(self) -> Iterator[str]:
        return iter([*self._table, *self._added()])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _of_package(name: str, group: str) -> Any:
    command = _command(name, load_plugin(group, name))
    command.rich_help_panel = "Of installed packages"
    return command


def _load(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    return _command(name, getattr(import_module(module), attribute))


def _command(name: str, target: Any) -> Any:
    if not isinstance(target, typer.Typer):
        kind = TyperCommand
        if isinstance(target, type):  # an operation, or one of a stranger's package
            from workbench.cli.operation_command import command_of

            operation: Any = target
            kind, target = _with_more_help(operation.more_help), command_of(operation)
        app = typer.Typer(add_completion=False)
        app.command(name, cls=kind)(target)
        target = app
    single = len(target.registered_commands) == 1 and target.registered_callback is None
    command = typer.main.get_command(target) if single else typer.main.get_group(target)
    command.name = name
    _complete(command)
    return command


def _with_more_help(more_help: Callable[[], Sequence[str]]) -> type[TyperCommand]:
    class _Command(TyperCommand):
        def format_help(self, ctx: Any, formatter: Any) -> None:
            short = self.epilog
            self.epilog = "\n\n".join([*more_help(), *([short] if short else [])])
            super().format_help(ctx, formatter)
            self.epilog = short  # the command outlives the call

    return _Command


def _complete(command: Any) -> None:
    if isinstance(command, _LazyGroup):  # its own commands are completed when they are loaded
        return
    for child in getattr(command, "commands", {}).values():
        _complete(child)
    more = [param.opts[0] for param in command.params if isinstance(param, TyperOption) and param.hidden]
    if more and command.epilog is None:
        command.epilog = f"More: {' '.join(more)} (`workbench help COMMAND` says what each is)"
    if not hasattr(command, "commands") and not any("--yes" in param.opts for param in command.params):
        command.params.append(_assent())


@cache
def _assent() -> Any:
    """The option of a command that asks nothing, so that a script can say --yes everywhere."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def sample(
        yes: Annotated[bool, unlisted("--yes", expose_value=False, help="Nothing is asked.")] = False,
    ) -> None: ...

    return typer.main.get_command(app).params[0]
