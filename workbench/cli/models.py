"""``models``: which models the keys at hand reach; whether one of them is fit for the job, and how good."""

import inspect
from typing import Any

import typer

from workbench.cli.lazy import lazy_group
from workbench.cli.operation_command import command_of
from workbench.operations.models import Models

# fmt: off
MODELS = {
    "try": ("workbench.operations.models:TryModel", "Ask a model for every reply form once, on one small driver, and say whether it is fit; exit 6 if it is not."),
    "exam": ("workbench.operations.models:ExamineModel", "Examine a model on dated questions whose outcomes are known, beside the base rate and the key-free forecaster."),
}
# fmt: on
models = typer.Typer(
    cls=lazy_group(MODELS),
    invoke_without_command=True,
    no_args_is_help=False,
    help="List the models that the keys at hand reach, or try one.",
    epilog="More: --json (`workbench help COMMAND` says what each is)",
)
_listed = command_of(Models)


def _list(ctx: typer.Context, **words: Any) -> None:
    if ctx.invoked_subcommand is None:
        _listed(**words)


_context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
_list.__signature__ = inspect.signature(_listed).replace(  # type: ignore[attr-defined]
    parameters=[_context, *inspect.signature(_listed).parameters.values()]
)
_list.__annotations__ = {**_listed.__annotations__, "ctx": typer.Context}
models.callback()(_list)
