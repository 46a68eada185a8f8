"""Reads a zip whose members fill the file: header and data, one after the other, then the directory, then the end.

Programs disagree on what counts in an archive: the directory or the headers before the data, the first directory or the last,
a size or the end of the packed stream, a second name in an extra field. An archive that is taken here says the same at each of
these places and has no byte that belongs to none, so whatever program looks into it sees what is read here. It is what
`export` writes; the short form of zip without any extension.
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from workbench.store.errors import PackageRefused

_LOCAL, _CENTRAL = b"PK\3\4", b"PK\1\2"
#: What both headers of a member say: version, flags, method, time, day, checksum, packed size, size, lengths of name and extra.
_COMMON = struct.Struct("<5H3L2H")
#: The directory's entry around that: mark, maker's version and system; then comment, disk, two attributes, place of the header.
_BEFORE, _AFTER = struct.Struct("<4s2B"), struct.Struct("<3H2L")
_ENTRY = _BEFORE.size + _COMMON.size + _AFTER.size
_END = struct.Struct("<4s4H2LH")
_STORED, _DEFLATED = 0, 8
#: The version that folders and deflated members need; unzip skips a member that asks for more than it can.
_VERSION = 20
#: Systems whose attributes are read alike everywhere: MS-DOS and Unix.
_SYSTEMS = (0, 3)
_MS_DOS_FOLDER = 0x10
_LONGEST_NAME = 512
_CHUNK = 1 << 20


class Member(NamedTuple):
    """One member: its name, sizes and checksum, and where its packed bytes begin."""

    name: str
    method: int
    crc: int
    packed: int
    size: int
    begins: int

    @property
    def shown(self) -> str:
        """The name for messages."""
        return repr(self.name[:80])


def read_members(file: BinaryIO, most: int) -> list[Member]:
    """Return the members of an archive in the order of the file.

    Raises
    ------
    PackageRefused
        It has more than ``most`` members, or is not filled by them exactly.
    """
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - _END.size))
    last = file.read()
    if len(last) != _END.size or not last.startswith(b"PK\5\6"):
        raise PackageRefused("the package does not end as an archive without a comment ends")
    _, disk, first_disk, on_disk, count, size, start, comment = _END.unpack(last)
    if disk or first_disk or on_disk != count or comment or start + size + _END.size != length:
        raise PackageRefused("the end of the package does not say where its directory is")
    if count > most:
        raise PackageRefused(f"the package has {count} members, at most {most} are taken")
    if size > count * (_ENTRY + _LONGEST_NAME):
        raise PackageRefused("the directory of the package is larger than its members need")
    file.seek(start)
    directory = file.read(size)
    members, place, end = [], 0, 0
    for _ in range(count):
        entry = directory[place : place + _ENTRY]
        if len(entry) < _ENTRY:
            raise PackageRefused("the package has fewer members than it says")
        *common, name_length, extra_length = _COMMON.unpack_from(entry, _BEFORE.size)
        name = directory[place + _ENTRY : place + _ENTRY + name_length]
        place += _ENTRY + name_length
        shown = repr(name[:80].decode("ascii", "backslashreplace"))
        mark, _, system = _BEFORE.unpack_from(entry)
        comment, disk, internal, external, header = _AFTER.unpack_from(entry, _BEFORE.size + _COMMON.size)
        if mark != _CENTRAL or len(name) != name_length or not name.isascii():
            raise PackageRefused(f"the directory of the package is broken at {shown}")
        version, flags, method, _, _, crc, packed, size_out = common
        if extra_length or comment or disk or internal:
            raise PackageRefused(f"the package says more of {shown} than an export does")
        if flags & 0x1:
            raise PackageRefused(f"{shown} in the package is encrypted")
        if flags or version > _VERSION or method not in (_STORED, _DEFLATED):
            raise PackageRefused(f"{shown} in the package is packed in a way that is not taken")
        _check_kind(shown, system, external, folder=name.endswith(b"/"))
        if header != end:
            raise PackageRefused(f"{shown} does not begin in the package where what is before it ends")
        file.seek(header)
        local = _LOCAL + entry[_BEFORE.size : _BEFORE.size + _COMMON.size] + name
        if file.read(len(local)) != local:
            raise PackageRefused(
                f"the package says two things of {shown}: in its directory and before the bytes"
            )
        end = header + len(local) + packed
        members.append(Member(name.decode(), method, crc, packed, size_out, header + len(local)))
    if place != size or end != start:
        raise PackageRefused("the package has bytes that belong to no member")
    return members


def _check_kind(shown: str, system: int, external: int, *, folder: bool) -> None:
    """Raise for what some program would make a link, a device, a volume label, or a folder that is not named as one."""
    # The upper half is the Unix mode; its file type is 0 if the member was written from memory or not on Unix.
    kind, ms_dos = stat.S_IFMT(external >> 16), external & 0xFFFF
    if (
        system not in _SYSTEMS
        or kind not in (0, stat.S_IFDIR if folder else stat.S_IFREG)
        or ms_dos not in ((0, _MS_DOS_FOLDER) if folder else (0,))
    ):
        raise PackageRefused(f"{shown} in the package is a link or a special file")


def read_content(file: BinaryIO, member: Member) -> Iterator[bytes]:
    """Yield what is in a member, never more than its size.

    Raises
    ------
    PackageRefused
        It is not of the size or the checksum that the package says, or does not take all of its packed bytes.
    """
    mismatch = PackageRefused(f"{member.shown} does not have the size or the checksum that the package says")
    size, crc = 0, 0
    for data in _unpacked(file, member):
        size, crc = size + len(data), zlib.crc32(data, crc)
        if size > member.size:
            raise mismatch
        yield data
    if (size, crc) != (member.size, member.crc):
        raise mismatch


def _unpacked(file: BinaryIO, member: Member) -> Iterator[bytes]:
    file.seek(member.begins)
    left = member.packed
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    while left:
        chunk = file.read(min(left, _CHUNK))
        if not chunk:
            raise PackageRefused(f"{member.shown} ended while it was read")
        left -= len(chunk)
        if member.method == _STORED:
            yield chunk
            continue
        try:
            while data := unpacker.decompress(chunk, _CHUNK):
                chunk = unpacker.unconsumed_tail
                yield data
        except zlib.error as error:
            raise PackageRefused(f"{member.shown} is broken in the package ({error!s:.80})") from None
        if unpacker.eof and (left or unpacker.unused_data):
            break
    # a reader that goes from header to header would take what is behind the stream for the next one
    if member.method == _DEFLATED and (left or unpacker.unused_data or not unpacker.eof):
        raise PackageRefused(f"the packed bytes of {member.shown} are not one stream to their end")
