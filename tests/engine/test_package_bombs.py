"""Packages that would fill memory or disk: refused by what their directory says, or stopped where they say one thing and hold another.

Each is imported by the command in a process of its own whose memory and time are looked at. The long ones run with ``--soak``.
"""

import os
import resource
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.test_packages import honest, place, snapshot

__all__ = ["honest", "place"]  # fixtures

pytestmark = pytest.mark.long

MEMORY_MB = 400  # twice what an import of an honest package takes, most of that for Python's libraries
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")


def directory(count: int) -> Iterator[bytes]:
    """An archive whose directory has so many members, all of them empty and at the same place."""
    name = b"run/proofs/P1.ipynb"
    yield struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0) + name
    start = 30 + len(name)
    entry = _ENTRY.pack(b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0) + name
    block = entry * 10_000
    for _ in range(count // 10_000):
        yield block
    size = count * len(entry)
    yield _END64.pack(b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
    yield _LOCATOR.pack(b"PK\6\7", 0, start + size, 1)
    yield _END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)


def zeros(size: int, *, claimed: int) -> bytes:
    """Deflated zeros, about a thousandth of their size; the headers claim another size."""
    packer, parts = zlib.compressobj(9, zlib.DEFLATED, -15), []
    block = bytes(1 << 20)
    for _ in range(size >> 20):
        parts.append(packer.compress(block))
    data = b"".join([*parts, packer.flush()])
    name = b"run.db"
    checks = (0, len(data), claimed)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, *checks, len(name), 0) + name
    entry = _ENTRY.pack(b"PK\1\2", 20, 20, 0, 8, 0, 0, *checks, len(name), 0, 0, 0, 0, 0, 0) + name
    end = _END.pack(b"PK\5\6", 0, 0, 1, 1, len(entry), len(local) + len(data), 0)
    return local + data + entry + end


def import_in_a_process(place: Path) -> tuple[int, str, float]:
    """Import ``x.zip``; return the exit code, what was said, and the most memory in MB."""
    # not ru_maxrss: a process begins with that of the one it was forked from, here all that earlier tests left
    code = (
        "import re, sys\nfrom workbench.cli.main import main\nsys.argv = ['workbench', 'import', 'x.zip']\n"
        "try: main()\nfinally: print('MB', int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place,
        env={
            **os.environ,
            "WORKBENCH_HOME": str(place / "home"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
    )
    said, _, megabytes = done.stderr.rpartition("MB ")
    return done.returncode, said, float(megabytes)


BOMBS: dict[str, Callable[[], Iterator[bytes]]] = {
    "a directory of a million members": lambda: directory(1_000_000),
    "zeros that say so": lambda: iter([zeros(1 << 28, claimed=1 << 28)]),
    "zeros that say they are few": lambda: iter([zeros(1 << 28, claimed=100_000)]),
    "a directory of twelve million members": lambda: directory(12_000_000),
}


@pytest.mark.parametrize(
    "bomb", [name if "a million" in name else pytest.param(name, marks=pytest.mark.soak) for name in BOMBS]
)
def test_a_bomb_is_refused_in_bounded_memory_and_leaves_nothing(
    bomb: str, place: Path, honest: bytes
) -> None:
    before = snapshot(place)
    with open(place / "x.zip", "wb") as file:
        for part in BOMBS[bomb]():
            file.write(part)
    code, said, megabytes = import_in_a_process(place)
    assert code == 2 and said.count("\n") == 1 and said.startswith("workbench: "), said[-500:]
    assert megabytes < MEMORY_MB
    assert snapshot(place) == before
    (place / "x.zip").write_bytes(honest)
    code, said, megabytes = import_in_a_process(place)
    assert code == 0 and megabytes < MEMORY_MB, said
