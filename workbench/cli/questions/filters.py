"""The filter options that ``questions import`` and ``fetch`` share, spelt once: which of the events that were read are kept."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Annotated, Any

import typer

from workbench.cli.science.science_options import listed
from workbench.errors import UsageError
from workbench.questions.question import check_day
from workbench.questions.sets.selection import RULES, SelectionRules

_FILTERS: dict[str, Any] = {
    "closes_from": Annotated[str | None, typer.Option("--closes-from", help="First closing day.")],
    "closes_to": Annotated[str | None, typer.Option("--closes-to", help="Last closing day.")],
    "min_volume": Annotated[
        float | None, typer.Option("--min-volume", help="US dollars traded in an event.")
    ],
    "max_markets": Annotated[
        int | None, typer.Option("--max-markets", hidden=True, help="Most markets of an event.")
    ],
    "exclude": Annotated[
        str | None, typer.Option("--exclude", hidden=True, help="Words of titles to leave out, by comma.")
    ],
    "per_series": Annotated[
        int | None, typer.Option("--per-series", hidden=True, help="Most events of one series.")
    ],
    "per_category": Annotated[
        int | None, typer.Option("--per-category", hidden=True, help="Most events of one category.")
    ],
    "size": Annotated[int | None, typer.Option("--size", help="Most events in all, the most traded first.")],
}
_RULES = Annotated[
    str,
    typer.Option(
        "--rules", help="none, analytica-paper or prophet-paper; the options below change single bounds."
    ),
]


def takes_filters(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the filter options in place of its parameter ``bounds``, where it gets the rules they come to.

    Parameters
    ----------
    default : str
        Name of the rules where ``--rules`` is not used.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function)
        parameters: list[inspect.Parameter] = []
        for name, parameter in own.parameters.items():
            if name != "bounds":
                parameters.append(parameter)
                continue
            parameters.append(parameter.replace(name="rules", default=default, annotation=_RULES))
            for option, kind in _FILTERS.items():
                parameters.append(parameter.replace(name=option, default=None, annotation=kind))

        @wraps(function)
        def command(**values: Any) -> None:
            rules = values.pop("rules")
            used = {name: values.pop(name) for name in _FILTERS}
            function(bounds=_bounds(rules, used), **values)

        # What typer reads: the names, their types and defaults.
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def _bounds(name: str, used: dict[str, Any]) -> SelectionRules:
    if name not in RULES:
        raise UsageError(f"--rules is one of {', '.join(RULES)}, not {name!r}")
    for option in ("closes_from", "closes_to"):
        check_day(used[option] or "", of=f"--{option.replace('_', '-')}", blank=True)
    words = used.pop("exclude")
    changed = {option: value for option, value in used.items() if value is not None}
    if words is not None:
        changed["excluded_words"] = tuple(listed(words))
    return replace(RULES[name], **changed)
