"""Make the data folder, for its owner alone, and tell whether anything may be written into it."""

import os
from pathlib import Path

from proxies.atomic import private_folder, reads_only
from workbench.store.errors import HomeUnusable


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
