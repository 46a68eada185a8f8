"""Opens a stranger's zip: members fill the file one after the other, each is one that our own export writes, bounded in size.

Programs disagree on what counts in an archive: the directory or the headers before the data, the first directory or the last,
a size or the end of the packed stream, a second name in an extra field. An archive that is taken here says the same at each of
these places and has no byte that belongs to none, so whatever program looks into it sees what is read here. It is what
`export` writes; the short form of zip without any extension.
"""

import hashlib
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

from proxies.atomic import open_private, private_folder
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

    Raises `PackageRefused`: It has more than ``most`` members, or is not filled by them exactly.
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
        raise PackageRefused(f"the package has {count} members, but at most {most} are allowed")
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

    Raises `PackageRefused`: It is not of the size or the checksum that the package says, or does not take all of its packed bytes.
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


#: Largest package that is taken in, packed and unpacked; a run of a thousand leaves is far below.
MAX_BYTES = 2_000_000_000
#: A run of a thousand leaves with five trials and three attempts each has 20,000 files.
MAX_MEMBERS = 50_000
#: A member that unpacks to more than this many times its packed size is a bomb; runs of repeated output stay below it,
#: and small members are let through whatever their ratio.
MAX_RATIO = 400
SMALL_MEMBER = 8_000_000

DATABASE = "run.db"
SIGNATURE = "signature.json"
_LARGEST_SIGNATURE = 4096
_NODE = r"P(?:0|[1-9][0-9]{0,5}(?:\.[1-9][0-9]{0,5}){0,40})"
_NUMBER = r"[1-9][0-9]{0,3}"
NOTEBOOK_NAME = re.compile(rf"({_NODE})(?:\.t({_NUMBER}))?\.ipynb")
JOURNAL_NAME = re.compile(rf"({_NODE})\.({_NUMBER})\.({_NUMBER})\.jsonl")
#: Source that cells import; its name says its hash.
LIBRARY_NAME = re.compile(r"library-([0-9a-f]{64})\.json")
_FILES = re.compile(
    rf"manifest\.json|tree\.json|proofs/{NOTEBOOK_NAME.pattern}"
    rf"|sessions/(?:{JOURNAL_NAME.pattern}|{LIBRARY_NAME.pattern})"
)
_FOLDERS = ("run/", "run/proofs/", "run/sessions/")
#: Each but the database is read whole, and a value in memory takes several times its text.
_LARGEST = {"json": 50_000_000, "ipynb": 200_000_000, "jsonl": 500_000_000}


def is_member(name: str) -> bool:
    """Whether a file below ``run/`` belongs into a package; export asks this too, so leftovers of a kill stay at home."""
    return _FILES.fullmatch(name) is not None


def unpack(path: Path, into: Path, run_folder: str) -> tuple[dict[str, str], bytes | None]:
    """Unpack a package: its database to ``into/run.db``, its files below ``into/run_folder``.

    Returned are the hashes of all members as they were
    read, for the signature, and the member with the signature, which has no hash of its own.

    Raises `PackageRefused`: The archive is broken, or a member is not one of ours.
    """
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size > MAX_BYTES:
            raise PackageRefused(f"the package has more than {MAX_BYTES} bytes")
        members = read_members(file, MAX_MEMBERS)
        _check_members(members)
        into.mkdir(parents=True, exist_ok=True)
        hashes: dict[str, str] = {}
        signature = None
        for member in members:
            name = member.name
            if name == SIGNATURE:
                signature = b"".join(read_content(file, member))
            elif name in _FOLDERS:
                _digest(file, member)
            elif name == DATABASE:
                hashes[name] = _extract(file, member, into / DATABASE)
            else:
                hashes[name] = _extract(file, member, into / run_folder / name.removeprefix("run/"))
        return hashes, signature


def _check_members(members: list[Member]) -> None:
    seen: set[str] = set()
    for member in members:
        name, size = member.name, member.size
        if name in seen:
            raise PackageRefused(f"the package holds {member.shown} twice")
        seen.add(name)
        if name not in (DATABASE, SIGNATURE, *_FOLDERS) and not (
            name.startswith("run/") and is_member(name.removeprefix("run/"))
        ):
            raise PackageRefused(
                f"the package holds {member.shown}, which is no file of a run and would land outside or beside it"
            )
        if size > _largest(name):
            raise PackageRefused(f"{member.shown} unpacks to {size} bytes, more than is taken")
        if size > max(SMALL_MEMBER, MAX_RATIO * member.packed):
            raise PackageRefused(f"{member.shown} unpacks to {size} bytes out of {member.packed}")
    if DATABASE not in seen:
        raise PackageRefused(f"the file is not the package of a run: {DATABASE} is missing")
    if sum(member.size for member in members) > MAX_BYTES:
        raise PackageRefused(f"the package unpacks to more than {MAX_BYTES} bytes")


def _largest(name: str) -> int:
    if name in _FOLDERS:
        return 0
    return _LARGEST_SIGNATURE if name == SIGNATURE else _LARGEST.get(name.rpartition(".")[2], MAX_BYTES)


def _extract(file: BinaryIO, member: Member, place: Path) -> str:
    private_folder(place.parent)
    # x: a file that is there already is never written over, and a link never followed.
    with open(place, "xb", opener=open_private) as target:
        return _digest(file, member, target)


def _digest(file: BinaryIO, member: Member, target: IO[bytes] | None = None) -> str:
    digest = hashlib.sha256()
    for data in read_content(file, member):
        digest.update(data)
        if target is not None:
            target.write(data)
    return digest.hexdigest()
