"""The audit's list of cases: each that applies has a test named after it, and that test makes a call and asserts on it.

A name alone proves nothing: a test whose body was emptied would still be counted.
"""

import ast
from pathlib import Path

import pytest

CASES = {
    *(f"a{n}" for n in range(1, 12)),
    *(f"a{n}" for n in range(20, 40)),
    *(f"a{n}" for n in range(50, 66)),
    *(f"b{n}" for n in range(1, 14)),
}

Test = ast.FunctionDef | ast.AsyncFunctionDef


def case_tests(source: str) -> list[tuple[str, Test]]:
    """Case and function of every test in a file that is named after a case."""
    return [
        (node.name.split("_")[1], node)
        for node in ast.parse(source).body
        if isinstance(node, Test) and node.name.startswith("test_") and node.name.split("_")[1] in CASES
    ]


def checks_something(test: Test) -> bool:
    """Whether a test calls something, is not marked as skipped, and asserts on a value or expects an error."""
    marks = " ".join(ast.unparse(mark) for mark in test.decorator_list)
    if "skip" in marks or "xfail" in marks:
        return False
    nodes = list(ast.walk(ast.Module(body=test.body, type_ignores=[])))
    asserts = any(isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant) for node in nodes)
    expects = any(isinstance(node, ast.Attribute) and node.attr == "raises" for node in nodes)
    return any(isinstance(node, ast.Call) for node in nodes) and (asserts or expects)


def test_every_case_of_the_audit_has_a_test_that_checks_something() -> None:
    folder = Path(__file__).parent
    tests = [
        pair
        for file in sorted(folder.glob("test_*.py"))
        for pair in case_tests(file.read_text(encoding="utf-8"))
    ]
    assert {case for case, _ in tests} == CASES
    assert not [test.name for _, test in tests if not checks_something(test)]


@pytest.mark.parametrize(
    ("body", "good"),
    [
        ("desk = Desk()\n    assert desk.rows == []", True),
        ("with pytest.raises(CutoffRefused):\n        await desk()", True),
        ("pass", False),
        ("'a case'", False),
        ("desk = Desk()", False),
        ("Desk()\n    assert True", False),
    ],
)
def test_a_test_without_a_call_and_a_check_is_seen(body: str, good: bool) -> None:
    ((case, test),) = case_tests(f"async def test_a20_something() -> None:\n    {body}\n")
    assert (case, checks_something(test)) == ("a20", good)
