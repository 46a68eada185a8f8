"""List the files that a kernel may see: the interpreter, the analysis packages and their requirements, and no data.

The view is a list of operations for `kernels/analyst/isolation.py`. Packages come in by an allow-list (the analysis
stack and its requirements), never by leaving out what is known to be bad: an unknown package is not there. Inside
the allowed ones, packaged data are left out, because a market series in a package is an answer key.
"""

import importlib.metadata
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

Operation = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """The files that a kernel may see."""

    operations: tuple[Operation, ...]
    path: tuple[str, ...]
    modules: tuple[str, ...]

    def sources(self) -> tuple[str, ...]:
        """Return the files and folders of the machine that a kernel must be able to read."""
        return tuple(operation[1] for operation in self.operations if operation[0] in ("bind", "copy"))


#: Where the kernel's own code lies in its root.
KERNEL_CODE = "/analyst"

#: Distributions whose code a cell may import; their requirements come along.
ANALYSIS_PACKAGES = (
    "ipykernel",
    "ipython",
    "matplotlib",
    "matplotlib-inline",
    "numpy",
    "scipy",
    "pandas",
    "arch",
    "statsmodels",
    "scikit-learn",
    "fredapi",
    "yfinance",
    "pytz",
    "tzdata",
)

#: What the fork server imports before the first kernel.
PRELOAD = (
    "numpy",
    "pandas",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "matplotlib_inline.backend_inline",
    "scipy.stats",
    "scipy.optimize",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.zmqshell",
    "IPython.core.magics",
    "arch",
    "statsmodels.api",
)

# ours are never visible; a debugger is no part of a sealed kernel
_LEFT_OUT = frozenset({"analyst-workbench", "debugpy"})
_DATA_FOLDERS = frozenset({"data", "datasets", "sample_data"})
_TEST_FOLDERS = frozenset({"test", "tests"})
# here the tests hold series as Python literals too, so the whole folder goes
_TESTS_ARE_DATA = frozenset({"arch", "statsmodels", "pandas", "patsy", "formulaic", "yfinance", "fredapi"})
_CODE = frozenset({".py", ".pyi", ".pyc", ".so", ".pyd", ".pxd", ".pyx", ".h", ".typed"})
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/fonts", "/etc/mime.types", "/etc/ssl/openssl.cnf")
_SYSTEM_SHARE = ("fonts", "fontconfig", "zoneinfo", "locale", "terminfo", "mime")
_NOT_LIBRARIES = ("python*", "R", "jvm", "node_modules", "go*", "julia*", "octave*", "ruby*", "perl*")
_PASSWD = "root:x:0:0:root:/nonexistent:/bin/false\nanalyst:x:65533:65533:analyst:/tmp/home:/bin/sh\n"
_GROUP = "root:x:0:\nanalyst:x:65533:\n"


def kernel_folder() -> Path:
    """Return the folder of `kernels/analyst`: beside this package in a checkout, else the installed kernelspec.

    Raises ``FileNotFoundError`` if it is in neither place.
    """
    for folder in (
        Path(__file__).resolve().parents[2] / "kernels" / "analyst",
        Path(sysconfig.get_path("data")) / "share" / "jupyter" / "kernels" / "analyst",
    ):
        if (folder / "launch.py").is_file():
            return folder
    raise FileNotFoundError("kernels/analyst is not installed: reinstall analyst-workbench")


@cache
def build_view(extra_packages: tuple[str, ...] = ()) -> View:
    """Build the view of the analysis packages."""
    operations = [*_system(), *_interpreter()]
    stdlib = sysconfig.get_path("stdlib")
    sites: dict[str, None] = {}
    modules: set[str] = set()
    masks: set[Operation] = set()
    for distribution in _closure((*ANALYSIS_PACKAGES, *extra_packages)).values():
        site = Path(str(distribution.locate_file("")))
        sites[str(site)] = None
        operations += _package(distribution, site)
        masks |= set(_masks(distribution, site))
        modules |= {file.parts[0].partition(".")[0] for file in distribution.files or []}
    operations += [("bind", str(kernel_folder()), KERNEL_CODE)]
    # last, since a mask is mounted over what was bound; sorted by path, so an outer folder comes before an inner one
    operations += sorted(masks, key=lambda operation: operation[-1])
    return View(
        operations=tuple(dict.fromkeys(operations)),
        path=(KERNEL_CODE, stdlib, f"{stdlib}/lib-dynload", *sites),
        modules=tuple(sorted(modules)),
    )


