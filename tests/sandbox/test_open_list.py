"""What the suite finds open for this user is what docs/trust/sandbox.md lists as open: not less, and not more.

Runs as root and, by test_ordinary_user.py, as an ordinary user. Everything else that is tried at a level has no effect there:
test_attacks.py, test_unmediated.py, test_machinery.py.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from sandbox import Limits
from sandbox.limits import cgroups
from tests.sandbox.conftest import LEVELS, Opener
from tests.sandbox.destructive import OPEN_AT_LANDLOCK
from tests.sandbox.test_cgroups import BOUND, ORPHANS, SEGMENTS
from tests.sandbox.test_disk import REMOVED

PAGE = Path(__file__).resolve().parents[2] / "docs/trust/sandbox.md"


#: A process that gives the pages of a segment back has them no more; the segment, which it maps still, has them.
_WRITES = "one.write(b'x' * (1 << 20))"
GIVEN_BACK = SEGMENTS.replace(_WRITES, f"{_WRITES}; one.madvise(mmap.MADV_DONTNEED)")

#: Where the attacks of this file that not everybody has are open.
WITHOUT = {
    "without control groups": {"memory of orphans", "shared segments"},
    "as an ordinary user": {"removed files"},
}


def listed() -> dict[str, set[str]]:
    """What the page lists as open, by where it is; under "" for everybody."""
    section = PAGE.read_text(encoding="utf-8").partition("### Open at `landlock`")[2].partition("\n## ")[0]
    names: dict[str, set[str]] = {}
    for line in re.findall(r"^- (.+?)(?=^- |\Z)", section, re.M | re.S):
        where, colon, rest = line.partition(":")
        names.setdefault(where if colon else "", set()).update(
            re.findall(r"\*\*(.+?)\*\*", rest if colon else line)
        )
    return names


#: What is open at `namespaces` too, and for everybody.
OPEN_AT_BOTH = {"load on the machine", "locks on common files"}


@pytest.mark.parametrize("level", LEVELS)
async def test_what_is_found_open_is_what_the_page_lists(
    level: str, open_session: Opener, open_folder: Path, two_looks: Any
):
    secret = open_folder / "secret"
    secret.write_text("x" * 1234)
    session = await open_session(level=level)
    found = set()
    for name, cell in OPEN_AT_LANDLOCK.items():
        result = await session.execute(cell(str(secret)))
        if result.status == "ok" and result.text().startswith("size "):
            found.add(name)
    small = Limits(memory_mb=64, disk_mb=8, files=200, grace_seconds=1)
    attacks = {"removed files": REMOVED, "shared segments": GIVEN_BACK, "memory of orphans": ORPHANS}
    for number, (name, cell) in enumerate(attacks.items(), 2):
        attacked = await open_session(f"P{number}.1.1", level=level, limits=small, api=two_looks)
        result = await attacked.execute(cell)
        if (
            result.limit is None
            and result.status == "ok"
            and re.search(rf"reached (14|{BOUND}|\d+ \d+ )", result.text())
        ):
            found.add(name)
        await attacked.close()
    if level == "landlock":
        groups = cgroups.available() is not None
        here = {"": True, "without control groups": not groups, "as an ordinary user": os.geteuid() != 0}
        assert found == {name for where, names in listed().items() if here[where] for name in names}
    else:
        # a private root has a disk of its own, and process 1 of a namespace ends all it holds; the table says what is left
        assert found - {"shared segments"} == OPEN_AT_BOTH
        assert ("shared segments" in found) is (cgroups.available() is None)


def test_the_page_says_what_is_open_where_and_at_both_levels():
    assert listed() == {"": set(OPEN_AT_LANDLOCK), **WITHOUT}
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "**load on the machine** and **locks on common files**, which are open at `namespaces` too" in text
    assert "watched, **but not shared segments given back**" in text
