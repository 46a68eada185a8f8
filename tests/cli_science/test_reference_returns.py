"""Every market return, Sharpe ratio, Brier score and ECE of the reference file, by the command line, within 1e-6."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli_science.runner import run_json
from workbench.science.scoring.market import crra_allocation, payoffs

pytestmark = [pytest.mark.realdata, pytest.mark.long]

LEVELS = {
    "0": "gamma0_tie_{tie}",
    "0.25": "gamma0.25",
    "0.5": "gamma0.5",
    "0.75": "gamma0.75",
    "1": "gamma1.0",
}
FIELDS = {
    "average_return": "average_return",
    "sharpe_ddof1": "sharpe",
    "sharpe_ddof0": "sharpe_ddof0",
    "total_payoff": "total_payoff",
    "max_payoff": "max_payoff",
    "n_zero_payoff": "zero_payoffs",
    "sd_ddof1": "payoff_sd",
}


def close(result: float | None, wanted: float | None, what: object) -> None:
    if wanted is None:
        assert result is None, what
    else:
        # totals are sums of 200 payoffs, printed with 8 digits
        assert result is not None and abs(result - wanted) < 1e-6 * max(1.0, abs(wanted)), (
            what,
            result,
            wanted,
        )


def compare(result: dict[str, Any], wanted: dict[str, Any], tie: str, what: object) -> int:
    count = 0
    assert result["n"] == wanted["n"], what
    for name, key in (
        ("brier_mean", "brier"),
        ("ece10_left_closed", "ece"),
        ("ece10_right_closed", "ece_right_closed"),
    ):
        if name in wanted:
            close(result[key], wanted[name], (what, name))
            count += 1
    returns = wanted["returns"]
    assert result["ties"] == returns["n_ties_p_eq_q"], what
    assert result["yes_bets"] == returns["n_yes_bets"], what
    for level, name in LEVELS.items():
        for field, key in FIELDS.items():
            close(result[key][level], returns[name.format(tie=tie)][field], (what, level, field))
            count += 1
    for tranche, inner in wanted.get("by_tranche", {}).items():
        count += compare(result["by"][tranche], inner, tie, (what, tranche))
    return count


@pytest.fixture(scope="module")
def expected(test_data: Path) -> dict[str, Any]:
    return dict(json.loads((test_data / "market_return" / "expected.json").read_text()))


@pytest.mark.parametrize("tie", ["no", "yes", "half", "abstain"])
@pytest.mark.parametrize("kind", ["published_forecast", "mean_all"])
def test_returns_of_all_methods(test_data: Path, expected: dict[str, Any], kind: str, tie: str) -> None:
    folder = test_data / "forecastbench"
    file = "published_dev.csv.gz" if kind == "published_forecast" else "trials_dev.csv.gz"
    words = ("returns", "--events", folder / "events.csv.gz", "--forecasts", folder / file, "--tie", tie)
    result = run_json(
        *words, "--set", "resamples=0", "--set", "by=tranche", "--set", "baseline=crowd,0.5,outcome"
    )["methods"]
    other = run_json(*words, "--set", "resamples=0", "--price", "market_value_due_minus_one")["methods"]
    count = 0
    for method, entry in expected["methods"].items():
        if kind in entry:
            count += compare(result[method], entry[kind], tie, (method, kind))
            count += compare(
                other[method], entry[kind]["alt_price_due_minus_one"], tie, (method, kind, "other price")
            )
    for name, spec in (("market_itself_p_eq_q", "crowd"), ("always_0.5", "0.5"), ("perfect", "outcome")):
        count += compare(result[spec], expected[f"forecaster_{name}"], tie, name)
    assert count > 2000


def test_event_weighted_brier(test_data: Path, expected: dict[str, Any]) -> None:
    folder = test_data / "forecastbench"
    words = ("--events", folder / "events.csv.gz", "--forecasts", folder / "published_dev.csv.gz")
    result = run_json("score", *words, "--metrics", "brier,brier_by_question")["methods"]
    for method, wanted in expected["event_weighted_brier_dataset_questions"].items():
        close(result[method]["brier"]["dataset"], wanted["pooled_brier"], method)
        close(result[method]["brier_by_question"]["dataset"], wanted["event_weighted_brier"], method)


def test_worked_examples(expected: dict[str, Any]) -> None:
    for example in expected["worked_examples"]:
        for level in (0.0, 0.25, 0.5, 0.75, 1.0):
            key = "gamma0" if level == 0.0 else f"gamma{level}"
            if f"aY_{key}" not in example:
                continue
            share = crra_allocation([example["p"]], [example["q"]], level)
            assert np.isclose(share[0], example[f"aY_{key}"], atol=1e-9)
            paid = payoffs(share, [example["q"]], [example["o"]])
            assert np.isclose(paid[0], example[f"payoff_{key}"], atol=1e-8, rtol=1e-9)
