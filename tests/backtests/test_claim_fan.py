"""The fan of a claim's series: cutoff line, level and outcome, in JSON, page and every form of the note."""

import io
import json
import re
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from tests.fakes.stored_run import write_tree_run
from workbench.annotations.outcomes import record_outcome
from workbench.backtests.claim_record import known_rows
from workbench.backtests.claim_series import fan_outcome
from workbench.engine.record.fold import load_state
from workbench.engine.record.series_fan import read_fan
from workbench.errors import UsageError
from workbench.formatting import quoted
from workbench.propositions import Belief, Tree
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import claim_fan
from workbench.reports.note_content import note_of
from workbench.reports.note_markdown import note_markdown
from workbench.reports.note_page import note_html
from workbench.reports.note_tree import Series
from workbench.reports.note_word import note_docx
from workbench.store import Store
from workbench.synthesis import LinearRule, settle
from workbench.views.fan_chart import NO_SERIES, fan_svg, fan_words
from workbench.views.run_view import view
from workbench.widgets import panels
from workbench.widgets.run_page import Dashboard

CLAIM, CUTOFF = "VIX above 20 on 2018-09-28", "2018-06-30"


def fan_at(text: str, cutoff: str = CUTOFF) -> dict[str, Any]:
    claim, instant = read_claim(text), Cutoff.parse(cutoff)
    rows = known_rows(claim.sources, cutoff, None).as_of(instant.last_moment_day)
    fan = claim_fan(claim, rows)
    assert fan is not None
    return fan


@pytest.fixture(scope="module")
def fan() -> dict[str, Any]:
    return fan_at(CLAIM)


def test_the_fan_starts_at_the_last_known_value_and_ends_with_the_claim(fan: dict[str, Any]) -> None:
    assert fan["last"]["day"] == fan["past"][-1]["day"] == "2018-06-29"
    assert fan["fan"][-1]["day"] == "2018-09-28" and fan["levels"] == [20.0] and fan["outcome"] is None
    for row in fan["fan"]:
        values = [row[share] for share in ("0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95")]
        assert values == sorted(values)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        # 2718.37 on 2018-06-29
        ("The S&P 500 closes higher on 2018-07-10 than on 2018-06-29", [2718.37]),
        ("The S&P 500 falls by more than 10% from 2018-06-29 to 2018-07-10", [2446.533]),
        ("The S&P 500 closes between 2,600 and 2,700 on 2018-07-10", [2600.0, 2700.0]),
    ],
)
def test_the_level_is_a_value_of_the_series(text: str, levels: list[float]) -> None:
    assert fan_at(text)["levels"] == pytest.approx(levels)


def test_what_it_came_to_is_read_from_the_series() -> None:
    assert fan_outcome(CLAIM) == {"value": {"value": 12.12, "day": "2018-09-28"}}


def test_the_drawing_holds_the_cutoff_the_level_and_the_outcome(fan: dict[str, Any]) -> None:
    came = {**fan, "outcome": {"value": {"value": 12.12, "day": "2018-09-28"}}}
    before, after = fan_svg(fan), fan_svg(came)
    for drawn in (before, after):
        assert 'class="cutoff"' in drawn and drawn.count('class="band"') == 3
        days = re.findall(r'class="tick".*?<text[^>]*>([^<]*)<', drawn)
        assert len(days) == 5 and days[-1] == "28 Sep 2018"
        assert 'class="level"' in drawn and ">20<" in drawn
        inside = [float(y) for y in re.findall(r"\d+\.\d,(\d+\.\d)", drawn)]
        assert inside and min(inside) >= 9.9 and max(inside) <= 216.1
    assert "came" not in before and 'class="came"' in after and "Ended at 12.12" in fan_words(came)
    # An article of a series is ours today; tomorrow it may be a file's name.
    assert "<script" not in fan_svg({**fan, "series": "<script>"})


