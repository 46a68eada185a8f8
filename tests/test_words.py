"""Names of our own are the field's nouns and verbs; a newcomer should not have to learn a private vocabulary.

Only names that the source itself introduces are looked at: variables, parameters, attributes that are set, functions,
classes, aliases. What a library calls its own (Hypothesis' ``given``, pandas' ``.at``, a column in SQL) is not ours.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ("workbench", "sandbox", "proxies", "kernels")

# Everyday participles and adverbs, which say nothing of what they name.
VAGUE = {"told", "found", "kept", "given", "asked", "made", "taken", "one", "wrong", "here", "at"}
# Classes of the old private language, many of which stood for the same thing (a response, a client).
VAGUE_CLASSES = {"Desk", "Courier", "Outgoing", "Wire", "Raw", "Packed", "Fresh", "Settled"}

# Names that stand in stored records or public JSON and so cannot change: (file, name, why).
ALLOWED = {
    ("workbench/propositions/scenario_set.py", "at", "a field of stored scenario records"),
    ("workbench/propositions/values.py", "at", "a field of stored overrides"),
    ("workbench/audit/check.py", "found", "a key of the audit's JSON"),
    ("proxies/catalogue/schema.py", "at", "a key of the catalogue's files"),
    ("proxies/ledger.py", "asked", "a column of the stored ledger of calls"),
}


def own_names(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """Names a source introduces: name, line, whether it is a class."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name):
                yield name, node.lineno, True
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno, False
            case ast.arg(arg=name):
                yield name, node.lineno, False
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno, False
            case (
                ast.ExceptHandler(name=str(name))
                | ast.alias(asname=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield name, node.lineno, False


def is_vague(name: str, *, is_class: bool) -> bool:
    plain = name.strip("_")
    return plain.lower() in VAGUE or (is_class and plain in VAGUE_CLASSES)


def vague_names(source: str) -> list[tuple[str, int]]:
    return [
        (name, line)
        for name, line, is_class in own_names(ast.parse(source))
        if is_vague(name, is_class=is_class)
    ]


def vague_lines() -> list[str]:
    """Every vague name in the source that is not allowed, as ``file:line: name``."""
    allowed = {(file, name) for file, name, _why in ALLOWED}
    return [
        f"{file}:{line}: {name}"
        for top in SOURCE
        for path in sorted((ROOT / top).rglob("*.py"))
        for file in [path.relative_to(ROOT).as_posix()]
        for name, line in vague_names(path.read_text(encoding="utf-8"))
        if (file, name) not in allowed
    ]


def test_no_name_of_our_own_is_vague() -> None:
    lines = vague_lines()
    assert not lines, "name what it holds instead (STYLE: plain words):\n" + "\n".join(lines)


def test_what_is_allowed_is_there() -> None:
    for file, name, _why in ALLOWED:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert name in {vague for vague, _line in vague_names(source)}, (
            f"{file} has no {name}: take it off the list"
        )


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "for found in x: pass",
        "[found for found in x]",
        "(found := 1)",
        "def found(): pass",
        "async def _found(): pass",
        "def f(found): pass",
        "def f(*, found=1): pass",
        "lambda found: 1",
        "class Found: pass",
        "class _Desk: pass",
        "self.found = 1",
        "class A:\n    found: int",
        "try: pass\nexcept E as found: pass",
        "import x as found",
        "with x as found: pass",
        "match x:\n    case [1, *found]: pass",
        "match x:\n    case {1: 2, **found}: pass",
        "match x:\n    case int() as found: pass",
    ],
)
def test_a_vague_name_is_seen_wherever_it_is_introduced(source: str) -> None:
    assert [name.strip("_") for name, _line in vague_names(source)] in (["found"], ["Found"], ["Desk"])


@pytest.mark.parametrize(
    "source",
    [
        "from hypothesis import given\n@given(x)\ndef f(x): pass",
        "frame.at[1, 2]",
        "x = 'SELECT asked FROM calls'",
        "f(at=1)",
        "founder = tone = heretic = 1",
        "record['found'] = 1",
    ],
)
def test_names_of_others_and_longer_names_are_left_alone(source: str) -> None:
    assert vague_names(source) == []


def test_counts_are_of_names_not_of_files() -> None:
    assert Counter(name for name, _line in vague_names("found = 1\nfound = told = 2")) == {
        "found": 2,
        "told": 1,
    }
