"""Consistency scores of paper P, Table 9: in `score`, over questions of a set, and in a study's report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_science.runner import run, run_json, write
from workbench.questions.formats.question_tables import write_events
from workbench.questions.question import Question, outcome_sets
from workbench.questions.sets.set_scores import events_table
from workbench.science.documents import consistency_entry
from workbench.science.scoring.baselines import event_priors
from workbench.science.tables import Events

WHO = Question(
    id="who", title="Who?", kind="options", options=("a", "b", "c"), outcomes={"who#a": 1, "who#b": 0, "who#c": 0}
)  # fmt: skip
HIGH = Question(
    id="high", title="How high?", kind="threshold", levels=(1.0, 2.0, 3.0), outcomes={"high#1": 1, "high#2": 0, "high#3": 0}
)  # fmt: skip
WHEN = Question(
    id="when",
    title="When?",
    kind="date",
    days=("2026-01-31", "2026-02-28"),
    outcomes={"when#2026-01-31": 0, "when#2026-02-28": 1},
)
PLAIN = Question(id="plain", title="Will it?", outcomes={"plain": 1})
ALL = (WHO, HIGH, WHEN, PLAIN)


def test_outcomes_that_exclude_or_imply_each_other_are_columns_of_a_file_of_events(tmp_path: Path) -> None:
    table = events_table(ALL)
    assert table.text("outcome_set").tolist() == ["who"] * 3 + ["high"] * 3 + ["when"] * 2 + [""]
    # a level implies the lower ones, a day the later ones
    assert table.text("set_step").tolist() == ["", "", "", "3", "2", "1", "1", "2", ""]
    (tmp_path / "e.csv").write_text(write_events(ALL))
    written = pd.read_csv(tmp_path / "e.csv", dtype=str, keep_default_na=False)
    for column in ("outcome_set", "set_size", "set_step"):
        assert written[column].tolist() == table.text(column).tolist()
    assert [len(each.events) for each in outcome_sets(WHO)] == [3] and outcome_sets(PLAIN) == []


def test_the_scores_by_hand(tmp_path: Path) -> None:
    """Exclusive: 0.5 + 0.3 + 0.2 is 1, half a chain of levels (0.5, 0.6 | 0.6, 0.1 falls) and a whole one of days."""
    p = {"who#a": 0.5, "who#b": 0.3, "who#c": 0.2, "high#1": 0.1, "high#2": 0.6, "high#3": 0.5, "when#2026-01-31": 0.2, "when#2026-02-28": 0.4, "plain": 0.7}  # fmt: skip
    lines = [f"good,{event},forecast,{value}" for event, value in p.items()]
    lines += [f"poor,{event},forecast,{0.5 if event == 'who#a' else value / 2}" for event, value in p.items()]
    forecasts = write(tmp_path / "f.csv", "\n".join(["method,event_id,variant,p", *lines]) + "\n")
    events = write(tmp_path / "e.csv", write_events(ALL))
    words = ("score", "--events", events, "--forecasts", forecasts, "--set", "resamples=0")
    good, poor = (run_json(*words)["methods"][name]["consistency"] for name in ("good", "poor"))
    assert good == {
        "exclusive": 1.0,
        "gap": pytest.approx(0, abs=1e-12),
        "exclusive_sets": 1,
        "chain": 0.75,
        "chains": 2,
    }
    assert poor["exclusive"] == 0.0 and poor["gap"] == pytest.approx(0.25) and poor["chain"] == 0.75
    shown = run(*words).stdout
    assert "consistency" in shown and "exclusive sets" in shown
    # Of a set that is cut down the sum says nothing; what is left of a chain still has an order.
    cut = write(
        tmp_path / "f2.csv",
        "\n".join(["method,event_id,variant,p", *(lines[k] for k in (0, 3, 4, 8))]) + "\n",
    )
    entry = run_json("score", "--events", events, "--forecasts", cut, "--set", "resamples=0")["methods"][
        "good"
    ]["consistency"]
    assert entry["exclusive"] is None and entry["exclusive_sets"] == 0 and entry["chains"] == 1


@given(st.lists(st.floats(0, 1), min_size=9, max_size=9), st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing_and_coherent_forecasts_have_full_marks(
    values: list[float], random: object
) -> None:
    table = events_table(ALL)
    p, rows = np.array(values), np.arange(9)
    entry = consistency_entry(p, rows, table)
    order = np.array(values).argsort(kind="stable")
    assert consistency_entry(p[order], order, table) == pytest.approx(entry)
    whole = p.copy()
    whole[:3] = (p[:3] + 1e-6) / (p[:3] + 1e-6).sum()
    whole[3:6] = np.sort(p[3:6])[::-1]
    whole[6:8] = np.sort(p[6:8])
    best = consistency_entry(whole, rows, table)
    assert best["exclusive"] == best["chain"] == 1.0 and 0 <= (entry["chain"] or 0) <= 1


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 60), st.booleans()), min_size=1, max_size=12))
def test_a_prior_knows_no_outcome_of_its_own_day_or_later(rows: list[tuple[int, int, bool]]) -> None:
    first = np.datetime64("2025-01-01")
    due = np.array([first + day for day, *_ in rows])
    end = np.array([first + day + length for day, length, _ in rows])
    outcome = np.array([float(came) for *_, came in rows])
    own = {"forecast_due_date": due.astype(str), "resolution_date": end.astype(str)}
    prior = event_priors(Events.of(outcome, **own), ["source"], pseudo=1.0)
    for row in range(len(rows)):
        known = end < due[row]
        assert prior.p[row] == pytest.approx((outcome[known].sum() + 1) / (known.sum() + 2))
        # what came later, turned round, changes nothing
        turned = np.where(known, outcome, 1 - outcome)
        assert event_priors(Events.of(turned, **own), ["source"], pseudo=1.0).p[row] == prior.p[row]
