"""The run manifest: what ran, so that a figure can be traced and a run repeated."""

import hashlib
import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from workbench.prompts import fingerprints
from workbench.version import __version__

#: The packages whose behaviour reaches a number; all others follow from the lock.
PACKAGES = (
    "jupyter_client", "nbformat", "ipykernel", "ipython", "ipywidgets", "voila", "litellm", "pandas", "numpy", "scipy",
    "matplotlib", "arch", "fredapi", "yfinance", "httpx", "pydantic", "anywidget",
)  # fmt: skip


@cache
def packages() -> dict[str, str]:
    """Return the installed version of each package that matters, ``"missing"`` where it is not installed.

    Read once per process (40 ms): that is what it imports.
    """
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "missing"
    return versions


@cache
def installed() -> dict[str, str]:
    """Return the version of every installed package by its name, sorted; what `packages` leaves out may matter one day."""
    versions = {str(item.metadata["Name"] or ""): item.version for item in metadata.distributions()}
    return {name: versions[name] for name in sorted(versions, key=str.lower) if name}


@cache
def code_hash() -> str:
    """Return one hash over the Python sources of the three packages, so that a local change shows.

    Read once per process: that is the code which runs.
    """
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for room in ("workbench", "sandbox", "proxies"):
        for file in sorted((root / room).rglob("*")):
            if file.suffix in {".py", ".md", ".yaml", ".js", ".css"} and "__pycache__" not in file.parts:
                # NUL ends the name and the content: text that is moved from one to the other changes the hash.
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return "sha256:" + digest.hexdigest()


def manifest(**facts: Any) -> dict[str, Any]:
    """Return the manifest: the given facts of the run, and what it ran on."""
    return {
        **facts,
        "workbench": __version__,
        "code": code_hash(),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": packages(),
        "installed": installed(),
        "prompts": fingerprints(),
    }
