"""Zip archives written by hand, each field as one likes, and a reader that goes from header to header as one from a pipe does."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

LOCAL, CENTRAL, END = "<4s5H3L2H", "<4s6H3L5H2L", "<4s4H2LH"


@dataclass(frozen=True)
class Part:
    """One member; ``local`` and ``central`` replace fields of one header alone, ``before`` and ``tail`` are bytes around it."""

    name: bytes
    data: bytes
    method: int = 8
    local: dict[str, Any] = field(default_factory=dict)
    central: dict[str, Any] = field(default_factory=dict)
    before: bytes = b""
    tail: bytes = b""
    after: bytes = b""

    def both(self, **fields: Any) -> "Part":
        """The same member with these fields in both headers."""
        return replace(self, local=self.local | fields, central=self.central | fields)


def packed(part: Part) -> bytes:
    """The bytes of a member between its header and the next; ``tail`` counts as packed, ``after`` does not."""
    if part.method != 8:
        return part.data + part.tail
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(part.data) + packer.flush() + part.tail


def build(
    parts: Sequence[Part], *, before_directory: bytes = b"", before_end: bytes = b"", **end: Any
) -> bytes:
    """An archive of members in order; ``end`` replaces fields of its last record."""
    out, directory = b"", b""
    for part in parts:
        body = packed(part)
        fields: dict[str, Any] = {
            "version": 20, "flags": 0, "method": part.method, "time": 0, "day": 33, "crc": zlib.crc32(part.data), "packed": len(body),
            "size": len(part.data), "name": part.name, "extra": b"",
        }  # fmt: skip
        out += part.before
        one = fields | part.local
        two = {
            "system": 3,
            "comment": b"",
            "disk": 0,
            "internal": 0,
            "external": 0o100600 << 16,
            "at": len(out),
        }
        two |= fields | part.central
        out += struct.pack(LOCAL, b"PK\3\4", *_common(one)) + one["name"] + one["extra"] + body + part.after
        made, rest = 20 | two["system"] << 8, (two["disk"], two["internal"], two["external"], two["at"])
        directory += struct.pack(CENTRAL, b"PK\1\2", made, *_common(two), len(two["comment"]), *rest)
        directory += two["name"] + two["extra"] + two["comment"]
    last = {"disk": 0, "first": 0, "here": len(parts), "count": len(parts), "size": len(directory)}
    last |= {"start": len(out) + len(before_directory), "comment": b""} | end
    comment = last.pop("comment")
    return (
        out
        + before_directory
        + directory
        + before_end
        + struct.pack(END, b"PK\5\6", *last.values(), len(comment))
        + comment
    )


def _common(fields: dict[str, Any]) -> list[int]:
    names = ("version", "flags", "method", "time", "day", "crc", "packed", "size")
    return [*(fields[name] for name in names), len(fields["name"]), len(fields["extra"])]


def streamed(data: bytes) -> list[tuple[bytes, bytes]]:
    """The members as a reader has them that never sees the directory: a deflated one ends where its stream ends.

    A name in an extra field wins, and bytes between members are looked over for the next header, as forgiving readers do.
    """
    members, place = [], 0
    while (place := data.find(b"PK\3\4", place)) >= 0:
        _, _, flags, method, _, _, _, size, _, name_length, extra_length = struct.unpack_from(
            LOCAL, data, place
        )
        begins = place + 30 + name_length + extra_length
        name, extra = data[place + 30 : place + 30 + name_length], data[place + 30 + name_length : begins]
        if extra[:2] == b"\x75\x70":
            name = extra[9:]
        if method == 8:
            unpacker = zlib.decompressobj(-15)
            content = unpacker.decompress(data[begins:])
            place = len(data) - len(unpacker.unused_data)
        else:
            content, place = data[begins : begins + size], begins + size
        if flags & 8 and data[place : place + 4] == b"PK\7\x08":
            place += 16
        members.append((name, content))
    return members
