"""What can be asked for, described once: screens derive options, arguments, schemas and fields from it.

A request is a frozen model (pydantic's, or a dataclass that pydantic reads). Each field carries a :class:`Says` in its annotation;
:func:`fields_of` lists them for whoever makes a face: the command line (``workbench.cli.options``), the magics, MCP, Python and
the page. A field that is added to a model is on all of them.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass
from dataclasses import fields as dataclass_fields
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

C = TypeVar("C", bound=Callable[..., Any])

Shape = Literal["flag", "value", "list", "mapping"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """What a person reads of a field, and how it is typed.

    Parameters
    ----------
    text : str
        One sentence.
    word : str
        The name outside of Python, where it differs: option, magic's argument, name in MCP.
    form : str
        How one value is written, with an example; up to the first blank or comma it is what a list of options shows.
    file : bool
        A typed value names a file that holds it. Read for those who type (command line, magics), for nobody else.
    more : bool
        Left out of short lists of options; it works all the same.
    """

    text: str
    word: str = ""
    form: str = ""
    file: bool = False
    more: bool = False

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "description": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Says):
    """A field of a run's settings.

    Parameters
    ----------
    panel : str
        Under which it is listed.
    option : str
        Name of its own option on the command line, where it has one; ``--set`` reaches every setting.
    resume : bool
        Whether a run that was begun may go on with another value.
    in_file : {"own", "any", "less", "no"}
        In which ``workbench.toml`` it may stand: a person's own; one of the current folder too; there only to less than the own
        file allows; in none.
    """

    panel: str
    option: str = ""
    resume: bool = False
    in_file: Literal["own", "any", "less", "no"] = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestField:
    """One field of a request: ``kind`` is its type with all it is marked with, ``bare`` the type alone, without None."""

    name: str
    kind: Any
    bare: Any
    says: Says
    default: Any

    @property
    def word(self) -> str:
        """Its name outside of Python."""
        return self.says.word or self.name

    @property
    def option(self) -> str:
        """Its option on a command line."""
        return f"--{self.word.replace('_', '-')}"

    @property
    def metavar(self) -> str | None:
        """What stands for a value in lists of options."""
        return self.says.form.partition(" ")[0].rstrip(",") or None

    @property
    def shape(self) -> Shape:
        """A flag, one value, a list of values, or a value by name."""
        origin = get_origin(self.bare) or self.bare
        if origin is bool:
            return "flag"
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return "mapping"
        return "list" if origin in (list, tuple) else "value"


@cache
def fields_of(model: type) -> tuple[RequestField, ...]:
    """Return the described fields of a model, in their order; a field without :class:`Says` is on no face."""
    hints = get_type_hints(model, include_extras=True)
    defaults = _defaults(model)
    listed = []
    for name, default in defaults.items():
        kind = hints[name]
        marks = getattr(kind, "__metadata__", ())
        says = next((mark for mark in marks if isinstance(mark, Says)), None)
        if says is not None:
            listed.append(
                RequestField(name=name, kind=kind, bare=_without_none(kind), says=says, default=default)
            )
    return tuple(listed)


def _defaults(model: type) -> dict[str, Any]:
    own = getattr(model, "model_fields", None)
    if own is not None:
        return {name: info.get_default(call_default_factory=True) for name, info in own.items()}
    return {
        each.name: each.default if each.default_factory is MISSING else each.default_factory()
        for each in dataclass_fields(model)
    }


def _without_none(kind: Any) -> Any:
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        rest = [part for part in get_args(kind) if part is not NoneType]
        if len(rest) == 1:
            return _without_none(rest[0])
    return kind


def keywords_of(*models: type, but: Iterable[str] = ()) -> dict[str, inspect.Parameter]:
    """Return a keyword for each field of requests, for Python's face; ``but`` are those that stand in it already."""
    return {
        each.name: inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.bare
        )
        for model in models
        for each in fields_of(model)
        if each.name not in but
    }


def takes(parameter: str, added: Mapping[str, inspect.Parameter]) -> Callable[[C], C]:
    """Give a function parameters in place of one of its own, which gets a mapping of their values.

    Parameters
    ----------
    parameter : str
        The function's own; where it is ``**parameter`` only what others see of the function changes.
    added : mapping
        What callers see instead, by name; all by keyword.
    """

    def decorate(function: C) -> C:
        own = inspect.signature(function)
        any_keyword = own.parameters[parameter].kind is inspect.Parameter.VAR_KEYWORD
        shown: list[inspect.Parameter] = []
        for name, each in own.parameters.items():
            kind = inspect.Parameter.KEYWORD_ONLY if any_keyword else each.kind
            shown += [new.replace(kind=kind) for new in added.values()] if name == parameter else [each]

        @wraps(function)
        def wrapped(*values: Any, **named: Any) -> Any:
            if any_keyword:
                return function(*values, **named)
            used = {name: named.pop(name) for name in added if name in named}
            return function(*values, **named, **{parameter: used})

        # What typer and `help()` read: the names, their types and defaults.
        wrapped.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {each.name: each.annotation for each in shown}
        return wrapped  # type: ignore[return-value]

    return decorate


def described(*models: type, but: Iterable[str] = ()) -> Callable[[C], C]:
    """Put a line for each field of requests in place of the line ``**...`` of a numpydoc section."""

    def decorate(function: C) -> C:
        lines = []
        for line in (function.__doc__ or "").splitlines():
            if line.strip().startswith("**"):
                indent = line[: len(line) - len(line.lstrip())]
                for each in (field for model in models for field in fields_of(model)):
                    if each.name not in but:
                        lines += [
                            f"{indent}{each.name} : {each.shape}, optional",
                            f"{indent}    {each.says.text}",
                        ]
            else:
                lines.append(line)
        function.__doc__ = "\n".join(lines)
        return function

    return decorate