def _system() -> Iterator[Operation]:
    """List programs and shared libraries of the system, fonts and time zones; nothing of /usr/local or /opt."""
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/") / name
        if path.is_symlink():
            yield ("link", os.readlink(path), str(path))
        elif path.is_dir():
            yield ("bind", str(path), str(path))
    yield ("bind", "/usr/bin", "/usr/bin")
    multiarch = sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu"
    for library in (Path("/usr/lib"), Path("/usr/lib64")):
        if (library / multiarch).is_dir():
            yield ("bind", str(library / multiarch), str(library / multiarch))
        elif library.is_symlink():
            yield ("link", os.readlink(library), str(library))
        elif library.is_dir() and not (Path("/usr/lib") / multiarch).is_dir():
            yield ("bind", str(library), str(library))
            for pattern in _NOT_LIBRARIES:
                for folder in library.glob(pattern):
                    if folder.is_dir():
                        yield ("hide", str(folder))
        elif library.is_dir():
            # the loader, whose path stands in every program
            for entry in library.glob("ld-*.so*"):
                yield ("copy", str(entry.resolve()), str(entry))
    for name in _SYSTEM_SHARE:
        if (Path("/usr/share") / name).is_dir():
            yield ("bind", f"/usr/share/{name}", f"/usr/share/{name}")
    for file in _SYSTEM_FILES:
        if Path(file).exists():
            yield ("bind", file, file)
    yield ("text", _PASSWD, "/etc/passwd")
    yield ("text", _GROUP, "/etc/group")
    yield ("text", "127.0.0.1 localhost analyst\n", "/etc/hosts")


def _interpreter() -> Iterator[Operation]:
    stdlib = Path(sysconfig.get_path("stdlib"))
    yield ("bind", str(stdlib), str(stdlib))
    for name in ("site-packages", "dist-packages"):
        if (stdlib / name).is_dir():
            yield ("hide", str(stdlib / name))
    base = Path(sys.base_prefix)
    for library in sorted((base / "lib").glob("libpython*.so*")):
        yield from _same_place(library)
    executable = Path(sys.executable)
    prefix = Path(sys.prefix)
    if prefix != base:
        configuration = prefix / "pyvenv.cfg"
        if configuration.is_file():
            # by this file a Python that a cell starts knows that it is the one of a virtual environment
            yield ("copy", str(configuration), str(configuration))
    # python in a virtual environment is often a link to a link, and every step must be there
    seen = set()
    for _ in range(10):
        if executable in seen or str(executable).startswith("/usr/bin/"):
            return
        seen.add(executable)
        if not executable.is_symlink():
            yield ("bind", str(executable), str(executable))
            return
        yield ("link", os.readlink(executable), str(executable))
        executable = Path(os.path.normpath(executable.parent / os.readlink(executable)))


def _same_place(path: Path) -> Iterator[Operation]:
    if str(path).startswith("/usr/lib/") and len(path.parts) > 4:
        return  # inside a library folder that is bound anyway
    if path.is_symlink():
        yield ("link", os.readlink(path), str(path))
    else:
        yield ("bind", str(path), str(path))


def _closure(names: Iterable[str]) -> dict[str, importlib.metadata.Distribution]:
    distributions: dict[str, importlib.metadata.Distribution] = {}
    pending = list(names)
    while pending:
        name = re.sub(r"[-_.]+", "-", pending.pop()).lower()
        if name in distributions or name in _LEFT_OUT:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        distributions[name] = distribution
        for text in distribution.requires or []:
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            # no extra is asked for: what only an extra requires stays out
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pending.append(requirement.name)
    return distributions


def _package(distribution: importlib.metadata.Distribution, site: Path) -> Iterator[Operation]:
    tops: dict[str, None] = {}
    for file in distribution.files or []:
        if file.parts[0] not in ("..", "/", "__pycache__"):
            tops[file.parts[0]] = None
    for top in tops:
        path = site / top
        if top.endswith((".dist-info", ".egg-info")):
            for name in ("METADATA", "entry_points.txt"):
                if (path / name).is_file():
                    yield ("copy", str(path / name), str(path / name))
        elif path.is_dir():
            yield ("bind", str(path), str(path))
        elif path.is_file() and path.suffix != ".pth":
            yield ("copy", str(path), str(path))


def _masks(distribution: importlib.metadata.Distribution, site: Path) -> Iterator[Operation]:
    """Cover the folders of packaged data: ``hide`` whole folders of tests, ``code`` where the code must stay."""
    covered: set[Path] = set()
    for file in distribution.files or []:
        if file.parts[0] == ".." or file.parts[0].endswith(".dist-info"):
            continue
        folders = Path(*file.parts).parents
        outermost_first = list(folders)[::-1][1:]
        if any(folder in covered for folder in outermost_first):
            continue
        for folder in outermost_first:
            is_tests = folder.name in _TEST_FOLDERS and folder.parts[0] in _TESTS_ARE_DATA
            is_data = folder.name in _DATA_FOLDERS and Path(*file.parts).suffix not in _CODE
            if (is_tests or is_data) and (site / folder).is_dir():
                covered.add(folder)
                yield ("hide" if is_tests else "code", str(site / folder))
                break
