"""What tests of studies share."""

import pytest


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing for reports whose pictures nobody looks at: four seconds each."""
    monkeypatch.setattr("workbench.studies.study_report.study_figures", lambda *of_the_study: {})
