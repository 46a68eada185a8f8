"""One hash over source, by which what was computed earlier is known to come from the very code that runs now."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

from workbench.version import __version__


@cache
def source_hash(*packages: str) -> str:
    """Return a hash over the workbench's version and the Python source of packages, the same wherever they are installed."""
    digest = hashlib.sha256(__version__.encode())
    for package in packages:
        folder = Path(str(files(package)))
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
