"""Keep the source that cells may import: mounted when a kernel starts, filed beside the journal under its hash.

A proof is run again with the text that it was made with, whatever is installed by then. In a package that text is a stranger's, as the
cells are: it is held to be text under names of modules, and runs in a sealed kernel alone.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Self

import orjson

from proxies.atomic import replace_file
from proxies.hashing import PREFIX, canonical_json, sha256_of
from sandbox.errors import JournalBroken

#: The entry point that returns the library of kernels that a person opens: group and name.
_GROUP, _NAME = "analyst_sandbox.cell_library", "forecaster"

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MODULE = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*){0,9}")
#: The forecaster has some 30 modules and 100 kB.
_MOST_MODULES, _MOST_BYTES = 500, 4_000_000


@dataclass(frozen=True, slots=True)
class CellLibrary:
    """The modules that a cell may import, as one text."""

    #: JSON object of dotted module names and their source; a name that others begin with is a package.
    text: bytes

    @classmethod
    def of(cls, modules: Mapping[str, str]) -> Self:
        """Build the library of these modules."""
        return cls(canonical_json(dict(modules)))

    @property
    def digest(self) -> str:
        """SHA-256 of the text, 64 hex digits: the library's name in journals and files."""
        return sha256_of(self.text).removeprefix(PREFIX)

    def file_in(self, folder: Path) -> None:
        """Write the library into the folder of the journals unless it is there."""
        path = library_path(folder, self.digest)
        if not path.exists():
            replace_file(path, self.text, private=True)

    @classmethod
    def read(cls, folder: Path, digest: str) -> Self:
        """Read the library that is filed under a hash.

        Raises `JournalBroken`: There is none, or the file holds another text, or no modules.
        """
        label = f"the source that its cells import ({digest[:12]!s})"
        if not _DIGEST.fullmatch(digest):
            raise JournalBroken(f"{label} is named by no hash")
        try:
            with open(library_path(folder, digest), "rb") as file:
                library = cls(file.read(_MOST_BYTES + 1))
        except OSError as error:
            raise JournalBroken(f"{label} cannot be read ({error.strerror})") from error
        if library.digest != digest:
            raise JournalBroken(f"{label} was altered")
        try:
            modules = orjson.loads(library.text)
        except ValueError:
            modules = None
        if (
            not isinstance(modules, dict)
            or len(modules) > _MOST_MODULES
            or not all(_MODULE.fullmatch(name) and isinstance(text, str) for name, text in modules.items())
        ):
            raise JournalBroken(f"{label} is no source of modules")
        return library


def installed_library() -> CellLibrary | None:
    """Load the library for kernels that a person opens; None where the workbench is not installed.

    Cells of proofs are then run anywhere: in a new notebook, or in one that was copied away from its run.
    """
    for point in entry_points(group=_GROUP, name=_NAME):
        library: CellLibrary = point.load()()
        return library
    return None


def library_path(folder: Path, digest: str) -> Path:
    """Return the path of a library in the folder of the journals."""
    return folder / f"library-{digest}.json"


def named_library(lines: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the hash of the library that a journal names; None if it names none.

    Raises `JournalBroken`: Two are named: nobody could say which of them a cell had.
    """
    named = [line.get("sha256") for line in lines if line.get("kind") == "library"]
    if len(named) > 1 or not all(isinstance(digest, str) for digest in named):
        raise JournalBroken("a journal names one library for its cells, not several")
    return str(named[0]) if named else None
