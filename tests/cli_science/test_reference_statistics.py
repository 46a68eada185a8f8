"""Bootstrap, additive effects, analysis of variance and the paper's tables against the reference file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli_science.runner import run, run_json

pytestmark = [pytest.mark.realdata, pytest.mark.long]

BLF = "pro-high-brave-c1-p1-t1@hier-cal"
BASELINE = "crowd+prior_static"
NAMES = {"BLF_published_hier-cal": BLF, "crowd_emp_static_noclip": BASELINE}


@pytest.fixture(scope="module")
def folder(test_data: Path) -> Path:
    return test_data / "forecastbench"


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "expected.json").read_text()))


def compare(folder: Path, file: str, *words: object) -> Any:
    return run_json("compare", "--events", folder / "events.csv.gz", "--forecasts", folder / file, *words)


def test_paired_bootstrap(folder: Path, expected: dict[str, Any]) -> None:
    wanted = expected["paired_bootstrap"]
    result: dict[str, Any] = {}
    for reference in (BLF, BASELINE):
        methods = ",".join(
            NAMES.get(pair.split(" vs ")[0], pair.split(" vs ")[0])
            for pair in wanted
            if NAMES[pair.split(" vs ")[1]] == reference
        )
        words = ("--reference", reference, "--method", methods, "--unit", "both")
        result[reference] = compare(folder, "published_dev.csv.gz", *words)["paired_bootstrap"]
    for pair, units in wanted.items():
        method, reference = (NAMES.get(name, name) for name in pair.split(" vs "))
        for unit, parts in (("event", units["events"]), ("question", units["question_clusters"])):
            for part, value in parts.items():
                got = result[reference][unit][method][part]
                where = (pair, unit, part)
                assert got["n"] == value["n"], where
                assert abs(got["method"] - value["BI_a"]) < 1e-4, where
                assert abs(got["reference"] - value["BI_b"]) < 1e-4, where
                assert abs(got["difference"] - value["delta"]) < 2e-4, where
                for ends, name in (("method_interval", "a_ci95"), ("interval", "delta_ci95")):
                    assert all(abs(a - b) < 0.002 for a, b in zip(got[ends], value[name], strict=True)), (
                        where,
                        ends,
                    )
                assert abs(got["se"] / value["delta_se"] - 1) < 0.03, where
                assert abs(got["p_one_sided"] - value["p_one_sided"]) < 1e-4, where


def test_additive_effects(folder: Path, expected: dict[str, Any]) -> None:
    result = compare(folder, "published_dev.csv.gz", "--reference", "fb-cassi-ai-2", "--set", "resamples=10")[
        "als"
    ]
    for ours, theirs in (("complete", "complete_methods"), ("all", "all_methods_unbalanced")):
        got, wanted = result[ours], expected["als"][theirs]
        assert got["methods"] == wanted["methods"] and got["n"] == wanted["n"]
        assert abs(got["mu"] - wanted["mu"]) < 1e-6
        for method in wanted["methods"]:
            assert abs(got["alpha"][method] - wanted["alpha"][method]) < 1e-6
            assert abs(got["raw_mean"][method] - wanted["raw_mean"][method]) < 1e-6
        first = list(got["gamma"].values())[:5]
        assert all(abs(a - b) < 1e-6 for a, b in zip(first, wanted["gamma_first5"], strict=True))
        assert abs(got["gamma_sd"] - wanted["gamma_sd"]) < 1e-6


def test_analysis_of_variance_on_trials(folder: Path, expected: dict[str, Any]) -> None:
    words = ("--reference", "pro-high-brave-c0-t1", "--set", "resamples=10")
    result = compare(folder, "trials_dev.csv.gz", *words)["anova"]
    pairs = (("complete", "complete_methods"), ("all", "all_methods_with_trials_unbalanced"))
    for ours, theirs in pairs:
        got, wanted = result[ours], expected["anova_trial_level"][theirs]
        assert got.keys() == wanted.keys()
        for name, value in wanted.items():
            if isinstance(value, float):
                assert abs(got[name] - value) < 2e-6 * max(1.0, abs(value)), (theirs, name)
            else:
                assert got[name] == value, (theirs, name)


def test_printed_tables(folder: Path, expected: dict[str, Any]) -> None:
    words = (
        "paper-tables",
        "--events",
        folder / "events.csv.gz",
        "--published",
        folder / "published_dev.csv.gz",
    )
    words = (*words, "--trials", folder / "trials_dev.csv.gz")
    result = run_json(*words)
    cells = result["cells"]
    for cell in cells:  # whatever does not come out says why
        assert cell["agrees"] or cell["why"], cell
    off = {(cell["table"], cell["row"]) for cell in cells if cell["ours"] is not None and not cell["agrees"]}
    assert off == {("1", "Cassi"), ("9", "Cassi"), ("1", "Cassi - BLF (Pro)"), ("1", "Cassi - crowd+emp")}
    seventeen = [cell for cell in cells if cell["table"] == "17" and cell["ours"] is not None]
    assert len(seventeen) == 18 and all(cell["agrees"] for cell in seventeen)
    rows = {r["row"]: r["computed"] for r in expected["paper_rows"] if r["paper_table"] == "17"}
    for cell in seventeen:
        wanted = rows[cell["row"].replace("c=", "c")][cell["column"]]
        assert abs(cell["ours"] - wanted) < 3e-4, cell
    stars = [
        c
        for c in cells
        if c["printed_note"] in ("***", "**", "*", "ns") and c["printed_note"] != c["our_note"]
    ]
    assert [(c["row"], c["column"]) for c in stars] == [("GPT-5 (ZS) - BLF (Pro)", "dataset")]
    text = run(*words).stdout
    assert "74 of 84 figures agree" in text and "Table 17" in text
