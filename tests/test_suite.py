"""How the suite is dealt out to processes names what is there."""

from pathlib import Path

from tests.conftest import _LONG_FIRST, _TOGETHER

TESTS = Path(__file__).parent


def test_files_that_share_a_server_are_there() -> None:
    assert all((TESTS.parent / file).is_file() for file in _TOGETHER)
    in_the_browser = {path.relative_to(TESTS.parent).as_posix() for path in TESTS.rglob("browser/test_*.py")}
    assert in_the_browser <= set(_TOGETHER)


def test_folders_that_take_long_are_there() -> None:
    assert all((TESTS / folder).is_dir() for folder in _LONG_FIRST)
