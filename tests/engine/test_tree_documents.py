import json
from typing import Any

import pytest

from tests.synthesis.whatif.test_scenarios import three_levels
from workbench.synthesis.whatif.edits import SetValue
from workbench.synthesis.whatif.scenarios import ScenarioRecord, ScenarioSet
from workbench.whatif.tree_documents import scenario_table, sensitivity_report


def test_the_report_holds_what_the_page_shows() -> None:
    report = sensitivity_report(
        three_levels(),
        {"P1": [0.85, 0.95], "P2.1": [0.4, 0.6]},
        {"P1": 1.0, "P2.1": 1.0, "P2.2": 1.0},
        {"P1": ["FRED"], "P2.1": ["FRED"]},
    )
    assert json.loads(json.dumps(report)) == report
    assert report["reachable"] == pytest.approx([0.0, 0.9]) and report["uncertainty"]["method"] == "exact"
    # variances of the means .0025 and .01, path weights .5 and .2, correlation 1
    assert report["uncertainty"]["variance"] == pytest.approx((0.5 * 0.05 + 0.2 * 0.1) ** 2)
    assert report["ground_next"][0]["id"] == "P1"
    assert sensitivity_report(three_levels())["uncertainty"] is None


def test_the_scenario_table_compares_and_mixes() -> None:
    def record(action: str, name: str, base: int | None = None, **more: object) -> ScenarioRecord:
        return ScenarioRecord(action=action, scenario=name, author="Ann", at="t", base_seq=base, **more)  # type: ignore[arg-type]

    book = ScenarioSet.fold(
        [
            (1, record("open", "hard", rationale="a recession", probability=0.25)),
            (2, record("edit", "hard", 1, edit=SetValue(node="P2.1", p=1.0))),
            (3, record("open", "soft")),
        ]
    )
    table = scenario_table(three_levels(), book)
    assert json.loads(json.dumps(table)) == table
    assert [(s["name"], s["root"], s["can_undo"]) for s in table["scenarios"]] == [
        ("hard", pytest.approx(0.79), True),
        ("soft", pytest.approx(0.69), False),
    ]
    assert table["mix"] == {
        "root": pytest.approx(0.25 * 0.79 + 0.75 * 0.69),
        "weights": {"hard": 0.25, "base": 0.75},
    }
    assert [row["id"] for row in table["nodes"]] == ["P0", "P2", "P2.1"]
    assert scenario_table(three_levels(), book, ["soft"])["mix"] is None


def test_what_to_look_at_next_has_an_order_only_where_the_record_gives_one() -> None:
    """The spread is that of the run's own trials, else of earlier runs'; nothing is assumed, and nothing is bought by asking a rule again."""

    def report(trials: dict[str, list[float]], record: list[list[float]]) -> dict[str, Any]:
        return sensitivity_report(three_levels(), trials, record=record)

    once = {"P1": [0.9], "P2.1": [0.5], "P2.2": [0.7]}
    alone = report(once, [])
    assert [row["reground"] for row in alone["ground_next"]] == [None] * 3
    assert [row["id"] for row in alone["ground_next"]] == ["P1", "P2.1", "P2.2"]  # the tree's own order
    assert "No order" in alone["ground_next_note"]
    known = report(once, [[0.4, 0.6], [0.3, 0.3]])
    # squares 0.02 over 2 degrees of freedom, path weights 0.5, 0.2, 0.2, one trial more of one
    assert [row["reground"] for row in known["ground_next"]] == pytest.approx(
        [0.01 * weight**2 / 2 for weight in (0.5, 0.2, 0.2)]
    )
    assert "2 drivers of earlier runs" in known["ground_next_note"]
    same = report({**once, "P1": [0.9, 0.9]}, [[0.4, 0.6]])
    assert [row["reground"] for row in same["ground_next"]] == [0.0] * 3 and "same probability" in same[
        "ground_next_note"
    ]
    own = report({**once, "P2.1": [0.4, 0.6]}, [[0.1, 0.9]])
    assert own["ground_next_note"] == "" and own["ground_next"][0]["id"] == "P1"
