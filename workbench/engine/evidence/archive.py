"""Opens a stranger's zip: every member is one that our own export writes, bounded in size, and lands where we say.

Called by the import of a package, before anything of it is read. Nothing here trusts a field of the archive: sizes are
counted while unpacking, and a path is made of the parts that a pattern matched.
"""

import hashlib
import io
import os
import re
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO

from proxies.atomic import open_private, private_folder
from workbench.store.errors import PackageRefused

#: Largest package that is taken in, packed and unpacked; a run of a thousand leaves is far below.
MAX_BYTES = 2_000_000_000
#: A run of a thousand leaves with five trials and three attempts each has 20,000 files.
MAX_MEMBERS = 50_000
#: A member that unpacks to more than this many times its packed size is a bomb; runs of repeated output stay below it,
#: and small members are let through whatever their ratio.
MAX_RATIO = 400
SMALL_MEMBER = 8_000_000

DATABASE = "run.db"
REPORT = "report.html"
SIGNATURE = "signature.json"
_LARGEST_SIGNATURE = 4096
#: 46 bytes and the name for each member; what our own names and those of other zip programs need, twice over.
_LARGEST_DIRECTORY = MAX_MEMBERS * 256
_NODE = r"P(?:0|[1-9][0-9]{0,5}(?:\.[1-9][0-9]{0,5}){0,40})"
_NUMBER = r"[1-9][0-9]{0,3}"
NOTEBOOK_NAME = re.compile(rf"({_NODE})(?:\.t({_NUMBER}))?\.ipynb")
JOURNAL_NAME = re.compile(rf"({_NODE})\.({_NUMBER})\.({_NUMBER})\.jsonl")
_FILES = re.compile(
    rf"manifest\.json|tree\.json|proofs/{NOTEBOOK_NAME.pattern}|sessions/{JOURNAL_NAME.pattern}"
)
_FOLDERS = ("run/", "run/proofs/", "run/sessions/")
#: Each but the database is read whole, and a value in memory takes several times its text.
_LARGEST = {"json": 50_000_000, "html": 500_000_000, "ipynb": 200_000_000, "jsonl": 500_000_000}
#: The last bytes of an archive; export never writes so much that it would need the longer form for 65,535 members.
_END = struct.Struct("<4s4H2LH")
#: An extra field with another name for a member, which some programs take for the name.
_OTHER_NAME = 0x7075
#: What zipfile raises for an archive that is none, or that says one thing and holds another.
_BROKEN = (
    # RuntimeError is zipfile's for an encrypted member, NotImplementedError for a way of packing it does not know.
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    OverflowError, KeyError, UnicodeError,
)  # fmt: skip


def is_member(name: str) -> bool:
    """Whether a file below ``run/`` belongs into a package; export asks this too, so leftovers of a kill stay at home."""
    return _FILES.fullmatch(name) is not None


def unpack(path: Path, into: Path, run_folder: str) -> tuple[dict[str, str], bytes | None]:
    """Unpack a package: its database to ``into/run.db``, its files below ``into/run_folder``.

    The report is left out: it is HTML of a stranger's, and is written anew from the log. Returned are the hashes of all
    members as they were read, for the signature, and the member with the signature, which has no hash of its own.

    Raises
    ------
    PackageRefused
        The archive is broken, or a member is not one of ours.
    """
    try:
        with _BoundedFile(io.FileIO(path)) as file, zipfile.ZipFile(file) as package:
            members = package.infolist()
            _check_frame(path, members)
            _check_members(members)
            into.mkdir(parents=True, exist_ok=True)
            hashes: dict[str, str] = {}
            signature = None
            for member in members:
                name = member.filename
                if name == SIGNATURE:
                    signature = package.read(member)
                elif name == REPORT:
                    hashes[name] = _digest(package, member)
                elif name == DATABASE:
                    hashes[name] = _extract(package, member, into / DATABASE)
                elif not member.is_dir():
                    hashes[name] = _extract(package, member, into / run_folder / name.removeprefix("run/"))
            return hashes, signature
    except _BROKEN as error:
        raise PackageRefused(f"{path.name} is a broken zip archive ({error!s:.120})") from error


class _BoundedFile(io.BufferedReader):
    """A file of which no more than a directory of `MAX_MEMBERS` is read at once.

    zipfile reads an archive's directory whole, as long as the archive says it is, and makes an object for each entry before
    anybody can count them: 2 GB of entries would take 20 GB of memory.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, or raise ``BadZipFile`` for more than a directory can be."""
        rest = os.fstat(self.fileno()).st_size - self.tell()
        if (rest if size is None or size < 0 else min(size, rest)) > _LARGEST_DIRECTORY:
            raise zipfile.BadZipFile("its directory is larger than one of all members that are taken")
        return super().read(size)


