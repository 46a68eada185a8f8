"""Source is parsed from any thread, also beside another one that parses (CPython issue 106905)."""

import ast

import pytest

from workbench.models.thoughts import is_python
from workbench.syntax_tree import syntax_tree


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """``ast.parse`` as it is where another thread parses in the middle of it: it fails so many times."""
    left, whole = [0], ast.parse

    def parse(source: str) -> ast.Module:
        if left[0]:
            left[0] -= 1
            raise SystemError("AST constructor recursion depth mismatch (before=228, after=69)")
        return whole(source)

    monkeypatch.setattr(ast, "parse", parse)
    return left


def test_a_parse_that_another_thread_disturbed_is_done_again(interrupted: list[int]) -> None:
    interrupted[0] = 3
    assert ast.dump(syntax_tree("x = 1")) == ast.dump(ast.parse("x = 1"))
    interrupted[0] = 1
    assert is_python("print(1)")


def test_an_interpreter_that_never_parses_is_said(interrupted: list[int]) -> None:
    interrupted[0] = 99
    with pytest.raises(SystemError):
        syntax_tree("x = 1")


def test_what_is_no_python_is_no_python() -> None:
    with pytest.raises(SyntaxError):
        syntax_tree("x =")
    assert not is_python("x =") and not is_python("\0")
