"""Keys from the ``.env`` file of the current folder, and nothing else of it.

The current folder may be a stranger's: a clone, an unpacked archive. Its file may therefore say which key to use, never
where a key is sent, which certificates or proxies are trusted, or what Python loads.
"""

import os
import stat
from collections.abc import Iterator, MutableMapping
from io import StringIO
from pathlib import Path

from proxies.secret_registry import SECRETS, is_key_name

LARGEST_BYTES = 65_536
_MOST_NAMES = 20


def load_keys(path: Path, environ: MutableMapping[str, str]) -> list[str]:
    """Copy the keys of an env file into `environ`; return the complaints, one line each, without any value.

    Called by the command line once, before any command. A name that `environ` has already keeps its value.
    """
    path = path.absolute()
    try:
        text = _read(path)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return [f"{path} is ignored: {reason}"]
    ignored = []
    for name, value in _assignments(text):
        if name in environ:
            # our value stays; only a difference is worth a line, as with a file that was sourced already
            if not is_key_name(name) and environ[name] != value:
                ignored.append(name)
        elif is_key_name(name) and value.isprintable():
            if value.strip():
                environ[name] = value
                SECRETS.add(value, name=name, origin=str(path))
        else:
            ignored.append(name)
    return [_refused_names(path, ignored)] if ignored else []


def _read(path: Path) -> str:
    """The text of the file; raises OSError or ValueError for what is no small text file (a link to a device, a pipe)."""
    # O_NONBLOCK: opening a named pipe would wait for its writer. The kind is asked of the open file, so that the name
    # cannot be exchanged between look and read.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        data = file.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"it is larger than {LARGEST_BYTES // 1024} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Names and values as written; the last assignment of a name counts.

    Without interpolation: ``SEARCHAPI_API_KEY=${OPENAI_API_KEY}`` would send one vendor's key to another.
    """
    # every command reads this file, few folders have a .env
    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(text), interpolate=False)
    yield from ((name, value) for name, value in values.items() if value is not None)


def _refused_names(path: Path, names: list[str]) -> str:
    # a quoted name may hold what moves a terminal's cursor
    shown = [name if name.isprintable() and len(name) <= 60 else ascii(name[:60]) for name in names]
    more = f" and {len(shown) - _MOST_NAMES} more" if len(shown) > _MOST_NAMES else ""
    listed = ", ".join(shown[:_MOST_NAMES]) + more
    return (
        f"{ascii(str(path))[1:-1] if not str(path).isprintable() else path}: ignored {listed} (a .env file of the "
        "current folder gives keys only; set anything else in the environment)"
    )
