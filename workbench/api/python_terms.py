"""Errors in the terms of Python: what mends one is a call of this API, or a keyword of the call that was refused."""

import functools
import inspect
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from proxies.remedies import Command, Option, Remedied, shell_terms

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

#: Command -> the call that does the same; methods of `Analysis` leave out the run, which they have.
CALLS = {
    "analyze": "wb.analyze",
    "doctor": "wb.doctor",
    "export": "analysis.export",
    "import": "wb.import_run",
    "import --review": "analysis.take_review",
    "read": "wb.read",
    "reground": "analysis.reground",
    "resolve": "analysis.resolve",
    "resume": "wb.resume",
    "runs": "wb.runs",
    "scenarios": "analysis.scenarios",
    "search": "wb.search_web",
    "show": "wb.open_run",
    "verify": "analysis.verify",
    "whatif": "analysis.what_if",
}
#: Option -> keyword, where they differ.
KEYWORDS = {"yes": "rebuy", "output": "path"}
#: Options that say which call it is.
_KINDS = {"all", "live", "record", "review"}


def python_terms(remedy: Command | Option) -> str:
    """Return the call, or the keyword, as it is written in Python; a command without a call as what to type in a shell."""
    if isinstance(remedy, Option):
        return f"{remedy.name}={_literal(remedy.value)}" if remedy.value else f"{remedy.name}="
    kinds = [f"--{name}" for name, _value in remedy.options if name in _KINDS]
    call = CALLS.get(" ".join([remedy.name, *kinds]))
    if call is None:
        return f"{shell_terms(remedy)} in a shell"
    arguments = (
        remedy.arguments[1:] if call.startswith("analysis.") and remedy.name != "import" else remedy.arguments
    )
    words = [repr(argument) for argument in arguments]
    words += [f"{KEYWORDS.get(name, name)}={value!r}" for name, value in remedy.options if name not in _KINDS]
    return f"{call}({', '.join(words)})"


def _literal(value: str | bool) -> str:
    return value if isinstance(value, str) and value.strip("'\"") != value else repr(value)


@contextmanager
def _worded() -> Any:
    try:
        yield
    except Remedied as error:
        error.terms = python_terms
        raise


def in_python_terms(function: F) -> F:
    """Return the function with its errors in the terms of Python."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with _worded():
                return await function(*args, **kwargs)

        return cast(F, awaited)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with _worded():
            return function(*args, **kwargs)

    return cast(F, called)


def methods_in_python_terms(kind: C) -> C:
    """Return the class with the errors of its public methods in the terms of Python."""
    for name, member in list(vars(kind).items()):
        if not name.startswith("_") and inspect.isfunction(member):
            setattr(kind, name, in_python_terms(member))
    return kind
