"""One hash over source, by which what was computed earlier is known to come from the very code that runs now."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

from workbench.version import __version__

#: Code, and the texts and tables that it reads.
_SUFFIXES = {".py", ".md", ".yaml", ".js", ".css"}


@cache
def source_hash(*packages: str) -> str:
    """Return a hash over the workbench's version and the source of packages, the same wherever they are installed.

    Read once per process: that is the code which runs.
    """
    digest = hashlib.sha256(__version__.encode())
    for package in packages:
        folder = Path(str(files(package)))
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SUFFIXES and "__pycache__" not in path.parts:
                name = f"{package}/{path.relative_to(folder).as_posix()}"
                # NUL ends the name and the content: text that is moved from one to the other changes the hash.
                digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
