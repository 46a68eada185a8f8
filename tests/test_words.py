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

from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from workbench.cli.main import app
from workbench.engine.named_settings import settings_by_name
from workbench.formatting import GLOSSARY, SCORE_WORDS

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
    ("workbench/workers/worker_words.py", "asked", "the same on its way from a worker"),
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
#: What stands for one of the eight, and what was a private word, with the word to say instead.
SCREEN_WORDS = {
    r"propositions?": "claim, or driver",
    r"lea(?:f|ves(?! (?:out|open|the|it|a|no|you|loopback|each|in|what|fred)\b))": "driver",
    r"nodes?": "driver",
    r"(?<!square )roots?(?! mean)": "claim",
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

#: Options, magics, and placeholders in capitals.
NAMES = re.compile(r"--[\w-]+|%%?\w+|\b[A-Z][A-Z_/.]+\b")


def other_words(text: str, words: Mapping[str, str]) -> list[str]:
    """Words of a text that say one of the eight otherwise; code, links and comments are left alone."""
    plain = CODE.sub(" ", text)
    return [
        f"{match[0]}: say {instead}"
        for pattern, instead in words.items()
        for match in re.finditer(rf"(?<![\w-]){pattern}(?![\w-])", plain, re.IGNORECASE)
    ]


def visible_text(template: str) -> str:
    """What a reader sees of a template, hovers and labels too: no tags, no placeholders, no style."""
    text = re.sub(r"<style.*?</style>|<code.*?</code>|\{[{%#].*?[}%#]\}", " ", template, flags=re.DOTALL)
    hovers = " ".join(re.findall(r'(?:title|placeholder|aria-label|alt)="([^"]*)"', text))
    return f"{re.sub(r'<[^>]*>', ' ', text)} {hovers}"


def texts_of(node: ast.AST) -> Iterator[str]:
    """Strings below a node, an f-string as one text with … for its values; no docstrings, keys, or words for ourselves."""
    match node:
        case ast.Expr(ast.Constant()):
            return
        case ast.Assert(test=inner) | ast.Subscript(value=inner):
            yield from texts_of(inner)
            return
        case ast.JoinedStr(values=parts):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in parts)
            parts = [part for part in parts if not isinstance(part, ast.Constant)]
        case ast.Constant(value=str(text)):
            yield text
            return
        case _:
            parts = list(ast.iter_child_nodes(node))
    for part in parts:
        yield from texts_of(part)


def spoken_strings(source: str, *, raised: bool = False) -> list[str]:
    """Strings of a module that people read: those with a space or that begin like a sentence or a label, and heads of tables.

    ``raised`` looks at the errors alone.
    """
    nodes = list(ast.walk(ast.parse(source)))
    errors = [node.exc for node in nodes if isinstance(node, ast.Raise) and node.exc is not None]
    heads = [
        node.args[0] if isinstance(node, ast.Call) else node.value
        for node in nodes
        if (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "show_table")
        or (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("header", "columns"))
    ]
    said = [text for each in (errors if raised else nodes[:1]) for text in texts_of(each)]
    said = [text for text in said if " " in text.strip() or text[:1].isupper()]
    return said if raised else [*said, *(text for head in heads for text in texts_of(head))]


