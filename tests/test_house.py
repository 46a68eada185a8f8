"""The house stays one that can be walked through: names that say what a file holds, files of a size to read, no circles."""

import ast
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.size import circles, imports

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("workbench", "sandbox", "proxies")
SHORTEST, LONGEST, IMPORTERS = 40, 600, 3

EVERYWHERE = {"__init__", "base", "errors"}
#: Basenames that occur twice, and why.
TWICE = {
    "registry": "agents and models each have one, and packages of others import both",
    "outcomes": "the field's word, for paper P's task and for how a claim turned out",
    "lab": "the command is called after itself, and so is what it configures",
}
#: Short files with few importers, and why each stands alone; a folder stands for every file in it.
SHORT = {
    "workbench/workers/cluster_tasks.py": "what a worker unpickles by name",
    "proxies/vendors/": "a file per source",
    "proxies/asof/policies/": "a file per policy",
    "proxies/home.py": "what the sandbox and the workbench both read stands in the lowest room",
    "sandbox/cleanup.py": "the manager and the pool of kernels share it, below both",
    "sandbox/jupyter/lab_process.py": "a process of its own, started by name",
    "workbench/cli/servers/serve.py": "a command's file is loaded when it is called, and nothing else with it",
    "workbench/cli/servers/workers.py": "a command's file is loaded when it is called, and nothing else with it",
    "workbench/store/integrity.py": "no file outside of the store has SQL, and few commands look at all of it",
}
#: Words that only those who made them know; in a file's, a class's or a function's name.
PRIVATE = {"night", "nights", "sitting", "sittings", "rung", "rungs", "desk", "desks", "board", "boards", "book", "books", "acting", "sorting", "making", "keeping", "odd"}  # fmt: skip
PRIVATE_PAIRS = {("taking", "out"), ("looked", "up"), ("looking", "up"), ("asking", "again"), ("second", "reading")}  # fmt: skip
#: (file, name) -> why it is no private word there.
ALLOWED = {
    ("workbench/questions/sets/bets.py", "_books"): "order books of markets",
}
#: Files whose name ends in a gerund: it is the field's noun.
GERUNDS = {
    "betting": "what economics calls it",
    "blocking": "a call that blocks, as asyncio calls it",
    "formatting": "of numbers and texts",
    "grounding": "what a leaf gets (the papers' word)",
    "hashing": "of bytes and JSON",
    "pacing": "of requests",
    "quoting": "of what strangers wrote",
    "paging": "of answers that come in pages",
    "reading": "what a claim says about a series",
    "routing": "of leaves to grounders",
    "sampling": "of random values",
    "tuning": "of parameters",
    "wording": "the words in which a thing is put",
    # folders
    "calibrating": "a chapter of statistics",
    "comparing": "a chapter of statistics",
    "pooling": "a chapter of statistics",
    "scoring": "a chapter of statistics",
    "streaming": "of replies, as providers call it",
}

#: Names of private functions that more than two files had when this was first counted, with the number of files: a third of another
#: name is refused, and of these there may only be fewer. Give a helper a name that says what it makes, or use the one that is there.
REPEATED: dict[str, int] = {}


def files(root: Path) -> dict[str, str]:
    """Path -> source of every Python file of the product, as git tracks them."""
    names = subprocess.run(["git", "ls-files", "-z", "--", *PACKAGES], cwd=root, capture_output=True, text=True, check=True).stdout  # fmt: skip
    return {
        name: (root / name).read_text(encoding="utf-8") for name in names.split("\0") if name.endswith(".py")
    }


def base_name(path: str) -> str:
    """The name that a file goes by: of a package's ``__init__`` the folder's."""
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" else parts[-1]


def own_definitions(source: str) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def word_list(name: str) -> list[str]:
    """The words of a name, however it is written."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def is_private(name: str) -> bool:
    parts = word_list(name)
    return bool(PRIVATE & {*parts}) or bool(PRIVATE_PAIRS & {*pairwise(parts)})


def private_names(tree: Mapping[str, str]) -> set[tuple[str, str]]:
    """(file, name) of every file, class and function with a private word in its name."""
    pairs = {(path, base_name(path)) for path in tree}
    pairs |= {(path, node.name) for path, source in tree.items() for node in own_definitions(source)}
    return {(path, name) for path, name in pairs if is_private(name)}


def gerunds(tree: Mapping[str, str]) -> set[str]:
    """Names of files that say what is done, where the thing should be named: the last word ends in ``-ing``."""
    return {name for name in map(base_name, tree) if re.search("[^_]{2}ing$", name)}


def repeated_files(tree: Mapping[str, str]) -> set[str]:
    stems = Counter(path.rpartition("/")[2].removesuffix(".py") for path in tree)
    return {stem for stem, count in stems.items() if count > 1 and stem not in EVERYWHERE}


def repeated_classes(tree: Mapping[str, str]) -> dict[str, list[str]]:
    """Public classes by name where several have it -> their files."""
    homes = defaultdict(list)
    for path, source in tree.items():
        for node in own_definitions(source):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def repeated_helpers(tree: Mapping[str, str]) -> dict[str, int]:
    """Private functions of modules by name, where more than two files have one -> how many."""
    helpers = Counter(
        node.name
        for source in tree.values()
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.match("_[^_]", node.name)
    )
    return {name: count for name, count in helpers.items() if count > 2}


def sections_of_private_names(tree: Mapping[str, str]) -> set[tuple[str, str]]:
    """(file, name) of what is private, by its own name or by its class's, and has a docstring with underlined sections."""
    found = set()
    for path, source in tree.items():
        for node in ast.parse(source).body:
            inside = node.body if isinstance(node, ast.ClassDef) else []
            for each in (node, *inside):
                if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    private = any(name.startswith("_") for name in (node.name, each.name))  # type: ignore[union-attr]
                    if private and re.search(r"^(\w| )+\n-{3,}$", ast.get_docstring(each) or "", re.M):
                        found.add((path, each.name))
    return found


