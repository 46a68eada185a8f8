"""Make Python readable to every user although it lies in a closed home, as level `landlock` needs it for root.

For the test process and what it starts alone, in a mount namespace of its own: a folder that others may pass takes the place
of the closed one, with everything that lies in it. The host sees nothing of this.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_NEWNS = 0x20000
_CHECKOUT = Path(__file__).resolve().parents[2]


def closed_folder() -> Path | None:
    """The outermost folder above Python, its packages or the checkout that other users may not pass."""
    needed = (Path(sys.base_prefix), Path(sys.prefix), _CHECKOUT)
    parents = {parent for path in needed for parent in [path.resolve(), *path.resolve().parents]}
    closed = sorted(folder for folder in parents if not os.stat(folder).st_mode & 0o001)
    return closed[0] if closed else None


def open_to_all() -> None:
    """Do it, where it is needed and can be done: only root has the trouble, and only root has the means."""
    if os.geteuid() != 0 or closed_folder() is None or ctypes.CDLL(None).unshare(_NEWNS) != 0:
        return
    here = os.getcwd()
    _mount("--make-rprivate", "/")
    while (folder := closed_folder()) is not None:
        below = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder))
        for entry in os.listdir(f"/proc/self/fd/{below}"):
            _bring_back(f"/proc/{os.getpid()}/fd/{below}/{entry}", folder / entry)
        os.close(below)
    os.chdir(here)


def _bring_back(source: str, target: Path) -> None:
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        target.mkdir()
    else:
        target.touch()
    _mount("--rbind", source, str(target))


def _mount(*arguments: str) -> None:
    # not canonical: the descriptor of the old folder would become its path, where the new one is by now
    subprocess.run(["mount", "--no-canonicalize", *arguments], check=True)
