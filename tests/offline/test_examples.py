"""What is said of the embedded data's reach, beside the data themselves; the first page's tests plan the examples."""

from datetime import date
from pathlib import Path

from tests.offline.embedded import full_rows
from workbench.offline.examples import data_reach
from workbench.questions.series.embedded_series import DATA_END, SERIES


def test_the_reach_that_is_told_is_that_of_the_data_and_the_readme_tells_it() -> None:
    names = {source for series in SERIES.values() for source in series.sources}
    assert max(date.fromisoformat(full_rows(name)[-1]["date"]) for name in names) == DATA_END
    assert f"to {DATA_END.day} " in data_reach()
    readme = Path(__file__).resolve().parents[2] / "README.md"
    assert f"until {DATA_END.day} {DATA_END:%B %Y}, no network" in readme.read_text(encoding="utf-8")
