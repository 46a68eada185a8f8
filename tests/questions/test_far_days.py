"""Days at the ends of the calendar and beyond: refused or read, in every spelling, and one such claim stops no list of claims."""

import itertools
import json
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from workbench.annotations.entries import add_note
from workbench.errors import WorkbenchError
from workbench.packages.package import adopt_tree
from workbench.propositions import Tree
from workbench.questions.readings.read import read
from workbench.store import Store
from workbench.views.run_overview import claim_day

TODAY = date(2018, 6, 30)
SENTENCES = (
    "Peace holds in December {}", "Peace by {}-12-31", "VIX closes above 20 on {}-12-31", "VIX above 20 by the end of {}",
    "VIX averages more than 20 in Q4 {}", "VIX above 20 at the end of Q4 {}", "VIX above 20 on 31 December {}", "VIX above 20 in {}",
    "VIX rises by 5 % from {0}-12-01 to {0}-12-31", "VIX touches 30 by {}-12-31", "VIX above 20 in the second half of {}",
    "VIX above 20 on 29 February {}", "VIX above 20 on Thanksgiving {}", "VIX above 20 a year after {}-12-31",
    "VIX above 20 in {} days", "VIX above 20 within {} trading days", "VIX above 20 in the next {} weeks", "VIX above 20 in {} years",
)  # fmt: skip
NUMBERS = ("0000", "0001", "9998", "9999", "10000", "99999999", "999999999999")


@pytest.mark.parametrize(("sentence", "number"), list(itertools.product(SENTENCES, NUMBERS)))
def test_a_far_day_is_read_or_refused(sentence: str, number: str) -> None:
    words = sentence.format(number)
    for reader in (claim_day, lambda text: read(text, TODAY)):
        try:
            reader(words)  # type: ignore[operator]
        except WorkbenchError as refusal:
            assert "\n" not in str(refusal)


@pytest.mark.parametrize("words", ["Peace holds in December 9999"])
def test_a_claim_of_the_last_day_of_the_calendar_stops_no_list(tmp_path: Path, words: str) -> None:
    """A package or a tree brings its claim along; everything else of the home is listed beside it as before."""
    make_small_run(tmp_path / "home")
    with closing(Store(tmp_path / "home")) as store:
        adopt_tree(store, Tree.root_only(words), cutoff="2018-06-30", package="sha256:" + "0" * 64)
        for run in store.run_ids():
            add_note(store, run, tags=["watch"])
    for command in (("runs",), ("runs", "--json"), ("review",), ("show", RUN)):
        done = run_cli(tmp_path, *command)
        assert done.returncode in (0, 10), (command, done.stderr[-300:])
    rows = json.loads(run_cli(tmp_path, "runs", "--json").stdout)
    assert {row["statement"] for row in rows} >= {words} and len(rows) == 2
