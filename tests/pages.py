"""Tables that a program writes into a page, between two marks, and a test holds to what the program finds."""

from pathlib import Path


def between(page: Path, start: str, end: str) -> str:
    """Return what stands between the two marks."""
    _, found, rest = page.read_text(encoding="utf-8").partition(start)
    assert found and end in rest, f"{page.name} has no {start!r} with {end!r} after it"
    return rest.partition(end)[0]


def write_between(page: Path, start: str, end: str, text: str) -> None:
    """Put a text between the two marks."""
    old = between(page, start, end)
    whole = page.read_text(encoding="utf-8")
    page.write_text(whole.replace(f"{start}{old}{end}", f"{start}{text}{end}"), encoding="utf-8")