def script_strings(source: str) -> list[str]:
    """Strings of a script that have a space or begin like a label; its comments are left out."""
    code = re.sub(r"(?:^|\s)//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)
    texts = [match[2] for match in re.finditer(r"([\"'`])((?:\\.|(?!\1).)*?)\1", code)]
    texts = [re.sub(r"\$\{[^}]*\}", "…", text) for text in texts]
    return [text for text in texts if " " in text.strip() or text[:1].isupper()]


#: Rooms whose strings are for models, the log or the database; of these the raised errors alone are looked at.
UNREAD = ("agents", "models", "offline", "prompts", "propositions", "search", "store")
#: Errors that answer a model, which knows the table of identifiers, or that name keys of JSON: (file, why).
TO_MODELS = {
    "agents/analyzers/rounds.py": "answers a planner's block",
    "agents/red_team.py": "answers a red team's JSON",
    "models/providers/litellm_provider.py": "quotes a line of a prompt",
    "offline/offline_model.py": "answers a request",
    "propositions/growth.py": "answers a planner's block",
    "propositions/ids.py": "answers whoever writes an id, in replies too",
    "propositions/proposition_json.py": "names keys of a file",
    "propositions/tree_checks.py": "names what is wrong in stored records",
    "synthesis/exchange/tree_formats.py": "writes another program's format",
    "synthesis/rules/formula.py": "answers a synthesizer's formula",
    "synthesis/rules/logic.py": "an equation as it stands in prompts",
}


def screen_texts() -> dict[str, str]:
    """File -> what it says to people: pages, notes, lines of commands, answers of tools, errors."""
    texts: dict[str, str] = {}
    room = ROOT / "workbench"
    for path in sorted(room.rglob("*")):
        name = path.relative_to(room).as_posix()
        if name in TO_MODELS:
            continue
        if path.suffix == ".j2":
            texts[name] = visible_text(path.read_text("utf-8"))
        elif path.suffix == ".js" and "labextensions" not in name:
            texts[name] = "\n".join(script_strings(path.read_text("utf-8")))
        elif path.suffix == ".py":
            said = spoken_strings(
                path.read_text("utf-8"), raised=name.startswith(UNREAD) and path.name != "errors.py"
            )
            texts[name] = "\n".join(said)
    return {name: NAMES.sub(" ", text) for name, text in texts.items()}


def help_texts() -> dict[str, str]:
    """Command -> its help with that of its options."""
    texts: dict[str, str] = {}

    def walk(command: Any, path: str) -> None:
        parts = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
        texts[path] = NAMES.sub(" ", "\n".join(parts))
        if hasattr(command, "list_commands"):
            context = command.make_context("workbench", [], resilient_parsing=True)
            for name in command.list_commands(context):
                walk(command.get_command(context, name), f"{path} {name}")

    walk(typer.main.get_command(app), "workbench")
    texts["settings"] = "\n".join(each.says.text for each in settings_by_name().values())
    return texts


@pytest.mark.parametrize("name", MANUALS)
def test_a_manual_says_the_eight_words(name: str) -> None:
    assert other_words((ROOT / name).read_text("utf-8"), SCREEN_WORDS | PRIVATE_WORDS) == []


#: What quotes the prompts, which have their own words for models.
QUOTED_PROMPTS = {"prompts.md"}


@pytest.mark.parametrize(
    "path",
    sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name not in QUOTED_PROMPTS),
    ids=lambda path: path.name,
)
def test_no_page_has_a_private_word(path: Path) -> None:
    assert other_words(path.read_text("utf-8"), PRIVATE_WORDS) == []


def test_every_screen_says_the_eight_words() -> None:
    texts = screen_texts()
    assert len(texts) > 500 and texts["widgets/static/tree.js"] and texts["mcp/server.py"]
    others = {name: other_words(text, SCREEN_WORDS | PRIVATE_WORDS) for name, text in texts.items()}
    assert {name: words for name, words in others.items() if words} == {}


@pytest.mark.parametrize("name", TO_MODELS)
def test_what_says_other_words_with_a_reason_still_does(name: str) -> None:
    said = "\n".join(spoken_strings((ROOT / "workbench" / name).read_text("utf-8")))
    assert other_words(said, SCREEN_WORDS | PRIVATE_WORDS)


#: Command lines whose output is read; RUN stands for a run of two drivers.
PRINTED = """show RUN --all, runs, whatif RUN --set P1=0.2, whatif RUN --reach 0.5, whatif RUN, whatif RUN --set P9=1,
whatif RUN --set P1=0.3 --scenario low, scenarios RUN, sensitivity RUN --report, sensitivity RUN --two P1+P2, noise RUN,
audit RUN, evidence RUN P1, critique grounders RUN, annotate comment RUN P1 hello, annotate resolve RUN yes --on 2018-12-31,
reground RUN P0, reground RUN P1, resume RUN, coherence RUN, show nope, tournament show q, forecast q, help glossary"""


def test_what_commands_print_says_the_eight_words(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    for line in PRINTED.replace("RUN", RUN).split(","):
        done = run_cli(tmp_path, *line.replace("+", ",").split())
        text = NAMES.sub(" ", done.stdout + done.stderr)
        assert len(text) > 50 and not other_words(text, SCREEN_WORDS | PRIVATE_WORDS), line


def test_help_says_what_the_eight_words_mean(tmp_path: Path) -> None:
    shown = run_cli(tmp_path, "help", "glossary").stdout
    assert [line.split("  ")[0] for line in shown.splitlines()] == [*GLOSSARY, *SCORE_WORDS]
    assert "help glossary" in " ".join(run_cli(tmp_path, "--help").stdout.split())


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
    assert visible_text('<b title="the root">x</b>').split() == ["x", "the", "root"]
    source = '"""A leaf."""\nx = "leaf"\ny = f"one {x} leaf"\nz = row["Leaf"]\nshow_table(("node", row["root"]))\nassert x, "a root"'
    assert spoken_strings(source) == ["one … leaf", "node"]
    assert spoken_strings('x = "a leaf"\nraise E(f"no {x!r} leaf")', raised=True) == ["no … leaf"]
    script = "// a leaf\nconst a = 'leaf';\nrow.title = `a leaf ${a}`;\nb = \"Leaf\""
    assert script_strings(script) == ["a leaf …", "Leaf"]
    assert not other_words(" ".join(GLOSSARY), SCREEN_WORDS | PRIVATE_WORDS)
