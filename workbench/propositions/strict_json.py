"""Read stored JSON into frozen dataclasses, strictly: no unknown key, no text for a number, no NaN, one line of complaint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic_core import PydanticSerializationError, core_schema, to_json

from workbench.errors import UsageError
from workbench.formatting import single_line
from workbench.propositions.errors import TreeFormatError
from workbench.propositions.ids import NodeId, require_id

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")

#: What a stored dataclass sets as its ``__pydantic_config__``.
STRICT = {"strict": True, "extra": "forbid", "allow_inf_nan": False}


class ReadBy:
    """Marks a field that a function of ours reads: ``edit: Annotated[Edit, ReadBy(edit_from_json)]``.

    The function gets the JSON value and the ``context`` of :func:`read_strict`.
    """

    def __init__(self, reader: Callable[[Any, Any], Any]) -> None:
        self._reader = reader

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        # A plain validator: pydantic must not look into a type that it cannot know, such as the classes of installed rules.
        return core_schema.with_info_plain_validator_function(
            lambda value, info: self._reader(value, info.context)
        )


class _CheckId:
    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(require_id, handler(source))


#: An id whose spelling is checked when it is read. A tree's own ids are not marked: `check_parents` reads them once.
StoredId = Annotated[NodeId, _CheckId()]


def read_strict(kind: Callable[..., T], data: object, *, what: str, context: Any = None) -> T:
    """Read the JSON value as an instance of a dataclass marked ``STRICT``.

    Raises `TreeFormatError`: Another shape; the line names the place and what belongs there. Raises `UsageError`: Whatever the dataclass
    itself refuses with (a probability outside [0, 1], a formula that does not parse).
    """
    from pydantic import ValidationError

    # Through JSON text, because only there pydantic's strict mode takes a list for a tuple, a text for an enumeration and
    # an object for a dataclass. NaN passes as itself, so that the field refuses it: as null it would pass for "no value".
    try:
        text = to_json(data, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise TreeFormatError(f"{what} is not plain JSON: {single_line(str(error))}") from None
    try:
        value: T = _adapter(kind).validate_json(text, context=context)
        return value
    except ValidationError as error:
        raise _complaint(error, what) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    # pydantic is imported with the first value that is read: `import workbench` stays 0.1 s lighter without it
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _complaint(error: ValidationError, what: str) -> UsageError:
    first = error.errors(include_url=False)[0]
    # pydantic puts "[key]" into the place when a mapping's key is at fault.
    place = ".".join(str(part)[:60] for part in first["loc"] if part != "[key]")
    of = f"{place} of {what}" if place else what
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UsageError):
        # The same error object with the place in front: a fresh one may need other arguments than a line of text.
        cause.args = (single_line(f"{of}: {cause}"),)
        return cause
    value = first["input"]
    match first["type"]:
        case "missing" | "missing_argument":
            owner, _, field = place.rpartition(".")
            line = f"{f'{owner} of {what}' if owner else what} lacks {field}"
        case "unexpected_keyword_argument" | "extra_forbidden":
            owner, _, field = place.rpartition(".")
            line = f"{f'{owner} of {what}' if owner else what} has unknown keys: {field}"
        case _:
            # "Input should be a number", "String should have ...": else the words of a check of ours
            _, should, required = first["msg"].rpartition(" should ")
            required = required if should else f"be {required.removeprefix('Value error, ')}"
            line = f"{of} must {required}, not {_kind_of_value(value)}"
    return TreeFormatError(single_line(line))


def _kind_of_value(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return repr(value)[:80]
