"""Opens a stranger's zip: every member is one that our own export writes, bounded in size, and lands where we say.

Called by the import of a package, before anything of it is read. Nothing here trusts a field of the archive: sizes are
counted while unpacking (`tiled_zip`), and a path is made of the parts that a pattern matched.
"""

import hashlib
import os
import re
from pathlib import Path
from typing import IO, BinaryIO

from proxies.atomic import open_private, private_folder
from workbench.engine.evidence.tiled_zip import Member, read_content, read_members
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
#: A note as HTML, in packages of November 2026; it counts for their signatures and for nothing else.
REPORT = "report.html"
SIGNATURE = "signature.json"
_LARGEST_SIGNATURE = 4096
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


def is_member(name: str) -> bool:
    """Whether a file below ``run/`` belongs into a package; export asks this too, so leftovers of a kill stay at home."""
    return _FILES.fullmatch(name) is not None


def unpack(path: Path, into: Path, run_folder: str) -> tuple[dict[str, str], bytes | None]:
    """Unpack a package: its database to ``into/run.db``, its files below ``into/run_folder``.

    A report of an older package is left out: it is HTML of a stranger's. Returned are the hashes of all members as they were
    read, for the signature, and the member with the signature, which has no hash of its own.

    Raises
    ------
    PackageRefused
        The archive is broken, or a member is not one of ours.
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
            elif name == REPORT or name in _FOLDERS:
                digest = _digest(file, member)
                hashes |= {name: digest} if name == REPORT else {}
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
        if name not in (DATABASE, REPORT, SIGNATURE, *_FOLDERS) and not (
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
        raise PackageRefused(f"it is no package of a run: it holds no {DATABASE}")
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
    """Read a member, into a file if one is named, and return the SHA-256 of what was in it."""
    digest = hashlib.sha256()
    for data in read_content(file, member):
        digest.update(data)
        if target is not None:
            target.write(data)
    return digest.hexdigest()
