"""What tests of studies share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.store import Store


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing for reports whose pictures nobody looks at: four seconds each."""
    monkeypatch.setattr("workbench.studies.study_report.study_figures", lambda *of_the_study: {})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The log of a home below the test's folder."""
    opened = Store(tmp_path / "home")
    yield opened
    opened.close()
