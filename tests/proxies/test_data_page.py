"""docs/data.md keeps what it promises: each paragraph, point and row of its chapters names a test that exists.

The names stand in a comment at the line's end, ``<!-- tests: test_clock, a9 -->``: files of ``tests/proxies/`` or below ``tests/``,
``file::test`` a single test; a1 to a15 are tests of ``tests/proxies/closed_leaks/``, b1 to b4 of ``test_failures`` and
``test_transport_bounds``.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

from benchmarks import list_requests
from proxies.catalogue import load_catalogue
from workbench.manual import whole_page

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "data.md"
#: Openings of lines that promise nothing: heads of tables, and rows that a line above them speaks for.
PLAIN = (
    "| --- ",
    "| policy |",
    "| error |",
    "| source |",
    "| series |",
    "| list |",
    "| questions |",
    "| held out |",
    "| tuned on |",
    "| `",
    "<!-- over-refusal",
    "<!-- end of over-refusal",
)
NAME = re.compile(r"<!-- tests: (.*?) -->")


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    """The names of a file's tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(
        node.name for node in tree.body if isinstance(node, kinds) and node.name.startswith("test_")
    )


@functools.cache
def tagged() -> frozenset[str]:
    """The letters and numbers of closed leaks for which there is a test."""
    here = TESTS / "proxies"
    files = [
        *(here / "closed_leaks").glob("test_*.py"),
        here / "test_failures.py",
        here / "test_transport_bounds.py",
    ]
    return frozenset(name.split("_")[1] for file in files for name in names_in(file))


def exists(name: str) -> bool:
    """Whether a name is that of a test, a file of tests, or a tag."""
    if re.fullmatch(r"[ab]\d+", name):
        return name in tagged()
    file, _, test = name.partition("::")
    paths = [path for path in (TESTS / "proxies" / f"{file}.py", TESTS / f"{file}.py") if path.is_file()]
    return bool(paths) and (not test or test in names_in(paths[0]))


def lines(text: str) -> list[tuple[str, str]]:
    """Chapter and line of every line of prose."""
    out, chapter, code = [], "", False
    for line in text.splitlines():
        code ^= line.startswith("```")
        chapter = line[3:] if line.startswith("## ") else chapter
        if line and not code and not line.startswith(("#", "```")):
            out.append((chapter, line))
    return out


def promises_without_a_test(text: str) -> list[str]:
    """The beginnings of the lines that name no test, tables apart that a line above them speaks for."""
    return [
        line[:80]
        for chapter, line in lines(text)
        if chapter and not line.startswith(PLAIN) and not names_of(line)
    ]


def names_of(line: str) -> list[str]:
    """The names of tests in the comment of a line."""
    return [name.strip() for group in NAME.findall(line) for name in group.split(",")]


def test_every_named_test_exists() -> None:
    text = whole_page(PAGE)
    names = [name for _, line in lines(text) for name in names_of(line)]
    assert len(names) > 120 and not [name for name in names if not exists(name)]
    files = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert not [file for file in files if not (TESTS.parent / file).is_file()]


def test_every_promise_names_a_test() -> None:
    assert not promises_without_a_test(whole_page(PAGE))


def test_the_table_of_sources_is_that_of_the_catalogue() -> None:
    text = whole_page(PAGE).partition("## Sources, keys, addresses")[2].partition("\n## ")[0]
    told = set()
    for row in (line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")):
        sources = re.findall(r"`(\w+)/`", row[0])
        keys, upstreams = (re.findall(r"`(\w+)`", cell) for cell in row[1:])
        assert len(sources) == len(upstreams) and len(keys) in (0, len(sources)), row
        told |= set(zip(sources, keys or [""] * len(sources), upstreams, strict=True))
    known = {
        (source.name, source.key.variable if source.key else "", source.upstream)
        for source in load_catalogue().sources()
        if source.hosts
    }
    assert told == known and len(told) == 17


def test_the_first_line_counts_endpoints_and_sources() -> None:
    counted = [e for e in load_catalogue() if e.source.hosts]
    assert f"{len(counted)} endpoints of seventeen sources" in whole_page(PAGE)


@pytest.mark.long
async def test_the_page_counts_requests_as_the_benchmark_does() -> None:
    assert await list_requests.table() in whole_page(PAGE)
