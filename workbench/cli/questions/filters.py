"""The filter options that ``questions import`` and ``fetch`` share: which of the events that were read are kept."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from workbench.cli.request_options import option_for
from workbench.cli.science.science_options import listed
from workbench.errors import UsageError
from workbench.questions.question import check_day
from workbench.questions.sets.selection import RULES, SelectionRules
from workbench.requests import fields_of, takes

C = TypeVar("C", bound=Callable[..., Any])

_RULES = Annotated[
    str,
    typer.Option(
        "--rules", help="none, analytica-paper or prophet-paper; the options below change single bounds."
    ),
]


def takes_filters(default: str) -> Callable[[C], C]:
    """Give a command the filter options in place of its parameter ``bounds``, where it gets the rules they come to.

    Parameters
    ----------
    default : str
        Name of the rules where ``--rules`` is not used.
    """
    added = {
        "rules": inspect.Parameter(
            "rules", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_RULES
        )
    }
    for each in fields_of(SelectionRules):
        added[each.name] = option_for(each, kind=each.bare if each.bare in (int, float) else str)

    def decorate(function: C) -> C:
        @wraps(function)
        def command(*values: Any, bounds: Mapping[str, Any], **named: Any) -> Any:
            return function(*values, bounds=_selection_rules(dict(bounds)), **named)

        return takes("bounds", added)(command)  # type: ignore[return-value]

    return decorate


def _selection_rules(used: dict[str, Any]) -> SelectionRules:
    name = used.pop("rules")
    if name not in RULES:
        raise UsageError(f"--rules is one of {', '.join(RULES)}, not {name!r}")
    for option in ("closes_from", "closes_to"):
        check_day(used[option] or "", of=f"--{option.replace('_', '-')}", blank=True)
    # An option that was not used is None, no list, or no flag: the rules say what holds then.
    changed = {option: value for option, value in used.items() if value is not None and value is not False}
    if words := changed.pop("excluded_words", None):
        changed["excluded_words"] = tuple(word for text in words for word in listed(text))
    return replace(RULES[name], **changed)
