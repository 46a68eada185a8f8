"""A home with a run of a watched claim, as every review begins."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from tests.review.test_review import finished
from workbench.store import Store


@pytest.fixture(scope="session")
def watched_claim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whoever writes into it copies it first."""
    home = tmp_path_factory.mktemp("watched") / "home"
    with closing(Store(home)) as store:
        asyncio.run(finished(store))
    return home
