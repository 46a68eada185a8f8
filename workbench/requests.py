"""What can be asked for, described once: screens derive options, arguments, schemas and fields from it.

A request is a frozen model (pydantic's, or a dataclass that pydantic reads). Each field carries a :class:`Says` in its annotation;
:func:`fields_of` lists them for whoever makes a face: the command line (``workbench.cli.options``), the magics, MCP, Python and
the page. A field that is added to a model is on all of them.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, is_dataclass, replace
from dataclasses import field as dataclass_field
from dataclasses import fields as dataclass_fields
from datetime import date
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict, ValidationError

from proxies.input_files import MOST_TEXT_BYTES, InputRefused, read_text
from workbench.errors import BadSetting, UsageError

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
    by_set : bool
        It has no option of its own: ``--set NAME=VALUE`` gives it on the command line.
    place : bool
        Typed by its place on the command line, without a name.
    short : str
        A letter that is the option too.
    """

    text: str
    word: str = ""
    form: str = ""
    file: bool = False
    more: bool = False
    by_set: bool = False
    place: bool = False
    short: str = ""

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
    low, high, above : float, optional
        Bounds of its number: inclusive ones, and one that it must pass.
    """

    panel: str
    option: str = ""
    resume: bool = False
    in_file: Literal["own", "any", "less", "no"] = "own"
    low: float | None = None
    high: float | None = None
    above: float | None = None

    @property
    def bounds(self) -> str:
        """The bounds in words; "" without any."""
        if self.low is not None and self.high is not None:
            return f"from {self.low} to {self.high}"
        if self.low is not None:
            return f"at least {self.low}"
        return "" if self.above is None else f"above {self.above}"

    def holds(self, value: float) -> bool:
        """Whether a number is within the bounds; NaN is within none, since every comparison with it is false."""
        return (
            (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.above is None or value > self.above)
        )


def setting(default: Any, panel: str, text: str, **more: Any) -> Any:
    """Return a dataclass's field of a run's settings with its default; ``more`` is as of `Setting`."""
    says = Setting(panel=panel, text=text, **more)
    if isinstance(default, list | dict):
        return dataclass_field(default_factory=default.copy, metadata={_SAYS: says})
    return dataclass_field(default=default, metadata={_SAYS: says})


#: Where a dataclass's field has its `Says`, if it is no mark of the type.
_SAYS = "says"


def check_settings(settings: Any) -> None:
    """Raise ``BadSetting`` for a setting out of its bounds, or that is none of its choices; ``__post_init__`` calls it."""
    for each in fields_of(settings.__class__):
        value = getattr(settings, each.name)
        choices = get_args(each.bare) if get_origin(each.bare) is Literal else ()
        if value is None or not isinstance(each.says, Setting):
            continue
        if choices and value not in choices:
            raise BadSetting(f"{each.name} is one of {', '.join(choices)}, not {value!r:.40}")
        if each.says.bounds and not each.says.holds(value):
            raise BadSetting(f"{each.name} must be {each.says.bounds}, not {value}")


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
        """Its option on a command line; "" of a field that only ``--set`` reaches."""
        if self.says.by_set:
            return ""
        if isinstance(self.says, Setting):
            return self.says.option
        return f"--{self.word.replace('_', '-')}"

    @property
    def typed_as(self) -> str:
        """What a person typed it by: its option, or its word where it goes by its place."""
        return self.name.upper() if self.says.place else self.option or f"--set {self.word}"

    @property
    def metavar(self) -> str | None:
        """What stands for a value in lists of options."""
        if get_origin(self.bare) is Literal:
            return "|".join(map(str, get_args(self.bare)))
        return self.says.form.partition(" ")[0].rstrip(",") or _METAVARS.get(self.bare)

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED

    @property
    def shape(self) -> Shape:
        """A flag, one value, a list of values, or a value by name."""
        origin = get_origin(self.bare) or self.bare
        if origin in (Union, UnionType):  # what is typed is the first that it may be
            origin = get_origin(get_args(self.bare)[0]) or get_args(self.bare)[0]
        if origin is bool:
            return "flag"
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return "mapping"
        return "list" if origin in (list, tuple) else "value"


_METAVARS = {date: "YYYY-MM-DD", float: "X", int: "N", Path: "FILE"}
#: The default of a field that has to be given.
REQUIRED: Any = inspect.Parameter.empty


@cache
def fields_of(model: type) -> tuple[RequestField, ...]:
    """Return the described fields of a model, in their order; one without :class:`Says` or a docstring of its own is on no face."""
    hints = get_type_hints(model, include_extras=True)
    defaults = _defaults(model)
    own = dataclass_fields(model) if is_dataclass(model) else ()
    described = {each.name: each.metadata[_SAYS] for each in own if _SAYS in each.metadata}
    listed = []
    for name, default in defaults.items():
        kind = hints[name]
        marks = getattr(kind, "__metadata__", ())
        says = next((mark for mark in marks if isinstance(mark, Says)), None)
        if says is None and name in described:
            says = described[name]
            kind = Annotated[kind, says]
        if issubclass(model, Request):
            says = model.said(name, says)
        if says is not None:
            listed.append(
                RequestField(name=name, kind=kind, bare=_without_none(kind), says=says, default=default)
            )
    places = getattr(model, "places", ())
    return tuple(
        sorted(listed, key=lambda each: places.index(each.name) if each.name in places else len(places))
    )


def _defaults(model: type) -> dict[str, Any]:
    own = getattr(model, "model_fields", None)
    if own is not None:
        return {
            name: REQUIRED if info.is_required() else info.get_default(call_default_factory=True)
            for name, info in own.items()
        }
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


class Request(BaseModel):
    """A request that every face can fill in: Python and MCP with values, the command line and the magics with words.

    The text below a field describes it.

    Attributes
    ----------
    places : names of fields
        Typed by their place on the command line, in this order, without a name.
    joined : names of fields
        Several words without quotes are one text.
    short : names of fields
        Options in the short help of the command; None: all.
    unlisted : names of fields
        Options that the short help leaves out. Fields that are in neither have none: ``--set NAME=VALUE`` gives them.
    person : names of fields
        For a person alone: no agent of another program may set them.
    """

    # Built when the first one is read: a command that asks for something else does not wait for it.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,
    )
    places: ClassVar[tuple[str, ...]] = ()
    joined: ClassVar[tuple[str, ...]] = ()
    short: ClassVar[tuple[str, ...] | None] = None
    unlisted: ClassVar[tuple[str, ...]] = ()
    person: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def said(cls, name: str, says: Says | None) -> Says | None:
        """Return what a person reads of a field, from its mark or its docstring; None of a field that has neither."""
        text = cls.model_fields[name].description
        if says is None and not text:
            return None
        says = says or Says(text=" ".join(str(text).split()))
        more = says.more if cls.short is None else name not in cls.short
        by_set = (
            more and name not in (*cls.unlisted, *cls.places) and not cls.model_fields[name].is_required()
        )
        return replace(says, place=name in cls.places, more=more, by_set=by_set)

    @classmethod
    def set_fields(cls) -> dict[str, RequestField]:
        """Return the fields without an option by the names that ``--set`` has for them, but for the settings of a run."""
        return {
            each.word.replace("-", "_"): each
            for each in fields_of(cls)
            if each.says.by_set and not isinstance(each.says, Setting)
        }

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return the request of Python's names and values; raises ``UsageError``, in one line, for what cannot be read."""
        if unknown := sorted(set(values) - set(cls.model_fields)):
            raise UsageError(f"there is no {unknown[0]!r:.40} here: {', '.join(cls.model_fields)}")
        try:
            return cls.model_validate({name: value for name, value in values.items() if value is not None})
        except ValidationError as error:
            name, place, reason, _ = _first(error)
            field = _field(cls, name)
            key = f"[{place!r:.60}]" if field.shape == "mapping" and place is not None else ""
            form = f"; write {field.says.form}" if field.says.form else ""
            raise UsageError(f"{name}{key}: {reason}{form}") from None

    @classmethod
    def typed(cls, pairs_of_set: Sequence[str] = (), **words: Any) -> Self:
        """Return the request of typed words, by the names of the fields: texts, lists of texts, flags.

        ``pairs_of_set`` are the ``NAME=VALUE`` of ``--set``. Files that a text names are read here.

        Raises `UsageError`: A text that cannot be read, or a key that is named twice for the same.
        """
        for given in pairs_of_set:
            cls._put(words, given)
        pairs: dict[tuple[str, object], str] = {}
        values: dict[str, Any] = {}
        for field in fields_of(cls):
            written = words.pop(field.name, None)
            # A flag of a request that can leave it open is not said where it is not typed.
            if written is None or written == [] or (written is False and field.default is None):
                continue
            values[field.name] = written
            if field.shape == "mapping":
                values[field.name] = {}
                for pair in written:
                    key, text = _split(field, pair)
                    if key in values[field.name]:
                        raise UsageError(f"{field.typed_as} names {key} twice")
                    pairs[field.name, key] = pair
                    values[field.name][key] = _file_text(field, text) if field.says.file else text
            elif field.shape == "list":
                pairs |= {(field.name, place): text for place, text in enumerate(written)}
            elif isinstance(written, Sequence) and not isinstance(written, str):
                values[field.name] = " ".join(written)
        assert not words, words
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            name, place, reason, ours = _first(error)
            field = _field(cls, name)
            pair = pairs.get((name, place), values.get(name))
            # A validator of ours says what is wrong with the value; of pydantic's own reasons the form says it all.
            why = f"{reason}; " if ours and field.says.form else ""
            raise UsageError(
                f"{field.typed_as} {pair!r:.200}: {why}write {field.says.form or reason}"
            ) from None

    @classmethod
    def _put(cls, words: dict[str, Any], pair: str) -> None:
        """Put the value of a ``--set`` among the typed words: of a field without an option, else what the request's own --set takes."""
        name, _, text = (part.strip() for part in pair.partition("="))
        known = cls.set_fields()
        field = known.get(name.replace("-", "_"))
        if field is None:
            own = next((each.name for each in fields_of(cls) if each.option == "--set"), None)
            if own is None:
                near = "".join(f"did you mean {word}? " for word in get_close_matches(name, known, n=1))
                names = f"{near}{', '.join(known) or 'no settings'} can be set"
                raise UsageError(f"--set {pair!r:.200}: there is no setting {name!r:.60} here: {names}")
            words[own] = [*(words.get(own) or ()), pair]
        elif not text:
            raise UsageError(f"{field.typed_as}: write --set {name}=VALUE")
        elif field.shape in ("list", "mapping"):
            words[field.name] = [*(words.get(field.name) or ()), text]
        elif words.get(field.name) is not None:
            raise UsageError(f"{field.typed_as} is set twice: set it once")
        else:
            words[field.name] = text


