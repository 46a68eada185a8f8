"""Kernels come out of one prepared shell: what one does to what they share reaches neither its siblings nor those to come."""

import platform
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.sandbox.conftest import LEVELS, Opener

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Poison:
    """`cell` poisons, `check` prints POISONED where it took, else something else. Both are cells."""

    name: str
    cell: str
    check: str


# the function then returns 77, whatever it is asked
_RETURN_77 = {
    "x86_64": bytes([0xB8, 77, 0, 0, 0, 0xC3]),
    "aarch64": (0x528009A0).to_bytes(4, "little") + (0xD65F03C0).to_bytes(4, "little"),
}[platform.machine()]

POISONS = (
    Poison(
        "code of a function",
        "import statistics\nstatistics.mean.__code__ = (lambda data: 'POISONED').__code__",
        "import statistics; print(statistics.mean([1, 2, 3]))",
    ),
    Poison(
        "bytes of a shared text",
        "import ctypes, string\n"
        "at = id(string.ascii_letters) + string.ascii_letters.__sizeof__() - len(string.ascii_letters) - 1\n"
        "ctypes.memmove(at, b'POISONED', 8)",
        "import string; print(string.ascii_letters[:8])",
    ),
    Poison(
        "a small number",
        "import ctypes; ctypes.c_uint32.from_address(id(251) + 24).value = 7",
        "print('POISONED' if int('250') + 1 == 7 else 'as it was')",
    ),
    Poison("names of all modules", "import builtins; builtins.note = 'POISONED'", "print(__builtins__.note)"),
    Poison(
        "a loaded module",
        "import pandas; pandas.read_csv = lambda *a: 'POISONED'",
        "import pandas; print(pandas.read_csv('x'))",
    ),
    Poison(
        "the table of modules",
        "import sys, types; sys.modules['colorsys'] = types.SimpleNamespace(note='POISONED')",
        "import colorsys; print(colorsys.note)",
    ),
    Poison(
        "settings of matplotlib",
        "import matplotlib; matplotlib.rcParams['axes.labelcolor'] = 'red'",
        "import matplotlib; print('POISONED' if matplotlib.rcParams['axes.labelcolor'] == 'red' else 'fine')",
    ),
    Poison(
        "fonts of matplotlib",
        "import matplotlib.font_manager as f; object.__setattr__(f.fontManager.ttflist[0], 'name', 'POISONED')",
        "import matplotlib.font_manager as f; print(f.fontManager.ttflist[0].name)",
    ),
    Poison(
        "the cache of expressions",
        "import re\nre.compile('abc123')\nfor key in list(re._cache):\n"
        "    if 'abc123' in key: re._cache[key] = re.compile('POISONED')\n"
        "getattr(re, '_cache2', {}).clear()",
        "import re; print(re.compile('abc123').pattern)",
    ),
    Poison(
        "the cache of source lines",
        "import linecache; linecache.cache['/x.py'] = (1, None, ['POISONED'], '/x.py')",
        "import linecache; print(linecache.getline('/x.py', 1))",
    ),
    Poison(
        "the environment",
        "import os; os.environ['NOTE'] = 'POISONED'",
        "import os; print(os.environ['NOTE'])",
    ),
    Poison(
        "machine code of a shared library",
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "at = ctypes.cast(libc.ffs, ctypes.c_void_p).value\n"
        "page = at & ~4095\n"
        "assert libc.mprotect(ctypes.c_void_p(page), 8192, 7) == 0, ctypes.get_errno()\n"
        f"ctypes.memmove(at, {_RETURN_77!r}, {len(_RETURN_77)})",
        "import ctypes; print('POISONED' if ctypes.CDLL(None).ffs(1) == 77 else 'fine')",
    ),
    Poison(
        "files that a kernel reads when it starts",
        "import os\nhome = os.path.expanduser('~')\n"
        "for name in ('.ipython/profile_default/startup/0.py', '.config/matplotlib/matplotlibrc', 'sitecustomize.py'):\n"
        "    os.makedirs(os.path.dirname(f'{home}/{name}'), exist_ok=True)\n"
        "    open(f'{home}/{name}', 'w').write('import builtins; builtins.started = 1')\n",
        "import os; print('POISONED' if os.path.exists(os.path.expanduser('~/sitecustomize.py')) else 'fine')",
    ),
)

