"""``resolve``, ``comment``, ``note``, ``sign-off``, and what ``runs``, ``show`` and ``export`` make of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.conftest import FinishedRun
from tests.fakes.screens import make_run
from tests.fakes.small_run import RUN, make_small_run

pytestmark = pytest.mark.long


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make_run(tmp_path / "home")
    make_small_run(tmp_path / "home")
    return tmp_path


def ok(place: Path, *words: str) -> str:
    done = run_cli(place, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(place: Path, *words: str) -> Any:
    return json.loads(ok(place, *words, "--json"))


def test_an_outcome_is_on_every_screen_and_can_be_revised(place: Path) -> None:
    p = shown(place, "show", RUN)["root"]["p"]
    answer = shown(place, "resolve", RUN, "no", "--on", "2018-12-31")
    assert answer["outcome"]["brier"] == pytest.approx(p**2)
    assert f"the forecast was {100 * p:.1f}%" in ok(place, "resolve", RUN, "30%", "--on", "2019-01-02")
    # who confirms it, here on another day, has revised nothing
    assert "revised once" in ok(place, "resolve", RUN, "30%", "--on", "2019-01-03")
    assert shown(place, "show", RUN)["outcome"]["revised"] == 1
    (row,) = [row for row in shown(place, "runs") if row["run_id"] == RUN]
    assert row["outcome"]["p"] == 0.3
    line = f"{(p - 0.3) ** 2:.3f}"
    assert line in ok(place, "runs") and line in ok(place, "show", RUN)
    assert line in ok(place, "export", RUN, "--to", "md")


def test_the_main_job_ends_with_its_outcome_where_the_series_shows_it(demo: FinishedRun) -> None:
    document = shown(demo.home, "show", demo.run_id)
    assert document["outcome"]["source"] == "series" and document["outcome"]["p"] == 0.0
    assert document["outcome"]["brier"] == pytest.approx(document["root"]["p"] ** 2)


def test_pdf_without_a_browser_is_exit_2_and_leaves_no_file(place: Path) -> None:
    done = run_cli(place, "export", RUN, "-o", "x.pdf", PATH=str(place))
    assert done.returncode == 2 and "open the HTML and print it" in done.stderr
    assert not (place / "x.pdf").exists()
