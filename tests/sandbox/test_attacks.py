import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from sandbox import Session
from tests.sandbox.attacks import ATTACKS, ATTACKS_OF_ROOT, Attack
from tests.sandbox.conftest import LEVELS, Opener, printed
from tests.sandbox.targets import Targets, targets

ALL = (*ATTACKS, *(ATTACKS_OF_ROOT if os.geteuid() == 0 else ()))


async def _had_effect(attack: Attack, session: Session, aim: Targets) -> bool:
    aim.received.clear()
    result = await session.execute(attack.source(aim))
    assert result.status in ("ok", "error"), f"{attack.name}: {result.text()}"
    return aim.heard() if attack.heard else attack.evidence(aim) in printed(result)


@pytest.fixture
def aim(open_folder: Path):
    with targets(open_folder / "host") as made:
        yield made


@pytest.mark.long
async def test_every_attack_works_where_nothing_stops_it(open_session: Opener, aim: Targets):
    without_effect = []
    session = await open_session("control", level="none")
    for number, attack in enumerate(ALL):
        if not await _had_effect(attack, session, aim):
            without_effect.append(f"{attack.name}: {session.cells[-1].result.text(400)}")
        if attack in ATTACKS_OF_ROOT:  # that kernel is another user now, or elsewhere
            await session.close()
            session = await open_session(f"control-{number}", level="none")
    assert without_effect == []


@pytest.mark.parametrize("level", LEVELS)
async def test_every_attack_gets_nowhere(level: str, open_session: Opener, aim: Targets):
    session = await open_session(level=level)
    neighbour = await open_session("P2.1.1", level=level)
    await neighbour.execute("mine = 5")
    with_effect = []
    for attack in ALL:
        if await _had_effect(attack, session, aim):
            with_effect.append(f"{attack.name}: {session.cells[-1].result.text(400)}")
    assert with_effect == []
    assert aim.received == []
    assert Path(f"/proc/{aim.victim}").exists()
    assert (await session.execute("6 * 7")).text() == "42"
    assert (await neighbour.execute("mine")).text() == "5"


SCAN = """
import gzip, bz2, lzma, os, sys, zipfile
needles = [b'2506.85', b'2485.73', b'2488.83', b'2467.69']   # S&P 500 closes, last days of 2018 (packaged with arch)
hits, read = [], 0
def look(name, content):
    if any(needle in content for needle in needles):
        hits.append(name)
tops = ['/'] if os.access('/', os.R_OK) and '/analyst' in sys.path else [*sys.path, '/usr', '/etc', '/opt', '/home', '/var']
for top in tops:
    for base, folders, files in os.walk(top):
        if base.startswith(('/proc', '/sys')):
            folders.clear()
            continue
        for name in files:
            path = os.path.join(base, name)
            try:
                if not os.path.isfile(path):
                    continue
                with open(path, 'rb') as file:
                    start = file.read(4)
                    if start == b'\\x7fELF':
                        continue   # a program
                    content = start + file.read()
                read += 1
                look(path, content)
                for magic, tool in ((b'\\x1f\\x8b\\x08', gzip), (b'BZh', bz2), (b'\\xfd7z', lzma)):
                    if content.startswith(magic):
                        look(path, tool.open(path).read())
                if content.startswith(b'PK') and zipfile.is_zipfile(path):
                    with zipfile.ZipFile(path) as archive:
                        for member in archive.namelist():
                            look(path + '!' + member, archive.read(member))
            except Exception:
                continue
print(read, hits)
"""


@pytest.mark.soak  # reads every file of the machine
async def test_no_readable_file_holds_a_close_from_after_the_cutoff(open_session: Opener):
    import arch

    packaged = Path(arch.__file__).parent / "data" / "sp500" / "sp500.csv.gz"
    unpacked = subprocess.run(["gzip", "-dc", packaged], capture_output=True, text=True, check=True)
    assert "2506.85" in unpacked.stdout
    sessions = [await open_session(f"scan-{level}", level=level) for level in LEVELS]
    results = await asyncio.gather(*(session.execute(SCAN) for session in sessions))
    for level, result in zip(LEVELS, results, strict=True):
        assert result.status == "ok", f"{level}: {result.text()}"
        count, found = result.text().split(maxsplit=1)
        assert found == "[]", level
        assert int(count) > 3000, level
