"""The form of a reply's JSON, and the reason to send back where a reply has another one."""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from workbench.agents.errors import MalformedReply
from workbench.agents.reply_json import first_line, number_of, read_json
from workbench.models.thoughts import without_thoughts

JSON_BLOCK = "```json block"
LONGEST_NOTE = 600  # characters of one side note of a reply

Number = Annotated[float, BeforeValidator(number_of)]
Unit = Annotated[float, BeforeValidator(number_of), Field(ge=0, le=1)]


class ReplyShape(BaseModel):
    """What the JSON of a reply has to look like; agents derive theirs from it."""

    # Strict takes an integer for a float, but neither a text nor true; `number_of` has read texts that are numbers before.
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, frozen=True)


_S = TypeVar("_S", bound=ReplyShape)


def read_form(shape: type[_S], text: str) -> tuple[_S, str, tuple[str, ...]]:
    """The shape that a reply's JSON has, the prose around it, and notes on what was passed over."""
    notes: dict[int, tuple[str, ...]] = {}

    def read(data: Any) -> _S:
        value = check_form(shape, data)
        extra = sorted(set(data) - set(shape.model_fields))
        notes[id(value)] = tuple(f"key {first_line(key, 60)!r} passed over" for key in extra)
        return value

    value, prose = read_json(clean(text), read, what=JSON_BLOCK)
    return value, prose, notes[id(value)]


def read_reply(shape: type[_S], text: str) -> _S:
    """Read a reply's one ``json`` object into a shape of the agent that asked; raises `MalformedReply` with a reason for the model."""
    return read_form(shape, text)[0]


def check_form(shape: type[_S], data: object) -> _S:
    """Return the JSON of a reply in its form; raises `MalformedReply` with what is wrong, field by field."""
    if not isinstance(data, dict):
        raise MalformedReply(f"the JSON must be an object, not {_kind(data)}")
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        faults = []
        for fault in error.errors(include_url=False)[:5]:
            where = first_line(".".join(str(part) for part in fault["loc"]))
            faults.append(f'"{where}": {fault["msg"][0].lower()}{fault["msg"][1:]}')
        raise MalformedReply("; ".join(faults)) from error


def clean(text: str) -> str:
    """Return a reply with plain line ends and without thoughts."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return without_thoughts(text)


def _kind(data: object) -> str:
    return {list: "a list", str: "a string", type(None): "null", bool: "true or false"}.get(
        type(data), "a number"
    )
