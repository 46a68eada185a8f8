"""Attacks that exhaust something. The control runs each in a throw-away process of its own, bounded: 50 processes, 256 MB,
a 16 MB tmpfs, 2000 descriptors, 8 MB of output. Sealed they run as cells, with the session's limits below those bounds.

Each prints ``reached N``: how far it got; `bound` is what unsealed it reaches.
"""

from dataclasses import dataclass

from sandbox import Limits


@dataclass(frozen=True)
class Destructive:
    """`source` prints how far it got; unsealed that is `bound`, sealed it must stay below."""

    name: str
    source: str
    bound: int
    limits: Limits
    levels: tuple[str, ...] = ("namespaces", "landlock")


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
CHILDREN_MEMORY = """
import os, signal, time
children = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        held = bytearray(b'x') * (64 << 20)
        time.sleep(20)
        os._exit(0)
    children.append(pid)
time.sleep(4)
alive = sum(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in children)
for pid in children:
    os.kill(pid, signal.SIGKILL)
print('reached', alive * 64)
"""
DISK = """
import os, tempfile
reached, folder = 0, tempfile.gettempdir()
try:
    while reached < 14:
        with open(f'{folder}/fill-{reached}', 'wb') as file:
            file.write(bytes(1 << 20))
        reached += 1
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
    Destructive("disk fill", DISK, 14, Limits(disk_mb=8), ("namespaces",)),
    Destructive("disk fill in one file", BIG_FILE, 14, Limits(disk_mb=8)),
    Destructive("descriptors", DESCRIPTORS, 2000, Limits(open_files=512)),
)
#: What no limit stops at a level; docs/sandbox.md names the same.
OPEN_AT = {"landlock": ("disk fill",), "none": tuple(attack.name for attack in EXHAUSTIONS)}
