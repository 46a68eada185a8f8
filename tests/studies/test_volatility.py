"""Volatility, horizon and volume of questions: where they come from, and that they reach the report (paper A, App. D.6)."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studies.finished import finish
from workbench.forecasts.series.series_history import realised_volatility
from workbench.questions.formats.price_questions import read_price_history
from workbench.questions.sets.question_sets import add_questions
from workbench.store import Store
from workbench.studies import study_table as volatility
from workbench.studies.study_file import study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_table import with_volatility

pytestmark = pytest.mark.usefixtures("no_pictures")

CLAIM = "closes higher on 2018-12-31 than on 2018-06-29"


@given(steps=st.lists(st.floats(-0.1, 0.1), min_size=25, max_size=60), scale=st.floats(0.1, 1000))
def test_volatility_has_no_unit_and_grows_with_the_steps(steps: list[float], scale: float) -> None:
    days = np.datetime64("2020-01-01") + np.arange(len(steps))
    levels = np.exp(np.cumsum(steps))
    own = realised_volatility(days, levels)
    assert realised_volatility(days, scale * levels) == pytest.approx(own, abs=1e-6)
    assert realised_volatility(days, levels**2) == pytest.approx(2 * own, abs=1e-6)
    assert realised_volatility(days, np.ones(len(steps))) == 0
    assert np.isnan(realised_volatility(days[:20], levels[:20]))
    assert np.isnan(realised_volatility(days, np.append(levels[:-1], 0.0)))


def test_a_claim_has_the_volatility_of_its_series_before_its_cutoff(tmp_path: Path, store: Store) -> None:
    head = "id,title,asked_on,horizons,answer\n"
    rows = [f"{name},{name} {CLAIM},2018-06-30,2018-12-31,no\n" for name in ("VIX", "WTI")]
    later = "vix2,VIX closes higher on 2018-12-31 than on 2018-11-30,2018-12-01,2018-12-31,yes\n"
    words = "rain,Does it rain on 2018-12-31?,2018-06-30,2018-12-31,yes\n"
    (tmp_path / "q.csv").write_text(head + "".join(rows) + later + words)
    document = {
        "name": "s",
        "exam": {"questions": "q.csv"},
        "cutoffs": "per-question",
        "arms": ["always-half"],
    }
    exam = with_volatility(plan_study(store, study_of(document, tmp_path)).exam)
    by_event = dict(zip(exam.events.event_id.tolist(), exam.events.frame["volatility"].tolist(), strict=True))
    assert 15 < by_event["WTI"] < 40 < by_event["VIX"] and np.isnan(by_event["rain"])
    assert by_event["vix2"] != by_event["VIX"]
    assert with_volatility(exam) is exam  # a column that is there stands


def test_it_is_that_of_the_last_year_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither more nor less: a calm half-year after a wild one is no calm year."""
    step = np.repeat([0.2, 0.03, 0.002], [150, 126, 126]) * np.resize([1.0, -1.0], 402)
    values = 100 * np.exp(np.cumsum(step))
    days = np.datetime64("2017-05-01") + np.arange(402)

    async def visible(
        observe: object, names: Iterable[str], cutoff: object
    ) -> dict[str, list[dict[str, Any]]]:
        rows = [{"date": str(day), "value": value} for day, value in zip(days, values.tolist(), strict=True)]
        return dict.fromkeys(names, rows)

    monkeypatch.setattr(volatility, "visible", visible)
    rows = f"id,title,asked_on,horizons,answer\nv,VIX {CLAIM},2018-06-30,2018-12-31,no\n"
    (tmp_path / "q.csv").write_text(rows)
    document = {
        "name": "s",
        "exam": {"questions": "q.csv"},
        "cutoffs": "per-question",
        "arms": ["always-half"],
    }
    with closing(Store(tmp_path / "home")) as store:
        exam = with_volatility(plan_study(store, study_of(document, tmp_path)).exam)
    (found,) = exam.events.frame["volatility"].tolist()
    assert found == pytest.approx(realised_volatility(days[-253:], values[-253:]))  # a year of changes
    assert found == pytest.approx(40.7, abs=0.05)


def test_prices_give_long_short_questions_volatility_and_volume_that_the_report_reads(
    tmp_path: Path, store: Store
) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for number in range(12):
        closes = 100 * np.exp(np.cumsum(rng.normal(0.001 * (number - 6), 0.002 * (number + 1), 460)))
        days = np.datetime64("2020-01-01") + np.arange(460)
        rows += [
            {"symbol": f"A{number}", "date": str(day), "close": repr(close), "volume": str(10 * (number + 1))}
            for day, close in zip(days, closes.tolist(), strict=True)
        ]
    reading = read_price_history(rows, "2021-01-01", days=90)
    volatilities = [float(question.extra["volatility"]) for question in reading.questions]
    assert volatilities == sorted(volatilities) and 3 < volatilities[0] < 5
    # what came after the start changes neither
    cut = [row for row in rows if row["date"] < "2021-01-01" or row["date"] > "2021-03-20"]
    assert [q.extra for q in read_price_history(cut, "2021-01-01", days=90).questions] == [
        question.extra for question in reading.questions
    ]
    add_questions(store, "assets", reading, form="prices", origin="prices.csv")
    document = {"exam": {"set": "assets"}, "arms": ["random"], "resamples": 100}
    results = finish(store, document, tmp_path).results
    assert {row["column"] for row in results["correctness"]} == {"volatility", "volume"}
    assert {row["n"] for row in results["correctness"]} == {24}
