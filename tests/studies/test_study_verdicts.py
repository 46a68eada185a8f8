"""What a study says of its arms: a verdict where Holm's p and the mixed model allow one, "too few to tell" where there is too little."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.finished import finish
from workbench.science.scoring.scores import index_of
from workbench.science.tables import Events
from workbench.store import Store
from workbench.store.events import ForecastMade, StudyAudited
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import StudyCell, StudyError, study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_results import study_results
from workbench.studies.study_state import StudyState
from workbench.studies.study_table import tidy_table

pytestmark = pytest.mark.usefixtures("no_pictures")

HEAD = "event_id,question_key,source,question_type,outcome,crowd,forecast_date"


def study(store: Store, folder: Path, columns: dict[str, np.ndarray], outcome: np.ndarray) -> dict[str, Any]:
    """Results of a study whose arms are the crowd and these columns of its file."""
    lines = [",".join([HEAD, *columns])]
    for row, answer in enumerate(outcome):
        values = [f"{column[row]:.4f}" for column in columns.values()]
        lines.append(
            ",".join(
                [f"e{row},e{row},x,market,{answer:g},0.5,2020-{row % 12 + 1:02}-{row // 12 + 1:02}", *values]
            )
        )
    (folder / "e.csv").write_text("\n".join(lines) + "\n")
    arms = ["market", *({"arm": "column", "name": name, "column": name} for name in columns)]
    document = {"exam": {"events": "e.csv"}, "arms": arms, "reference": "market"}
    plan, state, results = finish(store, document, folder)
    # the exam that it was begun with is the one it goes on with
    assert plan_study(store, plan.spec, state=state).exam.digest == plan.exam.digest
    changed = (folder / "e.csv").read_text().replace("e0,e0,x,market,1", "e0,e0,x,market,0")
    (folder / "e.csv").write_text(changed)
    with pytest.raises(StudyError, match="exam of study s has changed since it was begun"):
        plan_study(store, plan.spec, state=state)
    return results


def test_five_questions_are_too_few_on_every_screen(tmp_path: Path, store: Store) -> None:
    outcome = np.array([1.0, 0, 1, 0, 1])
    results = study(store, tmp_path, {"sure": 0.1 + 0.8 * outcome}, outcome)
    (row,) = results["differences"]
    assert (row["verdict"], row["low"], row["high"], row["clusters"], row["days"]) == (
        "no verdict",
        None,
        None,
        5,
        5,
    )
    assert row["p"] == row["p_holm"] == 2.0**-4
    arm = results["arms"]["sure"]
    assert arm["brier_index_low"] is None and arm["brier_high"] is None and arm["clusters"] == 5
    lines = "\n".join(results["summary"])
    assert "sure against market: no verdict" in lines and "better" not in lines
    assert "an interval needs 6 clusters, these are 5" in lines
    page = (tmp_path / "out" / "report.html").read_text()
    assert "asked on 5 days of 6" in page and "too few clusters" in page
    assert "no verdict" in (tmp_path / "out" / "report.ipynb").read_text()


@pytest.mark.long
def test_a_verdict_is_after_holm_and_intervals_lie_about_their_score(tmp_path: Path, store: Store) -> None:
    rng = np.random.default_rng(0)
    outcome = np.tile([1.0, 0.0], 12)
    # right by a little on 18 of 24: by itself significant, among ten arms not
    right = np.where(np.arange(24) % 4 < 3, 0.05, -0.05) * (2 * outcome - 1)
    columns = {f"c{k}": 0.5 + right + rng.normal(0, 0.002, 24) for k in range(9)}
    columns["sure"] = 0.1 + 0.8 * outcome
    results = study(store, tmp_path, columns, outcome)
    rows = {row["arm"]: row for row in results["differences"]}
    assert rows["sure"]["verdict"] == "better" and rows["sure"]["reason"] == ""
    assert rows["c1"]["p"] <= 0.05 < rows["c1"]["p_holm"] < 0.5 and rows["c1"]["mixed_low"] > 0
    assert rows["c1"]["verdict"] == "no difference shown"
    assert 0 < rows["c1"]["low"] < rows["c1"]["difference"] < rows["c1"]["high"]
    for arm in results["arms"].values():
        assert arm["brier_low"] <= arm["brier"] <= arm["brier_high"]
        assert arm["brier_index_low"] == pytest.approx(index_of(arm["brier_high"]))
        assert arm["brier_index_high"] == pytest.approx(index_of(arm["brier_low"]))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_best_of_the_summary_is_the_best_of_the_table_of_differences(seed: int, two_types: bool) -> None:
    """One primary score: ranking, difference and interval are of one number, whatever the mix of question types."""
    rng = np.random.default_rng(seed)
    n = 16
    kind = np.where((rng.random(n) < 0.3) & two_types, "dataset", "market")
    kind[:2] = ("market", "dataset" if two_types else "market")
    outcome = (rng.random(n) < 0.5).astype(float)
    events = Events.of(outcome, kind=kind)
    exam = StudyExam(events=events, statements={}, cutoffs={}, contexts={})
    arms = ["first", "second", "third"]
    document = {"name": "s", "exam": {"events": "e.csv"}, "arms": [{"arm": "random", "name": arm} for arm in arms], "reference": "second"}  # fmt: skip
    spec = study_of({**document, "resamples": 200})
    state = StudyState(name="s", audited=StudyAudited(checked=3 * n))
    for arm in arms:
        state.forecasts |= {
            StudyCell(arm, event, 0, 1): ForecastMade(
                node=event, trial=1, arm=arm, seed=0, p=float(rng.random())
            )
            for event in events.event_id.tolist()
        }
    results = study_results(spec, exam, state, tidy_table(spec, exam, state))
    index = {arm: row["brier_index"] for arm, row in results["arms"].items()}
    gaps = {row["arm"]: row["difference"] for row in results["differences"]} | {"second": 0.0}
    for arm in arms:
        assert gaps[arm] == pytest.approx(index[arm] - index["second"], abs=1e-9)
    best = max(gaps, key=lambda arm: gaps[arm])
    assert f"of the arms that answered all {n} events: {best}, {index[best]:.1f}" in results["summary"][0]
    for row in results["arms"].values():
        if row["brier_index_low"] is not None:
            assert row["brier_index_low"] - 1e-9 <= row["brier_index"] <= row["brier_index_high"] + 1e-9
