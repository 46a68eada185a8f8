"""Let cells import modules beside the installed packages, from the text of a descriptor.

It looks last, so it hides nothing that is installed, and holds no file: there is nothing to write to. What a cell changes in a
module that it has imported is its own and gone with its kernel.
"""

import json
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Any


class LibraryFinder:
    """Finds and loads the modules of a mounted library; Python's importer calls it.

    Parameters
    ----------
    modules : source by dotted name; a name that others begin with is a package, and need not be there itself
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self.modules = MappingProxyType(dict(modules))
        parts = [name.split(".") for name in modules]
        self.packages = frozenset(".".join(part[:end]) for part in parts for end in range(1, len(part)))

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module of the library, or None."""
        if name not in self.modules and name not in self.packages:
            return None
        is_package = name in self.packages
        return ModuleSpec(name, self, origin=_file_name(name, is_package), is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the creation of the module to Python."""
        return

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's source."""
        name = module.__name__
        code = compile(self.get_source(name), _file_name(name, name in self.packages), "exec")
        exec(code, vars(module))

    def get_source(self, name: str) -> str:
        """Return the source of a module, for tracebacks and ``inspect``."""
        return self.modules.get(name, "")


def _file_name(name: str, is_package: bool) -> str:
    # No name in angle brackets: for those Python asks no loader for the source.
    return name.replace(".", "/") + ("/__init__.py" if is_package else ".py")


def mount(descriptor: int) -> None:
    """Let cells import the modules in a descriptor's JSON text; the descriptor is closed."""
    with open(descriptor, "rb") as file:
        modules = json.loads(file.read())
    sys.meta_path.append(LibraryFinder(modules))
