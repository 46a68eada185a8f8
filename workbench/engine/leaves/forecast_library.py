"""The forecaster as source that a leaf's cells import: the files of `workbench.forecasts` themselves, under a name of the kernel's own.

There is one text. What runs in a kernel is what runs here, but for the first part of module names: nothing of the workbench is
there to be imported.
"""

import ast
import re
from functools import cache
from importlib.resources import files

from sandbox.cell_library import CellLibrary
from workbench.syntax_tree import syntax_tree

#: Name of the library in a kernel, and the modules that its cells import.
LIBRARY = "forecaster"
_ENTRIES = (
    "workbench.forecasts.leaf_forecast",
    "workbench.forecasts.proof_figure",
    "workbench.forecasts.source_rows",
)
#: Rooms that the forecaster may rest on: what reads a clock, a file or a network stays out.
_ROOMS = ("workbench.forecasts.", "workbench.science.", "workbench.errors", "proxies.remedies")
_OWN = re.compile(r"\b(?:workbench\.(?:forecasts\.)?|proxies\.(?=remedies\b))")


@cache
def forecast_library() -> CellLibrary:
    """Return the library: the two modules above and all of ours that they import.

    Raises
    ------
    ValueError
        One of them imports what a kernel may not have, or two would have one name there.
    """
    modules: dict[str, str] = {}
    waiting, seen = list(_ENTRIES), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if not name.startswith(_ROOMS):
            raise ValueError(f"{name} is no part of the forecaster that cells may import")
        text = _module_text(name)
        if (mounted := mounted_name(name)) in modules:
            raise ValueError(f"two modules would be {mounted} in a kernel")
        modules[mounted] = _OWN.sub(f"{LIBRARY}.", text)
        waiting += _own_imports(text)
    return CellLibrary.of(modules)


def mounted_name(module: str) -> str:
    """Return the name of one of our modules in a kernel.

    >>> mounted_name("workbench.forecasts.members.scaled_past"), mounted_name("workbench.science.arrays")
    ('forecaster.members.scaled_past', 'forecaster.science.arrays')
    """
    return _OWN.sub(f"{LIBRARY}.", module)


def _module_text(module: str) -> str:
    package, _, name = module.rpartition(".")
    top, *below = package.split(".")
    folder = files(top).joinpath(*below)
    path = folder.joinpath(f"{name}.py")
    return (path if path.is_file() else folder.joinpath(name, "__init__.py")).read_text(encoding="utf-8")


def _own_imports(text: str) -> list[str]:
    names = []
    for node in ast.walk(syntax_tree(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name for name in names if name.partition(".")[0] in ("workbench", "sandbox", "proxies")]
