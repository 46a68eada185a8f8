"""An archive that is taken says one thing: to a reader of its directory, and to one that goes from header to header."""

import io
import random
import struct
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import which

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.hostile_packages import members_of, pack
from tests.fakes.zips import Part, build, packed, streamed
from workbench.packages.archive import read_content, read_members, unpack
from workbench.store import PackageRefused

DATABASE, SECOND = b"run.db", b"run/proofs/P2.ipynb"
PARTS = (
    Part(DATABASE, bytes(range(256)) * 2),
    Part(SECOND, b"{}", method=0),
    Part(b"run/manifest.json", b"{}"),
    Part(b"run/proofs/P1.ipynb", b"PK\3\4 is no header in here", method=0),
    Part(b"run/tree.json", b"{}" * 40),
)
EVIL = Part(SECOND, b"<h1>p = 99 %</h1><script>alert(1)</script>")
ALONE = build([EVIL]).partition(b"PK\1\2")[0]
HONEST = build(PARTS)


def changed(place: int, **fields: object) -> list[Part]:
    """The members, with other fields of one; ``both`` and what a ``Part`` has."""
    parts = list(PARTS)
    both = fields.pop("both", {})
    assert isinstance(both, dict)
    parts[place] = replace(parts[place].both(**both), **fields)  # type: ignore[arg-type]
    return parts


def field_of(name: bytes) -> bytes:
    """An extra field with another name for the member it stands at."""
    content = struct.pack("<BL", 1, zlib.crc32(b"run/manifest.json")) + name
    return struct.pack("<HH", 0x7075, len(content)) + content


_ZIP64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 5, 5, 300, 0)
_LOCATOR = struct.pack("<4sLQL", b"PK\6\7", 0, len(HONEST) - 22, 1)
_INNER = pack({"run.db": b"another"})
_FLUSHED = zlib.compressobj(9, zlib.DEFLATED, -15)
_OPEN = _FLUSHED.compress(PARTS[0].data) + _FLUSHED.flush(zlib.Z_SYNC_FLUSH)

