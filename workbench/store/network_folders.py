"""Refuse data folders on another machine.

SQLite's write-ahead log needs memory that all its processes share, and the lock by which one process owns a run is the system's
own: neither holds between machines, and a database that two of them write is damaged without a word.
"""

import os
import re
from pathlib import Path

from workbench.store.errors import HomeUnusable

_MOUNTS = Path("/proc/self/mounts")
#: File systems of other machines, as Linux names them.
_NETWORK = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "fuse.sshfs",
        "fuse.glusterfs",
    }
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def refuse_network_folder(home: Path) -> None:
    """Raise ``HomeUnusable`` for a data folder on a network file system; called before a home is opened to be written.

    Where the system does not tell (no Linux) nothing is refused.
    """
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    kind = network_kind(Path(os.path.realpath(home)), mounts)  # unlike resolve(), of a loop of links too
    if kind is not None:
        raise HomeUnusable(
            f"the data folder {home} lies on a network file system ({kind}), where the log and locks of runs are unsafe between "
            "machines: set WORKBENCH_HOME to a folder of this machine, and share runs as packages"
        )


def network_kind(folder: Path, mounts: str) -> str | None:
    r"""Return the kind of network file system that a folder lies on, of a table like ``/proc/self/mounts``; None for none.

    >>> network_kind(Path("/data/my home/x"), "/dev/sda / ext4 rw 0 0\nserver:/d /data/my\\040home nfs4 rw 0 0")
    'nfs4'
    >>> network_kind(Path("/data/other"), "/dev/sda / ext4 rw 0 0\nserver:/d /data/my\\040home nfs4 rw 0 0") is None
    True
    """
    nearest, kind = -1, ""
    for line in mounts.splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        place = Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), parts[1]))
        if len(place.parts) >= nearest and folder.is_relative_to(place):
            nearest, kind = len(place.parts), parts[2]
    return kind if kind in _NETWORK else None
