"""Attacks that exhaust something. The control runs each in a throw-away process of its own, bounded: 50 processes, 256 MB,
a 16 MB tmpfs, 2000 descriptors, 8 MB of output. Sealed they run as cells, with the session's limits below those bounds.

Each prints ``reached N``: how far it got; `bound` is what unsealed it reaches. At level none nothing stops any of them, so there
they are not run.
"""

import os
from dataclasses import dataclass

from sandbox import Limits


@dataclass(frozen=True)
class Destructive:
    """`source` prints how far it got; unsealed that is `bound`, sealed it must stay below."""

    name: str
    source: str
    bound: int
    limits: Limits


FORKS = """
import os, signal
children, bound = [], 50
try:
    while len(children) < bound:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except OSError as error:
    print('stopped by', error.errno)
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
print('reached', len(children))
"""
# Held for a second: the watch looks every fifth of one, and a faster grab is bounded by the address space alone.
MEMORY = """
import time
kept = []
try:
    while len(kept) < 256:
        kept.append(bytearray(b'x') * (1 << 20))
    time.sleep(1)
except MemoryError:
    print('stopped')
reached = len(kept)
del kept
print('reached', reached)
"""
# The two seconds run from when every child holds its part or is gone: on a busy machine that takes as long again.
CHILDREN_MEMORY = """
import os, signal, time
children = []
reading, writing = os.pipe()
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        held = bytearray(b'x') * (64 << 20)
        os.write(writing, b'x')
        os.close(writing)
        time.sleep(40)
        os._exit(0)
    children.append(pid)
os.close(writing)
while os.read(reading, 4):
    pass
time.sleep(2)
alive = sum(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in children)
for pid in children:
    os.kill(pid, signal.SIGKILL)
print('reached', alive * 64)
"""
# Held for as long here too: where the folder is on the host's disk, it is watched.
DISK = """
import os, tempfile, time
reached, folder = 0, tempfile.gettempdir()
try:
    while reached < 14:
        with open(f'{folder}/fill-{reached}', 'wb') as file:
            file.write(bytes(1 << 20))
        reached += 1
    time.sleep(1)
except OSError as error:
    print('stopped by', error.errno)
for name in os.listdir(folder):
    if name.startswith('fill-'):
        os.unlink(f'{folder}/{name}')
print('reached', reached)
"""
BIG_FILE = """
import os, signal, tempfile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
reached, path = 0, tempfile.gettempdir() + '/big'
try:
    with open(path, 'wb', buffering=0) as file:
        while reached < 14:
            assert file.write(bytes(1 << 20)) == 1 << 20
            reached += 1
except (OSError, AssertionError) as error:
    print('stopped by', repr(error))
os.unlink(path)
print('reached', reached)
"""
DESCRIPTORS = """
import os
kept = []
try:
    while len(kept) < 2000:
        kept.append(os.open('/dev/null', os.O_RDONLY))
except OSError as error:
    print('stopped by', error.errno)
for fd in kept:
    os.close(fd)
print('reached', len(kept))
"""
OUTPUT = """
import sys
for _ in range(128):
    sys.stdout.write('x' * (64 << 10))
    sys.stdout.flush()
"""

EXHAUSTIONS = (
    Destructive("fork bomb", FORKS, 50, Limits(processes=40)),
    Destructive("memory bomb", MEMORY, 256, Limits(memory_mb=64)),
    Destructive("memory bomb in children", CHILDREN_MEMORY, 256, Limits(memory_mb=128, grace_seconds=1)),
    Destructive("disk fill", DISK, 14, Limits(disk_mb=8)),
    Destructive("disk fill in one file", BIG_FILE, 14, Limits(disk_mb=8)),
    Destructive("descriptors", DESCRIPTORS, 2000, Limits(open_files=512)),
)


def names_and_sizes(secret: str) -> str:
    """A cell that learns of a file of the host."""
    return f"import os; print('size', os.stat({secret!r}).st_size)"


def load(secret: str) -> str:
    """A cell that keeps the machine busy."""
    return "import os, time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint('size', 1)"


def numbers_of_processes(secret: str) -> str:
    """A cell that learns of a process of the host: that it is there, and whose."""
    return f"import os; print('size', os.stat('/proc/{os.getpid()}').st_uid, os.getsid({os.getpid()}))"


def locks(secret: str) -> str:
    """A cell that locks a file which its own child, in another kernel's place, opens by itself."""
    return """
import fcntl, os
holder = open('/usr/bin/env')
fcntl.flock(holder, fcntl.LOCK_EX)
if os.fork() == 0:
    try:
        fcntl.flock(open('/usr/bin/env'), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os._exit(7)
    os._exit(0)
print('size' if os.waitstatus_to_exitcode(os.wait()[1]) == 7 else 'not seen', 1)
"""


#: What is open at landlock for everybody, by its words in docs/trust/sandbox.md: cells that get through.
OPEN_AT_LANDLOCK = {
    "names and sizes of files": names_and_sizes,
    "numbers and users of processes": numbers_of_processes,
    "load on the machine": load,
    "locks on common files": locks,
}
