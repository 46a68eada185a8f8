"""The real exam: ForecastBench's events with crowd, both priors, pooled and shrunk trials, price moves; equal to the published figures."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.studies.finished import finish
from workbench.store import Store
from workbench.studies.study_file import study_of

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_pictures")]

BEST = "pro-high-brave-c1-t1"
ARMS: list[dict[str, Any]] = [
    {"arm": "market"},
    {"arm": "crowd+prior", "name": "crowd+static", "prior": "prior_static"},
    {"arm": "crowd+prior", "name": "crowd+temporal"},
    {"arm": "always-half"},
    {"arm": "column", "name": "price on the due date", "column": "market_value_due"},
    {"arm": "price-move", "name": "moves go on", "share": 1.0},
    {"arm": "price-move", "name": "moves come back", "share": -0.5},
    {"arm": "published", "name": "published", "forecasts": "published_dev.csv.gz", "method": BEST},
    {"arm": "published", "name": "mean", "forecasts": "trials_dev.csv.gz", "method": BEST, "pool": "mean"},
    {"arm": "published", "name": "logit mean", "forecasts": "trials_dev.csv.gz", "method": BEST},
    {
        "arm": "published",
        "name": "shrunk",
        "forecasts": "trials_dev.csv.gz",
        "method": BEST,
        "pool": "shrink-prior",
        "prior": "prior_static",
        "tune": "as-published",
    },
]


@pytest.mark.realdata
def test_the_tables_of_a_study_hold_the_published_figures_and_returns(
    test_data: Path, tmp_path: Path, store: Store
) -> None:
    data = test_data / "forecastbench"
    study = {
        "name": "real",
        "exam": {"events": "events.csv.gz"},
        "arms": ARMS,
        "resamples": 500,
        "reference": "market",
    }
    results = finish(store, study_of(study, data), tmp_path).results
    arms = results["arms"]
    expected = json.loads((data / "expected.json").read_text())
    names = {
        "crowd+static": expected["baselines"]["crowd_emp_static_noclip"],
        "crowd+temporal": expected["baselines"]["crowd_emp_temporal_noclip"],
        "mean": expected["methods"][BEST]["aggregation"]["mean_all"],
        "logit mean": expected["methods"][BEST]["aggregation"]["logit_mean_all"],
        "shrunk": expected["methods"][BEST]["aggregation"]["shrink_prior_static"]["in_sample"],
    }
    for arm, figures in names.items():
        table = arms[arm]["by_type"]
        for part in ("market", "dataset", "overall"):
            assert table["brier_index"][part] == pytest.approx(figures[f"BI_{part}"], abs=2e-6), (arm, part)
    assert arms["logit mean"]["ece"] == pytest.approx(0.034268, abs=2e-6)
    # the market has no dataset events: they are missing with a reason, never counted as 0.5
    assert arms["market"]["events"] == 200 and arms["market"]["missing"] == 591
    assert {"arm": "market", "reason": "no crowd is known of it", "forecasts": 591} in results["missing"]
    findings = "\n".join(results["audit"]["findings"])
    assert "crowd+static reads prior_static" in findings and "shrunk is tuned on the outcomes" in findings
    assert "all 791 events: logit mean" in results["summary"][0]
    # the whole round is due on few days, so that the differences of 791 events carry no verdict
    assert {(row["days"] < 6, row["verdict"]) for row in results["differences"]} == {(True, "no verdict")}
    # the same results hold paper P's bets on the market events
    expected = json.loads((test_data / "market_return" / "expected.json").read_text())["methods"][BEST]
    for arm, key in (("published", "published_forecast"), ("mean", "mean_all")):
        for level, name in (("0", "gamma0_tie_no"), ("0.5", "gamma0.5"), ("1", "gamma1.0")):
            figures = expected[key]["returns"][name]
            assert arms[arm]["bets"] == 200
            assert arms[arm]["average_return"][level] == pytest.approx(figures["average_return"], abs=2e-6)
            assert arms[arm]["sharpe"][level] == pytest.approx(figures["sharpe_ddof1"], abs=2e-6)
