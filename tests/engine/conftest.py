"""What tests of the engine begin with: an empty store, and a data folder with a small finished run."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.small_run import make_small_run
from workbench.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path)) as opened:
        yield opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder where ``run_cli`` looks for it."""
    make_small_run(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def run_store(home: Path) -> Iterator[Store]:
    """The store of that folder."""
    with closing(Store(home)) as opened:
        yield opened
