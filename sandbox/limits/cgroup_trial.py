"""Do the limits of a control group bite? Seen on a throw-away process, because a file that takes a number proves nothing."""

import signal
import subprocess
import sys

from sandbox.limits.cgroup_tree import NoGroups
from sandbox.limits.cgroups import Group

_TRIAL = """
import os, sys
sys.stdin.readline()
try:
    os.fork() or os._exit(0)
    print('forked', flush=True)
except OSError:
    print('refused', flush=True)
bytearray(b'x') * (96 << 20)
print('allocated', flush=True)
"""


def try_limits(group: Group) -> None:
    """Put a throw-away process in and see the system refuse its fork and kill it for its memory; raises `NoGroups`."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _TRIAL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        try:
            group.join(child.pid)
            group.bound(16 << 20, 1)
            said, _ = child.communicate(b"\n", timeout=10)
        except subprocess.TimeoutExpired as error:
            raise NoGroups("a process in a control group did not end") from error
        finally:
            child.kill()
    if b"refused" not in said:
        raise NoGroups("a control group did not bound the processes in it")
    if b"allocated" in said or child.returncode != -signal.SIGKILL or group.stops()[0] < 1:
        raise NoGroups("a control group did not bound the memory in it")