HOSTILE: dict[str, bytes] = {
    "a second notebook between members": build(changed(1, before=ALONE)),
    "a second notebook before the directory": build(PARTS, before_directory=ALONE),
    "a second notebook behind the directory": build(PARTS, before_end=ALONE),
    "a byte between members": build(changed(3, before=b"\0")),
    "a byte before all": b"\0" + HONEST,
    "a byte before all that the directory knows": build(changed(0, before=b"\0")),
    "a byte behind all": HONEST + b"\0",
    "two archives": build([EVIL, *PARTS[:1]]) + HONEST,
    "two ends": HONEST + HONEST[-22:],
    "a whole archive as the comment": build(PARTS, comment=_INNER),
    "an archive whose end stands in a comment": build(PARTS, comment=HONEST[-22:]),
    "a second directory in front": build(PARTS, before_directory=HONEST[HONEST.find(b"PK\1\2") : -22]),
    "another name in a local field": build(changed(2, local={"extra": field_of(b"../../evil.json")})),
    "another name in a central field": build(changed(2, central={"extra": field_of(b"../../evil.json")})),
    "another name in both fields": build(changed(2, both={"extra": field_of(b"../../evil.json")})),
    "times in a local field": build(changed(2, local={"extra": b"UT\5\0\3\0\0\0\0"})),
    "another name in the local header": build(changed(2, local={"name": b"run/sessions/x.js"})),
    "a name of another case in the local header": build(changed(2, local={"name": b"run/Manifest.json"})),
    "a name cut at a zero": build(changed(2, both={"name": b"run/tree.json\0.exe"})),
    "a name twice": build([*PARTS, EVIL]),
    "a name twice at one place": build([*PARTS, replace(EVIL, central={"at": 0})]),
    "a name that differs by case": build([*PARTS, replace(EVIL, name=b"run/proofs/p2.ipynb")]),
    "a name with a backslash": build([*PARTS, replace(EVIL, name=b"run\\tree.json")]),
    "a name beside the run": build([*PARTS, replace(EVIL, name=b"../evil.html")]),
    "a name in another script": build([*PARTS, replace(EVIL.both(flags=0x800), name="run/pr\u043eofs/P2.ipynb".encode())]),
    "members that share their bytes": build(changed(2, central={"at": 0})),
    "sizes that differ": build(changed(0, local={"size": 100})),
    "packed sizes that differ": build(changed(4, local={"packed": 1})),
    "checksums that differ": build(changed(4, local={"crc": 7})),
    "methods that differ": build(changed(1, local={"method": 8})),
    "flags that differ": build(changed(4, local={"flags": 0x800})),
    "days that differ": build(changed(4, local={"day": 34})),
    "sizes behind the data": build(changed(4, both={"flags": 8}, after=b"PK\7\10" + bytes(12))),
    "sizes behind the data alone": build(changed(4, both={"flags": 8}, local={"size": 0, "packed": 0, "crc": 0}, after=b"PK\7\10" + bytes(12))),
    "encrypted": build(changed(4, both={"flags": 1})),
    "strongly encrypted": build(changed(4, both={"flags": 0x41})),
    "a hidden header": build(changed(4, both={"flags": 0x2000})),
    "patches": build(changed(4, both={"flags": 0x20})),
    "a version that unzip leaves out": build(changed(4, both={"version": 63})),
    "a version of zip64": build(changed(4, both={"version": 45})),
    "packed by bzip2": build(changed(4, both={"method": 12})),
    "packed by deflate64": build(changed(4, both={"method": 9})),
    "a notebook behind the end of a stream": build(changed(4, tail=ALONE)),
    "a byte behind the end of a stream": build(changed(4, tail=b"\0")),
    "a stream that is cut": build(changed(1, data=packed(PARTS[0])[:-9], both={"method": 8, "size": 512, "crc": zlib.crc32(PARTS[0].data)})),
    "what is no stream": build(changed(1, both={"method": 8})),
    "more than it says": build(changed(4, both={"size": 10, "crc": zlib.crc32(b"{}" * 5)})),
    "less than it says": build(changed(4, both={"size": 1000})),
    "stored with two sizes": build(changed(3, both={"size": 7, "crc": zlib.crc32(b"PK\3\4 is")})),
    "another checksum": build(changed(0, both={"crc": 7})),
    "a link": build(changed(2, central={"external": 0o120777 << 16})),
    "a device": build(changed(2, central={"external": 0o020600 << 16})),
    "a file that is a folder to Unix": build(changed(2, central={"external": 0o040700 << 16})),
    "a file that is a folder to MS-DOS": build(changed(2, central={"system": 0, "external": 0x10})),
    "a volume label": build(changed(2, central={"system": 0, "external": 0x08})),
    "made by an Amiga": build(changed(2, central={"system": 1, "external": 0o104600 << 16})),
    "a comment at a member": build(changed(2, central={"comment": b"x"})),
    "an end in the comment of a member": build(changed(4, central={"comment": HONEST[-22:]})),
    "another disk": build(changed(2, central={"disk": 1})),
    "text that some convert": build(changed(2, central={"internal": 1})),
    "a folder with bytes": build([*PARTS, Part(b"run/proofs/", b"x")]),
    "a folder that is no folder of ours": build([*PARTS, Part(b"run/other/", b"")]),
    "a folder in place of a file": build([*PARTS, Part(b"run/tree.json/", b"")]),
    "one member more than it says": build(PARTS, here=4, count=4),
    "one member fewer than it says": build(PARTS, here=6, count=6),
    "two counts": build(PARTS, here=4),
    "no count, as in zip64": build(PARTS, before_end=_ZIP64 + _LOCATOR, here=0xFFFF, count=0xFFFF),
    "a directory in zip64 beside the honest one": build(PARTS, before_end=_ZIP64 + _LOCATOR),
    "a size in zip64": build(changed(4, both={"size": 0xFFFFFFFF, "extra": struct.pack("<HHQ", 1, 8, 80)})),
    "a directory elsewhere": build(PARTS, start=0),
    "an end on another disk": HONEST[:-18] + b"\1\0" + HONEST[-16:],
    "a directory on another disk": HONEST[:-16] + b"\1\0" + HONEST[-14:],
    "a name that is no text": build([*PARTS, Part(b"run/proofs/\xff.ipynb", b"{}")]),
    "a folder that is a file to Unix": build([*PARTS, Part(b"run/proofs/", b"", central={"external": 0o100600 << 16})]),
    "a stream without its end": build(changed(1, data=_OPEN, both={"method": 8, "size": 512, "crc": zlib.crc32(PARTS[0].data)})),
    "a byte in the directory behind its entries": build(PARTS, before_end=b"\0", size=len(HONEST) - 22 - HONEST.find(b"PK\1\2") + 1),
    "a directory that ends early": build(PARTS, size=50),
    "a zip in a zip": pack({"run.zip": HONEST}),
    "a jar": build([Part(b"META-INF/MANIFEST.MF", b""), *PARTS]),
    "nothing": b"",
    "an end alone": HONEST[-22:],
    "half": HONEST[: len(HONEST) // 2],
}  # fmt: skip


def taken(package: bytes, place: Path) -> dict[str, str]:
    (place / "x.zip").write_bytes(package)
    return unpack(place / "x.zip", place / "out", "files")[0]


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_that_can_be_read_in_two_ways_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(PackageRefused):
        taken(HOSTILE[name], tmp_path)


@pytest.mark.parametrize(
    "parts",
    [
        PARTS,
        changed(2, central={"external": 0o100644 << 16}),
        changed(2, central={"external": 0, "system": 0}),
        changed(2, both={"version": 10}),
        [Part(b"run/", b"", 0, central={"external": (0o040755 << 16) | 0x10}), *PARTS],
        [*PARTS, Part(b"run/proofs/", b"", central={"external": 0o040700 << 16})],
        [replace(part, method=0) for part in PARTS],
        PARTS[::-1],
    ],
)
def test_what_an_export_may_write_is_taken(parts: list[Part], tmp_path: Path) -> None:
    assert set(taken(build(parts), tmp_path)) == {
        part.name.decode() for part in parts if not part.name.endswith(b"/")
    }
    assert agreed(build(parts))


def agreed(package: bytes) -> bool:
    """Whether a package is taken; then both kinds of other readers have to see the same members in it."""
    file = io.BytesIO(package)
    try:
        members = read_members(file, 50)
        read = [(member.name.encode(), b"".join(read_content(file, member))) for member in members]
    except PackageRefused:
        return False
    assert streamed(package) == read
    with zipfile.ZipFile(io.BytesIO(package)) as held:
        assert [(info.orig_filename.encode(), held.read(info)) for info in held.infolist()] == read
    return True


_COMMON: dict[str, tuple[object, ...]] = {
    "version": (10, 20, 45, 63), "flags": (1, 2, 8, 0x800), "method": (0, 8, 12), "time": (0, 1), "day": (0, 34), "crc": (0, 7),
    "packed": (0, 2, 15), "size": (0, 2, 15), "name": (b"run/tree.json", SECOND, b"x"), "extra": (b"\0\0\0\0", field_of(b"x")),
}  # fmt: skip
_CENTRAL: dict[str, tuple[object, ...]] = {
    "system": (0, 1, 7, 19), "external": (0, 0o100644 << 16, 0o040755 << 16, 0x10), "internal": (0, 1), "comment": (b"", HONEST[-22:]),
    "disk": (0, 1), "at": (0, 40, 0x7FFFFFFF),
}  # fmt: skip
#: Which header of a member says it, which field, and what; or bytes at one of its sides.
LIES = [
    *((where, name, value) for name, values in _COMMON.items() for value in values for where in ("both", "local", "central")),
    *(("central", name, value) for name, values in _CENTRAL.items() for value in values),
    *(("beside", side, value) for side in ("before", "tail", "after") for value in (b"\0", ALONE, HONEST)),
]  # fmt: skip


@settings(max_examples=80)
@given(
    st.permutations(PARTS),
    st.integers(0, 4),
    st.lists(st.sampled_from(LIES), max_size=2, unique_by=lambda lie: lie[:2]),
)
def test_whatever_its_headers_say_a_taken_archive_reads_alike_everywhere(
    parts: list[Part], place: int, lies: list[tuple[str, str, object]]
) -> None:
    part = parts[place]
    for where, name, value in lies:
        if where == "beside":
            part = replace(part, **{name: value})  # type: ignore[arg-type]
        else:
            part = (
                part.both(**{name: value})
                if where == "both"
                else replace(part, **{where: getattr(part, where) | {name: value}})
            )
    assert agreed(build([*parts[:place], part, *parts[place + 1 :]])) or lies


EXTRACTORS: dict[str, Callable[[Path, Path], list[str]]] = {
    "unzip": lambda package, into: ["unzip", "-q", "-o", str(package), "-d", str(into)],
    "jar": lambda package, into: ["jar", "xf", str(package)],
}


@pytest.mark.parametrize("program", EXTRACTORS)
def test_what_other_programs_take_out_is_what_was_checked(program: str, tmp_path: Path) -> None:
    if which(program) is None:
        pytest.skip(f"{program} is not installed")
    (tmp_path / "x.zip").write_bytes(HONEST)
    into = tmp_path / "out"
    into.mkdir()
    subprocess.run(EXTRACTORS[program](tmp_path / "x.zip", into), cwd=into, check=True, timeout=120)
    found = {str(path.relative_to(into)): path.read_bytes() for path in into.rglob("*") if path.is_file()}
    assert found == members_of(HONEST)


def test_no_more_than_was_said_is_read_or_unpacked() -> None:
    with pytest.raises(PackageRefused, match="has 5 members, but at most 4"):
        read_members(io.BytesIO(HONEST), 4)
    assert len(read_members(io.BytesIO(HONEST), 5)) == 5
    padded = build(
        PARTS, before_end=b"\0" * 5000, size=HONEST.rfind(b"PK\5\6") - HONEST.find(b"PK\1\2") + 5000
    )
    with pytest.raises(PackageRefused, match="larger than its members need"):  # before it is read
        read_members(io.BytesIO(padded), 5)
    file = io.BytesIO(build([Part(DATABASE, bytes(5_000_000)).both(size=2_000_000)]))
    (member,) = read_members(file, 1)
    got = 0
    with pytest.raises(PackageRefused, match="size or the checksum"):
        for data in read_content(file, member):
            got += len(data)
    assert got <= 2_000_000


def test_a_member_is_read_whole_however_it_is_packed_and_in_pieces(tmp_path: Path) -> None:
    noise = random.Random(3).randbytes(3_000_000)
    for data in (b"", b"x", b"\0" * 5_000_000, noise, (noise[:300_000] + b"\0" * 400_000) * 4):
        for method in (0, 8):
            package = build([Part(DATABASE, data, method), Part(b"run/tree.json", b"{}")])
            (tmp_path / "x.zip").write_bytes(package)
            with open(tmp_path / "x.zip", "rb") as file:
                first, second = read_members(file, 2)
                pieces = list(read_content(file, first))
                assert b"".join(pieces) == data and b"".join(read_content(file, second)) == b"{}"
                assert max(map(len, pieces), default=0) <= 1 << 20
