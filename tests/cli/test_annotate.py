"""``resolve``, ``comment``, ``note``, ``sign-off``, and what ``runs``, ``show`` and ``export`` make of them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.conftest import FinishedRun
from tests.fakes.screens import RUN as OTHER
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


def refusal(place: Path, *words: str) -> str:
    done = run_cli(place, *words)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def shown(place: Path, *words: str) -> Any:
    return json.loads(ok(place, *words, "--json"))


def test_an_outcome_is_on_every_screen_and_can_be_revised(place: Path) -> None:
    p = shown(place, "show", RUN)["root"]["p"]
    answer = shown(place, "resolve", RUN, "no", "--on", "2018-12-31")
    assert answer["outcome"]["brier"] == pytest.approx(p**2)
    assert f"the forecast was {100 * p:.1f}%" in ok(place, "resolve", RUN, "30%", "--on", "2019-01-02")
    assert shown(place, "show", RUN)["outcome"]["revised"] == 1
    (row,) = [row for row in shown(place, "runs") if row["run_id"] == RUN]
    assert row["outcome"]["p"] == 0.3
    line = f"{(p - 0.3) ** 2:.3f}"
    assert line in ok(place, "runs") and line in ok(place, "show", RUN)
    assert line in ok(place, "export", RUN, "--to", "md")


def test_a_claim_over_a_series_resolves_itself(place: Path) -> None:
    answer = shown(place, "resolve", OTHER)
    # shared/reviews/ux.md: the S&P 500 closed lower on 2018-12-31 than on 2018-06-29
    assert (answer["outcome"]["p"], answer["outcome"]["day"]) == (0.0, "2018-12-31")
    assert answer["outcome"]["source"] == "series"
    assert "do not decide this claim" in refusal(place, "resolve", RUN)


def test_the_main_job_ends_with_its_outcome_where_the_series_shows_it(demo: FinishedRun) -> None:
    document = shown(demo.home, "show", demo.run_id)
    assert document["outcome"]["source"] == "series" and document["outcome"]["p"] == 0.0
    assert document["outcome"]["brier"] == pytest.approx(document["root"]["p"] ** 2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("resolve", RUN, "maybe"), "yes, no or a share"),
        (("resolve", RUN, "yes", "--on", "soon"), "2018-12-31"),
        (("resolve", RUN, "--on", "2018-12-31"), "needs an outcome"),
        (("comment", RUN, "P9", "why?"), "P9"),
        (("note", RUN), "nothing to note"),
        (("note", RUN, "a", "b", "c"), "unexpected extra argument"),
        (("sign-off", RUN, "--done", "all"), "--author"),
        (("sign-off", RUN, "--author", "Bo"), "--verdict return"),
        (("runs", "--limit", "0"), "at least 1"),
        (("export", RUN), "name the file"),
        (("export", RUN, "-o", "x.odt"), "no export to 'odt'"),
    ],
)
def test_a_mistake_is_one_line_that_says_how_to_mend_it(
    place: Path, words: tuple[str, ...], line: str
) -> None:
    assert line in refusal(place, *words)


def test_notes_and_tags_find_a_run_again(place: Path) -> None:
    ok(place, "note", RUN, "compare with the spring run", "--tag", "Macro")
    ok(place, "note", RUN, "P1", "look at the vintage")
    found = [row["run_id"] for row in shown(place, "runs", "--tag", "macro")]
    assert found == [RUN] == [row["run_id"] for row in shown(place, "runs", "--search", "VINTAGE spring")]
    assert [row["run_id"] for row in shown(place, "runs", "--search", "benign")] == [
        OTHER
    ]  # a proposition's word
    assert shown(place, "runs", "--search", "vintage benign") == []
    assert len(shown(place, "runs")) == 2 and len(shown(place, "runs", "--limit", "1")) == 1
    assert shown(place, "runs", "--limit", "1") == shown(place, "runs")[-1:]
    assert "[macro]" in ok(place, "runs")
    ok(place, "note", RUN, "--set", "untag=macro")
    assert shown(place, "runs", "--tag", "macro") == []


@pytest.mark.parametrize("suffix", ["html", "md", "docx", "csv", "json", "ipynb", "zip"])
def test_an_export_takes_its_format_from_the_suffix_and_says_what_it_wrote(place: Path, suffix: str) -> None:
    done = run_cli(place, "export", RUN, "-o", f"x.{suffix}")
    assert done.returncode == 0 and done.stdout == ""
    manifest = shown(place, "show", RUN)["manifest_id"]
    assert re.fullmatch(
        rf"wrote x\.{suffix}: .* of run {RUN}, [\d,]+ kB, manifest {manifest[:19]}\n", done.stderr
    )
    assert (place / f"x.{suffix}").stat().st_size > 100


def test_pdf_without_a_browser_is_exit_2_and_leaves_no_file(place: Path) -> None:
    done = run_cli(place, "export", RUN, "-o", "x.pdf", PATH=str(place))
    assert done.returncode == 2 and "open the HTML and print it" in done.stderr
    assert not (place / "x.pdf").exists()
