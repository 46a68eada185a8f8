"""What the owner of a run and its workers say to each other: JSON, no code, no pickles.

A worker asks (``ask``, ``row``, ``journal`` ...), the owner answers each message by its number; in between it may have the
worker send a request to its model (``send``), which the worker reports with ``sent``.
"""

import base64
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import orjson

from proxies.errors import ProxyError
from proxies.ledger import Address, Answer, LedgerRow
from sandbox.errors import SandboxError
from workbench.errors import WorkbenchError
from workbench.models.base import (
    Message,
    ModelRequest,
    NodeRef,
    ReplySchema,
    ToolCall,
    ToolSpec,
    to_json,
)

#: Errors that mean the same on both sides; anything else is a bug, or a stranger's.
_TREES: tuple[type[Exception], ...] = (WorkbenchError, ProxyError, SandboxError)


_NUMBER = (int, float, type(None))
#: What a fact of our errors is, where it is no text.
_FACTS: dict[str, Any] = {
    **dict.fromkeys(("retry_after", "window"), _NUMBER),
    **dict.fromkeys(("rate_limited", "billed", "heard"), bool),
}


class WorkerBug(Exception):
    """What a worker raised and no error of ours stands for; its note has the traceback."""


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as bytes."""
    return orjson.dumps(message, default=str)  # as the ledger writes what a call asked and sent


def decode(data: bytes) -> dict[str, Any]:
    """Return the message that ``encode`` wrote."""
    message: dict[str, Any] = orjson.loads(data)
    return message


def error_to_json(error: BaseException) -> dict[str, Any]:
    """Return an error by the name of its class, with its message and plain attributes."""
    facts = {
        name: value
        for name, value in vars(error).items()
        if not name.startswith("_") and isinstance(value, str | int | float | bool | None)
    }
    return {"kind": type(error).__name__, "message": str(error)[:4000], "facts": facts}


def error_from_json(data: dict[str, Any]) -> Exception:
    """Return the error again; one whose class is not known on this side as the nearest of its tree that is."""
    kind = _errors().get(data["kind"])
    if kind is None:
        return WorkerBug(f"{data['kind']}: {data['message']}")
    # Not by the constructors, each of which takes other arguments.
    error = kind.__new__(kind)
    error.args = (data["message"],)
    # A fact that is not of its kind would be raised about where the error is handled, not here.
    vars(error).update(
        (name, value)
        for name, value in data["facts"].items()
        if isinstance(value, _FACTS.get(name, object)) and not callable(getattr(kind, name, None))
    )
    return error


def _errors() -> dict[str, type[Exception]]:
    def below(kind: type[Exception]) -> Iterator[type[Exception]]:
        yield kind
        for child in kind.__subclasses__():
            yield from below(child)

    return {kind.__name__: kind for root in _TREES for kind in below(root)}


def request_to_json(request: ModelRequest) -> dict[str, Any]:
    """Return a request whole: what is stored of it, and what is not but steers how it is sent."""
    return {
        "stored": to_json(request),
        "captions": [list(message.captions) for message in request.messages],
        "schema": None if request.reply_schema is None else asdict(request.reply_schema),
        "role": request.role,
        "may_fall_back": request.may_fall_back,
        "choice": request.choice,
        "spare_cache": request.spare_cache,
    }


def request_from_json(data: dict[str, Any]) -> ModelRequest:
    """Return the request that ``request_to_json`` wrote; its hash is the same."""
    stored = data["stored"]
    messages = tuple(
        Message(
            role=message["role"],
            content=message["content"],
            images=tuple(base64.b64decode(image) for image in message["images"]),
            captions=tuple(captions),
            tool_calls=tuple(ToolCall(**call) for call in message["tool_calls"]),
            tool_call_id=message["tool_call_id"],
            thinking=tuple(message.get("thinking", ())),
        )
        for message, captions in zip(stored["messages"], data["captions"], strict=True)
    )
    return ModelRequest(
        messages=messages,
        stage=stored["stage"],
        cutoff=stored["cutoff"],
        nodes=tuple(NodeRef(**node) for node in stored["nodes"]),
        tools=tuple(ToolSpec(**tool) for tool in stored["tools"]),
        temperature=stored["temperature"],
        max_tokens=stored["max_tokens"],
        effort=stored.get("effort"),
        reply_schema=None if data["schema"] is None else ReplySchema(**data["schema"]),
        role=data["role"],
        may_fall_back=data["may_fall_back"],
        choice=data["choice"],
        spare_cache=data["spare_cache"],
    )


def row_to_json(row: LedgerRow) -> dict[str, Any]:
    """Return a row of the ledger of data calls, its answer as the text that is stored."""
    address, answer = row.address, row.answer
    return {
        "place": [address.stage, address.step, address.retry],
        "at_utc": row.at_utc,
        "path": row.path,
        "asked": row.asked,
        "sent": row.sent,
        "cutoff": row.cutoff,
        "answer": None if answer is None else {"body": answer.encoded().decode(), "meta": answer.meta},
        "refused": row.refused,
        "request_hash": row.request_hash,
        "audit": dict(row.audit),
    }


def row_from_json(data: dict[str, Any], place: Address) -> LedgerRow:
    """Return the row at its stage, step and retry of the attempt that ``place`` names: a worker writes into no other."""
    stage, step, retry = data["place"]
    answer = data["answer"]
    return LedgerRow(
        address=replace(place, stage=stage, step=step, retry=retry),
        at_utc=data["at_utc"],
        path=data["path"],
        asked=data["asked"],
        sent=data["sent"],
        cutoff=data["cutoff"],
        answer=None if answer is None else Answer(body=answer["body"].encode(), meta=answer["meta"]),
        refused=data["refused"],
        request_hash=data["request_hash"],
        audit=data["audit"],
    )