def test_json_page_and_notes_show_it(tmp_path: Path, fan: dict[str, Any]) -> None:
    tree = Tree.root_only(CLAIM).expand("P0", {"P1": "VIX closes above 18 on 2018-08-31"})
    tree = tree.with_belief("P1", Belief(p=0.4, key_factor="it rose", report="The cells say 0.4."))
    tree = settle(tree.with_rule("P0", LinearRule(0.1, {"P1": 0.5}), Belief(p=0.3, key_factor="", report="")))
    store = Store(tmp_path / "home")
    run = write_tree_run(store, RUN, tree, fan=fan)
    run.combine(tree)
    run.finish(tree.root.p)
    shown = json.loads(run_cli(tmp_path, "show", RUN, "--json").stdout)
    assert shown["fan"] == fan, "a stored fan comes back as it was"
    record_outcome(store, RUN, "no", on="2018-09-28")
    state = load_state(store, RUN)
    note = note_of(store, state)
    (drawn,) = (block.fan for block in note.blocks if isinstance(block, Series))
    assert drawn["outcome"] == fan_outcome(CLAIM)
    end = quoted(fan["fan"][-1]["0.95"])
    page, text = note_html(note), note_markdown(note).replace("\\", "")
    assert '<svg class="fan"' in page and 'class="came"' in page and end in page
    assert "## The series" in text and end in text and "Ended at 12.12" in text
    with zipfile.ZipFile(io.BytesIO(note_docx(note))) as word:
        assert any(name.startswith("word/media/") for name in word.namelist())
        assert "Ended at 12.12" in word.read("word/document.xml").decode()
    assert 'class="fan"' in panels.series_fan(view(store, RUN).fan())
    # a page that shows the tree itself reads the fan once the rest of it stands
    assert "fan" not in view(store, RUN).document(nodes=False) and "Reading" in panels.unread_fan()
    store.close()


@pytest.mark.parametrize(
    "damage",
    [
        {"fan": []},
        {"past": []},
        {"fan": [{"day": "2018-07-02", "0.5": 16.0}]},
        {"fan": [{"day": "2018-07-02", "0.5": "<script>"}]},
        {"levels": ["<script>"]},
        {"levels": [float("nan")]},
        {"script": "<script>"},
    ],
)
def test_a_stranger_s_package_brings_no_other_fan_than_one_that_can_be_drawn(
    fan: dict[str, Any], damage: dict[str, Any]
) -> None:
    assert read_fan(json.dumps(fan).encode()) == fan
    with pytest.raises(UsageError, match="is damaged"):
        read_fan(json.dumps({**fan, **damage}).encode())


def word_texts(document: bytes) -> str:
    """The XML of a Word document's text; a picture that is drawn without a fan is looked at too."""
    with zipfile.ZipFile(io.BytesIO(document)) as word:
        return word.read("word/document.xml").decode()


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        (CLAIM, True),
        ("It rains in London on 2018-09-28", False),  # no series
        ("yahoo:AAPL closes above 200 on 2018-12-31", False),  # a page asks no service
    ],
)
def test_a_run_of_a_language_model_shows_the_series_as_it_was_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, shown: bool
) -> None:
    home = tmp_path / "home"
    monkeypatch.setattr("workbench.views.run_view.has_record", lambda state: False)
    make_small_run(home, statement=statement)
    with closing(Store(home)) as store:
        run = view(store, RUN)
        assert run.fan() is None, "the record of the key-free analyst is none of this run's"
        if shown:
            record_outcome(store, RUN, "no", on="2018-09-28")
            run = view(store, RUN)
        series, page = run.known_series(), Dashboard(run)
        note = note_of(store, load_state(store, RUN))
    page.read_fan()
    # the note has the very figure of the page, or the same line where there is none
    html, text, word = note_html(note), note_markdown(note).replace("\\", ""), word_texts(note_docx(note))
    assert [block.fan for block in note.blocks if isinstance(block, Series)] == ([series] if shown else [])
    for said in (html, text, word):
        assert (NO_SERIES in said) != shown and "The series" in said
    missing = "No chart: the claim names no series"
    if not shown:
        assert series is None and missing in page.checks.value
        return
    assert series is not None and series["last"] == {"day": "2018-06-29", "value": 16.09}
    assert series["levels"] == [20.0] and series["outcome"] == fan_outcome(CLAIM)
    drawn = page.fan.value
    assert str(fan_svg(series)) in html and str(fan_svg(series)) in drawn
    assert "Ended at 12.12" in word and "Bands" not in word
    assert "| 2018-06-29 | 16.09 |" in text and "Ended at 12.12" in text
    assert 'class="cutoff"' in drawn and 'class="level"' in drawn and 'class="came"' in drawn
    assert 'class="tick"' in drawn and 'class="band"' not in drawn and "Bands" not in drawn
    assert "on 29 June 2018: 16.09 index points" in drawn and missing not in page.checks.value
