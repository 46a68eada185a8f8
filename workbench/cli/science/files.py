"""Files that the science commands write: whole, or not at all."""

import gzip
import os
import tempfile
from pathlib import Path

from workbench.errors import UsageError


def write_whole(path: Path, text: str) -> None:
    """Write text by an atomic rename, gzipped when the name ends in ``.gz``.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", "x")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(temporary).replace(path)
    except OSError as wrong:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {wrong.strerror or wrong}") from wrong
