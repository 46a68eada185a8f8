"""Numeric questions of sets: read as a quantity of a series, forecast by quantiles, resolved with a number, scored by CRPS."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.broker import open_broker
from proxies.settings import ProxySettings
from tests.questions.test_question_files import POSTS
from workbench.backtests.question_quantiles import SHARES, SeriesReader, known_values, target_forecasts
from workbench.blocking import run_blocking
from workbench.forecasts.driftless_walk import DriftlessWalk
from workbench.questions.errors import ClaimRefused
from workbench.questions.formats.base import QuestionFile, Resolution
from workbench.questions.formats.format_registry import OWN, WRITERS, read_file, read_resolutions
from workbench.questions.question import Question, QuestionError, targets_of
from workbench.questions.series.asked_quantities import read_quantity_question
from workbench.questions.sets.question_sets import (
    add_questions,
    load_set,
    record_resolutions,
    resolve_question,
    set_of,
)
from workbench.questions.sets.set_scores import score_set, score_set_quantiles
from workbench.science.quantile_tables import QUANTILE_COLUMNS, quantile_rows, read_targets
from workbench.science.scoring.quantile_curve import Scale
from workbench.store import Store

VIX = Question(
    id="vix", title="Where does the VIX close on 2018-07-31?", kind="numeric", asked_on="2018-06-30", low=0.0, unit="points"
)  # fmt: skip
HIGHEST = Question(
    id="top", title="What is the highest close of the VIX by 2018-07-31?", kind="numeric", asked_on="2018-06-30"
)  # fmt: skip
RATE = Question(id="rate", title="What is the rate?", kind="numeric", levels=(3.0, 4.0), low=0.0, high=10.0, open_high=True)  # fmt: skip


#: Ranges that no scale and no curve can be made of, and some that one can; a number as JSON writes it, or a text.
RANGES = st.one_of(
    st.tuples(st.sampled_from(["low", "high", "zero_point"]), st.sampled_from(["1e400", "-1e999", "1e308", "-3e100", '"abc"', '"1e400"', '"4,5"'])),
    st.tuples(st.just("zero_point"), st.floats(0, 10).map(repr)),
    st.tuples(st.just("zero_point"), st.floats(1e13, 1e99).map(repr)),
    st.tuples(st.just("high"), st.floats(-1e6, 0).map(repr)),
)  # fmt: skip
SOUND = st.tuples(st.sampled_from(["low", "zero_point"]), st.floats(-1e4, -1e-6).map(repr))
_ENDS = {"low": "range_min", "high": "range_max", "zero_point": "zero_point"}


def ranged(form: str, ends: dict[str, str], name: str) -> str:
    """One numeric question in a format, with the ends of its range as they are written."""
    pairs = ends.items()
    match form:
        case "metaculus":
            scaling = ", ".join(f'"{_ENDS[end]}": {value}' for end, value in pairs)
            return f'{{"id": "{name}", "question": {{"id": "{name}", "title": "How many?", "type": "numeric", "scaling": {{{scaling}}}}}}}'
        case "json":
            return f'{{"id": "{name}", "title": "How many?", "kind": "numeric", {", ".join(f"{chr(34)}{end}{chr(34)}: {value}" for end, value in pairs)}}}'
    return f"{name},How many?,numeric," + ",".join(
        '"{}"'.format(ends.get(end, "").strip('"')) for end in _ENDS
    )


@given(form=st.sampled_from(["metaculus", "json", "csv"]), bad=RANGES, good=SOUND)
def test_a_range_that_nothing_can_be_read_off_loses_its_question_alone(
    form: str, bad: tuple[str, str], good: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    usual = {"low": "0", "high": "10"}
    rows = [ranged(form, usual | dict([end]), name) for name, end in (("one", good), ("two", bad), ("three", good))]  # fmt: skip
    text = {
        "metaculus": f"[{','.join(rows)}]",
        "json": f'{{"format": "{OWN}", "questions": [{",".join(rows)}]}}',
        "csv": "\n".join(["id,title,kind,low,high,zero_point", *rows]),
    }[form]
    path = tmp_path_factory.getbasetemp() / "ranges"
    path.write_text(text)
    reading, _ = read_file(path, form)
    assert [part.id for part in reading.left_out] == ["two"]
    assert "another shape" not in reading.left_out[0].reason and "\n" not in reading.left_out[0].reason
    assert [question.id for question in reading.questions] == ["one", "three"]
    for question in reading.questions:
        assert question.low is not None and question.high is not None
        scale = Scale(low=question.low, high=question.high, zero_point=question.zero_point)
        places = scale.location([question.low, 5.0, question.high])
        assert np.isfinite(places).all() and places[0] == pytest.approx(0) and places[2] == pytest.approx(1)


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        ("id,title,crowd", "{},It rains?,45%", "crowd must be a number, not '45%': write 0.45"),
        ("id,title,kind,low", "{},How high?,numeric,7 %", "low must be a number, not '7 %': write 0.07"),
        ("id,title,volume", "{},It rains?,$4", "volume must be a number"),
        ("id,title,kind,levels", "{},How high?,threshold,2|x", "levels must be a number, not 'x'"),
        ("event_id,question_key,crowd", "{0},{0},62.5%", "crowd must be a number, not '62.5%': write 0.625"),
        ("event_id,question_key,outcome", "{0},{0},yes", "outcome must be a number, not 'yes'"),
    ],
)
def test_a_cell_that_is_no_number_is_named_by_its_column_with_the_cure(
    header: str, row: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "q.csv").write_text(f"{header}\n{row.format('a')}\nb,b,\n")
    if "kind" in header:
        (tmp_path / "q.csv").write_text(f"{header}\n{row.format('a')}\nb,b,,\n")
    reading, _ = read_file(tmp_path / "q.csv")
    assert [part.id for part in reading.left_out] == ["a"] and words in reading.left_out[0].reason
    assert [question.id for question in reading.questions] == ["b"]


@pytest.mark.parametrize(
    ("title", "series", "statistic", "day"),
    [
        ("Where does the VIX close on 2018-07-31?", "VIX", "value", "2018-07-31"),
        ("Maximum of the S&P 500 through 2018-12-31", "SP500", "highest", "2018-12-31"),
        ("How low? The lowest FRED: DGS10 by 2024-12-31", "fred/DGS10", "lowest", "2024-12-31"),
        ("What will WTI crude oil be worth?", "WTI", "value", "2019-01-02"),
    ],
)
def test_a_question_reads_as_a_quantity(title: str, series: str, statistic: str, day: str) -> None:
    reading = read_quantity_question(Question(id="q", title=title, kind="numeric", closes_on="2019-01-02"))
    assert (reading.series, reading.statistic, str(reading.day)) == (series, statistic, day)


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("How many people live in Oslo on 2018-12-31?", "names none"),
        ("VIX or WTI, which on 2018-12-31?", "names VIX, WTI"),
        ("What is the average of the VIX on 2018-12-31?", "more than a value"),
        ("By how much does the VIX change by 2018-12-31?", "more than a value"),
        ("The VIX on 2018-12-31 less that on 2018-06-29?", "several days"),
        ("Where does the VIX stand?", "no day"),
        ("Highest and lowest VIX by 2018-12-31?", "both"),
    ],
)
def test_nothing_is_guessed(title: str, why: str) -> None:
    with pytest.raises(ClaimRefused, match=why):
        read_quantity_question(Question(id="q", title=title, kind="numeric"))


def test_the_key_free_forecaster_answers_within_the_range_and_only_what_it_reads() -> None:
    unread = Question(id="oslo", title="How many people live in Oslo?", kind="numeric")
    cap = Question(id="cap", title=VIX.title, kind="numeric", asked_on=VIX.asked_on, high=16.0)
    opened = Question(
        id="open", title=VIX.title, kind="numeric", asked_on=VIX.asked_on, high=16.0, open_high=True
    )

    async def forecast() -> tuple[list, list]:  # type: ignore[type-arg]
        reader = SeriesReader(open_broker(ProxySettings()))
        return await target_forecasts([VIX, HIGHEST, unread, cap, opened], reader, DriftlessWalk())

    forecasts, left_out = run_blocking(forecast())
    value, highest, capped, free = (each.values for each in forecasts)
    assert [each.target for each in forecasts] == ["vix", "top", "cap", "open"]
    assert left_out[0][0] == "oslo" and "names none" in left_out[0][1]
    assert (np.diff(value) >= 0).all() and (highest >= value).all() and len(value) == len(SHARES)
    assert capped.max() == 16.0 and (free == value).all() and value.max() > 16.0


def test_a_later_cutoff_knows_the_highest_so_far() -> None:
    from proxies.asof.clock import Cutoff

    async def forecast() -> list:  # type: ignore[type-arg]
        reader = SeriesReader(open_broker(ProxySettings()))
        asked = Question(id="q", title="Highest VIX by 2018-12-31?", kind="numeric", asked_on="2018-01-15")
        return (await target_forecasts([asked], reader, DriftlessWalk(), cutoff=Cutoff.parse("2018-06-30")))[
            0
        ]

    # It closed at 37.32 on 2018-02-05.
    assert run_blocking(forecast())[0].values.min() == pytest.approx(37.32)


def test_embedded_series_say_what_came() -> None:
    async def known() -> tuple[dict[str, float], dict[str, str]]:
        return await known_values([VIX, HIGHEST], SeriesReader(open_broker(ProxySettings())))

    values, days = run_blocking(known())
    assert values == {"vix": 12.83, "top": 16.14} and days["vix"] == "2018-07-31"


def test_a_number_is_recorded_with_its_levels_and_the_newest_counts(tmp_path: Path) -> None:
    came = partial(Resolution, day="", numeric=True)
    store = Store(tmp_path)
    add_questions(store, "s", QuestionFile(questions=(RATE, VIX)), form="json", origin="x")
    assert resolve_question(store, "s", "rate", "3.5", day="2026-01-01").values == {"rate": 3.5}
    entry = load_set(store, "s")
    assert entry["rate"].outcomes == {"rate#3": 1.0, "rate#4": 0.0}
    assert record_resolutions(store, "s", [came("rate", 12.0), came("vix", 12.83)]) == 2
    entry = load_set(store, "s")
    assert entry["rate"].values == {"rate": 12.0} and entry["rate"].outcomes["rate#4"] == 1.0
    assert record_resolutions(store, "s", [came("rate", 12.0)]) == 0
    for target, value, why in (("rate", -1.0, "closed lower end"), ("x", 1.0, "asks for no number")):
        with pytest.raises(QuestionError, match=why):
            record_resolutions(store, "s", [came(target, value)])
    # Imported again without its value: what was recorded stays.
    add_questions(store, "s", QuestionFile(questions=(RATE,)), form="json", origin="x")
    assert load_set(store, "s")["rate"].values == {"rate": 12.0}


def test_quantiles_and_probabilities_of_a_set_are_scored_apart(tmp_path: Path) -> None:
    questions = set_of([RATE.answered({"rate#3": 1.0, "rate#4": 0.0}, values={"rate": 3.5})], "s")
    shares = (0.25, 0.5, 0.75)
    rows = quantile_rows("a", "rate", shares, np.array([2.0, 3.0, 4.0]))
    (tmp_path / "q.csv").write_text("\n".join(",".join(row) for row in [list(QUANTILE_COLUMNS), *rows]))
    (tmp_path / "p.csv").write_text("method,event_id,p\na,rate#3,0.8\na,rate#4,0.3\n")
    numbers, binary = (
        score_set_quantiles(questions, tmp_path / "q.csv"),
        score_set(questions, tmp_path / "p.csv"),
    )
    assert numbers["methods"]["a"]["n"] == 1 and "brier" not in numbers["methods"]["a"]
    assert binary["methods"]["a"]["n"]["overall"] == 2 and "crps" not in binary["methods"]["a"]
    with pytest.raises(QuestionError, match="no numeric question with an outcome"):
        score_set_quantiles(set_of([RATE], "s"), tmp_path / "q.csv")


def test_a_number_of_several_days_is_a_target_of_each() -> None:
    several = Question(id="h", title="?", kind="numeric", horizons=("2026-01-01", "2026-02-01"))
    assert [target.id for target in targets_of(several)] == ["h@2026-01-01", "h@2026-02-01"]


def test_files_keep_ranges_and_values(tmp_path: Path) -> None:
    answered = RATE.answered({}, values={"rate": 3.5})
    for form in ("json", "csv"):
        path = tmp_path / f"set.{form}"
        path.write_text(WRITERS[form]([answered, VIX]))
        assert read_file(path)[0].questions == (answered, VIX)
        assert [each.p for each in read_resolutions(path, {}) if each.numeric] == [3.5]
    path = tmp_path / "values.csv"
    path.write_text(WRITERS["values"]([answered, VIX]))
    table = read_targets(path)
    assert table.id.tolist() == ["rate", "vix"] and table.series.tolist() == ["", "VIX"]
    assert table.value[0] == 3.5 and np.isnan(table.value[1]) and table.open_high.tolist() == [True, False]
    (tmp_path / "came.csv").write_text("event_id,value,day\nvix,12.83,2018-07-31\n")
    assert read_resolutions(tmp_path / "came.csv", {})[0] == ("vix", 12.83, "2018-07-31", True)
    (tmp_path / "bad.csv").write_text("event_id,value\nvix,much\n")
    with pytest.raises(QuestionError, match="'much' is no number"):
        read_resolutions(tmp_path / "bad.csv", {})


def test_metaculus_says_which_ends_are_open_and_a_number_beyond_one_counts_as_the_end(tmp_path: Path) -> None:
    path = tmp_path / "posts.json"
    document = json.loads(json.dumps(POSTS))
    entry = next(
        post["question"] for post in document["results"] if post.get("question", {}).get("type") == "numeric"
    )
    entry |= {"open_lower_bound": False, "open_upper_bound": True, "resolution": "above_upper_bound"}
    path.write_text(json.dumps(document))
    question = next(each for each in read_file(path)[0].questions if each.kind == "numeric")
    assert (question.open_low, question.open_high) == (False, True)
    assert list(question.values.values()) == [question.high] and set(question.outcomes.values()) == {1.0}
