"""How large the house is and how it hangs together.

    python -m benchmarks.size [--json] [--against FOLDER]      counts, by room; beside another checkout's
    python -m benchmarks.size --start-times [--against FOLDER] [--rounds 7]

The product is ``workbench``, ``sandbox``, ``proxies`` and ``kernels``; tests are counted apart, benchmarks not at all. Nodes of syntax
decide, since packed lines and short names gain nothing. A circle is a set of files that import each other, directly or through others,
imports inside functions and those for type checkers included; an upward arrow goes against the order that import-linter holds.

Options are counted as the parser holds them: every option of every command and group, hidden ones too, once for each command object,
however many names lead to it, and once each of those that one parser takes for all commands (``workbench.cli.lazy.SHARED``). What
``--set NAME=VALUE`` names is no option: ``workbench help COMMAND`` lists it. Start
times are processor seconds of whole commands, the median of the rounds; two checkouts take turns.
"""

import argparse
import ast
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("workbench", "sandbox", "proxies")
MEASURES = ("files", "lines", "bytes", "statements", "ast_nodes", "docstring_lines")
#: What is timed: a command that does nothing, and those that only read a home.
COMMANDS = {
    "--version": ["--version"],
    "runs": ["runs"],
    "show": ["show", "last"],
    "whatif": ["whatif", "last", "--set", "P1=0.1"],
}


def sources(root: Path, folder: str) -> list[Path]:
    """Python files below a folder of a checkout, as git tracks them."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--", folder], cwd=root, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    return [root / name for name in names if name.endswith(".py")]


def room(root: Path, path: Path) -> str:
    """The folder that a file counts for: the first below a package, or the top one."""
    parts = path.relative_to(root).parts
    return "/".join(parts[:2]) if parts[0] in PACKAGES and len(parts) > 2 else parts[0]


def measured(path: Path) -> Counter[str]:
    """Count one file's lines, bytes, statements, nodes and lines of docstrings."""
    data = path.read_bytes()
    nodes = list(ast.walk(ast.parse(data)))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [node.body[0] for node in nodes if isinstance(node, documented) and ast.get_docstring(node)]
    return Counter(
        files=1,
        lines=data.count(b"\n"),
        bytes=len(data),
        statements=sum(isinstance(node, ast.stmt) for node in nodes),
        ast_nodes=len(nodes),
        docstring_lines=sum((each.end_lineno or each.lineno) - each.lineno + 1 for each in docstrings),
    )


def rooms(root: Path, *folders: str) -> dict[str, Counter[str]]:
    """Room -> what :func:`measured` counts in it."""
    counts: dict[str, Counter[str]] = {}
    for folder in folders:
        for path in sources(root, folder):
            name = room(root, path)
            counts[name] = counts.get(name, Counter()) + measured(path)
    return counts


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Sets of more than one node that reach each other, the largest first.

    >>> circles({"a": {"b"}, "b": {"a", "c"}, "c": set()})
    [['a', 'b']]
    """
    reached: dict[str, set[str]] = {}
    for start in arrows:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = arrows[waiting.pop()] - seen
            seen |= new
            waiting += new
        reached[start] = seen
    parts = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in arrows
        if name in reached[name]
    }
    return sorted(map(list, parts), key=lambda part: (-len(part), part))


def imports(root: Path) -> dict[str, set[str]]:
    """Module -> modules of ours that it imports."""
    modules = {}
    for package in PACKAGES:
        for path in sources(root, package):
            parts = path.relative_to(root).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    arrows: dict[str, set[str]] = {}
    for name, path in modules.items():
        targets: list[str] = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                # `from package import module` is an arrow to the module
                full = [f"{base}.{alias.name}" for alias in node.names]
                targets += [target if target in modules else base for target in full]
        arrows[name] = {target for target in targets if target in modules and target != name}
    return arrows


def levels(root: Path) -> dict[str, int]:
    """Room of `workbench` -> its height in the order that import-linter holds; the top one is 0."""
    config = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in config["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract.get("containers") == ["workbench"]:
            rows = [line.replace(":", "|").split("|") for line in contract["layers"]]
            return {name.strip(" ()"): height for height, row in enumerate(rows) for name in row}
    return {}


def upward(root: Path, arrows: dict[str, set[str]]) -> int:
    """Count the arrows of `workbench` from a room to a higher one."""
    height = levels(root)

    def level(module: str) -> int | None:
        parts = module.split(".")
        return height.get(parts[1]) if parts[0] == "workbench" and len(parts) > 1 else None

    pairs = [(level(name), level(other)) for name, others in arrows.items() for other in others]
    return sum(lower is not None and upper is not None and upper < lower for lower, upper in pairs)


COUNT_OPTIONS = """
import typer
from workbench.cli.main import app
try:
    from workbench.cli.lazy import SHARED
except ImportError:
    SHARED = ()
shown = commands = 0
every = len(SHARED)
seen = set()
def count(command, listed):
    global shown, every, commands
    if id(command) in seen:
        return
    seen.add(id(command))
    options = [param for param in command.params if param.param_type_name == "option"]
    every += len(options)
    children = getattr(command, "commands", None)
    if children is not None:
        for name in list(children):
            count(children[name], listed and not children[name].hidden)
        return
    commands += listed
    shown += sum(not param.hidden for param in options) if listed else 0
