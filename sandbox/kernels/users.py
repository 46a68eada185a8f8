"""Give each kernel a user id of its own if we are root, shared with no process of this machine.

`start_kernel` takes one for each kernel. A process takes them in order from a block that it holds as long as it lives, by
an abstract socket's name, which Linux gives to one process only and takes back at its end, however it ends.
"""

import atexit
import os
import random
import socket
import threading
from pathlib import Path

from sandbox.errors import KernelStartFailed

# above what systemd and user namespaces give away, below what a signed number holds
FIRST, BLOCKS, _SIZE = 1_900_000_000, 3000, 65_536
ATTEMPTS = 64
_lock = threading.Lock()


class _Block:
    """A block of ids, ours alone while `holder` is open."""

    def __init__(self, number: int, holder: socket.socket) -> None:
        self.ids = iter(_ids(number))
        self.holder = holder


#: By process: after a fork, parent and child must not go on in the same block.
blocks: dict[int, _Block] = {}


def next_user() -> int:
    """Return a user id that no other kernel or process has or gets during our life.

    Raises `KernelStartFailed`: Every block that was tried is held by somebody.
    """
    with _lock:
        block = blocks.get(os.getpid())
        user = next(block.ids, None) if block is not None else None
        if user is None:
            block = blocks[os.getpid()] = _claim()
            user = next(block.ids)
        return user


def _ids(number: int) -> range:
    start = FIRST + number * _SIZE
    return range(start, start + _SIZE)


def _claim() -> _Block:
    for number in random.SystemRandom().sample(range(BLOCKS), ATTEMPTS):
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            holder.bind(f"\0analyst-users-{number}")
        except OSError:
            holder.close()
            continue
        # the name holds in one network namespace, and kernels outlive a killed manager by a moment
        if _in_use(_ids(number)):
            holder.close()
            continue
        atexit.register(holder.close)  # else Python warns of a socket that nobody closed
        return _Block(number, holder)
    raise KernelStartFailed(
        f"no user ids for kernels: {ATTEMPTS} blocks between {FIRST} and {FIRST + BLOCKS * _SIZE} are all in use; "
        "see whose sockets 'ss -xl' lists as @analyst-users-*"
    )


def _in_use(ids: range) -> bool:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # the owner of the folder itself is root for a process that is closed to looks
                lines = (folder / "status").read_text().splitlines()
            except OSError:
                continue  # it ended
            # four ids a line (real, effective, saved, file system), and any of them is a process with these rights
            if any(
                int(user) in ids for line in lines if line.startswith("Uid:") for user in line.split()[1:]
            ):
                return True
    return False
