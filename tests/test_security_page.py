"""Every promise of SECURITY.md names files of tests that are there, and every threat names the promise or the test that stops it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def rows(title: str, text: str = TEXT) -> list[list[str]]:
    """The rows of a section's table, without its head."""
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def missing_tests(cell: str) -> list[str]:
    """The files that a cell names and that hold no test."""
    names = re.findall(r"`([\w/]+\.py)`", cell)
    paths = {name: ROOT / "tests" / name for name in names}
    return [
        name
        for name, path in paths.items()
        if not path.is_file() or not re.search(r"^(async )?def test_", path.read_text(encoding="utf-8"), re.M)
    ]


def test_every_promise_names_tests_that_are_there() -> None:
    promises = rows("What is promised")
    assert [int(number) for number, *_ in promises] == [*range(1, len(promises) + 1)] and len(promises) >= 12
    for number, _, tests in promises:
        assert ".py`" in tests and not missing_tests(tests), number


def test_every_threat_is_stopped_by_a_promise_or_a_test() -> None:
    numbers = {int(number) for number, *_ in rows("What is promised")}
    for who, _, _, stopped in rows("Threats"):
        named = {int(number) for number in re.findall(r"(?<![\w/`])\d+(?![\w/`])", stopped)}
        assert named <= numbers and (named or "`" in stopped) and not missing_tests(stopped), who


def test_a_test_that_is_gone_is_seen() -> None:
    assert missing_tests("`test_security_page.py`, `gone/test_nothing.py`") == ["gone/test_nothing.py"]
