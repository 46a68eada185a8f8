"""Options of a command out of the description of what it asks for (``workbench.requests``)."""

import inspect
from typing import Annotated, Any

import typer

from workbench.requests import RequestField, fields_of


def options_of(model: type) -> dict[str, inspect.Parameter]:
    """Return an option for each field of a request, as texts; the model's ``typed`` reads them."""
    return {each.name: option_for(each) for each in fields_of(model)}


def option_for(
    each: RequestField, *names: str, kind: Any = str, metavar: str | None = None, hidden: bool | None = None
) -> inspect.Parameter:
    """Return the parameter that typer makes the option of a field from.

    Parameters
    ----------
    each : RequestField
    *names : str
        The option's names where they are not the field's.
    kind : type
        Of one value, read by typer.
    metavar, hidden : optional
        In place of what the field says.
    """
    option = typer.Option(
        *(names or (each.option,)),
        help=each.says.text,
        metavar=None if each.shape == "flag" else metavar or each.metavar,
        hidden=each.says.more if hidden is None else hidden,
    )
    value: Any
    default: Any
    match each.shape:
        case "flag":
            value, default = bool, False
        case "value":
            value, default = kind | None, None
        case _:
            value, default = list[kind] | None, None
    return inspect.Parameter(
        each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[value, option]
    )