def _check_frame(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Raise unless the file is one archive from its first byte to its last, and says truly how many members it has.

    Programs disagree on which of two directories counts, and on what stands before, behind or between; a reviewer who looks
    into the package with another one shall see the run that is taken in.
    """
    with open(path, "rb") as file:
        file.seek(-_END.size, os.SEEK_END)
        mark, disk, first_disk, entries, count, _, _, comment = _END.unpack(file.read())
    if mark != b"PK\5\6" or comment:
        raise PackageRefused("the package has something behind its archive")
    if disk or first_disk or (entries, count) != (len(members), len(members)):
        raise PackageRefused("the package does not have the number of members that it says")
    begins = min((member.header_offset for member in members), default=0)
    if begins:
        raise PackageRefused("the package has something before its archive")


def _check_members(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_MEMBERS:
        raise PackageRefused(f"the package has {len(members)} members, at most {MAX_MEMBERS} are taken")
    seen: set[str] = set()
    for member in members:
        name = member.filename
        shown = repr(name[:80])
        # zipfile cuts a name at its first NUL byte; other programs that look into the package would see another name.
        if member.orig_filename != name:
            raise PackageRefused(f"the package has a member whose name is cut short: {shown}")
        if name in seen:
            raise PackageRefused(f"the package holds {shown} twice")
        if _OTHER_NAME in _extra_fields(member.extra):
            raise PackageRefused(f"the package has another name for {shown} beside it")
        seen.add(name)
        if name not in (DATABASE, REPORT, SIGNATURE, *_FOLDERS) and not (
            name.startswith("run/") and is_member(name.removeprefix("run/"))
        ):
            raise PackageRefused(
                f"the package holds {shown}, which is no file of a run and would land outside or beside it"
            )
        if member.flag_bits & 0x1:
            raise PackageRefused(f"{shown} in the package is encrypted")
        # The upper half is the Unix mode; its file type is 0 if the member was written from memory or not on Unix.
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFDIR if name.endswith("/") else stat.S_IFREG):
            raise PackageRefused(f"{shown} in the package is a link or a special file")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise PackageRefused(f"{shown} in the package is packed in a way that is not taken")
        if member.file_size > _largest(name) or (name.endswith("/") and member.file_size):
            raise PackageRefused(f"{shown} unpacks to {member.file_size} bytes, more than is taken")
        if member.file_size > max(SMALL_MEMBER, MAX_RATIO * member.compress_size):
            raise PackageRefused(f"{shown} unpacks to {member.file_size} bytes out of {member.compress_size}")
    if DATABASE not in seen:
        raise PackageRefused(f"it is no package of a run: it holds no {DATABASE}")
    if sum(member.file_size for member in members) > MAX_BYTES:
        raise PackageRefused(f"the package unpacks to more than {MAX_BYTES} bytes")
    # members that share their packed bytes make a small file unpack to anything
    end = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset < end:
            raise PackageRefused(f"{member.filename!r:.80} overlaps another member of the package")
        # 30 bytes are the fixed part of a local header. The name and extra field after it are not counted, so the bound is
        # low: an honest archive never fails here.
        end = member.header_offset + 30 + member.compress_size


def _extra_fields(extra: bytes) -> set[int]:
    """Return the kinds of a member's extra fields; a length beyond the end ends the list, as it does for zipfile."""
    kinds = set()
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        kinds.add(kind)
        extra = extra[4 + length :]
    return kinds


def _largest(name: str) -> int:
    if name == SIGNATURE:
        return _LARGEST_SIGNATURE
    return _LARGEST.get(name.rpartition(".")[2], MAX_BYTES)


def _extract(package: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path) -> str:
    private_folder(place.parent)
    # x: a file that is there already is never written over, and a link never followed.
    with open(place, "xb", opener=open_private) as target:
        return _digest(package, member, target)


def _digest(package: zipfile.ZipFile, member: zipfile.ZipInfo, target: IO[bytes] | None = None) -> str:
    """Read a member, into a file if one is named, and return the SHA-256 of what was in it."""
    digest, left = hashlib.sha256(), member.file_size
    with package.open(member) as source:
        while chunk := source.read(1 << 20):
            left -= len(chunk)
            if left < 0:
                break
            digest.update(chunk)
            if target is not None:
                target.write(chunk)
    if left:
        raise PackageRefused(f"{member.filename!r:.80} does not have the size that the package says")
    return digest.hexdigest()
