"""Names of our own are the field's nouns and verbs; a newcomer should not have to learn a private vocabulary.

Words on screens are plain too: eight of them name what a claim rests on, and no page says one of them otherwise.

Only names that the source itself introduces are looked at: variables, parameters, attributes that are set, functions,
classes, aliases. What a library calls its own (Hypothesis' ``given``, pandas' ``.at``, a column in SQL) is not ours.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

from workbench.cli.main import app

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


# Words on screens. A reader needs eight of them; a second word for one of them is a second thing to learn.
GLOSSARY = ("claim", "driver", "evidence", "base rate", "weight", "cutoff", "scenario", "check")
#: What stands for one of the eight, and what was a private word, with the word to say instead.
SCREEN_WORDS = {
    r"propositions?": "claim, or driver",
    r"lea(?:f|ves(?! (?:out|open|the|it|a|no|you|loopback|each|in|what|fred)\b))": "driver",
    r"nodes?": "driver",
    r"roots?": "claim",
    r"ground(?:s|ed|ing)?": "evidence",
}
#: Private words, on every page: manuals for developers follow the table of identifiers otherwise.
PRIVATE_WORDS = {
    r"knowledge cutoff": "cutoff",
    r"as-of date": "cutoff",
    r"nights?": "round",
    r"sittings?": "session",
    r"desk": "page",
    r"like windows": "past windows",
    r"usual grounder": "the default",
    r"asks for nothing": "no approval",
}
MANUALS = ("README.md", *(f"docs/{name}.md" for name in ("approvals", "data", "mcp", "packages", "screens")))
CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)


def other_words(text: str, words: Mapping[str, str]) -> list[str]:
    """Words of a text that say one of the eight otherwise; code, links and comments are left alone."""
    plain = CODE.sub(" ", text)
    return [
        f"{match[0]}: say {instead}"
        for pattern, instead in words.items()
        for match in re.finditer(rf"(?<![\w-]){pattern}(?![\w-])", plain, re.IGNORECASE)
    ]


def visible_text(template: str) -> str:
    """What a reader sees of a template: no tags, no placeholders, no style."""
    text = re.sub(r"<style.*?</style>|<code.*?</code>|\{[{%#].*?[}%#]\}", " ", template, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", text)


def spoken_strings(source: str) -> list[str]:
    """Strings of a module that people read: those with a space or that begin like a sentence or a label, no docstrings."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        if " " in node.value.strip() or node.value[:1].isupper()
    ]


def page_texts() -> dict[str, str]:
    """File -> what its screens say: the page, and the note in all its forms."""
    folders = [ROOT / "workbench" / name for name in ("widgets", "reports")]
    return {
        path.relative_to(ROOT).as_posix(): (
            visible_text(path.read_text("utf-8"))
            if path.suffix == ".j2"
            else "\n".join(spoken_strings(path.read_text("utf-8")))
        )
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".py", ".j2"}
    }


def help_texts() -> dict[str, str]:
    """Command -> its help with that of its options; names of options and placeholders in capitals are no words."""
    texts: dict[str, str] = {}

    def walk(command: Any, path: str) -> None:
        parts = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
        texts[path] = re.sub(r"--[\w-]+|\b[A-Z][A-Z_/.]+\b", " ", "\n".join(parts))
        if hasattr(command, "list_commands"):
            context = command.make_context("workbench", [], resilient_parsing=True)
            for name in command.list_commands(context):
                walk(command.get_command(context, name), f"{path} {name}")

    walk(typer.main.get_command(app), "workbench")
    return texts


@pytest.mark.parametrize("name", MANUALS)
def test_a_manual_says_the_eight_words(name: str) -> None:
    assert other_words((ROOT / name).read_text("utf-8"), SCREEN_WORDS | PRIVATE_WORDS) == []


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.name)
def test_no_page_has_a_private_word(path: Path) -> None:
    assert other_words(path.read_text("utf-8"), PRIVATE_WORDS) == []


@pytest.mark.parametrize(("name", "text"), page_texts().items(), ids=page_texts())
def test_a_screen_says_the_eight_words(name: str, text: str) -> None:
    assert other_words(text, SCREEN_WORDS | PRIVATE_WORDS) == []


def test_help_says_the_eight_words() -> None:
    texts = help_texts()
    assert len(texts) > 60
    others = {name: other_words(text, SCREEN_WORDS | PRIVATE_WORDS) for name, text in texts.items()}
    assert {name: words for name, words in others.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Each leaf is grounded.", 2),
        ("the root node of a proposition", 3),
        ("A background check leaves out the ground-truth of `leaf`.", 0),
        ("The Knowledge cutoff of this desk", 2),
        ("The claim has drivers, evidence, a base rate, weights, a cutoff, scenarios and checks.", 0),
    ],
)
def test_another_word_is_seen(text: str, count: int) -> None:
    assert len(other_words(text, SCREEN_WORDS | PRIVATE_WORDS)) == count


def test_what_a_reader_sees_is_looked_at() -> None:
    assert visible_text('<p class="leaf">{{ node }}A <b>leaf</b></p>').split() == ["A", "leaf"]
    assert spoken_strings('"""A leaf."""\nx = "leaf"\ny = "one leaf"\nz = "Leaf"') == ["one leaf", "Leaf"]
    assert not other_words(" ".join(GLOSSARY), SCREEN_WORDS | PRIVATE_WORDS)
