"""Test on a throw-away process that a control group's limits work.

`Groups` calls this once per process. A limit file that takes a number proves nothing: in some containers the files can
be written and are not obeyed.
"""

import signal
import subprocess
import sys

from sandbox.limits.cgroup import Group
from sandbox.limits.cgroup_tree import NoGroups

# It waits for a line, since it must be inside the group, with the limits set, before it does anything. It forks first:
# nothing is left to report after the kill. 96 MiB is well above the 16 of the limit and the slack that a group adds.
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
    """Put a throw-away process in; its fork must be refused and its memory must kill it. Raises `NoGroups`."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _TRIAL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        try:
            group.join(child.pid)
            group.set_limits(16 << 20, 1)
            printed, _ = child.communicate(b"\n", timeout=10)
        except subprocess.TimeoutExpired as error:
            raise NoGroups("a process in a control group did not end") from error
        finally:
            child.kill()
    if b"refused" not in printed:
        raise NoGroups("a control group did not bound the processes in it")
    if b"allocated" in printed or child.returncode != -signal.SIGKILL or group.limit_events()[0] < 1:
        raise NoGroups("a control group did not bound the memory in it")
