"""The options that commands which open or continue runs share: every setting by ``--set``, and those that have an option of their own."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from workbench.cli.common import unlisted
from workbench.cli.request_options import option_for
from workbench.engine.named_settings import (
    merged,
    read_prices,
    read_roles,
    read_settings,
    setting_of,
    settings_by_name,
)
from workbench.requests import RequestField, takes

C = TypeVar("C", bound=Callable[..., Any])

Detach = Annotated[
    bool,
    typer.Option(
        "--detach", help="Work in a process of its own: print the run id and return; see watch and stop."
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        help="Do not ask before buying replies again whose requests cannot be made any more (docs/leaks.md).",
    ),
]
Workers = Annotated[
    str | None,
    unlisted(
        metavar="N|dask://HOST:PORT",
        help="Collect evidence in so many processes, or on a Dask cluster (docs/scale.md); without it in this process.",
    ),
]
SET = typer.Option(
    "--set",
    metavar="NAME=VALUE",
    help="Any setting of a run, or ROLE.NAME of one agent; `workbench help analyze` lists them.",
)


def takes_settings(*shown: str, only_set: bool = False, new: bool = False) -> Callable[[C], C]:
    """Give a command ``--set`` and options for settings in place of its parameter ``settings``, where it gets those that were used.

    They come by the names of the settings' fields.

    Parameters
    ----------
    *shown : str
        The settings whose options the short help lists; the others work all the same.
    only_set : bool
        No option but ``--set``.
    new : bool
        Options for all settings of a new run; without it for those that a run which was begun may change.
    """
    chosen = [
        each
        for each in settings_by_name().values()
        if setting_of(each).option and (new or setting_of(each).resume) and not only_set
    ]
    by_field = {each.name: each for each in chosen}
    added = {name: _option(each, hidden=name not in shown) for name, each in by_field.items()}
    added["set_"] = inspect.Parameter(
        "set_", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[list[str] | None, SET]
    )

    def decorate(function: C) -> C:
        @wraps(function)
        def command(*values: Any, settings: Mapping[str, Any], **named: Any) -> Any:
            used = {
                name: _READERS[name](value) if name in _READERS else value
                for name, value in settings.items()
                # An option that can be given several times is an empty list where it was not, a flag is False.
                if name in by_field and value is not None and value != [] and value is not False
            }
            return function(*values, settings=merged(used, read_settings(settings["set_"] or ())), **named)

        return takes("settings", added)(command)  # type: ignore[return-value]

    return decorate


def _option(each: RequestField, *, hidden: bool) -> inspect.Parameter:
    # A value by name (a model for a role, the price of a model) is typed as pairs, which are texts.
    kind = str if each.shape != "value" or each.bare not in (int, float) else each.bare
    return option_for(each, setting_of(each).option, kind=kind, hidden=hidden)


def more_options(command: Any) -> list[str]:
    """Return the options that a command's short help leaves out, without those that stand for a setting or ask for nothing."""
    settings = {setting_of(each).option for each in settings_by_name().values()} | {"--yes"}
    names = [param.opts[0] for param in command.params if getattr(param, "hidden", False)]
    return [name for name in names if name not in settings or name == "--isolation"]


_READERS: dict[str, Callable[[Any], Any]] = {"models": read_roles, "prices": read_prices}
