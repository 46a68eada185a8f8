"""Options of a command out of the description of what it asks for (``workbench.requests``)."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.requests import REQUIRED, Request, RequestField, fields_of

#: Fields that name runs, which Tab offers.
_RUNS = ("run", "runs", "before", "after")


def _run_names(incomplete: str) -> list[str]:
    # opens the log: for Tab alone
    from workbench.cli.common import run_names

    return run_names(incomplete)


def options_of(model: type[Request]) -> dict[str, inspect.Parameter]:
    """Return an option or argument for each field of a request, as texts; the model's ``typed`` reads them."""
    return {
        each.name: option_for(each, joined=each.name in model.joined)
        for each in fields_of(model)
        if each.option
    }


def option_for(each: RequestField, *, joined: bool = False) -> inspect.Parameter:
    """Return the parameter that typer makes the option, or the argument, of a field from; ``joined`` words are one text."""
    kind = Path if each.bare is Path else str
    many = each.shape in ("list", "mapping") or joined
    value: Any = bool if each.shape == "flag" else list[kind] if many else kind  # type: ignore[valid-type]
    default: Any = False if each.shape == "flag" else None
    if each.required:
        default = REQUIRED
    elif each.shape != "flag":
        value = value | None
    how: Any
    if each.says.place:
        how = typer.Argument(
            help=each.says.text,
            metavar=each.metavar,
            autocompletion=_run_names if each.name in _RUNS else None,
        )
    else:
        letter = each.says.short or (each.word if len(each.word) == 1 else "")
        how = typer.Option(
            *([f"-{letter}"] if letter else []),
            each.option,
            help=each.says.text,
            metavar=None if each.shape == "flag" else each.metavar,
            hidden=each.says.more,
            show_default=str(each.default)
            if isinstance(each.default, str | int) and each.default not in ("", False)
            else False,
        )
    return inspect.Parameter(
        each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[value, how]
    )
