"""Identifiers of the broker's room are the field's nouns and verbs, not everyday participles that could mean anything."""

import ast
from pathlib import Path

import proxies

WORDS = {"told", "found", "kept", "given", "asked", "made", "taken", "one", "wrong", "here", "at"}
#: The ledger's field and the catalogue's key, which stored rows, other rooms and users' files spell this way.
STAND = {("ledger.py", "asked"), ("schema.py", "at")}


def names(tree: ast.AST) -> list[str]:
    """Every name that a module introduces."""
    out: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                out.append(node.name)
            case ast.arg():
                out.append(node.arg)
            case ast.Name(ctx=ast.Store()):
                out.append(node.id)
            case ast.Attribute(ctx=ast.Store()):
                out.append(node.attr)
    return [name.strip("_") for name in out]


def test_no_everyday_participle_is_a_name() -> None:
    assert set(names(ast.parse("def f(told):\n    self._found = here = 1"))) == {"f", "told", "here", "found"}
    folder = Path(proxies.__file__).parent
    used = {
        (file.name, name)
        for file in folder.rglob("*.py")
        for name in names(ast.parse(file.read_text(encoding="utf-8")))
        if name in WORDS
    }
    assert used == STAND
