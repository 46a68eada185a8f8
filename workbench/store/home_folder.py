"""Make the data folder, for its owner alone, tell whether anything may be written into it, and refuse one on another machine."""

import os
import re
from pathlib import Path

from proxies.atomic import private_folder, reads_only
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


def can_only_be_read(home: Path) -> bool:
    """Whether a data folder with a database in it takes no writes: a disk mounted read-only, or somebody else's folder."""
    try:
        return (home / "workbench.db").is_file() and not os.access(home, os.W_OK)
    except OSError:  # a name too long for any file: `make_home` says so
        return False


def require_writable(home: Path) -> None:
    """Raise ``HomeUnusable`` in a process that may only read: before it starts or ends another one."""
    if reads_only():
        raise HomeUnusable(f"{home} can only be read here")


def make_home(home: Path) -> None:
    """Make a data folder that only its owner may enter, and an empty database only its owner may read.

    What exists already keeps the mode its owner gave it. Raises ``HomeUnusable`` where a folder cannot be made.
    """
    database, runs = home / "workbench.db", home / "runs"
    try:
        private_folder(home)
        if os.path.lexists(runs) and not runs.is_dir():
            raise HomeUnusable(
                f"{runs} is not a folder, and files of runs are kept there: move that file away"
            )
        if not database.exists():
            # SQLite would create it readable by all; its side files take over the mode of the database.
            os.close(os.open(database, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        if not home.is_dir():
            raise HomeUnusable(f"{home} is a file: the data folder must be a folder") from error
        # else another process has created the database meanwhile
    except OSError as error:
        raise HomeUnusable(f"{str(home)[:200]} cannot be the data folder ({error.strerror})") from error


def refuse_network_folder(home: Path) -> None:
    """Raise ``HomeUnusable`` for a data folder on a network file system; called before a home is opened to be written.

    SQLite's write-ahead log needs memory that all its processes share, and the lock by which one process owns a run is the system's
    own: neither holds between machines, and a database that two of them write is damaged without a word. Where the system does not
    tell (no Linux) nothing is refused.
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