#: What is wanted where pydantic says what is wrong.
_REASONS = {
    "bool_parsing": "true or false",
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "greater_than_equal": "a number of at least {ge}",
    "less_than_equal": "a number of at most {le}",
    "literal_error": "{expected}",
    "missing": "it is needed",
}


def _field(model: type, name: str) -> RequestField:
    return next(field for field in fields_of(model) if field.name == name)


def _first(error: ValidationError) -> tuple[str, Any, str, bool]:
    first = error.errors(include_url=False, include_input=False)[0]
    name, place, *_ = (*first["loc"], None, None)
    known = _REASONS.get(first["type"], "")
    reason = known.format(**first.get("ctx", {})) if known else first["msg"].removeprefix("Value error, ")
    return str(name), place, reason.removeprefix("Input should be "), first["type"] == "value_error"


def _split(field: RequestField, pair: str) -> tuple[str, str]:
    key, equals, text = pair.partition("=")
    if not (equals and key.strip() and text.strip()):
        raise UsageError(f"{field.typed_as} {pair!r:.200}: write {field.says.form or 'NAME=VALUE'}")
    return key.strip(), text.strip()


def _file_text(field: RequestField, name: str) -> str:
    try:
        return read_text(Path(name), most=MOST_TEXT_BYTES)
    except InputRefused as error:
        raise UsageError(f"{field.typed_as}: {error}") from None
