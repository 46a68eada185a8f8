"""How large the house is and how it hangs together: files and lines by room, circles of imports, upward arrows, options, start times.

    python -m benchmarks.size [--against FOLDER] [--rounds 7]

Lines are those of Python files, blank ones counted. An import inside a function counts once for each statement. A circle is a set of
files that import each other, directly or through others, imports inside functions and those for type checkers included. The order of
the rooms is the one that import-linter holds (pyproject.toml). Start times are processor seconds of whole commands, the median of the
rounds; with another checkout (which has its .venv) the two take turns, and the ratio is of medians.
"""

import argparse
import ast
import os
import re
import resource
import statistics
import subprocess
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

from benchmarks.arguments import parse

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("workbench", "sandbox", "proxies")
FOLDERS = (*PACKAGES, "kernels", "benchmarks", "tests")
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
    if parts[0] in PACKAGES and len(parts) > 2:
        return f"{parts[0]}/{parts[1]}"
    return parts[0]


def inner_imports(tree: ast.Module) -> int:
    """Import statements inside functions."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    found = {
        id(node)
        for each in functions
        for node in ast.walk(each)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return len(found)


def dataclasses(tree: ast.Module) -> int:
    """Classes under the dataclass decorator."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sum("dataclass" in ast.unparse(each) for node in classes for each in node.decorator_list)


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Sets of more than one node that reach each other (Tarjan 1972), the largest first.

    >>> circles({"a": {"b"}, "b": {"a", "c"}, "c": set()})
    [['a', 'b']]
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(start: str) -> None:
        work = [(start, iter(sorted(arrows[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(arrows[other]))))
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    found.append(sorted(part))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return sorted((part for part in found if len(part) > 1), key=lambda part: (-len(part), part))


def imports(root: Path) -> dict[str, set[str]]:
    """Module -> modules of ours that it imports."""
    modules = {}
    for package in PACKAGES:
        for path in sources(root, package):
            parts = path.relative_to(root).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    arrows: dict[str, set[str]] = {}
    for name, path in modules.items():
        own = arrows[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets: list[str] = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                # `from package import module` is an arrow to the module
                targets = [
                    f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules else base
                    for alias in node.names
                ]
            own.update(target for target in targets if target in modules and target != name)
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
    """Arrows of `workbench` from a room to a higher one."""
    height = levels(root)

    def of(module: str) -> int | None:
        parts = module.split(".")
        return height.get(parts[1]) if parts[0] == "workbench" and len(parts) > 1 else None

    pairs = [(of(name), of(other)) for name, others in arrows.items() for other in others]
    return sum(lower is not None and upper is not None and upper < lower for lower, upper in pairs)


def report(root: Path) -> None:
    """Print what can be counted without running anything."""
    files, lines = Counter[str](), Counter[str]()
    inner = classes = 0
    for folder in FOLDERS:
        for path in sources(root, folder):
            text = path.read_text(encoding="utf-8")
            files[room(root, path)] += 1
            lines[room(root, path)] += text.count("\n")
            if folder in PACKAGES:
                tree = ast.parse(text)
                inner, classes = inner + inner_imports(tree), classes + dataclasses(tree)
    print(f"{'room':28} {'files':>6} {'lines':>8}")
    for name in sorted(files):
        print(f"{name:28} {files[name]:6} {lines[name]:8,}")
    own = [name for name in files if name.split("/")[0] in PACKAGES or name == "kernels"]
    print(f"{'the product':28} {sum(files[n] for n in own):6} {sum(lines[n] for n in own):8,}")
    arrows = imports(root)
    loops = circles(arrows)
    print(f"dataclasses {classes}; imports inside functions {inner}; arrows upward {upward(root, arrows)}")
    print(f"circles {len(loops)}" + "".join(f"\n  {len(loop)}: {', '.join(loop)}" for loop in loops))


def processor_seconds(root: Path, words: list[str], home: Path) -> float:
    """Processor seconds of a command of that checkout, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environ = {**os.environ, "WORKBENCH_HOME": str(home), "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [root / ".venv/bin/workbench", *words], env=environ, capture_output=True, check=True, cwd=home
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def modules_loaded(root: Path) -> int:
    """Modules that ``workbench --version`` loads beyond those of the bare interpreter."""
    count = "import sys; n = len(sys.modules)\ntry:\n from workbench.cli.entry import main; main(['--version'])\nexcept SystemExit: pass\nexcept TypeError:\n sys.argv = ['workbench', '--version']\n try: main()\n except SystemExit: pass\nprint(len(sys.modules) - n)"
    done = subprocess.run(
        [root / ".venv/bin/python", "-c", count], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])


COUNT_OPTIONS = """
import typer
from workbench.cli.main import app
shown = every = commands = 0
def count(command, listed):
    global shown, every, commands
    children = getattr(command, "commands", None)
    if children is not None:
        for name in list(children):
            count(children[name], listed and not children[name].hidden)
        return
    options = [param for param in command.params if param.param_type_name == "option"]
    commands += listed
    every += len(options)
    shown += sum(not param.hidden for param in options) if listed else 0
count(typer.main.get_command(app), True)
print(commands, shown, every)
"""


def options(root: Path) -> tuple[int, int, int]:
    """Commands that the helps list, the options that they list, and all options that are taken, older spellings included."""
    done = subprocess.run(
        [root / ".venv/bin/python", "-c", COUNT_OPTIONS], capture_output=True, text=True, check=True, cwd=root
    )
    commands, shown, every = map(int, done.stdout.split())
    return commands, shown, every


#: What was counted before the work on one spelling for each idea: commit, commands, options listed, options taken, private helpers,
#: names that three of them share, bytes of the README, bytes of docs.
BEFORE = (
    ("2ca7749", 79, 545, 545, 1317, 71, 53_331, 353_798),
    ("its start (470ca4d^)", 79, 558, 558, 1388, 76, 56_640, 280_958),
)


def faces(root: Path, counted: tuple[int, int, int]) -> None:
    """Print the table of what a person meets and what is spelt more than once, before and now."""
    names = Counter(
        node.name
        for package in PACKAGES
        for path in sources(root, package)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.match("_[^_]", node.name)
    )
    repeated = sum(count > 2 for count in names.values())
    documents = sum(path.stat().st_size for path in (root / "docs").rglob("*.md"))
    now = ("now", *counted, names.total(), repeated, (root / "README.md").stat().st_size, documents)
    heads = ("commands", "options listed", "options taken", "private helpers", "names of three helpers")
    print(f"| {' | '.join(('counted at', *heads, 'README bytes', 'docs bytes'))} |\n|{' --- |' * 8}")
    for row in (*BEFORE, now):
        print(f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in row)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout, with its .venv")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parse(parser, rounds=1)
    roots = [ROOT, *([arguments.against.resolve()] if arguments.against else [])]
    for root in roots:
        print(f"== {'this checkout' if root == ROOT else 'the other'}")
        report(root)
        if (root / ".venv/bin/python").exists():
            faces(root, options(root))
    if arguments.smoke or not all((root / ".venv/bin/workbench").exists() for root in roots):
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        first = [roots[-1] / ".venv/bin/workbench", "demo"]
        subprocess.run(
            first, env={**os.environ, "WORKBENCH_HOME": folder}, capture_output=True, check=True, cwd=home
        )
        print("modules that --version loads: " + ", ".join(str(modules_loaded(root)) for root in roots))
        for name, words in COMMANDS.items():
            times: list[list[float]] = [[] for _ in roots]
            for number in range(arguments.rounds + 1):  # the first writes bytecode
                for at, root in enumerate(roots):
                    times[at] += [processor_seconds(root, words, home)][: 1 if number else 0]
            middle = [statistics.median(each) for each in times]
            ratio = f"; the other takes {middle[1] / middle[0]:.2f} times as long" if len(middle) > 1 else ""
            print(f"{name:10} " + ", ".join(f"{seconds:.3f} s" for seconds in middle) + ratio)


if __name__ == "__main__":
    main()