#: Tries to change every file that the fork server has loaded or mapped, and every place for compiled code beside them.
FILES = """
import glob, mmap, os, sys
changed, tried = [], 0
files = {getattr(module, '__file__', None) for module in list(sys.modules.values())}
files |= {getattr(module, '__cached__', None) for module in list(sys.modules.values())}
with open('/proc/self/maps') as maps:
    files |= {line.split(None, 5)[5].strip() for line in maps if line.count('/') and len(line.split(None, 5)) == 6}
import matplotlib, fontTools
files |= set(glob.glob(matplotlib.get_data_path() + '/fonts/ttf/*.ttf')[:20])
for path in sorted(file for file in files if isinstance(file, str) and os.path.isfile(file)):
    if path.startswith((os.path.expanduser('~'), '/dev', '/memfd')): continue
    tried += 1
    try:
        descriptor = os.open(path, os.O_RDWR)
        changed.append(path)
    except OSError: pass
    for other in (f'{path}.new', f'{os.path.dirname(path)}/__pycache__/new.pyc'):
        try: open(other, 'xb'); changed.append(other)
        except OSError: pass
    try: os.rename(path, path + '.old'); changed.append(path)
    except OSError: pass
    try:  # by a descriptor for reading, mapped for all
        with open(path, 'rb') as file: mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        changed.append('mapped ' + path)
    except (OSError, ValueError): pass
print(tried, changed)
"""

#: What two kernels might both hold: memory mapped for several, and open files.
SHARED = """
import os
def shared():
    found = set()
    with open('/proc/self/maps') as maps:
        for line in maps:
            fields = line.split(None, 5)
            if fields[1][3] == 's' and fields[1][1] == 'w': found.add(('memory', fields[3], fields[4]))
    for name in os.listdir('/proc/self/fd'):
        try: status = os.fstat(int(name))
        except OSError: continue
        target = os.readlink(f'/proc/self/fd/{name}')
        if target.startswith('anon_inode'):  # all of these have one inode; counters have a number of their own
            with open(f'/proc/self/fdinfo/{name}') as facts:
                found |= {('counter', line) for line in facts if line.startswith('eventfd-id')}
        elif target != '/dev/null': found.add(('file', status.st_dev, status.st_ino))
    return sorted(map(str, found))
print(shared(), flush=True)
"""


@pytest.mark.parametrize("level", LEVELS)
async def test_what_a_kernel_does_to_itself_stays_its_own(level: str, open_session: Opener):
    before = await open_session("P2.1.1", level=level)
    await before.execute("1")
    poisoner = await open_session("P1.1.1", level=level)
    for poison in POISONS:
        result = await poisoner.execute(poison.cell)
        assert result.status == "ok", f"{poison.name}: {result.text()}"
        assert "POISONED" in (await poisoner.execute(poison.check)).text(), f"{poison.name} did not take"
    after = await open_session("P3.1.1", level=level)
    for session in (before, after):
        reached = [p.name for p in POISONS if "POISONED" in (await session.execute(p.check)).text()]
        assert reached == []


@pytest.mark.parametrize("level", LEVELS)
async def test_no_file_that_kernels_have_in_common_can_be_changed(level: str, open_session: Opener):
    session = await open_session(level=level)
    result = await session.execute(FILES)
    tried, changed = result.text().split(maxsplit=1)
    assert int(tried) > 300 and changed == "[]", result.text()


@pytest.mark.parametrize("level", LEVELS)
async def test_two_kernels_hold_neither_memory_nor_an_open_file_in_common(level: str, open_session: Opener):
    sessions = [await open_session(f"P{number}.1.1", level=level) for number in (1, 2)]
    first, second = [set(eval((await session.execute(SHARED)).text())) for session in sessions]
    assert first and second and first & second == set()


def test_memory_and_files_in_common_would_be_seen():
    """The control: the same look, in a process and its fork that do share both."""
    code = (
        f"{SHARED}\nimport mmap\nheld = mmap.mmap(-1, 4096); file = open({__file__!r})\nours = set(shared())\n"
        "reader, writer = os.pipe()\n"
        "if os.fork() == 0:\n    print(len(ours & set(shared())), flush=True)\n    os._exit(0)\nos.wait()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) >= 2
