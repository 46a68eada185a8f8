"""Decode a kernel's frames into messages without blocking the loop for long.

The signature of a long message is checked, and its content decoded, in a thread. A decoder of JSON holds the interpreter from
a document's begin to its end there too, so the values are counted before they are made: ten megabytes of text decode in some
milliseconds, ten megabytes of empty lists in a second.
"""

import asyncio
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from proxies.json_text import Row

_DELIMITER = b"<IDS|MSG>"
_SHORT = 64 << 10  # bytes that are decoded without counting
_MAX_HEADER = 64 << 10
_MAX_VALUES = 250_000  # weight of the values of one message; a number in a list weighs 1
_PAIR = 4  # weight of a list, an object, or a key: each is an object of its own
_ESCAPED = re.compile(rb"\\.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A message with a valid signature; `content` is None if it is unreadable or too heavy."""

    kind: str
    parent: str | None
    content: Row | None


async def decode_message(frames: Sequence[bytes], key: bytes) -> Decoded | None:
    """Decode the message in these frames; None for a wrong signature, no header or missing parts."""
    try:
        # before the delimiter stand a topic or identities; a kernel could send thousands of them
        start = frames.index(_DELIMITER, 0, 3) + 1
        signature, *parts = frames[start : start + 5]
        header, parent, _, content = parts
    except ValueError:
        return None
    if max(map(len, parts[:3])) > _MAX_HEADER:
        return None
    if len(content) > _SHORT:
        signed = await asyncio.to_thread(_sign, key, parts)
    else:
        signed = _sign(key, parts)
    if not hmac.compare_digest(signed, signature):
        return None
    fields, cause = _object(header), _object(parent)
    kind, request = (fields or {}).get("msg_type"), (cause or {}).get("msg_id")
    if not isinstance(kind, str) or not isinstance(request, str | None):
        return None
    if len(content) <= _SHORT:
        return Decoded(kind, request, _object(content))
    if await _is_heavy(content):
        return Decoded(kind, request, None)
    # a quarter of a million long numbers take 0.2 s, and that is not to be the loop's own time
    return Decoded(kind, request, await asyncio.to_thread(_object, content))


def claimed_request(frames: Sequence[bytes]) -> str | None:
    """Return the request that an overlong message claims to answer; nobody vouches for the claim."""
    try:
        parent = frames[frames.index(_DELIMITER, 0, 3) + 3]
    except (ValueError, IndexError):
        return None
    request = (_object(parent) or {}).get("msg_id") if len(parent) <= _MAX_HEADER else None
    return request if isinstance(request, str) else None


def _sign(key: bytes, parts: Sequence[bytes]) -> bytes:
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(part)
    return mac.hexdigest().encode()


def _object(text: bytes) -> Row | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


async def _is_heavy(text: bytes) -> bool:
    """Whether the values in a JSON text are too many to decode in one go; text inside strings does not count."""
    weight = 0
    inside = 0  # 1: within a text
    carry = b""  # a backslash at the end of a piece belongs to the next one
    for start in range(0, len(text), _SHORT):
        piece = carry + text[start : start + _SHORT]
        carry = b""
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece, carry = piece[:-1], b"\\"
        if b"\\" in piece:
            piece = _ESCAPED.sub(b"", piece)
        parts = piece.split(b'"')
        outside = b" ".join(parts[inside::2])
        inside ^= (len(parts) - 1) % 2
        pairs = outside.count(b":") + outside.count(b"[") + outside.count(b"{")
        weight += outside.count(b",") + _PAIR * pairs
        if weight > _MAX_VALUES:
            return True
        await asyncio.sleep(0)
    return False
