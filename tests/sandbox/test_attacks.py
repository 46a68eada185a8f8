import os
import subprocess
from pathlib import Path

import pytest

from tests.sandbox.attacks import ATTACKS, ATTACKS_OF_ROOT, Attack
from tests.sandbox.conftest import LEVELS, Opener
from tests.sandbox.targets import Targets, targets

ALL = (*ATTACKS, *(ATTACKS_OF_ROOT if os.geteuid() == 0 else ()))


def _succeeded(attack: Attack, aim: Targets, text: str) -> bool:
    return aim.heard() if attack.heard else attack.evidence(aim) in text


@pytest.fixture
def aim(tmp_path: Path):
    with targets(tmp_path / "host") as made:
        yield made


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
async def test_attack_works_where_nothing_stops_it(attack: Attack, open_session: Opener, aim: Targets):
    session = await open_session("control", level="none")
    result = await session.execute(attack.source(aim))
    assert _succeeded(attack, aim, result.text(50_000)), result.text()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
async def test_attack_gets_nowhere(attack: Attack, level: str, open_session: Opener, aim: Targets):
    session = await open_session(level=level)
    result = await session.execute(attack.source(aim))
    assert result.status in ("ok", "error")
    assert not _succeeded(attack, aim, result.text(50_000)), result.text()
    assert aim.token not in result.text(50_000) or aim.token in attack.source(aim)
    assert Path(f"/proc/{aim.victim}").exists()
    again = await session.execute("6 * 7")
    assert again.text() == "42"


SCAN = """
import gzip, bz2, lzma, os, zipfile
needles = [b'2506.85', b'2485.73', b'2488.83', b'2467.69']   # S&P 500 closes, last days of 2018 (packaged with arch)
hits, read = [], 0
def look(name, content):
    if any(needle in content for needle in needles):
        hits.append(name)
for base, folders, files in os.walk('/'):
    if base.startswith(('/proc', '/sys')):
        folders.clear()
        continue
    for name in files:
        path = os.path.join(base, name)
        if not os.path.isfile(path):
            continue
        try:
            with open(path, 'rb') as file:
                content = file.read()
            read += 1
            look(path, content)
            for tool in (gzip, bz2, lzma):
                if content[:3] in (b'\\x1f\\x8b\\x08', b'BZh', b'\\xfd7z'):
                    look(path, tool.open(path).read())
                    break
            if zipfile.is_zipfile(path) and not path.endswith('.so'):
                with zipfile.ZipFile(path) as archive:
                    for member in archive.namelist():
                        look(path + '!' + member, archive.read(member))
        except Exception:
            continue
print('files read', read, 'hits', hits)
"""


@pytest.mark.parametrize("level", LEVELS)
async def test_no_readable_file_holds_a_close_from_after_the_cutoff(level: str, open_session: Opener):
    import arch

    packaged = Path(arch.__file__).parent / "data" / "sp500" / "sp500.csv.gz"
    assert "2506.85" in subprocess.run(["gzip", "-dc", packaged], capture_output=True, text=True).stdout
    session = await open_session(level=level)
    result = await session.execute(SCAN)
    assert result.status == "ok", result.text()
    assert "hits []" in result.text()
    assert int(result.text().split()[2]) > 3000
