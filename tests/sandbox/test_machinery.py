"""The machinery of Linux gives a cell nothing: each attack is fired for real, unsealed and at each level."""

import asyncio
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.limits import cgroups
from sandbox.limits.memory import process_tree
from tests.sandbox.conftest import LEVELS, Opener, printed
from tests.sandbox.machinery import FILTERED, HEADER, MACHINERY, Machinery, unsealed, victim

pytestmark = pytest.mark.long

#: How a skip begins that is no hole: nobody can try what the machine or the user does not have.
NOBODY_HAS_IT = "has no effect here unsealed either"


@pytest.fixture
def victims(open_folder: Path) -> Iterator[Path]:
    """A fresh name at each step."""
    return (open_folder / f"victim-{number}" for number in range(100))


@pytest.mark.parametrize("attack", MACHINERY, ids=lambda attack: attack.name)
def test_it_works_where_nothing_stops_it(attack: Machinery, victims: Iterator[Path]):
    with victim(next(victims)) as aim:
        text = unsealed(attack.source(aim))
        if not attack.had_effect(text, aim):
            assert not attack.common and ("refused" in text or "Error" in text), text
            pytest.skip(f"{attack.name} {NOBODY_HAS_IT}: {text.strip()[-80:]}")
    if (
        attack.name != "memfd and fexecve"
    ):  # starting programs is allowed; what they reach is not the filter's
        with victim(next(victims)) as aim:
            text = unsealed(attack.source(aim), FILTERED)
            assert not attack.had_effect(text, aim), "the filter of system calls alone stops it"


async def test_a_cell_without_a_seal_has_every_effect_that_a_program_has(
    open_session: Opener, victims: Iterator[Path]
):
    """The positive control: the very cells, in a kernel, at level none."""
    session = await open_session("control", level="none")
    lost = []
    for attack in MACHINERY:
        with victim(next(victims)) as aim:
            if attack.had_effect(unsealed(attack.source(aim)), aim):
                result = await session.execute(HEADER + attack.source(aim))
                if not attack.had_effect(printed(result), aim):
                    lost.append(f"{attack.name}: {result.text(300)}")
    assert lost == []


@pytest.mark.parametrize("level", LEVELS)
async def test_no_cell_has_an_effect(level: str, open_session: Opener, victims: Iterator[Path]):
    session = await open_session(level=level)
    with_effect = []
    for attack in MACHINERY:
        with victim(next(victims)) as aim:
            result = await session.execute(HEADER + attack.source(aim))
            assert result.status in ("ok", "error"), f"{attack.name}: {result.text()}"
            if attack.had_effect(printed(result), aim):
                with_effect.append(f"{attack.name}: {result.text(300)}")
    assert with_effect == []
    assert (await session.execute("6 * 7")).text() == "42"


def nameless_files_or_skip() -> None:
    if cgroups.available() is None:
        pytest.skip(f"no cell makes files without a name where nothing counts them: {cgroups.memory_bound()}")


@pytest.mark.parametrize("level", LEVELS)
async def test_a_program_without_a_file_runs_and_is_sealed_like_its_cell(level: str, open_session: Opener):
    """The neighbour of the attack by memfd: starting programs is allowed, the seal goes with them."""
    nameless_files_or_skip()
    session = await open_session(level=level)
    cell = """
import os
open('own', 'w').write('mine')
program = os.memfd_create('program', 0)
with open('/bin/cat', 'rb') as file: os.write(program, file.read())
reader, writer = os.pipe()
if os.fork() == 0:
    os.dup2(writer, 1)
    os.execve(program, ['cat', 'own'], {})
os.wait()
print(os.read(reader, 100).decode())
"""
    assert (await session.execute(cell)).text() == "mine"


#: A program that the cell starts has no mark against being looked at any more: a start gives every process a new one.
_CHILD = """
import subprocess, sys
code = "import ctypes, os, sys; b = ctypes.create_string_buffer(sys.argv[1].encode(), 64); f = os.memfd_create('s'); os.write(f, b.value); print(ctypes.addressof(b), f, flush=True); sys.stdin.read()"
child = subprocess.Popen([sys.executable, '-c', code, '{token}'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={{'SECRET': '{token}'}})
print(child.stdout.readline())
"""
_LOOKS = """
for name in ('environ', 'cmdline', 'mem', 'fd/{descriptor}', 'maps', 'root/etc/passwd', 'cwd'):
    try:
        with open('/proc/{pid}/' + name, 'rb') as file:
            if name == 'mem': file.seek({address})
            print(name, file.read(64))
    except OSError as error: print(name, error)
try: print(os.listdir('/proc/{pid}/fd'), 'LISTED')
except OSError as error: print(error)
"""


@pytest.mark.parametrize("level", LEVELS)
async def test_a_sibling_cannot_look_into_a_program_that_another_cell_started(
    level: str, open_session: Opener, victims: Iterator[Path]
):
    nameless_files_or_skip()
    sibling, session = await open_session("P2.1.1", level=level), await open_session(level=level)
    with victim(next(victims)) as host:
        started = await sibling.execute(_CHILD.format(token=host.token))
        address, descriptor = map(int, started.text().split())
        kernel = sibling.kernel.process.pid
        for _ in range(100):
            found = [pid for pid in process_tree(kernel) if pid != kernel]
            if found:
                break
            await asyncio.sleep(0.02)
        [child] = found
        looks = _LOOKS.format(pid=child, address=address, descriptor=descriptor)
        aim = replace(host, pid=child, address=address, descriptor=descriptor)
        sources = {"its files": looks} | {
            attack.name: attack.source(aim)
            for attack in MACHINERY
            if attack.name in ("pidfd_getfd", "process_vm_readv", "kcmp")
        }
        for name, source in sources.items():
            result = await session.execute(HEADER + source)
            assert host.token not in printed(result) and "LISTED" not in printed(result), (
                f"{name}: {result.text(500)}"
            )
        # the control: the manager's user reaches it, by the very lines, so there was something to see
        plain = unsealed(textwrap.dedent(looks))
        if "Permission denied" not in plain:
            assert host.token in plain and "LISTED" in plain
        assert (await sibling.execute("child.poll()\nprint(child.poll())")).text() == "None"
