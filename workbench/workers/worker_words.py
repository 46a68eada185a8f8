"""What comes up from workers, read strictly: the one form of each message, no key more, every size bounded, nothing unpickled.

A worker, the scheduler and even the process that speaks to them may send anything; what is not of these forms is a
``BadWord`` and ends the lease that it came with.
"""

from functools import cache
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from workbench.errors import WorkbenchError

#: One line of the terminal: names, addresses and reasons are shown to a person.
Line = Annotated[str, Field(max_length=300, pattern=r"^[\x20-\x7e]*$")]
Text = Annotated[str, Field(max_length=16_000_000)]
Number = Annotated[int, Field(ge=0, le=2**31)]
_Plain = Annotated[str, Field(max_length=4000)] | int | float | bool | None


class BadWord(WorkbenchError):
    """A worker, or who speaks for it, said something that no worker of ours says."""


class _Word(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _ErrorWord(_Word):
    kind: Annotated[str, Field(max_length=200)]
    message: Annotated[str, Field(max_length=4000)]
    facts: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,40}$")], _Plain], Field(max_length=20)
    ]


class _BugWord(_ErrorWord):
    line: Annotated[str, Field(max_length=600)]


class _Call(_Word):
    id: Text
    name: Text
    arguments: dict[str, Any]


class _Usage(_Word):
    input_tokens: Number | None = None
    output_tokens: Number | None = None
    cached_tokens: Number | None = None


class _Reply(_Word):
    text: Text
    model: Text
    tool_calls: list[_Call]
    usage: _Usage
    cost_usd: Annotated[float, Field(ge=0, le=1e6)] | None
    seconds: Annotated[float, Field(ge=0)]
    notes: list[Text] = []
    finish: Text = "complete"
    context_window: Number | None = None
    thoughts: Text = ""
    thinking: list[dict[str, Any]] = []


class _Message(_Word):
    role: Literal["system", "user", "assistant", "tool"]
    content: Text
    images: list[Text]
    tool_calls: list[_Call]
    tool_call_id: Text | None
    thinking: list[dict[str, Any]] = []


class _Node(_Word):
    id: Text
    statement: Text


class _Tool(_Word):
    name: Text
    description: Text
    parameters: dict[str, Any]


class _Stored(_Word):
    messages: list[_Message]
    tools: list[_Tool]
    stage: Line
    nodes: list[_Node]
    cutoff: Line
    temperature: float | None
    max_tokens: Number | None
    effort: Line | None = None


class _Schema(_Word):
    name: Text
    schema_: dict[str, Any] = Field(alias="schema")
    note: Text
    text_form: Text = ""


class _Request(_Word):
    stored: _Stored
    captions: list[list[Text]]
    schema_: _Schema | None = Field(alias="schema")
    role: Line | None
    may_fall_back: bool
    choice: Text
    spare_cache: bool


class _Answer(_Word):
    body: Annotated[str, Field(max_length=64_000_000)]
    meta: dict[str, Any]


class _Row(_Word):
    place: tuple[Line, Number, Number]
    at_utc: Line
    path: Text
    asked: dict[str, Any]
    sent: list[dict[str, Any]]
    cutoff: Line
    answer: _Answer | None
    refused: Text | None
    request_hash: Line
    audit: dict[str, Any]


class _Failure(_Word):
    reason: Text
    retryable: bool
    gave_up: tuple[Number, Number] | None


class _Finding(_Word):
    check: Line
    words: Text


class _Grounded(_Word):
    p: Annotated[float, Field(ge=0, le=1)]
    key_factor: Text
    report: Text
    kind: Line
    evidence: dict[str, Any]
    trace: dict[str, Any]
    findings: Annotated[list[_Finding], Field(max_length=20)] = []


class _OfALease(_Word):
    lease: Line
    n: Number


class _Begin(_OfALease):
    what: Literal["begin"]
    job: Line
    inbox: Line
    worker: Line


class _Ask(_OfALease):
    what: Literal["ask"]
    place: tuple[Line, Number, Number]
    request: _Request


class _Sent(_OfALease):
    what: Literal["sent"]
    limits: Annotated[dict[Line, Line], Field(max_length=100)]
    reply: _Reply | None = None
    error: _ErrorWord | _BugWord | None = None


class _RowFiled(_OfALease):
    what: Literal["row"]
    row: _Row


class _Journal(_OfALease):
    what: Literal["journal"]
    offset: Annotated[int, Field(ge=0, le=2**40)]
    lines: Annotated[str, Field(max_length=64_000_000)]


class _Plainly(_OfALease):
    what: Literal["level", "ping"]


class _End(_OfALease):
    what: Literal["end"]
    error: _ErrorWord | None = None
    bug: _BugWord | None = None
    failure: _Failure | None = None
    grounding: _Grounded | None = None
    notebook: Annotated[str, Field(max_length=64_000_000)] | None = None


_FromWorker = Annotated[
    _Begin | _Ask | _Sent | _RowFiled | _Journal | _Plainly | _End, Field(discriminator="what")
]


class Said(_Word):
    """What one worker answered to a question of the owner, or in which words it failed."""

    said: dict[str, Any] | Line | None = None
    failed: Annotated[str, Field(max_length=400)] | None = None


class Pipe(_Word):
    """One line of the process that is the Dask client: exactly one of its kinds."""

    message: dict[str, Any] | None = None
    n: Number | None = None
    answer: Any = None
    error: tuple[Annotated[str, Field(max_length=200)], Annotated[str, Field(max_length=1000)]] | None = None
    ready: Literal[True] | None = None
    gone: Line | None = None
    refused: Annotated[str, Field(max_length=100)] | None = None
    size: Annotated[int, Field(ge=0)] = 0


Members = Annotated[dict[Line, Annotated[int, Field(ge=1, le=10_000, strict=True)]], Field(max_length=10_000)]
Answers = Annotated[dict[Line, Said], Field(max_length=10_000)]


def read_word(kind: Any, data: Any) -> Any:
    """Return a value as this kind of word, from JSON bytes or from what JSON gives; raises ``BadWord``."""
    try:
        # By the text, because only there strict mode takes a list for a tuple.
        return _reader_of(kind).validate_json(data if isinstance(data, bytes) else orjson.dumps(data))
    except (ValidationError, TypeError, RecursionError) as error:
        first = (
            error.errors(include_url=False)[0]
            if isinstance(error, ValidationError)
            else {"loc": (), "msg": str(error)}
        )
        place = ".".join(str(part)[:40] for part in first["loc"])[:160]
        # both may hold what was sent
        raise BadWord(f"{place!a}: {first['msg'][:200]!a}") from None


def worker_message(data: Any) -> dict[str, Any]:
    """Return a message of a worker that has the form of one; raises ``BadWord``."""
    message: dict[str, Any] = read_word(_FromWorker, data).model_dump(by_alias=True, exclude_unset=True)
    if message["what"] == "sent" and ("reply" in message) == ("error" in message):
        raise BadWord("sent: a reply or an error")
    if message["what"] == "end" and len({"error", "bug", "failure", "grounding"} & set(message)) != 1:
        raise BadWord("end: one outcome")
    return message


@cache
def _reader_of(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
