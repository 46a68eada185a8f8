"""``help``: all that a command takes, with the options and settings that its short help leaves out; and what the words mean."""

from typing import Annotated, Any

import typer

from workbench.cli.common import command, echo
from workbench.cli.lazy import OperationCommand
from workbench.cli.table import show_fields, show_table
from workbench.engine.named_settings import setting_of, settings_by_name
from workbench.errors import UsageError
from workbench.formatting import GLOSSARY, SCORE_WORDS


@command
def full_help(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="A command, as it is typed.")
    ] = None,
) -> None:
    """Print all options of a command and the settings for --set; `help glossary` explains the words."""
    if words == ["glossary"]:
        show_fields([*GLOSSARY.items(), *SCORE_WORDS.items()])
        return
    target: Any = context.find_root().command
    place = context.find_root()
    for word in words or ():
        known = getattr(target, "commands", {})
        if word not in known:
            raise UsageError(f"there is no command {' '.join(words or ())!r:.80}: `workbench help` lists all")
        target = known[word]
        place = type(context)(target, info_name=word, parent=place)
    short = [param for param in target.params if getattr(param, "hidden", False)]
    try:
        for param in short:
            param.hidden = False
        echo(target.get_help(place), whole=True)
    finally:  # the command is one object for as long as the process lasts
        for param in short:
            param.hidden = True
    rows: list[tuple[str, ...]] = []
    if isinstance(target, OperationCommand):
        rows += [
            (name, "", _default(each.default), each.says.text)
            for name, each in target.operation.set_fields().items()
        ]
    if any(param.name == "settings" for param in target.params):
        rows += [
            (name, setting_of(each).panel, _default(each.default), each.says.text)
            for name, each in settings_by_name().items()
        ]
    if rows:
        echo("Settings for --set, as NAME=VALUE:")
        show_table(("setting", "panel", "default", "what it is"), rows)


def _default(value: Any) -> str:
    return (
        "" if value in (None, "", [], {}) else str(value).lower() if isinstance(value, bool) else str(value)
    )