count(typer.main.get_command(app), True)
print(commands, shown, every)
"""


def options(root: Path) -> dict[str, int]:
    """Commands and options that the helps list, and all options that are taken; empty without an environment to ask."""
    python = root / ".venv/bin/python"
    if not python.exists():
        return {}
    done = subprocess.run([python, "-c", COUNT_OPTIONS], capture_output=True, text=True, check=True, cwd=root)
    return dict(
        zip(("commands", "options_listed", "options_taken"), map(int, done.stdout.split()), strict=True)
    )


#: Fenced blocks of the manual, by language and text.
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def manual_pages(root: Path) -> list[Path]:
    """Return the pages of the manual that are committed: those of the top folder, then those below ``docs``."""
    top = (root / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    return [*top, *sorted((root / "docs").rglob("*.md"))]


def broken_links(page: Path, text: str) -> list[str]:
    """Return the relative links and pictures of a page that lead to no file, or to no heading of it."""
    prose = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", text))
    broken = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", prose):
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists():
            broken.append(target)
        elif anchor and anchor not in headings(text if file == page else file.read_text(encoding="utf-8")):
            broken.append(f"{target}#{anchor}")
    return broken


def headings(text: str) -> set[str]:
    """Return the anchors of a page's headings, as a code host and MkDocs make them."""
    titles = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def manual(root: Path) -> dict[str, int]:
    """Count the manual: pages and bytes below ``docs``, broken links, and blocks that the suite runs or compiles."""
    texts = {page: page.read_text(encoding="utf-8") for page in manual_pages(root)}
    below = [page for page in texts if page.is_relative_to(root / "docs")]
    return {
        "pages": len(below),
        "bytes": sum(page.stat().st_size for page in below),
        "broken_links": sum(len(broken_links(page, text)) for page, text in texts.items()),
        "blocks": sum(len(BLOCK.findall(text)) for text in texts.values()),
    }


def document(root: Path) -> dict[str, Any]:
    """Everything that can be counted without starting a command."""
    by_room = rooms(root, *PACKAGES, "kernels")
    totals = sum(by_room.values(), Counter[str]())
    tests = sum(rooms(root, "tests").values(), Counter[str]())
    arrows = imports(root)
    return {
        **{name: totals[name] for name in MEASURES},
        **options(root),
        "docs_bytes": sum(path.stat().st_size for path in (root / "docs").rglob("*.md")),
        "docs": manual(root),
        "tests": {name: tests[name] for name in ("files", "lines", "ast_nodes")},
        "upward": upward(root, arrows),
        "circles": circles(arrows),
        "rooms": {name: dict(by_room[name]) for name in sorted(by_room)},
    }


def show(documents: list[dict[str, Any]]) -> None:
    """Print the rooms with lines and nodes, one pair of columns for each checkout, then the totals."""
    names = sorted({name for each in documents for name in each["rooms"]})
    print(f"{'':28}" + "  files    lines      nodes" * len(documents))
    for name in (*names, "tests", "the product"):
        counts = [
            each["tests"]
            if name == "tests"
            else each
            if name == "the product"
            else each["rooms"].get(name, {})
            for each in documents
        ]
        cells = [f"{c.get('files', 0):7} {c.get('lines', 0):8,} {c.get('ast_nodes', 0):10,}" for c in counts]
        print(f"{name:28}" + "".join(cells))
    for name in documents[0]["docs"]:
        print(f"{'docs ' + name:28}" + "  ".join(str(each["docs"][name]) for each in documents))
    for name in ("bytes", "docstring_lines", "commands", "options_listed", "options_taken", "upward", "circles"):  # fmt: skip
        print(f"{name:28}" + "  ".join(str(each.get(name, "")) for each in documents))


def processor_seconds(root: Path, words: list[str], home: Path) -> float:
    """Processor seconds of a command of that checkout, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environ = {**os.environ, "WORKBENCH_HOME": str(home), "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [root / ".venv/bin/workbench", *words], env=environ, capture_output=True, check=True, cwd=home
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def start_times(roots: list[Path], rounds: int) -> None:
    """Print the median start of each command in a home with the demo's run, and the ratio to the other checkout."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environ = {**os.environ, "WORKBENCH_HOME": folder}
        subprocess.run([roots[-1] / ".venv/bin/workbench", "demo"], env=environ, capture_output=True, check=True, cwd=home)  # fmt: skip
        for name, words in COMMANDS.items():
            times: list[list[float]] = [[] for _ in roots]
            for number in range(rounds + 1):  # the first writes bytecode
                for at, root in enumerate(roots):
                    times[at] += [processor_seconds(root, words, home)][: 1 if number else 0]
            middle = [statistics.median(each) for each in times]
            ratio = f"; the other takes {middle[1] / middle[0]:.2f} times as long" if len(middle) > 1 else ""
            print(f"{name:10} " + ", ".join(f"{seconds:.3f} s" for seconds in middle) + ratio)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one document of this checkout")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout, with its .venv")
    parser.add_argument("--start-times", action="store_true", help="time whole commands too")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parse(parser, rounds=1)
    roots = [ROOT, *([arguments.against.resolve()] if arguments.against else [])]
    if arguments.json:
        print(json.dumps(document(ROOT), indent=2))
        return
    show([document(root) for root in roots])
    if arguments.start_times:
        start_times(roots, arguments.rounds)


if __name__ == "__main__":
    main()