def long_files(tree: Mapping[str, str]) -> set[str]:
    return {path for path, source in tree.items() if source.count("\n") > LONGEST}


def lonely_files(tree: Mapping[str, str], arrows: Mapping[str, set[str]]) -> set[str]:
    """Short files that fewer than three others import: they have a neighbour to join."""
    importers = Counter(other for others in arrows.values() for other in others)
    return {
        path
        for path, source in tree.items()
        if source.count("\n") < SHORTEST
        and path.rpartition("/")[2].removesuffix(".py") not in EVERYWHERE
        and importers[path.removesuffix(".py").replace("/", ".")] < IMPORTERS
    }


if not (ROOT / ".git").exists():
    pytest.skip("not a git checkout", allow_module_level=True)
TREE = files(ROOT)


def test_no_file_class_or_function_has_a_private_word_in_its_name() -> None:
    assert private_names(TREE) == {*ALLOWED}


def test_a_file_is_named_after_a_thing() -> None:
    assert gerunds(TREE) == {*GERUNDS}


def test_a_file_name_occurs_once() -> None:
    assert repeated_files(TREE) == {*TWICE}


def test_no_third_private_helper_of_one_name() -> None:
    now = repeated_helpers(TREE)
    assert {name: count for name, count in now.items() if count > REPEATED.get(name, 2)} == {}
    assert {name for name in REPEATED if name not in now} == set(), "take these off the list"


def test_only_public_names_of_science_have_docstrings_in_sections() -> None:
    science = {path: source for path, source in TREE.items() if path.startswith("workbench/science/")}
    assert len(science) > 50 and sections_of_private_names(science) == set()
    sections = '"""Say.\n\n    Parameters\n    ----------\n    x\n    """'
    made_up = f"def _f(x):\n    {sections}\ndef g(x):\n    {sections}\nclass _A:\n    def h(self, x):\n        {sections}\n"
    assert sections_of_private_names({"a.py": made_up}) == {("a.py", "_f"), ("a.py", "h")}


def test_a_public_class_name_occurs_once() -> None:
    assert repeated_classes(TREE) == {}


def test_no_file_is_too_long_to_be_read() -> None:
    assert long_files(TREE) == set()


def test_a_short_file_has_three_importers_or_a_reason() -> None:
    lonely = lonely_files(TREE, imports(ROOT))
    assert [path for path in lonely if not path.startswith(tuple(SHORT))] == []
    assert [reason for reason in SHORT if not any(path.startswith(reason) for path in lonely)] == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles(imports(ROOT)) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class NightPlan: pass", "NightPlan"),
        ("def _books(): pass", "_books"),
        ("class A:\n    async def keeping(self): pass", "keeping"),
        ("def rows_looked_up(): pass", "rows_looked_up"),
        ("def second_reading_of(): pass", "second_reading_of"),
    ],
)
def test_a_private_word_is_seen(source: str, name: str) -> None:
    assert private_names({"workbench/a.py": source}) == {("workbench/a.py", name)}


def test_a_private_word_is_seen_in_a_file_and_a_folder() -> None:
    tree = dict.fromkeys(["workbench/desk_view.py", "workbench/nights/__init__.py", "workbench/a.py"], "")
    assert {name for _, name in private_names(tree)} == {"desk_view", "nights"}


@pytest.mark.parametrize("name", ["overnight", "Dashboard", "notebook", "look_up", "second_opinion", "odds", "bookkeeping"])  # fmt: skip
def test_longer_words_are_left_alone(name: str) -> None:
    assert not is_private(name)


def test_trespassers_of_a_made_up_tree_are_seen(tmp_path: Path) -> None:
    files_of = {
        "workbench/__init__.py": "",
        "workbench/a/__init__.py": "",
        "workbench/b/__init__.py": "",
        "workbench/a/errors.py": "",
        "workbench/b/errors.py": "",
        "workbench/a/plan.py": "from workbench.b.run import run\nclass Plan: pass\n",
        "workbench/b/plan.py": "class Plan: pass\nclass _Row: pass\n" + "x = 1\n" * LONGEST,
        "workbench/b/run.py": "def run():\n    from workbench.a.plan import Plan\nclass _Row: pass\n",
        "workbench/b/reaching.py": "import workbench.b.king\n" + "x = 1\n" * SHORTEST,
        "workbench/b/king.py": "",
        "workbench/b/one.py": "import workbench.b.king\n" + "x = 1\n" * SHORTEST,
        "workbench/b/two.py": "import workbench.b.king\n" + "x = 1\n" * SHORTEST,
    }
    for name, source in files_of.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    tree, arrows = files(tmp_path), imports(tmp_path)
    assert tree == files_of
    assert repeated_files(tree) == {"plan"}
    assert repeated_classes(tree) == {"Plan": ["workbench/a/plan.py", "workbench/b/plan.py"]}
    assert long_files(tree) == {"workbench/b/plan.py"}
    helper = "def _row(): pass\nclass A:\n    def _cell(self): pass\n"
    assert repeated_helpers(dict.fromkeys(("a.py", "b.py", "c.py"), helper)) == {"_row": 3}
    assert repeated_helpers(dict.fromkeys(("a.py", "b.py"), helper)) == {}
    assert lonely_files(tree, arrows) == {"workbench/a/plan.py", "workbench/b/run.py"}
    assert gerunds(tree) == {"reaching"}
    assert circles(arrows) == [["workbench.a.plan", "workbench.b.run"]]
